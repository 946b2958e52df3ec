//! The cold log: where the cleaner puts what survives.
//!
//! Only the cleaner appends, so there is nothing to publish to anybody: a record counts once its
//! index entry points to it. A cold segment opens at the durable LSN of that moment (design rule
//! 5), takes records of any older LSN, and becomes a possible victim once all of it is durable.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::format::{
    FOOTER_BYTES, Footer, GenerationSeed, SegmentHeader, SegmentState, Stream, SummaryEntry,
    entry_offset,
};
use crate::log::{BODY_START, Image, LogShape, Place, Reserved};
use crate::segment::{SegmentTable, State};
use crate::units::{Generation, Lsn, SegmentNumber};

/// Write buffers: one that is filled, and one whose last write is under way.
pub(crate) const COLD_IMAGE_COUNT: usize = 2;

/// A range of a cold image to write. `fills`: it is all but the footer of a sealed segment, which
/// follows once everything before it is durable: a footer never speaks for records that are lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColdJob {
    pub(crate) image: usize,
    pub(crate) segment: SegmentNumber,
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
    pub(crate) fills: bool,
}

/// A place reserved for a relocated record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColdPlace {
    pub(crate) image: usize,
    pub(crate) segment: SegmentNumber,
    pub(crate) place: Place,
}

#[derive(Debug)]
struct ColdState {
    open: Option<OpenCold>,
    idle: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct OpenCold {
    image: usize,
    segment: SegmentNumber,
    /// Offset up to which the image was handed out for writing.
    written: u32,
}

/// The cold log.
pub(crate) struct ColdLog {
    shape: LogShape,
    segments: Arc<SegmentTable>,
    images: Box<[Image]>,
    /// Number of the first cold image among all write buffers.
    first_number: usize,
    state: Mutex<ColdState>,
}

impl ColdLog {
    pub(crate) fn new(shape: LogShape, segments: Arc<SegmentTable>, images: Box<[Image]>) -> Self {
        let idle = (0..images.len()).collect();
        let first_number = shape.image_count;
        Self {
            shape,
            segments,
            images,
            first_number,
            state: Mutex::new(ColdState { open: None, idle }),
        }
    }

    pub(crate) fn image(&self, number: usize) -> &Image {
        &self.images[number]
    }

    pub(crate) fn image_count(&self) -> usize {
        self.images.len()
    }

    /// Reserves a place for one record. `None`: no cold segment is open, or it is full: take the
    /// writes that complete it, then open the next.
    pub(crate) fn reserve(&self, bytes: u32) -> Option<ColdPlace> {
        let open = self.state.lock().open?;
        match self.images[open.image].reserve(1, bytes) {
            Reserved::At(place) => Some(ColdPlace {
                image: open.image,
                segment: open.segment,
                place,
            }),
            Reserved::Full { seal } => {
                let end = seal.expect("the cleaner alone reserves, and seals at once");
                self.seal(open, end);
                None
            }
        }
    }

    /// Closes the image to reservations; [`ColdLog::take_job`] hands out what completes it.
    fn seal(&self, open: OpenCold, end: Place) {
        let image = &self.images[open.image];
        let body_end = image.body_end(end.slot);
        let lsn = image.opening_lsn();
        image.write_pad(end.offset, body_end, lsn, lsn);
        image.write_footer(Footer {
            store: self.shape.store,
            generation: self.segments.get(open.segment).generation(open.segment),
            stream: Stream::Cold,
            end_lsn: lsn,
            durable_lsn: lsn,
            entry_count: end.slot,
            entries_crc: 0,
            body_end,
            map_offset: None,
        });
        self.segments.get(open.segment).set_sealed_lsn(lsn);
    }

    /// What the open segment has left for records and their entries, in bytes; 0 when none is open.
    pub(crate) fn room_bytes(&self) -> u32 {
        let open = self.state.lock().open;
        open.map_or(0, |open| self.images[open.image].room_bytes())
    }

    /// Whether a segment is open, sealed in its image or not.
    pub(crate) fn is_open(&self) -> bool {
        self.state.lock().open.is_some()
    }

    /// Opens a free segment at `opening`, the durable LSN. False: no image is idle.
    pub(crate) fn open(&self, segment: SegmentNumber, opening: Lsn) -> bool {
        let mut state = self.state.lock();
        assert!(state.open.is_none(), "one cold segment is open at a time");
        let idle = state
            .idle
            .iter()
            .position(|image| !self.images[*image].has_readers());
        let Some(number) = idle.map(|index| state.idle.remove(index)) else {
            return false;
        };
        let generation = Generation {
            epoch: self.shape.epoch,
            segment,
            opening_lsn: opening,
        };
        let life = self.segments.get(segment);
        let seed = GenerationSeed::new(self.shape.store, generation);
        life.begin_life(generation, seed, Stream::Cold);
        let header = SegmentHeader {
            store: self.shape.store,
            device: self.segments.place(segment).0,
            generation,
            state: SegmentState::Open,
            stream: Stream::Cold,
            durable_lsn: opening,
            cut_lsn: None,
        };
        let image = &self.images[number];
        image.write(0, &header.encode());
        image.open(segment, opening, seed);
        life.set_buffer(Some(self.first_number + number));
        state.open = Some(OpenCold {
            image: number,
            segment,
            written: 0,
        });
        true
    }

    /// The range of the open image that is filled and not written yet, ended on a block.
    pub(crate) fn take_job(&self) -> Option<ColdJob> {
        let mut state = self.state.lock();
        let open = state.open.as_mut()?;
        let image = &self.images[open.image];
        let (end, fills) = match self.end_on_block(image) {
            Some(end) => (end, false),
            None => (self.shape.segment_bytes - FOOTER_BYTES as u32, true),
        };
        if end <= BODY_START.max(open.written) {
            return None;
        }
        let job = ColdJob {
            image: open.image,
            segment: open.segment,
            offset: open.written,
            bytes: end - open.written,
            fills,
        };
        open.written = end;
        if fills {
            state.open = None;
        }
        Some(job)
    }

    /// Pads the image to a block: the offset there. `None`: it is sealed, or was by want of room.
    fn end_on_block(&self, image: &Image) -> Option<u32> {
        match image.reserve_pad(self.shape.block_bytes) {
            Some(Reserved::At(pad)) => {
                let to = pad.offset.next_multiple_of(self.shape.block_bytes);
                let lsn = image.opening_lsn();
                image.write_pad(pad.offset, to, lsn, lsn);
                Some(to)
            }
            Some(Reserved::Full { seal }) => {
                let end = seal.expect("the cleaner alone reserves");
                let open = OpenCold {
                    image: 0,
                    segment: image.segment(),
                    written: 0,
                };
                let number = self
                    .images
                    .iter()
                    .position(|other| std::ptr::eq(other, image));
                self.seal(
                    OpenCold {
                        image: number.expect("one of ours"),
                        ..open
                    },
                    end,
                );
                None
            }
            None => image.end().map(|place| place.offset),
        }
    }

    /// The footer's place in the image.
    pub(crate) fn footer_job(&self, job: &ColdJob) -> ColdJob {
        let bytes = FOOTER_BYTES as u32;
        ColdJob {
            offset: self.shape.segment_bytes - bytes,
            bytes,
            ..*job
        }
    }

    /// A segment is wholly written and durable: it may become a victim, and its image may serve
    /// another.
    pub(crate) fn complete(&self, job: &ColdJob) {
        let life = self.segments.get(job.segment);
        life.set_buffer(None);
        life.set_state(State::Sealed);
        self.state.lock().idle.push(job.image);
    }

    /// Writes a relocated record's summary entry.
    pub(crate) fn write_summary(&self, at: ColdPlace, entry: &SummaryEntry) {
        let offset = entry_offset(self.shape.segment_bytes, at.place.slot);
        self.images[at.image].write(offset, &entry.encode());
    }
}
