//! The store's figures, gathered for INFO.

use crate::segment::State;
use crate::stats::StoreStats;
use crate::store::Store;
use crate::write::Mark;

impl Store {
    /// Sets the resettable counters to zero.
    pub fn reset_stats(&self) {
        self.counters().reset();
    }

    /// Every figure that the store has about itself.
    pub fn stats(&self) -> StoreStats {
        let index = self.index().bytes();
        let counters = self.counters();
        let mut stats = StoreStats {
            index_bytes: index.total,
            index_huge_page_bytes: index.huge_page_backed,
            cache_bytes: self.cache.bytes(),
            cache_bytes_max: self.cache.bytes_max(),
            cache_hits: counters.cache_hits.get(),
            cache_misses: counters.cache_misses.get(),
            cache_items: self.cache.item_count() as u64,
            write_buffer_bytes: self.write_buffer_bytes(),
            write_buffer_hits: counters.write_buffer_hits.get(),
            table_bytes: self.table_bytes() + self.collections().bytes() + self.eviction().bytes(),
            lsn_published: self.log().tail().get(),
            lsn_durable: self.log().durable_lsn().get(),
            records_written: counters.records_written.get(),
            user_bytes_written: counters.user_bytes_written.get(),
            sync_rounds: self.log().rounds().count(),
            segment_bytes: u64::from(self.segment_bytes()),
            live_bytes: self.segments().live_bytes(),
            live_bytes_max: self.live_bytes_max(Mark::Growth),
            shadow_bytes: self.segments().shadow_bytes(),
            cleaner_segments: counters.cleaner_segments.get(),
            cleaner_relocated_bytes: counters.cleaner_relocated_bytes.get(),
            cleaner_freed_bytes: counters.cleaner_freed_bytes.get(),
            expired_keys: counters.expired_keys.get(),
            expired_active: counters.expired_active.get(),
            corrupt_records: self.damage().count(),
            evicted_keys: counters.evicted_for_space.get() + counters.evicted_for_memory.get(),
            evicted_keys_for_space: counters.evicted_for_space.get(),
            evicted_keys_for_memory: counters.evicted_for_memory.get(),
            latched: self.log().is_latched(),
            latch_reason: self.log().latch_reason(),
            clean_shutdown_at_start: self.parts.was_clean,
            recovery_ms: counters.recovery_ms.get(),
            recovery_read_bytes: counters.recovery_read_bytes.get(),
            recovery_records: counters.recovery_records.get(),
            last_sync_unix_ms: counters.last_sync_unix_ms.get(),
            ..StoreStats::default()
        };
        self.add_key_stats(&mut stats);
        self.add_device_stats(&mut stats);
        stats
    }

    fn add_key_stats(&self, stats: &mut StoreStats) {
        for database in self.databases().resolve_all() {
            stats.keys += self.index().count(database.handle);
            stats.keys_with_expiry += self.index().count_expiring(database.handle);
        }
    }

    fn add_device_stats(&self, stats: &mut StoreStats) {
        for device in self.devices() {
            let counters = device.counters();
            stats.device_reads += counters.reads;
            stats.device_read_bytes += counters.read_bytes;
            stats.device_writes += counters.writes;
            stats.device_written_bytes += counters.written_bytes;
            stats.device_flushes += counters.flushes;
            stats.device_read_errors += counters.read_errors;
            stats.device_write_errors += counters.write_errors;
            stats.device_enters += counters.enters;
            stats.device_bytes += device.geometry().capacity_bytes;
        }
        let segments = self.segments();
        stats.device_allocated_bytes = segments.allocated_count() * u64::from(self.segment_bytes());
        for segment in segments.numbers() {
            match segments.get(segment).state() {
                State::Unallocated | State::Free => stats.segments_free += 1,
                State::Open => stats.segments_open += 1,
                State::Sealed => stats.segments_sealed += 1,
                State::Cleaning => stats.segments_cleaning += 1,
            }
        }
    }
}
