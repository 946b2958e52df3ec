//! Waiting for eviction: a writer that found no room waits while there is something to evict.

use std::sync::atomic::Ordering;

use crate::error::StoreError;
use crate::store::Store;

/// A writer looks again after this long whatever happens: a few slices of the hand.
const RETRY_US: u64 = 1_000;
/// A writer fails after this long: the slowest device makes room for the longest batch, half a
/// segment, several times in it.
const WAIT_US_MAX: u64 = 10_000_000;

/// How long a writer has been waiting.
#[derive(Default)]
pub(crate) struct Patience {
    since_us: Option<u64>,
}

impl Patience {
    /// Waits until there may be room. Fails with `error` when nothing can be evicted, or after a
    /// bound.
    pub(crate) async fn wait(
        &mut self,
        store: &Store,
        error: StoreError,
    ) -> Result<(), StoreError> {
        let now_us = store.clock().monotonic_us();
        let since_us = *self.since_us.get_or_insert(now_us);
        if now_us - since_us >= WAIT_US_MAX || !store.has_evictable_keys() {
            return Err(error);
        }
        let eviction = store.eviction();
        if matches!(error, StoreError::OutOfMemory) {
            eviction.is_memory_wanted.store(true, Ordering::Relaxed);
        }
        eviction.wanted.notify_one();
        store.want_room();
        tokio::select! {
            biased;
            () = eviction.relief.notified() => {}
            () = store.log().room().notified() => {}
            () = store.clock().sleep(RETRY_US) => {}
        }
        Ok(())
    }
}
