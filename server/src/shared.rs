//! What all workers share: one value, behind one `Arc`.
//!
//! Owns nothing of its own but the parts' place. Everything in it is atomic or behind a short
//! lock. Must never be locked across an await.

use std::sync::{Arc, OnceLock};

use cellar_storage::{Clock, Store};
use parking_lot::Mutex;

use crate::client::Registry;
use crate::command::command_count;
use crate::config::{LiveConfig, Loaded};
use crate::error_counts::ErrorCounts;
use crate::identity::Identity;
use crate::latency::LatencyHistory;
use crate::monitor::Monitors;
use crate::pause::Pause;
use crate::rates::Rates;
use crate::shutdown::Shutdown;
use crate::slowlog::Slowlog;
use crate::stats::{Totals, WorkerStats};

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
    /// CLIENT PAUSE.
    pub pause: Pause,
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
    store: OnceLock<Arc<Store>>,
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
            pause: Pause::default(),
            monitors: Monitors::default(),
            shutdown: Shutdown::default(),
            slowlog: Mutex::default(),
            latency: Mutex::default(),
            errors: ErrorCounts::default(),
            rates: Rates::default(),
            store: OnceLock::new(),
            stats: stats.collect(),
            baseline: Mutex::default(),
        }
    }

    /// How many databases SELECT offers.
    pub fn database_count(&self) -> u8 {
        self.config
            .read(|config| config.storage.databases.get() as u8)
    }

    /// Bytes of one argument and of one string value at most (`proto-max-bulk-len`).
    pub fn bulk_bytes_max(&self) -> u64 {
        self.config.fast.bulk_bytes_max()
    }

    /// How many workers there are.
    pub fn worker_count(&self) -> usize {
        self.stats.len() - 1
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

    /// All counters since the start.
    pub fn totals_ever(&self) -> Totals {
        Totals::sum(&self.stats)
    }

    /// CONFIG RESETSTAT.
    pub fn reset_stats(&self) {
        *self.baseline.lock() = Totals::sum(&self.stats);
        self.errors.clear();
        if let Some(store) = self.store() {
            store.reset_stats();
        }
    }

    /// The store, once it is open.
    pub fn store(&self) -> Option<&Arc<Store>> {
        self.store.get()
    }

    /// Remembers the store; called once.
    pub fn set_store(&self, store: Arc<Store>) {
        assert!(self.store.set(store).is_ok(), "the store is opened once");
    }
}
