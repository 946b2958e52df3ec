//! Reading what a segment is made of: its summary, and runs of its bytes. For those who see to
//! whole segments, the cleaner and the inspection; they keep the segment from being reused.

use std::ops::Range;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};

use crate::damage::{Loss, Part};
use crate::device::{Io, IoBuffer};
use crate::error::StoreError;
use crate::format::{ENTRY_BYTES, FOOTER_BYTES, Footer, SummaryEntry};
use crate::units::{Extent, SegmentNumber};
use crate::worker::Worker;

/// Bytes of one read: a client's read waits behind no more.
const STEP_BYTES_MAX: usize = 128 << 10;

/// What a sealed segment says of itself at its end.
pub(crate) struct Summary {
    /// In the order of the records.
    pub(crate) entries: Vec<SummaryEntry>,
    /// Where the last record ends, from the segment's start.
    pub(crate) body_end: u32,
}

/// The summary of a sealed segment.
pub(crate) async fn read_summary(
    worker: &Rc<Worker>,
    segment: SegmentNumber,
) -> Result<Summary, StoreError> {
    let store = worker.store();
    let segment_bytes = store.segment_bytes();
    let footer_at = u64::from(segment_bytes) - FOOTER_BYTES as u64;
    let bytes = read_range(worker, segment, footer_at, FOOTER_BYTES).await?;
    let corrupt = |part: Part, offset: u64, bytes: usize| {
        let bytes = bytes as u64;
        store.corrupt(segment, (part, Extent { offset, bytes }), Loss::Unknown)
    };
    let footer = Footer::decode(&bytes, store.store_id(), segment_bytes)
        .ok()
        .filter(|footer| footer.generation == store.segments().get(segment).generation(segment))
        .ok_or_else(|| corrupt(Part::Footer, footer_at, FOOTER_BYTES))?;
    let extent = footer.entries_extent(segment_bytes);
    let length = footer.entry_count as usize * ENTRY_BYTES;
    let mut entries = Vec::new();
    if length > 0 {
        let bytes = read_range(worker, segment, extent.offset, length).await?;
        let found = footer.verify_entries(&bytes).and_then(Iterator::collect);
        entries = found.map_err(|_| corrupt(Part::Summary, extent.offset, length))?;
        entries.reverse();
    }
    Ok(Summary {
        entries,
        body_end: footer.body_end,
    })
}

/// Reads a range of a segment, whatever its length and alignment, in steps one after the other.
pub(crate) async fn read_range(
    worker: &Rc<Worker>,
    segment: SegmentNumber,
    offset: u64,
    bytes: usize,
) -> Result<Bytes, StoreError> {
    if bytes <= STEP_BYTES_MAX {
        let (bytes, _) = RangeRead::start(worker, segment, offset, bytes)
            .finish()
            .await?;
        return Ok(bytes);
    }
    let mut whole = BytesMut::with_capacity(bytes);
    while whole.len() < bytes {
        let step = (bytes - whole.len()).min(STEP_BYTES_MAX);
        let at = offset + whole.len() as u64;
        let (bytes, _) = RangeRead::start(worker, segment, at, step).finish().await?;
        whole.extend_from_slice(&bytes);
    }
    Ok(whole.freeze())
}

/// A range of a segment that is being read, in whole blocks.
pub(crate) struct RangeRead {
    io: Io<IoBuffer>,
    /// The range within what is read.
    range: Range<usize>,
}

impl RangeRead {
    /// Starts to read `bytes` bytes at `offset` in a segment.
    pub(crate) fn start(
        worker: &Rc<Worker>,
        segment: SegmentNumber,
        offset: u64,
        bytes: usize,
    ) -> Self {
        let (channel, start) = worker.place(segment);
        let wanted = Extent {
            offset: start + offset,
            bytes: bytes as u64,
        };
        let extent = wanted.aligned_to(worker.store().block_bytes(segment));
        let buffer = channel.buffer(usize::try_from(extent.bytes).expect("within a segment"));
        let skip = usize::try_from(wanted.offset - extent.offset).expect("within a block");
        Self {
            io: channel.read(extent.offset, buffer),
            range: skip..skip + bytes,
        }
    }

    /// The range's bytes, and how many the device delivered for them.
    pub(crate) async fn finish(self) -> Result<(Bytes, u64), StoreError> {
        let buffer = self.io.await?;
        let delivered = buffer.len() as u64;
        Ok((buffer.into_bytes(self.range), delivered))
    }
}
