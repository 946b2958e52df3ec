//! When the victims are the oldest segments: while keys are given up, as a queue in which what is
//! worth it gets another turn.
//!
//! Then the cleaner is a hand that goes round the log: what is in the oldest segment was not
//! written, and if worth keeping not copied, for the longest time. And nothing is as old as what
//! the tombstones in it remove, so that most of those are dropped. Owns when; the cleaner finds the
//! segments.

use std::sync::atomic::Ordering;

use crate::store::Store;

/// Whether the oldest segments are to be the victims: how many bytes are too much. No more than
/// these have to go, so a turn takes no more.
pub(crate) fn wants_oldest(store: &Store) -> Option<u64> {
    let eviction = store.eviction();
    let is_log_short = eviction.is_log_short.swap(false, Ordering::Relaxed);
    // Only what is dead can be cleaned while no tombstone can be written; and where few keys may
    // go, the oldest segments may hold none of them.
    if is_log_short || eviction.policy().is_volatile() || !store.is_pressed() {
        return None;
    }
    Some(store.excess_bytes())
}
