//! Places: from locations to segments, devices, blocks and write buffers.

use cellar_index::Entry;

use crate::cache::CacheKey;
use crate::error::StoreError;
use crate::format::{HEAD_BYTES_MAX, RESERVED_BYTES, RecordHead, class_bytes, live_bytes};
use crate::log::Image;
use crate::place;
use crate::read::{StoredRecord, record_len};
use crate::segment::State;
use crate::store::Store;
use crate::units::{Extent, Location, Lsn, SegmentNumber};

impl Store {
    pub(crate) fn segment_bytes(&self) -> u32 {
        self.parts.segment_bytes
    }

    pub(crate) fn location(&self, segment: SegmentNumber, offset: u32) -> Location {
        Location::new(segment, offset, self.segment_bytes()).expect("a record's place")
    }

    pub(crate) fn split(&self, at: Location) -> (SegmentNumber, u32) {
        at.split(self.segment_bytes())
    }

    /// Where a segment begins on its device, in bytes.
    pub(crate) fn device_offset(&self, segment: SegmentNumber) -> u64 {
        let (_, index) = self.segments().place(segment);
        RESERVED_BYTES + u64::from(index) * u64::from(self.segment_bytes())
    }

    /// The logical block of a segment's device, in bytes.
    pub(crate) fn block_bytes(&self, segment: SegmentNumber) -> u32 {
        let (device, _) = self.segments().place(segment);
        self.devices()[usize::from(device.get())]
            .geometry()
            .block_bytes
    }

    pub(crate) fn cache_key(&self, at: Location) -> CacheKey {
        let opening = self.segments().get(self.split(at).0).opening_lsn();
        CacheKey { at, opening }
    }

    /// The write buffer with this number: the hot log's come first.
    fn image(&self, number: usize) -> &Image {
        let hot = self.log().images().len();
        if number < hot {
            self.log().image(number)
        } else {
            self.cold().image(number - hot)
        }
    }

    /// Copies a record out of the write buffer that holds its segment, if one does. The caller has
    /// pinned the segment, or holds the entry's bucket lock.
    pub(crate) fn read_buffered(&self, at: Location, class: u8) -> Option<StoredRecord> {
        let (segment, offset) = self.split(at);
        let life = self.segments().get(segment);
        let number = life.buffer()?;
        let image = self.image(number);
        let is_held = || life.buffer() == Some(number);
        image.read(is_held, |image| copy_record(image, offset, class))
    }

    /// An entry no longer points where it did: what it pointed to is dead.
    pub(crate) fn forget_entry(&self, entry: &Entry) {
        let segment = self.split(place::of(entry)).0;
        let bytes = i64::from(live_bytes(entry.length_class));
        self.segments().add_live(segment, -bytes);
    }

    /// A record moved with its entry.
    pub(crate) fn move_live(&self, old: Location, new: Location, entry: &Entry) {
        let bytes = i64::from(live_bytes(entry.length_class));
        self.segments().add_live(self.split(new).0, bytes);
        self.segments().add_live(self.split(old).0, -bytes);
    }

    /// The lowest LSN at which any segment in use was opened, `except` left out.
    pub(crate) fn oldest_opening(&self, except: Option<SegmentNumber>) -> Lsn {
        let in_use = |segment: &SegmentNumber| match self.segments().get(*segment).state() {
            State::Open | State::Sealed | State::Cleaning => Some(*segment) != except,
            State::Unallocated | State::Free => false,
        };
        let openings = self
            .segments()
            .numbers()
            .filter(in_use)
            .map(|s| self.segments().get(s).opening_lsn());
        openings.min().unwrap_or(Lsn::new(u64::MAX))
    }

    /// The error for bytes of a segment that do not verify; it is counted.
    pub(crate) fn corrupt(&self, segment: SegmentNumber, offset: u64, bytes: u64) -> StoreError {
        self.counters().corrupt_records.add(1);
        StoreError::Corrupt {
            device: self.segments().place(segment).0.get(),
            segment: segment.get(),
            extent: Extent {
                offset: self.device_offset(segment) + offset,
                bytes,
            },
        }
    }
}

/// Copies a record out of a write buffer. It is published, so it is complete.
fn copy_record(image: &Image, offset: u32, class: u8) -> StoredRecord {
    let from = offset as usize;
    let bound = class_bytes(class) as usize;
    let end = (from + bound).min(image.buffer().bytes());
    let mut head = [0; HEAD_BYTES_MAX];
    let head_end = (from + head.len()).min(end);
    image.buffer().read_at(from, &mut head[..head_end - from]);
    let head = RecordHead::decode(&head, image.seed().at(offset)).expect("a published record");
    let bytes = image.buffer().copy(from..from + record_len(&head));
    StoredRecord::new(bytes, head)
}
