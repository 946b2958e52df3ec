//! How far an opening is, for whoever watches it and tells of it. Owns the numbers; must never be
//! waited on, nor log them.

use std::sync::atomic::{AtomicU64, Ordering};

/// The progress of an opening, shared with those who report it.
#[derive(Debug, Default)]
pub struct Progress {
    percent: AtomicU64,
    read_bytes: AtomicU64,
    record_count: AtomicU64,
}

impl Progress {
    /// How much of the summaries is loaded, in percent.
    pub fn percent(&self) -> u64 {
        self.percent.load(Ordering::Relaxed)
    }

    /// Bytes read from the devices.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// Records that were seen to.
    pub fn record_count(&self) -> u64 {
        self.record_count.load(Ordering::Relaxed)
    }

    /// An opening begins.
    pub(super) fn begin(&self) {
        self.percent.store(0, Ordering::Relaxed);
        self.read_bytes.store(0, Ordering::Relaxed);
        self.record_count.store(0, Ordering::Relaxed);
    }

    /// It ends well.
    pub(super) fn end(&self) {
        self.percent.store(100, Ordering::Relaxed);
    }

    pub(super) fn add_read_bytes(&self, bytes: u64) {
        self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn add_records(&self, count: u64) {
        self.record_count.fetch_add(count, Ordering::Relaxed);
    }

    /// So much of the summaries is loaded.
    pub(super) fn set_percent(&self, percent: u64) {
        self.percent.store(percent, Ordering::Relaxed);
    }
}
