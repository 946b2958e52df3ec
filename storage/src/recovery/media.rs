//! The devices of a store as recovery uses them: segments by number, in whole blocks of any device.
//! Owns the count of what was read, and the list of what was found damaged; must never know what
//! bytes mean.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crate::damage::{Damage, DamageLog, Loss, Part};
use crate::device::{BLOCK_BYTES_MAX, Channel, Device, DeviceError, Io, IoBuffer, WriteSync};
use crate::format::RESERVED_BYTES;
use crate::recovery::superblocks::{self, Members};
use crate::recovery::{OpenRequest, Progress};
use crate::segment::SegmentTable;
use crate::units::{DeviceNumber, SegmentNumber};

/// Bytes of one read or write of a longer range: four of the longest records.
pub(super) const STEP_BYTES: u32 = 256 << 10;

/// Structures that a start finds unreadable at most: drives lose a few sectors. Where more are
/// gone, a drive fails or the way to it, and nothing is decided by what it does not show.
const UNREADABLE_MAX: u32 = 64;

/// The devices of a store, in its order.
pub(super) struct Media<'a> {
    devices: Vec<&'a Arc<dyn Device>>,
    pub(super) channels: Vec<Rc<dyn Channel>>,
    /// Where segments lie; what they are is entered at the end.
    pub(super) segments: Arc<SegmentTable>,
    pub(super) segment_bytes: u32,
    /// The epoch of the last start.
    pub(super) epoch: u32,
    /// The store was closed in order: nothing on it can be unfinished.
    pub(super) was_clean: bool,
    /// When recovery began, in seconds of the calendar.
    pub(super) now_s: u32,
    progress: &'a Progress,
    /// Structures that could not be read.
    unreadable: Cell<u32>,
    pub(super) damage: DamageLog,
}

impl<'a> Media<'a> {
    pub(super) fn new(request: &OpenRequest<'a>, members: &Members) -> Self {
        let counts: Vec<u32> = members
            .superblocks
            .iter()
            .map(|s| s.segment_count)
            .collect();
        Self {
            devices: members
                .order
                .iter()
                .map(|at| &request.devices[*at])
                .collect(),
            channels: members
                .order
                .iter()
                .map(|at| Rc::clone(&request.channels[*at]))
                .collect(),
            segments: Arc::new(SegmentTable::new(&counts)),
            segment_bytes: members.ruling().segment_bytes,
            epoch: members.ruling().epoch,
            was_clean: members.was_clean(),
            now_s: request.now_s,
            progress: request.progress,
            unreadable: Cell::new(0),
            damage: DamageLog::new(request.listed_max),
        }
    }

    /// The name of the device that a segment lies on.
    pub(super) fn device_name(&self, segment: SegmentNumber) -> String {
        let (device, _) = self.segments.place(segment);
        superblocks::name(&**self.devices[usize::from(device.get())])
    }

    /// The channel to a segment, and where it begins.
    fn place(&self, segment: SegmentNumber) -> (&Rc<dyn Channel>, u64) {
        let (device, index) = self.segments.place(segment);
        let start = RESERVED_BYTES + u64::from(index) * u64::from(self.segment_bytes);
        (&self.channels[usize::from(device.get())], start)
    }

    pub(super) fn device_of(&self, segment: SegmentNumber) -> DeviceNumber {
        self.segments.place(segment).0
    }

    /// Starts to read `bytes` bytes at `offset` in a segment, both whole blocks of the largest
    /// kind.
    pub(super) fn read(&self, segment: SegmentNumber, offset: u32, bytes: u32) -> Io<IoBuffer> {
        self.progress.add_read_bytes(u64::from(bytes));
        let (channel, start) = self.place(segment);
        channel.read(start + u64::from(offset), channel.buffer(bytes as usize))
    }

    /// Starts to read what lies from `offset` to `end` in a segment, with what shares its blocks.
    pub(super) fn read_around(&self, segment: SegmentNumber, offset: u32, end: u32) -> Around {
        let start = offset - offset % BLOCK_BYTES_MAX;
        let bytes = end.next_multiple_of(BLOCK_BYTES_MAX) - start;
        let skip = (offset - start) as usize;
        Around {
            read: self.read(segment, start, bytes),
            range: skip..skip + (end - offset) as usize,
        }
    }

    /// What was read of a structure; none where the device has lost it, which is damage like any
    /// other. Fails where the device does, or has lost too many.
    pub(super) fn or_lost<T>(
        &self,
        read: Result<T, DeviceError>,
    ) -> Result<Option<T>, DeviceError> {
        match read {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.is_of_medium() && self.unreadable.get() < UNREADABLE_MAX => {
                self.unreadable.set(self.unreadable.get() + 1);
                tracing::error!(%error, "the start goes on without what lies there");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes `content`, whole blocks, at `offset` in a segment. Durable after a flush.
    pub(super) async fn write(
        &self,
        segment: SegmentNumber,
        offset: u32,
        content: &[u8],
    ) -> Result<(), DeviceError> {
        let (channel, start) = self.place(segment);
        let mut at = start + u64::from(offset);
        for step in content.chunks(STEP_BYTES as usize) {
            let mut buffer = channel.buffer(step.len());
            buffer.copy_from_slice(step);
            channel.write_buffer(at, buffer, WriteSync::None).await?;
            at += step.len() as u64;
        }
        Ok(())
    }

    /// Makes durable what was written to any device.
    pub(super) async fn flush(&self) -> Result<(), DeviceError> {
        superblocks::flush(&self.channels).await
    }

    /// A structure of a segment is not what was written there.
    pub(super) fn report(
        &self,
        segment: SegmentNumber,
        (part, offset): (Part, u32),
        what: &'static str,
    ) {
        self.report_loss(segment, (part, offset), what, Loss::Unknown);
    }

    /// The same, where it is known what is lost.
    pub(super) fn report_loss(
        &self,
        segment: SegmentNumber,
        (part, offset): (Part, u32),
        what: &'static str,
        loss: Loss,
    ) {
        let device = &self.devices[usize::from(self.device_of(segment).get())];
        self.damage.note(Damage {
            device: Arc::clone(&device.geometry().name),
            device_offset: self.place(segment).1 + u64::from(offset),
            segment: Some(segment.get()),
            part,
            what,
            loss,
        });
    }

    /// A device's copy of its superblock, at this place, does not verify.
    pub(super) fn report_superblock(&self, device: usize, device_offset: u64) {
        self.damage.note(Damage {
            device: Arc::clone(&self.devices[device].geometry().name),
            device_offset,
            segment: None,
            part: Part::Superblock,
            what: "a copy does not verify; the other one counts, and both are written anew",
            loss: Loss::Unknown,
        });
    }

    /// `done` of `all` summaries were seen to.
    pub(super) fn note_summaries(&self, done: usize, all: usize) {
        self.progress.set_percent((done * 100 / all.max(1)) as u64);
    }

    /// That many records were seen to.
    pub(super) fn note_records(&self, count: usize) {
        self.progress.add_records(count as u64);
    }
}

/// A read of a range that need not be made of blocks.
pub(super) struct Around {
    read: Io<IoBuffer>,
    range: std::ops::Range<usize>,
}

impl Around {
    /// The range's bytes, with what was read around them.
    pub(super) async fn bytes(self) -> Result<bytes::Bytes, DeviceError> {
        Ok(self.read.await?.into_bytes(self.range))
    }
}
