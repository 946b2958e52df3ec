//! Places: from locations to segments, devices, blocks and write buffers.

use std::sync::Arc;

use cellar_index::Entry;

use crate::cache::CacheKey;
use crate::damage::{Damage, Loss, Part};
use crate::error::StoreError;
use crate::format::{HEAD_BYTES_MAX, RESERVED_BYTES, RecordHead, class_bytes, live_bytes};
use crate::log::Image;
use crate::options::PAGE_BYTES;
use crate::place;
use crate::read::{StoredRecord, record_len};
use crate::store::Store;
use crate::units::{CollectionId, DeviceNumber, Extent, Location, SegmentNumber};

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

    /// What a device is called.
    pub(crate) fn device_name(&self, device: DeviceNumber) -> Arc<str> {
        Arc::clone(&self.devices()[usize::from(device.get())].geometry().name)
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

    /// An entry points to a record of `segment`.
    pub(crate) fn count_entry(&self, segment: SegmentNumber, entry: &Entry) {
        self.weigh_entry(segment, entry, i64::from(live_bytes(entry.length_class)));
    }

    /// An entry no longer points where it did: what it pointed to is dead.
    pub(crate) fn forget_entry(&self, entry: &Entry) {
        let segment = self.split(place::of(entry)).0;
        self.weigh_entry(segment, entry, -i64::from(live_bytes(entry.length_class)));
    }

    fn weigh_entry(&self, segment: SegmentNumber, entry: &Entry, bytes: i64) {
        self.segments().add_live(segment, bytes);
        if entry.expiry_s != 0 {
            let weight = (bytes, self.now_s());
            self.segments()
                .add_expiring(segment, entry.expiry_s, weight);
        }
    }

    /// A record moved with its entry, which led to it where it was.
    pub(crate) fn move_live(&self, new: Location, entry: &Entry) {
        self.count_entry(self.split(new).0, entry);
        self.forget_entry(entry);
    }

    /// A page that its root promises is not there. It has no place on a device: the report names
    /// its collection, and where in that it belongs.
    pub(crate) fn note_missing_page(&self, collection: CollectionId, page: u32) {
        self.damage().note(Damage {
            device: Arc::from(format!("collection {}", collection.get())),
            device_offset: u64::from(page) * u64::from(PAGE_BYTES),
            segment: None,
            part: Part::Record,
            what: "a page of a large value is missing",
            loss: Loss::Page(collection.get(), page),
        });
    }

    /// The error for bytes of a segment that do not verify. They are counted, and reported with
    /// what was lost.
    pub(crate) fn corrupt(
        &self,
        segment: SegmentNumber,
        (part, extent): (Part, Extent),
        loss: Loss,
    ) -> StoreError {
        let device = self.segments().place(segment).0;
        let extent = Extent {
            offset: self.device_offset(segment) + extent.offset,
            ..extent
        };
        let is_lost = self.segments().is_lost(segment);
        self.damage().note(Damage {
            device: self.device_name(device),
            device_offset: extent.offset,
            segment: Some(segment.get()),
            part,
            what: if is_lost {
                "it cannot be verified: its segment's header is lost"
            } else {
                "it does not verify"
            },
            loss,
        });
        StoreError::Corrupt {
            device: device.get(),
            segment: segment.get(),
            extent,
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
