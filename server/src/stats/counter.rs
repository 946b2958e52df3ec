//! The counters of one thread.
//!
//! Owns their names. Only the thread that they belong to may add to them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Histogram;

/// A number that one thread raises and every thread reads.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds; to be called by the owning thread only.
    pub fn add(&self, amount: u64) {
        self.0
            .store(self.0.load(Relaxed).wrapping_add(amount), Relaxed);
    }

    /// The sum so far.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What a thread counts beside its commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Metric {
    /// Commands run.
    Commands,
    /// Bytes read from sockets.
    NetInputBytes,
    /// Bytes written to sockets.
    NetOutputBytes,
    /// Reads of sockets.
    SocketReads,
    /// Writes to sockets.
    SocketWrites,
    /// Connections accepted.
    Connections,
    /// Connections refused for `maxclients`.
    RejectedConnections,
    /// Lookups of keys that were there.
    KeyspaceHits,
    /// Lookups of keys that were not.
    KeyspaceMisses,
    /// Error replies.
    ErrorReplies,
    /// Clients closed for `client-query-buffer-limit`.
    QueryLimitDisconnects,
    /// Clients closed for `client-output-buffer-limit`.
    OutputLimitDisconnects,
    /// Wrong passwords.
    AuthFailures,
}

/// How many metrics there are.
pub(super) const METRIC_COUNT: usize = Metric::AuthFailures as usize + 1;

/// One command's counters.
#[derive(Debug, Default)]
pub struct CommandStats {
    /// Runs.
    pub calls: Counter,
    /// Microseconds in them, waits for the device included.
    pub us: Counter,
    /// Requests refused before they ran.
    pub rejected: Counter,
    /// Runs that answered an error.
    pub failed: Counter,
    histogram: OnceLock<Box<Histogram>>,
}

impl CommandStats {
    /// Counts a run.
    pub fn record(&self, us: u64) {
        self.calls.add(1);
        self.us.add(us);
        self.histogram.get_or_init(Box::default).record(us);
    }

    /// How long runs took, where there was one.
    pub fn histogram(&self) -> Option<&Histogram> {
        self.histogram.get().map(|histogram| &**histogram)
    }
}

/// The counters of one thread; on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub struct WorkerStats {
    metrics: [Counter; METRIC_COUNT],
    commands: Box<[CommandStats]>,
}

impl WorkerStats {
    /// Counters for a table of `command_count` commands and subcommands.
    pub fn new(command_count: usize) -> Self {
        Self {
            metrics: Default::default(),
            commands: (0..command_count)
                .map(|_| CommandStats::default())
                .collect(),
        }
    }

    /// Adds to a metric.
    pub fn add(&self, metric: Metric, amount: u64) {
        self.metrics[metric as usize].add(amount);
    }

    /// A metric's sum so far.
    pub fn get(&self, metric: Metric) -> u64 {
        self.metrics[metric as usize].get()
    }

    /// The counters of the command with this id.
    pub fn command(&self, id: u16) -> &CommandStats {
        &self.commands[usize::from(id)]
    }

    pub(super) fn metrics(&self) -> &[Counter; METRIC_COUNT] {
        &self.metrics
    }

    pub(super) fn commands(&self) -> &[CommandStats] {
        &self.commands
    }
}
