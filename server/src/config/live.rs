//! The configuration while the server runs: what CONFIG reads and changes.
//!
//! Owns the running values, and a copy in atomics of those that are read for every command.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed,
};

use parking_lot::Mutex;

use super::thresholds::{Threshold, Thresholds};
use super::{AppendFsync, ClientClass, Config, Loaded, OutputLimit};
use crate::events::EventClasses;

/// A slow log that begins below this many microseconds is one for short commands too.
const SHORT_US_MAX: i64 = 1000;

/// The running configuration.
#[derive(Debug)]
pub struct LiveConfig {
    state: Mutex<State>,
    /// What is read for every command or connection.
    pub fast: FastConfig,
}

#[derive(Debug)]
struct State {
    config: Config,
    path: Option<PathBuf>,
    remembered: BTreeMap<&'static str, String>,
}

/// Copies of options that are read often.
#[derive(Debug, Default)]
pub struct FastConfig {
    needs_password: AtomicBool,
    is_always_durable: AtomicBool,
    bulk_bytes_max: AtomicU64,
    query_bytes_max: AtomicU64,
    output_hard_bytes: AtomicU64,
    output_soft_bytes: AtomicU64,
    output_soft_seconds: AtomicU64,
    inbox_hard_bytes: AtomicU64,
    inbox_soft_bytes: AtomicU64,
    inbox_soft_seconds: AtomicU64,
    slow_us: AtomicI64,
    latency_ms: AtomicI64,
    event_classes: AtomicU32,
    tracked_keys_max: AtomicUsize,
    thresholds: Thresholds,
}

impl LiveConfig {
    /// The configuration at start.
    pub fn new(loaded: Loaded) -> Self {
        let Loaded { config, path, .. } = loaded;
        let fast = FastConfig::default();
        fast.copy(&config);
        Self {
            state: Mutex::new(State {
                config,
                path,
                remembered: BTreeMap::new(),
            }),
            fast,
        }
    }

    /// Looks at the running values.
    pub fn read<T>(&self, look: impl FnOnce(&Config) -> T) -> T {
        look(&self.state.lock().config)
    }

    /// The config file, where there is one.
    pub fn path(&self) -> Option<PathBuf> {
        self.state.lock().path.clone()
    }

    /// Replaces the running values and remembers parameters, all at once.
    pub fn replace(&self, config: Config, remembered: Vec<(&'static str, String)>) {
        let mut state = self.state.lock();
        self.fast.copy(&config);
        for (name, value) in &remembered {
            self.fast.thresholds.remember(name, value);
        }
        state.config = config;
        state.remembered.extend(remembered);
    }

    /// A remembered parameter's value, where one was set.
    pub fn remembered(&self, name: &str) -> Option<String> {
        self.state.lock().remembered.get(name).cloned()
    }
}

impl FastConfig {
    fn copy(&self, config: &Config) {
        let Config {
            security,
            storage,
            limits,
            events,
            monitoring,
            ..
        } = config;
        self.needs_password
            .store(!security.requirepass.is_empty(), Relaxed);
        self.is_always_durable
            .store(storage.appendfsync == AppendFsync::Always, Relaxed);
        self.bulk_bytes_max
            .store(limits.proto_max_bulk_len.get(), Relaxed);
        self.query_bytes_max
            .store(limits.client_query_buffer_limit.get(), Relaxed);
        let output = limits.client_output_buffer_limit.get(ClientClass::Normal);
        self.output_hard_bytes.store(output.hard_bytes, Relaxed);
        self.output_soft_bytes.store(output.soft_bytes, Relaxed);
        self.output_soft_seconds.store(output.soft_seconds, Relaxed);
        let inbox = limits.client_output_buffer_limit.get(ClientClass::Pubsub);
        self.inbox_hard_bytes.store(inbox.hard_bytes, Relaxed);
        self.inbox_soft_bytes.store(inbox.soft_bytes, Relaxed);
        self.inbox_soft_seconds.store(inbox.soft_seconds, Relaxed);
        self.slow_us
            .store(monitoring.slowlog_log_slower_than.get(), Relaxed);
        self.latency_ms
            .store(monitoring.latency_monitor_threshold.get(), Relaxed);
        self.event_classes
            .store(events.notify_keyspace_events.bits(), Relaxed);
        let keys_max = events.tracking_table_max_keys.get().unsigned_abs();
        self.tracked_keys_max.store(keys_max as usize, Relaxed);
    }

    /// A bound within which a collection is said to be compact.
    pub fn threshold(&self, threshold: Threshold) -> i64 {
        self.thresholds.get(threshold)
    }

    /// Whether clients must show a password.
    pub fn needs_password(&self) -> bool {
        self.needs_password.load(Relaxed)
    }

    /// Whether replies wait until what they show is durable.
    pub fn is_always_durable(&self) -> bool {
        self.is_always_durable.load(Relaxed)
    }

    /// Bytes of one argument at most.
    pub fn bulk_bytes_max(&self) -> u64 {
        self.bulk_bytes_max.load(Relaxed)
    }

    /// Bytes of unread requests of one client at most.
    pub fn query_bytes_max(&self) -> u64 {
        self.query_bytes_max.load(Relaxed)
    }

    /// What may wait for a client that sends commands.
    pub fn output_limit(&self) -> OutputLimit {
        OutputLimit {
            hard_bytes: self.output_hard_bytes.load(Relaxed),
            soft_bytes: self.output_soft_bytes.load(Relaxed),
            soft_seconds: self.output_soft_seconds.load(Relaxed),
        }
    }

    /// What may wait for a client that listens to others.
    pub fn inbox_limit(&self) -> OutputLimit {
        OutputLimit {
            hard_bytes: self.inbox_hard_bytes.load(Relaxed),
            soft_bytes: self.inbox_soft_bytes.load(Relaxed),
            soft_seconds: self.inbox_soft_seconds.load(Relaxed),
        }
    }

    /// Keys that are remembered for tracking clients at most, 0 for no bound.
    pub fn tracked_keys_max(&self) -> usize {
        self.tracked_keys_max.load(Relaxed)
    }

    /// Which keyspace events are told.
    pub fn event_classes(&self) -> EventClasses {
        EventClasses::from_bits(self.event_classes.load(Relaxed))
    }

    /// Whether a command of this length enters the slow log.
    pub fn is_slow(&self, us: u64) -> bool {
        let slow_us = self.slow_us.load(Relaxed);
        slow_us >= 0 && us >= slow_us.unsigned_abs()
    }

    /// Whether every command's time has to be known by itself: short ones may be slow enough to be
    /// told of.
    pub fn measures_each(&self) -> bool {
        (0..SHORT_US_MAX).contains(&self.slow_us.load(Relaxed))
    }

    /// Whether an event of this length enters the latency history.
    pub fn is_latency_event(&self, us: u64) -> bool {
        let ms = self.latency_ms.load(Relaxed).unsigned_abs();
        ms != 0 && us / 1000 >= ms
    }
}
