//! A write buffer: the DRAM image of one open segment.
//!
//! Owns the reservation of places in it. A place is taken by one atomic add on a word that packs
//! the record count and the offset, so that the room for the summary is always known:
//!
//! | bits of `head` | meaning |
//! |---|---|
//! | 0..40 | offset in the segment of the next record, in units of 32 bytes |
//! | 40..64 | records reserved so far: the next summary slot |
//!
//! An add that passes the limit reserves nothing. The first one that does so finds the offset still
//! within it, and by that knows that it has to seal the segment.

use std::sync::Arc;

use crate::device::SharedBuffer;
use crate::format::{
    ENTRY_BYTES, FOOTER_BYTES, Footer, GenerationSeed, RecordDraft, SEGMENT_HEADER_BYTES,
    SummaryEntry, entry_offset, pad_head,
};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::units::{Lsn, SegmentNumber, UNIT_BYTES};

/// Where a segment's records begin.
pub(crate) const BODY_START: u32 = SEGMENT_HEADER_BYTES as u32;

const COUNT_SHIFT: u32 = 40;
const UNITS_MASK: u64 = (1 << COUNT_SHIFT) - 1;
/// Past every limit (a segment has at most 2^27 units of 32 bytes), far below the count's bits.
const CLOSED_UNITS: u64 = 1 << 30;

/// A place reserved in a write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Bytes from the segment's start.
    pub(crate) offset: u32,
    /// The first of the summary slots that go with it.
    pub(crate) slot: u32,
}

/// What an attempt to reserve came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reserved {
    At(Place),
    /// Nothing was reserved. `seal` is the end of the segment's records, for the one caller who has
    /// to seal it.
    Full {
        seal: Option<Place>,
    },
}

/// One write buffer and the segment that it is the image of.
pub(crate) struct Image {
    buffer: Arc<SharedBuffer>,
    segment_bytes: u32,
    segment: AtomicU32,
    opening_lsn: AtomicU64,
    seed: AtomicU32,
    /// Offset of the last map record; 0: none.
    map_offset: AtomicU32,
    head: AtomicU64,
    readers: AtomicU32,
}

impl Image {
    pub(crate) fn new(buffer: Arc<SharedBuffer>, segment_bytes: u32) -> Self {
        Self {
            buffer,
            segment_bytes,
            segment: AtomicU32::new(u32::MAX),
            opening_lsn: AtomicU64::new(0),
            seed: AtomicU32::new(0),
            map_offset: AtomicU32::new(0),
            head: AtomicU64::new(CLOSED_UNITS),
            readers: AtomicU32::new(0),
        }
    }

    pub(crate) fn buffer(&self) -> &Arc<SharedBuffer> {
        &self.buffer
    }

    pub(crate) fn segment(&self) -> SegmentNumber {
        SegmentNumber::new(self.segment.load(Ordering::Acquire))
    }

    pub(crate) fn opening_lsn(&self) -> Lsn {
        Lsn::new(self.opening_lsn.load(Ordering::SeqCst))
    }

    pub(crate) fn seed(&self) -> GenerationSeed {
        GenerationSeed::restore(self.seed.load(Ordering::Acquire))
    }

    /// Where the segment's last map record lies, if it has one.
    pub(crate) fn map_offset(&self) -> Option<u32> {
        Some(self.map_offset.load(Ordering::Acquire)).filter(|offset| *offset > 0)
    }

    pub(crate) fn note_map(&self, offset: u32) {
        self.map_offset.store(offset, Ordering::Release);
    }

    /// Gives the image to a segment whose life has begun. Reservations succeed from here on.
    pub(crate) fn open(&self, segment: SegmentNumber, opening_lsn: Lsn, seed: GenerationSeed) {
        self.segment.store(segment.get(), Ordering::Release);
        self.opening_lsn.store(opening_lsn.get(), Ordering::SeqCst);
        self.seed.store(seed.get(), Ordering::Release);
        self.map_offset.store(0, Ordering::Release);
        self.head
            .store(u64::from(BODY_START / UNIT_BYTES), Ordering::SeqCst);
    }

    /// The end of the place for records when `count` of them are in the summary, in units.
    fn limit_units(&self, count: u64) -> u64 {
        let tail = FOOTER_BYTES as u64 + ENTRY_BYTES as u64 * count;
        u64::from(self.segment_bytes).saturating_sub(tail) / u64::from(UNIT_BYTES)
    }

    /// Reserves a contiguous place for `records` records of `bytes` in all.
    pub(crate) fn reserve(&self, records: u32, bytes: u32) -> Reserved {
        let units = u64::from(bytes / UNIT_BYTES);
        let step = (u64::from(records) << COUNT_SHIFT) | units;
        let before = self.head.fetch_add(step, Ordering::SeqCst);
        let (count, at) = (before >> COUNT_SHIFT, before & UNITS_MASK);
        if at + units <= self.limit_units(count + u64::from(records)) {
            return Reserved::At(place(count, at));
        }
        let seal = (at <= self.limit_units(count)).then(|| place(count, at));
        Reserved::Full { seal }
    }

    /// Reserves what is missing to the next multiple of `block` bytes, without a summary slot.
    /// `None`: the offset is a multiple already, or the segment is closed. A pad that would not
    /// fit is cut at the limit by the caller, who is then told to seal.
    pub(crate) fn reserve_pad(&self, block: u32) -> Option<Reserved> {
        let block_units = u64::from(block / UNIT_BYTES);
        loop {
            let before = self.head.load(Ordering::SeqCst);
            let (count, at) = (before >> COUNT_SHIFT, before & UNITS_MASK);
            let limit = self.limit_units(count);
            let aligned = at.next_multiple_of(block_units);
            if at > limit || aligned == at {
                return None;
            }
            let (after, answer) = if aligned <= limit {
                (
                    (count << COUNT_SHIFT) | aligned,
                    Reserved::At(place(count, at)),
                )
            } else {
                let closed = (count << COUNT_SHIFT) | CLOSED_UNITS;
                (
                    closed,
                    Reserved::Full {
                        seal: Some(place(count, at)),
                    },
                )
            };
            let swap =
                self.head
                    .compare_exchange(before, after, Ordering::SeqCst, Ordering::SeqCst);
            if swap.is_ok() {
                return Some(answer);
            }
        }
    }

    /// Closes the segment to further records: the end of what it holds, unless it is closed.
    pub(crate) fn close(&self) -> Option<Place> {
        let before = self.head.swap(CLOSED_UNITS, Ordering::SeqCst);
        let (count, at) = (before >> COUNT_SHIFT, before & UNITS_MASK);
        (at <= self.limit_units(count)).then(|| place(count, at))
    }

    /// Where the records end, `None` when the segment is closed.
    pub(crate) fn end(&self) -> Option<Place> {
        let head = self.head.load(Ordering::SeqCst);
        let (count, at) = (head >> COUNT_SHIFT, head & UNITS_MASK);
        (at <= self.limit_units(count)).then(|| place(count, at))
    }

    /// What is left for records and their entries, in bytes; 0 when the segment is closed.
    pub(crate) fn room_bytes(&self) -> u32 {
        self.end()
            .map_or(0, |end| self.body_end(end.slot).saturating_sub(end.offset))
    }

    /// The offset at which a segment of `count` records ends and its summary begins.
    pub(crate) fn body_end(&self, count: u32) -> u32 {
        let units = self.limit_units(u64::from(count));
        u32::try_from(units).expect("a segment's units fit 32 bits") * UNIT_BYTES
    }

    /// The LSN of the record at `offset`.
    pub(crate) fn lsn_at(&self, offset: u32) -> Lsn {
        self.opening_lsn().plus(u64::from(offset - BODY_START))
    }

    /// Copies `bytes` to `offset`, which the caller has reserved.
    pub(crate) fn write(&self, offset: u32, bytes: &[u8]) {
        self.buffer.write_at(offset as usize, bytes);
    }

    /// Copies a record and its summary entry to a reserved place.
    pub(crate) fn write_record(&self, draft: &RecordDraft<'_>, entry: &SummaryEntry, slot: u32) {
        self.write_draft(draft, entry.offset, entry.lsn);
        self.write(entry_offset(self.segment_bytes, slot), &entry.encode());
    }

    /// Copies a record that the summary leaves out.
    pub(crate) fn write_draft(&self, draft: &RecordDraft<'_>, offset: u32, lsn: Lsn) {
        draft.write_with(lsn, self.seed().at(offset), |at, bytes| {
            self.buffer.write_at(offset as usize + at, bytes);
        });
    }

    /// Fills a gap with a pad, which also carries the durable LSN. No gap, no pad.
    pub(crate) fn write_pad(&self, from: u32, to: u32, lsn: Lsn, durable: Lsn) {
        if from < to {
            let head = pad_head(to - from, lsn, durable, self.seed().at(from));
            self.write(from, head.as_slice());
        }
    }

    /// Writes the footer, with the checksum of the entries that are in place.
    pub(crate) fn write_footer(&self, footer: Footer) {
        let extent = footer.entries_extent(self.segment_bytes);
        let start = usize::try_from(extent.offset).expect("within a segment");
        let range = start..start + usize::try_from(extent.bytes).expect("within a segment");
        let entries_crc = self.buffer.checksum(range, self.seed().get());
        let footer = Footer {
            entries_crc,
            ..footer
        };
        self.write(self.segment_bytes - FOOTER_BYTES as u32, &footer.encode());
    }

    /// Copies from the image with `copy`, if `is_held` still says that it holds the reader's
    /// segment.
    pub(crate) fn read<T>(
        &self,
        is_held: impl FnOnce() -> bool,
        copy: impl FnOnce(&Self) -> T,
    ) -> Option<T> {
        self.readers.fetch_add(1, Ordering::AcqRel);
        let copied = is_held().then(|| copy(self));
        self.readers.fetch_sub(1, Ordering::Release);
        copied
    }

    /// Whether a reader may still be copying. The segment no longer names this image.
    ///
    /// Adds nothing instead of loading: so it has its place among the readers' own additions. Who
    /// came before is counted, and who comes after sees that the segment has left.
    pub(crate) fn has_readers(&self) -> bool {
        self.readers.fetch_add(0, Ordering::AcqRel) > 0
    }
}

fn place(count: u64, units: u64) -> Place {
    Place {
        offset: u32::try_from(units).expect("within the segment") * UNIT_BYTES,
        slot: u32::try_from(count).expect("24 bits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u32 = 1 << 20;

    fn open_image() -> Image {
        let image = Image::new(
            SharedBuffer::new(&crate::device::memory::HEAP, SEGMENT as usize),
            SEGMENT,
        );
        image.open(
            SegmentNumber::new(0),
            Lsn::new(640),
            GenerationSeed::restore(7),
        );
        image
    }

    #[test]
    fn records_follow_one_another_and_so_do_their_slots() {
        let image = open_image();
        let first = Place {
            offset: BODY_START,
            slot: 0,
        };
        assert_eq!(image.reserve(1, 64), Reserved::At(first));
        let second = Place {
            offset: BODY_START + 64,
            slot: 1,
        };
        assert_eq!(image.reserve(2, 96), Reserved::At(second));
        assert_eq!(image.lsn_at(BODY_START + 64), Lsn::new(704));
    }

    #[test]
    fn only_the_first_that_does_not_fit_seals() {
        let image = open_image();
        let mut count = 0;
        let seal = loop {
            match image.reserve(1, 65_536) {
                Reserved::At(_) => count += 1,
                Reserved::Full { seal } => break seal,
            }
        };
        let end = seal.expect("the first seals");
        assert_eq!(end.slot, count);
        assert!(end.offset <= image.body_end(count));
        assert_eq!(image.reserve(1, 64), Reserved::Full { seal: None });
        assert_eq!(image.reserve_pad(4096), None);
        assert_eq!(image.end(), None);
    }

    #[test]
    fn the_summary_never_meets_the_records() {
        let image = open_image();
        let mut last = 0;
        while let Reserved::At(place) = image.reserve(1, 64) {
            last = place.offset + 64;
            assert!(last <= entry_offset(SEGMENT, place.slot));
        }
        assert!(last > SEGMENT / 2);
    }

    #[test]
    fn a_pad_ends_at_a_block() {
        let image = open_image();
        image.reserve(1, 64);
        let Some(Reserved::At(pad)) = image.reserve_pad(512) else {
            panic!("room for a pad")
        };
        assert_eq!(pad.offset, BODY_START + 64);
        assert_eq!(image.reserve_pad(512), None);
        let Reserved::At(next) = image.reserve(1, 64) else {
            panic!("room")
        };
        assert_eq!((next.offset, next.slot), (BODY_START + 512, 1));
    }

    #[test]
    fn threads_never_share_a_place() {
        let image = Arc::new(open_image());
        let work = |image: Arc<Image>| {
            move || {
                let mut places = Vec::new();
                while let Reserved::At(place) = image.reserve(1, 96) {
                    places.push(place);
                }
                places
            }
        };
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(work(Arc::clone(&image))))
            .collect();
        let mut places: Vec<_> = threads
            .into_iter()
            .flat_map(|t| t.join().expect("no panic"))
            .collect();
        places.sort_by_key(|place| place.offset);
        for (index, place) in places.iter().enumerate() {
            let index = u32::try_from(index).expect("small");
            assert_eq!(place.offset, BODY_START + 96 * index);
            assert_eq!(place.slot, index);
        }
    }
}
