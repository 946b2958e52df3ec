//! The store's counters: plain numbers for INFO, and the atomics that they are read from.

use std::sync::atomic::{AtomicU64, Ordering};

/// A snapshot of every figure that the store knows about itself.
#[derive(Clone, Debug, Default)]
#[expect(
    missing_docs,
    reason = "each field's name says noun and unit, as INFO shows it"
)]
pub struct StoreStats {
    pub keys: u64,
    pub keys_with_expiry: u64,
    pub index_bytes: u64,
    pub index_huge_page_bytes: u64,
    pub cache_bytes: u64,
    pub cache_bytes_max: u64,
    pub cache_hits: u64,
    pub cache_misses: u64,
    pub cache_items: u64,
    pub write_buffer_bytes: u64,
    pub write_buffer_hits: u64,
    pub table_bytes: u64,
    pub lsn_published: u64,
    pub lsn_durable: u64,
    pub records_written: u64,
    pub user_bytes_written: u64,
    pub sync_rounds: u64,
    pub device_reads: u64,
    pub device_read_bytes: u64,
    pub device_writes: u64,
    pub device_written_bytes: u64,
    pub device_flushes: u64,
    pub device_read_errors: u64,
    pub device_write_errors: u64,
    pub device_enters: u64,
    pub device_bytes: u64,
    pub device_allocated_bytes: u64,
    pub segment_bytes: u64,
    pub segments_free: u64,
    pub segments_open: u64,
    pub segments_sealed: u64,
    pub segments_cleaning: u64,
    pub live_bytes: u64,
    pub live_bytes_max: u64,
    pub shadow_bytes: u64,
    pub cleaner_segments: u64,
    pub cleaner_relocated_bytes: u64,
    pub cleaner_freed_bytes: u64,
    pub expired_keys: u64,
    pub expired_active: u64,
    pub evicted_keys: u64,
    pub evicted_keys_for_space: u64,
    pub evicted_keys_for_memory: u64,
    /// Damaged places that were met since the start, each once; recovery's are among them.
    pub corrupt_records: u64,
    pub latched: bool,
    pub latch_reason: Option<String>,
    pub loading: bool,
    pub loading_percent: u64,
    pub clean_shutdown_at_start: bool,
    pub recovery_ms: u64,
    pub recovery_read_bytes: u64,
    pub recovery_records: u64,
    pub last_sync_unix_ms: u64,
}

/// One counter that any worker adds to.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// The counters that CONFIG RESETSTAT sets to zero, and a few that it does not.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) cache_hits: Counter,
    pub(crate) cache_misses: Counter,
    pub(crate) write_buffer_hits: Counter,
    pub(crate) records_written: Counter,
    pub(crate) user_bytes_written: Counter,
    pub(crate) cleaner_segments: Counter,
    pub(crate) cleaner_relocated_bytes: Counter,
    pub(crate) cleaner_freed_bytes: Counter,
    pub(crate) cleaner_turns: Counter,
    pub(crate) cleaner_emergencies: Counter,
    pub(crate) cleaner_read_bytes: Counter,
    pub(crate) cleaner_written_bytes: Counter,
    pub(crate) cleaner_dropped_bytes: Counter,
    pub(crate) tombstones_carried: Counter,
    pub(crate) tombstones_dropped: Counter,
    pub(crate) writes_refused_paused: Counter,
    pub(crate) expired_keys: Counter,
    pub(crate) expired_active: Counter,
    pub(crate) evicted_for_space: Counter,
    pub(crate) evicted_for_memory: Counter,
    /// The log's tail at the start or at the last reset.
    pub(crate) lsn_at_reset: Counter,
    /// Facts of the last start, not reset.
    pub(crate) recovery_ms: Counter,
    pub(crate) recovery_read_bytes: Counter,
    pub(crate) recovery_records: Counter,
    pub(crate) last_sync_unix_ms: Counter,
}

impl Counters {
    pub(crate) fn reset(&self) {
        let Self {
            cache_hits,
            cache_misses,
            write_buffer_hits,
            records_written,
            // Compared with what the devices count, which nobody resets.
            user_bytes_written: _,
            cleaner_segments,
            cleaner_relocated_bytes,
            cleaner_freed_bytes,
            cleaner_turns,
            cleaner_emergencies,
            cleaner_read_bytes,
            cleaner_written_bytes,
            cleaner_dropped_bytes,
            tombstones_carried,
            tombstones_dropped,
            writes_refused_paused,
            expired_keys,
            expired_active,
            evicted_for_space,
            evicted_for_memory,
            lsn_at_reset: _,
            recovery_ms: _,
            recovery_read_bytes: _,
            recovery_records: _,
            last_sync_unix_ms: _,
        } = self;
        for counter in [
            cache_hits,
            cache_misses,
            write_buffer_hits,
            records_written,
            cleaner_segments,
            cleaner_relocated_bytes,
            cleaner_freed_bytes,
            cleaner_turns,
            cleaner_emergencies,
            cleaner_read_bytes,
            cleaner_written_bytes,
            cleaner_dropped_bytes,
            tombstones_carried,
            tombstones_dropped,
            writes_refused_paused,
            expired_keys,
            expired_active,
            evicted_for_space,
            evicted_for_memory,
        ] {
            counter.set(0);
        }
    }
}
