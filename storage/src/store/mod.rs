//! The store: what all workers share.
//!
//! `places` maps locations to devices and buffers, `memory` shares the memory bound out, `figures`
//! gathers the statistics. The operations on keys are the handles' (`handle`).

mod figures;
mod memory;
mod open;
mod places;
mod superblocks;

pub(crate) use open::Wanted;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use cellar_index::{Hasher, Index};
use tokio::sync::{Mutex, MutexGuard, Notify};

use crate::cache::ValueCache;
use crate::cleaner::{Cleaner, rule as cleaning};
use crate::clock::Clock;
use crate::cold::ColdLog;
use crate::damage::{Damage, DamageLog};
use crate::database::Databases;
use crate::departure::Departures;
use crate::device::Device;
use crate::error::StoreError;
use crate::evict::Eviction;
use crate::expiry::Moment;
use crate::format::{FOOTER_BYTES, SEGMENT_HEADER_BYTES, StoreId, Superblock};
use crate::handle::Handle;
use crate::lock::LockTable;
use crate::log::Log;
use crate::options::{AppendFsync, StoreOptions};
use crate::paged::Collections;
use crate::segment::{Pins, SegmentTable};
use crate::stats::Counters;
use crate::units::{Location, Lsn};
use crate::upkeep::{READY_MIN, Scrub};
use crate::watch::Watches;
use crate::worker::Worker;
use crate::write::Mark;

/// Free segments that only the cleaner may open.
pub(crate) const CLEANER_SEGMENTS: u64 = cleaning::RESERVE_SEGMENTS;
/// Segments that the hot log is writing to.
pub(crate) const OPEN_SEGMENTS: u64 = 1;
/// Share of the segments' bytes that live data may take, in percent, for commands that Redis
/// refuses when memory is short: beyond it a byte written costs more than five relocated.
const LIVE_PERCENT_GROWTH: u64 = 88;
/// The same for commands that change what is there.
const LIVE_PERCENT_CHANGE: u64 = 91;
/// No map record: the databases are those of the superblock.
const NO_LOCATION: u64 = u64::MAX;

/// Everything that a store is made of, once it is recovered.
pub(crate) struct Parts {
    pub(crate) options: StoreOptions,
    pub(crate) devices: Vec<Arc<dyn Device>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seed: [u8; 32],
    pub(crate) segment_bytes: u32,
    pub(crate) segments: Arc<SegmentTable>,
    pub(crate) index: Index,
    pub(crate) hasher: Hasher,
    pub(crate) log: Log,
    pub(crate) cold: ColdLog,
    pub(crate) databases: Databases,
    pub(crate) collections: Arc<Collections>,
    pub(crate) counters: Counters,
    pub(crate) superblocks: Vec<Superblock>,
    pub(crate) damage: DamageLog,
    pub(crate) was_clean: bool,
}

/// An open store, shared by all workers.
pub struct Store {
    parts: Parts,
    pins: Arc<Pins>,
    locks: Arc<LockTable>,
    watches: Arc<Watches>,
    departures: Departures,
    cache: ValueCache,
    eviction: Eviction,
    appendfsync: AtomicU8,
    map_location: AtomicU64,
    /// Where the last map record ends: what any command shows depends on it.
    map_lsn: AtomicU64,
    map_change: Mutex<()>,
    sweep_wanted: Notify,
    handle_swept: Notify,
    prepare_wanted: Notify,
    clean_wanted: Notify,
    cleaner: Cleaner,
    closing: Notify,
    is_closing: AtomicBool,
    is_active_expiry_on: AtomicBool,
    is_expiry_paused: AtomicBool,
    superblocks: parking_lot::Mutex<Vec<Superblock>>,
    scrub: Scrub,
    memory_bytes_max: AtomicU64,
    /// Whether what is no key's takes all memory.
    is_memory_short: AtomicBool,
    client_bytes: AtomicU64,
}

impl Store {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let segment_count = parts.segments.count() as usize;
        let store = Self {
            pins: Arc::new(Pins::new(parts.options.worker_count, segment_count)),
            locks: Arc::new(LockTable::new()),
            watches: Arc::new(Watches::new()),
            departures: Departures::default(),
            cache: ValueCache::new(parts.options.value_cache_bytes),
            eviction: Eviction::new(),
            appendfsync: AtomicU8::new(parts.options.appendfsync as u8),
            map_location: AtomicU64::new(NO_LOCATION),
            map_lsn: AtomicU64::new(0),
            map_change: Mutex::new(()),
            sweep_wanted: Notify::new(),
            handle_swept: Notify::new(),
            prepare_wanted: Notify::new(),
            clean_wanted: Notify::new(),
            cleaner: Cleaner::default(),
            closing: Notify::new(),
            is_closing: AtomicBool::new(false),
            is_active_expiry_on: AtomicBool::new(true),
            is_expiry_paused: AtomicBool::new(false),
            superblocks: parking_lot::Mutex::new(parts.superblocks.clone()),
            scrub: Scrub::new(),
            is_memory_short: AtomicBool::new(false),
            memory_bytes_max: AtomicU64::new(parts.options.memory_bytes_max),
            client_bytes: AtomicU64::new(0),
            parts,
        };
        store.set_eviction_policy(store.parts.options.eviction_policy);
        store.share_memory();
        Arc::new(store)
    }

    /// A worker's handle, made once on the worker's own thread. `worker` is below
    /// [`StoreOptions::worker_count`].
    pub fn attach(self: &Arc<Self>, worker: usize) -> Result<Handle, StoreError> {
        assert!(
            worker < self.parts.options.worker_count,
            "worker {worker} was not announced"
        );
        Ok(Handle::new(std::rc::Rc::new(Worker::new(self, worker)?)))
    }

    // ---- parts

    pub(crate) fn devices(&self) -> &[Arc<dyn Device>] {
        &self.parts.devices
    }

    /// The clock that the store runs by.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.parts.clock
    }

    /// This moment, for deadlines.
    pub(crate) fn moment(&self) -> Moment<'_> {
        Moment::now(&**self.clock())
    }

    pub(crate) fn segments(&self) -> &SegmentTable {
        &self.parts.segments
    }

    pub(crate) fn pins(&self) -> &Arc<Pins> {
        &self.pins
    }

    pub(crate) fn index(&self) -> &Index {
        &self.parts.index
    }

    pub(crate) fn hasher(&self) -> &Hasher {
        &self.parts.hasher
    }

    pub(crate) fn log(&self) -> &Log {
        &self.parts.log
    }

    pub(crate) fn cold(&self) -> &ColdLog {
        &self.parts.cold
    }

    pub(crate) fn watches(&self) -> &Arc<Watches> {
        &self.watches
    }

    pub(crate) fn departures(&self) -> &Departures {
        &self.departures
    }

    pub(crate) fn locks(&self) -> &Arc<LockTable> {
        &self.locks
    }

    pub(crate) fn cache(&self) -> &ValueCache {
        &self.cache
    }

    pub(crate) fn eviction(&self) -> &Eviction {
        &self.eviction
    }

    pub(crate) fn databases(&self) -> &Databases {
        &self.parts.databases
    }

    pub(crate) fn collections(&self) -> &Arc<Collections> {
        &self.parts.collections
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.parts.counters
    }

    /// A worker's own seed for its pseudo-random numbers.
    pub(crate) fn seed_of_worker(&self, worker: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.parts.seed[..8]);
        u64::from_le_bytes(bytes) ^ (worker as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)
    }

    // ---- what writers ask

    pub(crate) fn check_writable(&self) -> Result<(), StoreError> {
        if self.log().is_latched() {
            return Err(StoreError::Latched);
        }
        if self.is_closing.load(Ordering::Acquire) {
            return Err(StoreError::Closing);
        }
        Ok(())
    }

    /// Whether a command that writes may start, before anything of it is stored; `grows` says that
    /// it is one of those that are refused when space is short, unless a policy makes room. The
    /// commit decides again.
    pub fn admit_command(&self, grows: bool) -> Result<(), StoreError> {
        if grows && self.is_memory_short.load(Ordering::Relaxed) {
            self.check_writable()?;
            return Err(StoreError::OutOfMemory);
        }
        if grows && !self.evicts() {
            self.admit(1, Mark::Growth)
        } else {
            self.check_writable()
        }
    }

    /// Whether a write or flush failed since the start: no write is taken any more.
    pub fn is_latched(&self) -> bool {
        self.log().is_latched()
    }

    /// The first failed write or flush, if there was one.
    pub fn latch_reason(&self) -> Option<String> {
        self.log().latch_reason()
    }

    /// Whether a commit that adds `bytes` may be made.
    pub(crate) fn admit(&self, bytes: u64, mark: Mark) -> Result<(), StoreError> {
        self.check_writable()?;
        let is_full = || self.taken_bytes() + bytes > self.live_bytes_max(mark);
        if bytes > 0 && (is_full() || self.spares_log()) {
            return Err(StoreError::OutOfSpace);
        }
        Ok(())
    }

    /// Bytes of live records and of tombstones.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.segments().live_bytes() + self.segments().shadow_bytes()
    }

    /// Live bytes at which a mark stops.
    pub(crate) fn live_bytes_max(&self, mark: Mark) -> u64 {
        let percent = match mark {
            Mark::Growth => LIVE_PERCENT_GROWTH,
            Mark::Change => LIVE_PERCENT_CHANGE,
        };
        self.room_bytes(percent)
    }

    /// A share of what the segments hold, in bytes; the cleaner's reserve is left out, and the hot
    /// log's open segment, which is no victim: of what is full then, something has to be dead.
    pub(crate) fn room_bytes(&self, percent: u64) -> u64 {
        let usable = self
            .segments()
            .usable_count()
            .saturating_sub(CLEANER_SEGMENTS + OPEN_SEGMENTS);
        let room = self.segment_bytes() - SEGMENT_HEADER_BYTES as u32 - FOOTER_BYTES as u32;
        usable * u64::from(room) / 100 * percent
    }

    /// Where the current map record is, if the log holds one; returns where it was.
    pub(crate) fn set_map_location(&self, at: Option<Location>) -> Option<Location> {
        let raw = at.map_or(NO_LOCATION, Location::bits);
        Location::from_bits(self.map_location.swap(raw, Ordering::SeqCst))
    }

    /// The map record was moved, unless a newer one took its place.
    pub(crate) fn move_map_location(&self, old: Location, new: Location) -> bool {
        let (old, new) = (old.bits(), new.bits());
        let order = Ordering::SeqCst;
        self.map_location
            .compare_exchange(old, new, order, order)
            .is_ok()
    }

    pub(crate) fn map_location(&self) -> Option<Location> {
        Location::from_bits(self.map_location.load(Ordering::SeqCst))
    }

    pub(crate) fn note_map_lsn(&self, end: Lsn) {
        self.map_lsn.fetch_max(end.get(), Ordering::SeqCst);
    }

    pub(crate) fn map_lsn(&self) -> Lsn {
        Lsn::new(self.map_lsn.load(Ordering::SeqCst))
    }

    /// Keeps other changes of the database map away.
    pub(crate) async fn change_map(&self) -> MutexGuard<'_, ()> {
        self.map_change.lock().await
    }

    /// Pairs free write buffers with free segments.
    pub(crate) fn prepare_log(&self) {
        self.log().prepare(self.spare_segments());
        if self.segments().wants_allocation(READY_MIN) {
            self.prepare_wanted.notify_one();
        }
        if self.wants_cleaning() {
            self.clean_wanted.notify_one();
        }
    }

    /// Free segments that the log leaves to the cleaner. Where more is live than may be written,
    /// the device lost room that it had, and only removals and map records come through: they may
    /// take half of the reserve, since nothing else can make room.
    fn spare_segments(&self) -> u64 {
        let taken = self.segments().live_bytes() + self.segments().shadow_bytes();
        if taken > self.live_bytes_max(Mark::Change) {
            CLEANER_SEGMENTS / 2
        } else {
            CLEANER_SEGMENTS
        }
    }

    /// A writer found no room: segments are to be allocated or cleaned.
    pub(crate) fn want_room(&self) {
        self.prepare_log();
        self.prepare_wanted.notify_one();
        self.clean_wanted.notify_one();
    }

    /// Woken when free segments are to be allocated.
    pub(crate) fn prepare_wanted(&self) -> &Notify {
        &self.prepare_wanted
    }

    /// Woken when free segments are to be made by cleaning.
    pub(crate) fn clean_wanted(&self) -> &Notify {
        &self.clean_wanted
    }

    /// The cleaner's switch and figures.
    pub(crate) fn cleaner(&self) -> &Cleaner {
        &self.cleaner
    }

    /// Whether the cleaner has to work.
    pub(crate) fn wants_cleaning(&self) -> bool {
        self.are_segments_short() || self.wants_giving_up()
    }

    /// Whether so few segments are free that the cleaner has to work.
    pub(crate) fn are_segments_short(&self) -> bool {
        let mark = cleaning::clean_mark(u64::from(self.segments().count()));
        self.segments().free_count() < mark
    }

    pub(crate) fn sweep_wanted(&self) -> &Notify {
        &self.sweep_wanted
    }

    pub(crate) fn handle_swept(&self) -> &Notify {
        &self.handle_swept
    }

    pub(crate) fn set_closing(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
        self.closing.notify_waiters();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::SeqCst)
    }

    /// Woken when the store begins to close.
    pub(crate) fn closing(&self) -> &Notify {
        &self.closing
    }

    pub(crate) fn store_id(&self) -> StoreId {
        self.log().shape().store
    }

    /// Whether any key of any database has a deadline.
    pub(crate) fn has_expiring_keys(&self) -> bool {
        let databases = self.databases().resolve_all();
        databases
            .iter()
            .any(|database| self.index().count_expiring(database.handle) > 0)
    }

    /// Whether expired keys are removed without being asked for.
    pub fn is_active_expiry_on(&self) -> bool {
        self.is_active_expiry_on.load(Ordering::Relaxed)
    }

    /// Switches active expiry; lookups go on to see deadlines.
    pub fn set_active_expiry(&self, on: bool) {
        self.is_active_expiry_on.store(on, Ordering::Relaxed);
    }

    /// Keeps expired keys in the store, unseen, or lets them be removed again.
    pub fn pause_expiry(&self, is_paused: bool) {
        self.is_expiry_paused.store(is_paused, Ordering::Relaxed);
    }

    pub(crate) fn is_expiry_paused(&self) -> bool {
        self.is_expiry_paused.load(Ordering::Relaxed)
    }

    pub(crate) fn note_sync(&self) {
        self.counters()
            .last_sync_unix_ms
            .set(self.clock().unix_ms());
    }

    pub(crate) fn scrub(&self) -> &Scrub {
        &self.scrub
    }

    pub(crate) fn damage(&self) -> &DamageLog {
        &self.parts.damage
    }

    /// The last damaged places that were met, by anybody, oldest first.
    pub fn last_damage(&self) -> Vec<Damage> {
        self.damage().last()
    }

    /// The calendar's time, in seconds; it ends in the year 2106.
    pub(crate) fn now_s(&self) -> u32 {
        u32::try_from(self.clock().unix_ms() / 1000).unwrap_or(u32::MAX)
    }

    // ---- knobs

    pub(crate) fn scrub_bytes_per_s(&self) -> u64 {
        self.parts.options.scrub_bytes_per_s
    }

    /// The durability level in force.
    pub fn appendfsync(&self) -> AppendFsync {
        AppendFsync::from_u8(self.appendfsync.load(Ordering::Acquire))
    }

    /// Changes the durability level.
    pub fn set_appendfsync(&self, level: AppendFsync) {
        self.appendfsync.store(level as u8, Ordering::Release);
    }

    /// The longest batch in bytes of log: half a segment's body.
    pub fn batch_bytes_max(&self) -> u64 {
        u64::from(self.segment_bytes()) / 2
    }

    /// Everything below survives any crash.
    pub fn durable_lsn(&self) -> Lsn {
        self.log().durable_lsn()
    }
}
