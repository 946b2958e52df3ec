//! What all workers share: one value, behind one `Arc`.
//!
//! Owns nothing of its own but the parts' place. Everything in it is atomic or behind a short
//! lock. Must never be locked across an await.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use cellar_storage::{Clock, Progress, Store, StoreStats};
use parking_lot::Mutex;

use crate::blocking::Blocking;
use crate::client::{Delivery, Postbox, Registry};
use crate::command::command_count;
use crate::config::{LiveConfig, Loaded, LogLevel};
use crate::error_counts::ErrorCounts;
use crate::field_deadlines::FieldDeadlines;
use crate::identity::Identity;
use crate::latency::LatencyHistory;
use crate::log::{self, LevelHandle};
use crate::monitor::Monitors;
use crate::pause::Pause;
use crate::pubsub::Channels;
use crate::rates::Rates;
use crate::scripting::Scripts;
use crate::shutdown::Shutdown;
use crate::slowlog::Slowlog;
use crate::stats::{Metric, Totals, WorkerStats};
use crate::tracking::Tracking;

/// What all workers share.
pub struct Shared {
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// The running configuration.
    pub config: LiveConfig,
    /// Who the server is.
    pub identity: Identity,
    /// All clients.
    pub clients: Registry,
    /// Who listens to which channels.
    pub channels: Channels,
    /// Client-side caching.
    pub tracking: Tracking,
    /// Which hashes have fields that expire.
    pub field_deadlines: FieldDeadlines,
    /// CLIENT PAUSE.
    pub pause: Pause,
    /// Clients that wait for keys.
    pub blocking: Blocking,
    /// MONITOR.
    pub monitors: Monitors,
    /// The request to end.
    pub shutdown: Shutdown,
    /// SLOWLOG.
    pub slowlog: Mutex<Slowlog>,
    /// LATENCY.
    pub latency: Mutex<LatencyHistory>,
    /// INFO errorstats.
    pub errors: ErrorCounts,
    /// What happens a second.
    pub rates: Rates,
    /// Scripts: their texts, and those that run.
    pub scripts: Scripts,
    /// One for each worker.
    postboxes: Vec<Postbox>,
    store: OnceLock<Arc<Store>>,
    progress: Arc<Progress>,
    log_level: OnceLock<LevelHandle>,
    memory_peak_bytes: AtomicU64,
    /// Records that were written before the last SAVE or BGSAVE.
    saved_records: AtomicU64,
    /// One for each worker, and the last for the control thread.
    stats: Vec<Arc<WorkerStats>>,
    /// The sums at the last CONFIG RESETSTAT.
    baseline: Mutex<Totals>,
}

impl Shared {
    /// What `worker_count` workers share.
    pub fn new(loaded: Loaded, worker_count: usize, clock: Arc<dyn Clock>, seed: u64) -> Self {
        let stats = (0..=worker_count).map(|_| Arc::new(WorkerStats::new(command_count())));
        Self {
            identity: Identity::new(&*clock, seed),
            config: LiveConfig::new(loaded),
            clock,
            clients: Registry::default(),
            channels: Channels::default(),
            tracking: Tracking::default(),
            field_deadlines: FieldDeadlines::default(),
            pause: Pause::default(),
            blocking: Blocking::default(),
            monitors: Monitors::default(),
            shutdown: Shutdown::default(),
            slowlog: Mutex::default(),
            latency: Mutex::default(),
            errors: ErrorCounts::default(),
            rates: Rates::default(),
            scripts: Scripts::default(),
            postboxes: (0..worker_count).map(|_| Postbox::default()).collect(),
            store: OnceLock::new(),
            progress: Arc::default(),
            log_level: OnceLock::new(),
            memory_peak_bytes: AtomicU64::new(0),
            saved_records: AtomicU64::new(0),
            stats: stats.collect(),
            baseline: Mutex::default(),
        }
    }

    /// How many databases SELECT offers.
    pub fn database_count(&self) -> u8 {
        self.config
            .read(|config| config.storage.databases.get().unsigned_abs() as u8)
    }

    /// Bytes of one argument and of one string value at most (`proto-max-bulk-len`).
    pub fn bulk_bytes_max(&self) -> u64 {
        self.config.fast.bulk_bytes_max()
    }

    /// How many workers there are.
    pub fn worker_count(&self) -> usize {
        self.stats.len() - 1
    }

    /// The clients of a worker that others sent messages to.
    pub fn postbox(&self, worker: usize) -> &Postbox {
        &self.postboxes[worker]
    }

    /// Hands out messages from this worker's thread, or from one that is no worker's.
    pub fn delivery(&self, worker: Option<usize>) -> Delivery<'_> {
        let limit = self.config.fast.inbox_limit();
        let now_us = self.clock.monotonic_us();
        Delivery::new((&self.postboxes, &self.clients), worker, (limit, now_us))
    }

    /// A worker's counters.
    pub fn worker_stats(&self, worker: usize) -> &Arc<WorkerStats> {
        &self.stats[worker]
    }

    /// The control thread's counters.
    pub fn control_stats(&self) -> &WorkerStats {
        self.stats
            .last()
            .expect("there is one for the control thread")
    }

    /// All counters since the start or CONFIG RESETSTAT.
    pub fn totals(&self) -> Totals {
        Totals::sum(&self.stats).since(&self.baseline.lock())
    }

    /// A metric since the start.
    pub fn metric_ever(&self, metric: Metric) -> u64 {
        self.stats.iter().map(|stats| stats.get(metric)).sum()
    }

    /// CONFIG RESETSTAT.
    pub fn reset_stats(&self) {
        *self.baseline.lock() = Totals::sum(&self.stats);
        self.errors.clear();
        self.saved_records.store(0, Relaxed);
        if let Some(store) = self.store() {
            store.reset_stats();
        }
    }

    /// The store, once it is open.
    pub fn store(&self) -> Option<&Arc<Store>> {
        self.store.get()
    }

    /// The store's figures, zeros until it is open.
    pub fn store_stats(&self) -> StoreStats {
        self.store().map(|store| store.stats()).unwrap_or_default()
    }

    /// How far the opening of the store is, in percent; nothing once it is open.
    pub fn loading_percent(&self) -> Option<u64> {
        self.store().is_none().then(|| self.progress.percent())
    }

    /// Where the opening of the store tells how far it is.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Remembers the store; called once.
    pub fn set_store(&self, store: Arc<Store>) {
        assert!(self.store.set(store).is_ok(), "the store is opened once");
    }

    /// Whether a write or flush failed, so that nothing is promised any more.
    pub fn is_latched(&self) -> bool {
        self.store().is_some_and(|store| store.is_latched())
    }

    /// Lets keys expire, or not: while clients are paused nothing changes the data.
    pub fn pause_expiry(&self, is_paused: bool) {
        if let Some(store) = self.store() {
            store.pause_expiry(is_paused);
        }
    }

    /// Records written since the last SAVE or BGSAVE.
    pub fn unsaved_records(&self) -> u64 {
        let saved = self.saved_records.load(Relaxed);
        self.store_stats().records_written.saturating_sub(saved)
    }

    /// SAVE or BGSAVE has made so many records durable.
    pub fn note_saved(&self, records: u64) {
        self.saved_records.store(records, Relaxed);
    }

    /// Notes how much memory is used; returns the most that ever was.
    pub fn note_memory(&self, bytes: u64) -> u64 {
        self.memory_peak_bytes.fetch_max(bytes, Relaxed).max(bytes)
    }

    /// Remembers how to change what the log tells; called once, by the binary.
    pub fn set_log_level_handle(&self, handle: LevelHandle) {
        assert!(
            self.log_level.set(handle).is_ok(),
            "the log is started once"
        );
    }

    /// Changes how much the log tells.
    pub fn set_log_level(&self, level: LogLevel) {
        if let Some(handle) = self.log_level.get()
            && let Err(error) = handle.modify(|filter| *filter = log::filter(level))
        {
            tracing::error!("the log level stays as it is: {error}");
        }
    }
}
