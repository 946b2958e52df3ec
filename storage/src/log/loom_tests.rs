//! Reserving, copying, publishing and flushing, in every order of their steps (under loom).
//!
//! Each test is the real log over two write buffers, with the test in the place of the device.
//! Under loom a write buffer is watched: whoever takes bytes out before their writer published them
//! ends the model. `docs/testing.md` says how to run the tests, and which weakening of the code
//! each of them was seen to find.

use std::collections::BTreeMap;
use std::sync::{Mutex as Plain, PoisonError};

use cellar_index::sync::{PREEMPTIONS_MAX, model};
use loom::sync::Arc;
use loom::thread;

use super::flush::FLUSH_UNIT_BYTES;
use super::{Image, Log, LogShape, RoundStep, WriteJob};
use crate::device::SharedBuffer;
use crate::device::memory::HEAP;
use crate::format::record::HEAD_BYTES;
use crate::format::{
    ENTRY_BYTES, EntryDetail, FOOTER_BYTES, Footer, Identity, Kind, Record, RecordDraft,
    SEGMENT_HEADER_BYTES, StoreId, SummaryEntry, ValueType,
};
use crate::segment::SegmentTable;
use crate::units::{DatabaseId, Lsn, SegmentNumber};

const STORE: StoreId = StoreId::new([7; 16]);
const START: Lsn = Lsn::new(1 << 20);
const RECORD_BYTES: u32 = 64;
const BLOCK_BYTES: u32 = 512;

/// The least segment: header and footer, and between them 4 KiB for records and their entries.
const SEGMENT_BYTES: u32 = 12 << 10;
/// A record that fills a segment but for one short record more, the entries of both included.
const LONG_RECORD_BYTES: u32 = 3936;

const _: () = {
    let entries_bytes = 2 * ENTRY_BYTES as u32;
    let body_bytes = SEGMENT_BYTES - (SEGMENT_HEADER_BYTES + FOOTER_BYTES) as u32 - entries_bytes;
    assert!(LONG_RECORD_BYTES + RECORD_BYTES == body_bytes);
};

/// The log, and what a device would hold of it.
struct World {
    log: Log,
    device: Plain<BTreeMap<SegmentNumber, Vec<u8>>>,
}

impl World {
    fn new(worker_count: usize) -> Arc<Self> {
        let segments = std::sync::Arc::new(SegmentTable::new(&[5]));
        while let Some(segment) = segments.take_unallocated(false) {
            segments.put_allocated(segment);
        }
        let shape = LogShape {
            store: STORE,
            epoch: 1,
            segment_bytes: SEGMENT_BYTES,
            block_bytes: BLOCK_BYTES,
            worker_count,
            image_count: 2,
        };
        let image = |_| {
            let buffer = SharedBuffer::new(&HEAP, SEGMENT_BYTES as usize);
            Image::new(buffer, SEGMENT_BYTES)
        };
        let images = (0..shape.image_count).map(image).collect();
        let log = Log::new(shape, segments, images, START);
        // One is opened, and the other prepared to follow it.
        log.prepare(0);
        log.prepare(0);
        Arc::new(Self {
            log,
            device: Plain::default(),
        })
    }

    /// Reserves, copies and publishes one record; its end, unless there is no room.
    fn write(&self, worker: usize, bytes: u32) -> Option<Lsn> {
        let reservation = self.log.reserve(worker, 1, bytes).ok()?;
        let (offset, lsn) = (reservation.place.offset, reservation.lsn);
        let entry = SummaryEntry {
            identity: Identity::new([worker as u8; 12]),
            database: DatabaseId::new(0),
            lsn,
            offset,
            bytes,
            detail: EntryDetail::Put {
                value_type: ValueType::String,
                expiry_ms: None,
                collection: None,
            },
        };
        let value = vec![worker as u8; bytes as usize - HEAD_BYTES];
        let draft = RecordDraft::new(Kind::Put, b"", &value);
        assert_eq!(draft.bytes(), bytes);
        let image = self.log.image(reservation.image);
        image.write_record(&draft, &entry, reservation.place.slot);
        self.log.publish(worker);
        Some(lsn.plus(u64::from(bytes)))
    }

    /// The same while another thread may be opening the next segment.
    fn write_or_wait(&self, worker: usize, bytes: u32) -> Lsn {
        loop {
            if let Some(end) = self.write(worker, bytes) {
                return end;
            }
            thread::yield_now();
        }
    }

    /// What a worker does for who wants durability: `Worker::request_durable`, with writes and
    /// flushes that end at once. Where others' writes are missing, they end the round.
    fn make_durable(&self, worker: usize, lsn: Lsn) {
        if self.log.want_durable(lsn) {
            self.run_round(worker);
        }
    }

    fn run_round(&self, worker: usize) {
        let writes = self.log.take_all(worker);
        self.log.aim_round(&writes);
        writes.jobs.iter().for_each(|job| self.write_out(job));
        self.follow_round(worker);
    }

    fn follow_round(&self, worker: usize) {
        let step = match self.log.advance_round(1) {
            RoundStep::FlushDevices => self.log.flush_done(),
            other => other,
        };
        if step == (RoundStep::Ended { again: true }) && self.log.begin_round() {
            self.run_round(worker);
        }
    }

    /// What a worker does with the flush units that are full: `Worker::submit_full_units`.
    fn submit_full_units(&self, worker: usize) {
        for job in self.log.take_full_units() {
            self.write_out(&job);
            self.follow_round(worker);
        }
    }

    fn write_out(&self, job: &WriteJob) {
        let blocks = [job.offset, job.bytes];
        assert!(
            blocks.iter().all(|bytes| bytes.is_multiple_of(BLOCK_BYTES)),
            "a write covers whole blocks"
        );
        if let Some(count) = job.seals {
            self.log.write_footer(job, count);
        }
        let (from, to) = (job.offset as usize, (job.offset + job.bytes) as usize);
        let bytes = self.log.image(job.image).buffer().copy(from..to);
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let segment = device.entry(job.segment).or_default();
        segment.resize(segment.len().max(to), 0);
        segment[from..to].copy_from_slice(&bytes);
        drop(device);
        self.log.write_done(job.id);
    }

    /// Every byte of the log from its start to the durable LSN is on the device, as records that
    /// verify; a segment that ended before it has its summary.
    fn check_device(&self) {
        let device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let durable = self.log.durable_lsn();
        let mut at = START;
        let mut records = 0;
        while at < durable {
            let holds = |number: &SegmentNumber| {
                let life = self.log.segments.get(*number);
                let since = at.bytes_since(life.opening_lsn());
                since.is_some_and(|_| at < life.sealed_lsn()) && life.opening_lsn() >= START
            };
            let number = device
                .keys()
                .copied()
                .find(holds)
                .expect("a durable segment");
            let life = self.log.segments.get(number);
            let since = at.bytes_since(life.opening_lsn()).expect("it holds it") as usize;
            let offset = SEGMENT_HEADER_BYTES + since;
            let seed = life.seed().at(offset as u32);
            let record = Record::decode(&device[&number][offset..], seed);
            let record = record.expect("what is durable verifies");
            assert_eq!(record.head.lsn, at, "LSNs are dense");
            records += u32::from(record.head.kind == Kind::Put);
            at = at.plus(record.head.bytes());
            if life.sealed_lsn() <= durable {
                self.check_footer(number, &device[&number]);
            }
        }
        assert!(records > 0, "a round is for records");
    }

    /// Copies the first record of a segment out of its write buffer, if it still has one: what
    /// `Store::read_buffered` does.
    fn read_first(&self, segment: SegmentNumber) {
        let life = self.log.segments.get(segment);
        let Some(number) = life.buffer() else { return };
        let is_held = || life.buffer() == Some(number);
        self.log.image(number).read(is_held, |image| {
            let bytes = image
                .buffer()
                .copy(SEGMENT_HEADER_BYTES..SEGMENT_HEADER_BYTES + 64);
            let record = Record::decode(&bytes, image.seed().at(SEGMENT_HEADER_BYTES as u32));
            assert_eq!(record.expect("a whole record").head.lsn, START);
        });
    }

    fn check_footer(&self, number: SegmentNumber, bytes: &[u8]) {
        let footer = &bytes[SEGMENT_BYTES as usize - FOOTER_BYTES..];
        let footer =
            Footer::decode(footer, STORE, SEGMENT_BYTES).expect("a sealed segment has a footer");
        assert_eq!(
            footer.generation,
            self.log.segments.get(number).generation(number)
        );
        let extent = footer.entries_extent(SEGMENT_BYTES);
        let entries = extent.offset as usize..(extent.offset + extent.bytes) as usize;
        let mut entries = footer
            .verify_entries(&bytes[entries])
            .expect("complete entries");
        assert!(entries.all(|entry| entry.is_ok()));
    }
}

/// Two writers, of which one wants durability: nothing is written out before it is complete, and
/// nothing durable is missing.
#[test]
fn what_is_durable_was_published() {
    model(PREEMPTIONS_MAX, || {
        let world = World::new(2);
        let writer = thread::spawn({
            let world = Arc::clone(&world);
            move || world.write(0, RECORD_BYTES)
        });
        let end = world.write(1, RECORD_BYTES).expect("there is room");
        world.make_durable(1, end);
        assert!(
            world.log.durable_lsn() >= end,
            "its own round makes it durable"
        );
        writer.join().expect("no panic").expect("there is room");
        world.check_device();
    });
}

/// Both want durability: whoever comes during the other's round is served by the next one.
#[test]
fn no_request_for_durability_is_lost() {
    model(PREEMPTIONS_MAX, || {
        let world = World::new(2);
        let other = thread::spawn({
            let world = Arc::clone(&world);
            move || {
                let end = world.write(0, RECORD_BYTES).expect("there is room");
                world.make_durable(0, end);
                end
            }
        });
        let end = world.write(1, RECORD_BYTES).expect("there is room");
        world.make_durable(1, end);
        let other_end = other.join().expect("no panic");
        assert!(
            world.log.durable_lsn() >= end.max(other_end),
            "a request was lost"
        );
        world.check_device();
    });
}

/// Two writers fill a flush unit between them: whoever comes second to look takes it, whole, and
/// nobody takes it before both have published.
#[test]
fn a_flush_unit_goes_out_once_all_of_it_is_published() {
    model(PREEMPTIONS_MAX, || {
        let world = World::new(2);
        let writer = thread::spawn({
            let world = Arc::clone(&world);
            move || {
                world.write(0, FLUSH_UNIT_BYTES / 2).expect("room");
                world.submit_full_units(0);
            }
        });
        world.write(1, FLUSH_UNIT_BYTES / 2).expect("room");
        world.submit_full_units(1);
        writer.join().expect("no panic");
        let end = START.plus(u64::from(FLUSH_UNIT_BYTES));
        assert_eq!(world.log.flush.lock().written(), end, "it was left behind");
        world.make_durable(1, end);
        world.check_device();
    });
}

/// A full unit is taken beside a round that wants all there is: each byte is written once, and the
/// round ends when the last write has.
#[test]
fn a_flush_unit_and_a_round_share_the_log_without_a_gap() {
    model(PREEMPTIONS_MAX, || {
        let world = World::new(2);
        let writer = thread::spawn({
            let world = Arc::clone(&world);
            move || {
                world.write(0, FLUSH_UNIT_BYTES).expect("room");
                world.submit_full_units(0);
            }
        });
        let end = world.write(1, RECORD_BYTES).expect("room");
        world.make_durable(1, end);
        writer.join().expect("no panic");
        assert!(world.log.durable_lsn() >= end, "the round did not end");
        world.make_durable(1, world.log.tail());
        world.check_device();
        assert_eq!(world.log.durable_lsn(), world.log.tail());
    });
}

/// A full unit is looked for while another writer seals the segment and opens the next one.
#[test]
fn a_flush_unit_and_the_end_of_its_segment_go_out_in_order() {
    model(PREEMPTIONS_MAX, || {
        let world = World::new(2);
        world.write(1, LONG_RECORD_BYTES).expect("an empty segment");
        let writer = thread::spawn({
            let world = Arc::clone(&world);
            move || {
                // There is no room for it behind the long one.
                let end = world.write_or_wait(0, FLUSH_UNIT_BYTES);
                world.submit_full_units(0);
                end
            }
        });
        world.submit_full_units(1);
        let end = writer.join().expect("no panic");
        world.make_durable(1, end);
        assert!(world.log.durable_lsn() >= end);
        world.check_device();
    });
}

/// There is room for one short record more: one of two writers rolls over to the next segment,
/// while the other one wants durability.
#[test]
fn a_full_segment_is_sealed_once_and_followed_by_the_next() {
    model(PREEMPTIONS_MAX, || {
        let world = World::new(2);
        world
            .write(1, LONG_RECORD_BYTES)
            .expect("an empty segment has room");
        let writer = thread::spawn({
            let world = Arc::clone(&world);
            move || world.write_or_wait(0, RECORD_BYTES)
        });
        let end = world.write_or_wait(1, RECORD_BYTES);
        world.make_durable(1, end);
        let other_end = writer.join().expect("no panic");
        world.make_durable(1, other_end);
        assert!(world.log.durable_lsn() >= end.max(other_end));
        world.check_device();
    });
}

/// A reader copies a record out of a write buffer that is written, given up and opened for another
/// segment meanwhile.
#[test]
fn a_write_buffer_is_not_reused_under_a_reader() {
    model(PREEMPTIONS_MAX, || {
        let world = World::new(1);
        world
            .write(0, RECORD_BYTES)
            .expect("an empty segment has room");
        let segment = world.log.image(0).segment();
        // The segment is too full for it: the next one takes it.
        let end = world
            .write(0, LONG_RECORD_BYTES + RECORD_BYTES)
            .expect("a segment is prepared");
        let reader = thread::spawn({
            let world = Arc::clone(&world);
            move || world.read_first(segment)
        });
        world.make_durable(0, end);
        // These go to both buffers, if they were given up.
        for _ in 0..2 {
            world.log.prepare(0);
            world.log.prepare(0);
            world.write(0, LONG_RECORD_BYTES + RECORD_BYTES);
        }
        reader.join().expect("no panic");
    });
}
