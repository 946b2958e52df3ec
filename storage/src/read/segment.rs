//! Reading what a segment is made of: its summary, and runs of its bytes. For those who see to
//! whole segments, the cleaner and the inspection; they keep the segment from being reused.

use std::rc::Rc;

use bytes::Bytes;

use crate::damage::{Loss, Part};
use crate::error::StoreError;
use crate::format::{ENTRY_BYTES, FOOTER_BYTES, Footer, SummaryEntry};
use crate::units::{Extent, SegmentNumber};
use crate::worker::Worker;

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

/// Reads a range of a segment, whatever its alignment.
pub(crate) async fn read_range(
    worker: &Rc<Worker>,
    segment: SegmentNumber,
    offset: u64,
    bytes: usize,
) -> Result<Bytes, StoreError> {
    let (channel, start) = worker.place(segment);
    let wanted = Extent {
        offset: start + offset,
        bytes: bytes as u64,
    };
    let extent = wanted.aligned_to(worker.store().block_bytes(segment));
    let buffer = channel.buffer(usize::try_from(extent.bytes).expect("within a segment"));
    let buffer = channel.read(extent.offset, buffer).await?;
    let skip = usize::try_from(wanted.offset - extent.offset).expect("within a block");
    Ok(buffer.into_bytes(skip..skip + bytes))
}
