//! A worker's own part of the store: its channels to the devices and its reads in flight.
//!
//! Also runs what the log wants done on a ring: the writes of full units and the rounds of group
//! commit. Operations end in callbacks on the worker that submitted them, so no task waits for
//! them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use cellar_index::{Entry, Identity};

use crate::device::{BufferSlice, Channel, WriteSync};
use crate::error::StoreError;
use crate::log::{DurableWait, Log, RoundStep, WriteJob};
use crate::place;
use crate::read::{Located, ReadMap};
use crate::segment::Pin;
use crate::store::Store;
use crate::units::{Lsn, SegmentNumber};

/// Written but not durable bytes at which a round starts by itself: a sync of this much still fits
/// its interval on a slow device.
const UNSYNCED_BYTES_MAX: u64 = 64 << 20;

/// One worker's part.
pub(crate) struct Worker {
    store: Arc<Store>,
    number: usize,
    channels: Vec<Rc<dyn Channel>>,
    reads: RefCell<ReadMap>,
    random: Cell<u64>,
    /// Uses of keys that the eviction policy's sketch was not told of yet.
    uses: Cell<u32>,
}

impl Worker {
    pub(crate) fn new(store: &Arc<Store>, number: usize) -> Result<Self, StoreError> {
        let channels = store
            .devices()
            .iter()
            .map(|device| device.attach())
            .collect::<Result<_, _>>()?;
        Ok(Self {
            random: Cell::new(store.seed_of_worker(number)),
            store: Arc::clone(store),
            number,
            channels,
            reads: RefCell::default(),
            uses: Cell::new(0),
        })
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn log(&self) -> &Log {
        self.store.log()
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn reads(&self) -> &RefCell<ReadMap> {
        &self.reads
    }

    pub(crate) fn uses(&self) -> &Cell<u32> {
        &self.uses
    }

    /// The next pseudo-random number: `splitmix64` (Steele, Lea, Flood 2014), seeded from outside.
    pub(crate) fn random_u64(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The channel of a segment's device, and the segment's place on it in bytes.
    pub(crate) fn place(&self, segment: SegmentNumber) -> (&Rc<dyn Channel>, u64) {
        let (device, _) = self.store.segments().place(segment);
        (
            &self.channels[usize::from(device.get())],
            self.store.device_offset(segment),
        )
    }

    pub(crate) fn channels(&self) -> &[Rc<dyn Channel>] {
        &self.channels
    }

    /// Submits the flush units that have become full, and starts a round when too much is written
    /// without being durable.
    pub(crate) fn submit_full_units(self: &Rc<Self>) {
        if !self.log().may_have_full_units() {
            return;
        }
        let jobs = self.log().take_full_units();
        self.submit_jobs(&jobs, WriteSync::None);
        let tail = self.log().tail();
        let unsynced = tail.bytes_since(self.log().durable_lsn()).unwrap_or(0);
        if unsynced > UNSYNCED_BYTES_MAX {
            self.request_durable(tail);
        }
    }

    /// Waits until the log is durable up to `lsn`.
    pub(crate) fn wait_durable(self: &Rc<Self>, lsn: Lsn) -> DurableWait {
        DurableWait::new(self, lsn)
    }

    /// A second pin beside one that is held.
    pub(crate) fn pin_again(&self, entry: Entry) -> Located {
        let segment = self.segment_of(&entry);
        self.store.pins().pin(self.number, segment);
        let pin = Pin::adopt(self.store.pins(), self.number, segment);
        Located { entry, pin }
    }

    /// The segment that an entry points into.
    pub(crate) fn segment_of(&self, entry: &Entry) -> SegmentNumber {
        self.store.split(place::of(entry)).0
    }

    /// Removes the entry of a database that is in the map no more: the map record stands for a
    /// tombstone. True: the entry was still that.
    pub(crate) fn forget_dead(&self, identity: Identity, seen: &Entry) -> bool {
        let mut lock = self.store.index().lock(identity);
        let Some(entry) = lock
            .find(identity)
            .filter(|entry| entry.database == seen.database)
        else {
            return false;
        };
        lock.remove(identity);
        self.store.forget_entry(&entry);
        self.store
            .collections()
            .root_changed(identity, place::is_root(&entry), None, &[]);
        true
    }

    fn submit_jobs(self: &Rc<Self>, jobs: &[WriteJob], sync: WriteSync) {
        for job in jobs {
            if let Some(count) = job.seals {
                self.log().write_footer(job, count);
            }
            let (channel, start) = self.place(job.segment);
            let buffer = self.log().image(job.image).buffer();
            let from = job.offset as usize;
            let slice = BufferSlice::new(Arc::clone(buffer), from..from + job.bytes as usize);
            let (worker, id) = (Rc::clone(self), job.id);
            channel
                .write(start + u64::from(job.offset), slice, sync)
                .on_done(move |result| match result {
                    Ok(()) => worker.write_done(id),
                    Err(error) => worker.log().latch(&error),
                });
        }
    }

    fn write_done(self: &Rc<Self>, id: u64) {
        self.log().write_done(id);
        self.store.prepare_log();
        self.advance_round();
    }

    /// Makes the log durable up to `lsn` soon: runs a round, or lets the one under way start
    /// another.
    pub(crate) fn request_durable(self: &Rc<Self>, lsn: Lsn) {
        if self.log().want_durable(lsn) {
            self.run_round();
        }
    }

    /// Writes all that there is, as the round that this worker just began.
    fn run_round(self: &Rc<Self>) {
        let writes = self.log().take_all(self.number);
        let durable_write = self.log().aim_round(&writes);
        let sync = if durable_write {
            WriteSync::Durable
        } else {
            WriteSync::None
        };
        self.submit_jobs(&writes.jobs, sync);
        self.advance_round();
    }

    fn advance_round(self: &Rc<Self>) {
        let step = self.log().advance_round(self.channels.len());
        self.follow_round(step);
    }

    fn follow_round(self: &Rc<Self>, step: RoundStep) {
        match step {
            RoundStep::Nothing => {}
            RoundStep::FlushDevices => self.flush_devices(),
            RoundStep::Ended { again } => {
                self.store.note_sync();
                if again && self.log().begin_round() {
                    self.run_round();
                }
            }
        }
    }

    fn flush_devices(self: &Rc<Self>) {
        for channel in &self.channels {
            let worker = Rc::clone(self);
            channel.flush().on_done(move |result| match result {
                Ok(()) => {
                    let step = worker.log().flush_done();
                    worker.follow_round(step);
                }
                Err(error) => worker.log().latch(&error),
            });
        }
    }
}
