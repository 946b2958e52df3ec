//! The hot log: the order of all writes.
//!
//! A writer holds its keys' bucket locks, reserves a place here, copies its records, puts the
//! entries into the index and publishes (design rule 1). This module owns the write buffers, the
//! reservation and the roll-over from a full segment to the next; `flush` owns what is on its way
//! to the device,
//! `round` the group commit. It never takes a bucket lock and never waits for the device.

mod flush;
mod image;
mod published;
mod round;

#[cfg(all(test, loom))]
mod loom_tests;

use std::sync::Arc;

use tokio::sync::Notify;

pub(crate) use flush::WriteJob;
pub(crate) use image::{BODY_START, Image, Place, Reserved};
pub(crate) use round::{DurableWait, RoundStep};

use crate::error::StoreError;
use crate::format::{GenerationSeed, SegmentHeader, SegmentState, StoreId, Stream};
use crate::log::flush::Flush;
use crate::log::published::Published;
use crate::log::round::Rounds;
use crate::segment::SegmentTable;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering, yield_now};
use crate::units::{Generation, Lsn};

/// No segment is open: writers wait for the next one.
const NO_CURRENT: usize = usize::MAX;
/// Turns of waiting for another thread to finish sealing a segment before the caller backs out.
const ROLLOVER_TURNS_MAX: u32 = 1_000;

/// What stays the same over a log's life.
#[derive(Clone, Debug)]
pub(crate) struct LogShape {
    pub(crate) store: StoreId,
    pub(crate) epoch: u32,
    pub(crate) segment_bytes: u32,
    /// The largest logical block of all devices: what flushes are padded to.
    pub(crate) block_bytes: u32,
    pub(crate) worker_count: usize,
    /// Write buffers: the bound on dirty memory.
    pub(crate) image_count: usize,
}

/// A reservation that was granted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reservation {
    pub(crate) image: usize,
    pub(crate) place: Place,
    pub(crate) lsn: Lsn,
}

/// There is no open segment with room: wait for [`Log::room`] and start over.
#[derive(Debug)]
pub(crate) struct NoRoom;

/// The hot log.
pub(crate) struct Log {
    shape: LogShape,
    segments: Arc<SegmentTable>,
    images: Box<[Image]>,
    current: AtomicUsize,
    published: Published,
    flush: Mutex<Flush>,
    durable: AtomicU64,
    /// The LSN at which the next full flush unit ends; 0 when a sealed segment waits to be written.
    full_at: AtomicU64,
    rounds: Rounds,
    room: Notify,
    latched: AtomicBool,
    /// No further segment is opened.
    is_ended: AtomicBool,
    latch_reason: Mutex<Option<String>>,
}

impl Log {
    /// A log that begins at `start`, with `images` as its write buffers. No segment is open yet.
    pub(crate) fn new(
        shape: LogShape,
        segments: Arc<SegmentTable>,
        images: Box<[Image]>,
        start: Lsn,
    ) -> Self {
        Self {
            published: Published::new(shape.worker_count),
            flush: Mutex::new(Flush::new(start, images.len())),
            rounds: Rounds::new(shape.worker_count),
            shape,
            segments,
            images,
            current: AtomicUsize::new(NO_CURRENT),
            durable: AtomicU64::new(start.get()),
            full_at: AtomicU64::new(0),
            room: Notify::new(),
            latched: AtomicBool::new(false),
            is_ended: AtomicBool::new(false),
            latch_reason: Mutex::new(None),
        }
    }

    pub(crate) fn shape(&self) -> &LogShape {
        &self.shape
    }

    pub(crate) fn image(&self, number: usize) -> &Image {
        &self.images[number]
    }

    pub(crate) fn images(&self) -> &[Image] {
        &self.images
    }

    /// Everything below it survives any crash.
    pub(crate) fn durable_lsn(&self) -> Lsn {
        Lsn::new(self.durable.load(Ordering::SeqCst))
    }

    /// Woken when a segment was opened: writers that got [`NoRoom`] start over.
    pub(crate) fn room(&self) -> &Notify {
        &self.room
    }

    /// Whether records can be appended without waiting for a segment.
    pub(crate) fn has_open_segment(&self) -> bool {
        self.current.load(Ordering::SeqCst) != NO_CURRENT
    }

    /// What the open segment has left for records and their entries, in bytes.
    pub(crate) fn room_bytes(&self) -> u32 {
        let current = self.current.load(Ordering::SeqCst);
        self.images.get(current).map_or(0, Image::room_bytes)
    }

    pub(crate) fn is_latched(&self) -> bool {
        self.latched.load(Ordering::Acquire)
    }

    /// Fails once the log is latched.
    pub(crate) fn check_latch(&self) -> Result<(), StoreError> {
        if self.is_latched() {
            Err(StoreError::Latched)
        } else {
            Ok(())
        }
    }

    pub(crate) fn latch_reason(&self) -> Option<String> {
        self.latch_reason.lock().clone()
    }

    /// A write or flush failed: from here on nothing is written and nothing becomes durable.
    pub(crate) fn latch(&self, reason: &dyn std::fmt::Display) {
        if !self.latched.swap(true, Ordering::SeqCst) {
            tracing::error!(%reason, "write failed: writes are refused until restart");
            *self.latch_reason.lock() = Some(reason.to_string());
        }
        self.rounds.wake_all();
        self.room.notify_waiters();
    }

    /// A lower bound for reservations made from now on; close to the log's end.
    fn bound(&self) -> Lsn {
        loop {
            let current = self.current.load(Ordering::SeqCst);
            if current == NO_CURRENT {
                return self.durable_lsn();
            }
            let image = &self.images[current];
            let opening = image.opening_lsn();
            let end = image.end();
            let same =
                image.opening_lsn() == opening && self.current.load(Ordering::SeqCst) == current;
            if same {
                return end.map_or(opening, |place| {
                    opening.plus(u64::from(place.offset - BODY_START))
                });
            }
        }
    }

    /// The end of the log: the LSN that the next record will have.
    pub(crate) fn tail(&self) -> Lsn {
        loop {
            let flush = self.flush.lock();
            let Some((image, opening)) = flush.open_image() else {
                return flush.sealed_end();
            };
            if let Some(end) = self.images[image].end() {
                return opening.plus(u64::from(end.offset - BODY_START));
            }
            // A thread is sealing the segment: where it ends is known in a moment.
            drop(flush);
            yield_now();
        }
    }

    /// Reserves a contiguous place for `records` records of `bytes` in all. Between this and
    /// [`Log::publish`] the caller copies its records and puts its entries, without waiting.
    pub(crate) fn reserve(
        &self,
        worker: usize,
        records: u32,
        bytes: u32,
    ) -> Result<Reservation, NoRoom> {
        for _ in 0..ROLLOVER_TURNS_MAX {
            let current = self.current.load(Ordering::SeqCst);
            if current == NO_CURRENT {
                return Err(NoRoom);
            }
            self.published.begin(worker, self.bound());
            let image = &self.images[current];
            match image.reserve(records, bytes) {
                Reserved::At(place) => {
                    let lsn = image.lsn_at(place.offset);
                    return Ok(Reservation {
                        image: current,
                        place,
                        lsn,
                    });
                }
                Reserved::Full { seal } => {
                    self.published.end(worker);
                    match seal {
                        Some(end) => self.roll_over(current, end),
                        None => yield_now(),
                    }
                }
            }
        }
        Err(NoRoom)
    }

    /// The records of the last reservation are complete and findable.
    pub(crate) fn publish(&self, worker: usize) {
        self.published.end(worker);
    }

    /// Seals the current segment, whose records end at `end`, and opens the prepared one, if any.
    fn roll_over(&self, current: usize, end: Place) {
        let image = &self.images[current];
        let body_end = image.body_end(end.slot);
        let lsn = image.lsn_at(end.offset);
        image.write_pad(end.offset, body_end, lsn, self.durable_lsn());
        let mut flush = self.flush.lock();
        let end_lsn = image.lsn_at(body_end);
        flush.seal(end_lsn, end.slot);
        self.segments.get(image.segment()).set_sealed_lsn(end_lsn);
        self.current.store(NO_CURRENT, Ordering::SeqCst);
        self.full_at.store(0, Ordering::Relaxed);
        self.open_next(&mut flush);
    }

    /// Seals the open segment without a successor: the log ends here.
    pub(crate) fn seal_current(&self) {
        self.is_ended.store(true, Ordering::SeqCst);
        self.flush.lock().drop_prepared();
        let current = self.current.load(Ordering::SeqCst);
        if current == NO_CURRENT {
            return;
        }
        if let Some(end) = self.images[current].close() {
            self.roll_over(current, end);
        }
    }

    /// Opens the prepared segment where its predecessor ended.
    fn open_next(&self, flush: &mut Flush) {
        let Some((number, segment)) = flush.take_prepared() else {
            return;
        };
        let opening = flush.sealed_end();
        // No start would read what lies beyond.
        assert!(
            opening.plus(u64::from(self.shape.segment_bytes)) < Lsn::END,
            "a start leaves its life more LSNs than it can use"
        );
        let generation = Generation {
            epoch: self.shape.epoch,
            segment,
            opening_lsn: opening,
        };
        let life = self.segments.get(segment);
        let seed = GenerationSeed::new(self.shape.store, generation);
        life.begin_life(generation, seed, Stream::Hot);
        let image = &self.images[number];
        self.write_header(image, generation);
        life.set_buffer(Some(number));
        flush.open(number, segment, opening);
        image.open(segment, opening, seed);
        self.current.store(number, Ordering::SeqCst);
        self.room.notify_waiters();
    }

    /// Pairs idle write buffers with free segments, so that a full segment has a successor.
    /// `spare`: free segments that must remain for the cleaner.
    pub(crate) fn prepare(&self, spare: u64) {
        if self.is_ended.load(Ordering::SeqCst) {
            return;
        }
        let mut flush = self.flush.lock();
        self.retire_images(&mut flush);
        while flush.wants_prepared() && self.segments.ready_count() as u64 > spare {
            let Some(segment) = self.segments.take_fresh(flush.sealed_end()) else {
                break;
            };
            flush.put_prepared(segment);
        }
        if self.current.load(Ordering::SeqCst) == NO_CURRENT && !self.is_latched() {
            self.open_next(&mut flush);
        }
    }

    /// Images whose segment is wholly written become idle once their last reader has left.
    fn retire_images(&self, flush: &mut Flush) {
        flush.retire(|number| !self.images[number].has_readers());
    }

    fn write_header(&self, image: &Image, generation: Generation) {
        let header = SegmentHeader {
            store: self.shape.store,
            device: self.segments.place(generation.segment).0,
            generation,
            state: SegmentState::Open,
            stream: Stream::Hot,
            durable_lsn: self.durable_lsn(),
            cut_lsn: None,
        };
        image.write(0, &header.encode());
    }
}
