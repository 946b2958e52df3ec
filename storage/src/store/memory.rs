//! Memory: one bound, shared out between index, buffers, clients and cache.

use std::sync::atomic::Ordering;

use crate::store::Store;

impl Store {
    /// Changes the bound on index, cache, buffers and clients, in bytes; 0: none.
    pub fn set_memory_bytes_max(&self, bytes: u64) {
        self.memory_bytes_max.store(bytes, Ordering::Release);
        self.share_memory();
    }

    pub(crate) fn memory_bytes_max(&self) -> u64 {
        self.memory_bytes_max.load(Ordering::Acquire)
    }

    /// Tells the store what the clients' buffers hold, in bytes.
    pub fn set_client_bytes(&self, bytes: u64) {
        self.client_bytes.store(bytes, Ordering::Release);
    }

    /// Shares the memory bound out: what index, buffers and clients need comes first, the cache has
    /// what is left, up to what it was given.
    pub(crate) fn share_memory(&self) {
        let bound = self.memory_bytes_max();
        let fixed = self.fixed_bytes() + self.client_bytes.load(Ordering::Acquire);
        let is_short = bound > 0 && fixed >= bound;
        self.is_memory_short.store(is_short, Ordering::Relaxed);
        if bound == 0 {
            self.index().set_bytes_max(0);
            self.cache
                .set_bytes_max(self.parts.options.value_cache_bytes);
            return;
        }
        self.index()
            .set_bytes_max(bound.saturating_sub(fixed).max(1));
        let left = bound.saturating_sub(fixed + self.index().bytes().total);
        self.cache
            .set_bytes_max(left.min(self.parts.options.value_cache_bytes));
    }

    /// Write buffers, tables and registries, in bytes.
    fn fixed_bytes(&self) -> u64 {
        let tables = self.table_bytes() + self.collections().bytes();
        self.write_buffer_bytes() + tables + self.eviction().bytes()
    }

    pub(super) fn write_buffer_bytes(&self) -> u64 {
        let images = self.log().images().len() + self.cold().image_count();
        images as u64 * u64::from(self.segment_bytes())
    }

    pub(super) fn table_bytes(&self) -> u64 {
        let pins = self.parts.options.worker_count as u64 * 4;
        let per_segment = size_of::<crate::segment::Segment>() as u64 + pins;
        u64::from(self.segments().count()) * per_segment + self.locks.bytes() as u64
    }
}
