//! The choice of victims while keys are given up: the oldest first, as a queue in which what is
//! worth it gets another turn.
//!
//! Then the cleaner is a hand that goes round the log: what is in the oldest segment was not
//! written, and if worth keeping not copied, for the longest time. And nothing is as old as what
//! the tombstones in it remove, so that most of those are dropped.

use std::sync::atomic::Ordering;

use crate::segment::State;
use crate::store::{CLEANER_SEGMENTS, Store};
use crate::units::SegmentNumber;

/// Victims of one turn at most: they wait for one group commit together.
const VICTIMS_MAX: usize = 8;
/// Bytes of one turn, in segments: what the cleaner's reserve takes if all of it stays.
const TAKEN_SEGMENTS_MAX: u64 = CLEANER_SEGMENTS - 2;

/// Picks victims and marks them as being cleaned; `None`: the usual choice is better.
pub(crate) fn choose(store: &Store) -> Option<Vec<SegmentNumber>> {
    let eviction = store.eviction();
    let is_log_short = eviction.is_log_short.swap(false, Ordering::Relaxed);
    // Only what is dead can be cleaned while no tombstone can be written; and where few keys may
    // go, the oldest segments may hold none of them.
    if is_log_short || eviction.policy().is_volatile() || !store.is_pressed() {
        return None;
    }
    let durable = store.durable_lsn();
    let segments = store.segments();
    let is_ready = |segment: &SegmentNumber| {
        let life = segments.get(*segment);
        let is_sealed = life.state() == State::Sealed && life.sealed_lsn() <= durable;
        is_sealed && !store.pins().any(*segment)
    };
    let mut ready: Vec<_> = segments.numbers().filter(is_ready).collect();
    let opening = |segment: &SegmentNumber| segments.get(*segment).opening_lsn();
    if ready.len() > VICTIMS_MAX {
        ready.select_nth_unstable_by_key(VICTIMS_MAX, opening);
        ready.truncate(VICTIMS_MAX);
    }
    ready.sort_unstable_by_key(opening);
    let budget = TAKEN_SEGMENTS_MAX * u64::from(store.segment_bytes());
    // No more than what has to go: keys are given up only while it is too much.
    let excess = store.excess_bytes();
    let mut taken = 0;
    let mut chosen = Vec::new();
    for segment in ready {
        let life = segments.get(segment);
        let bytes = life.live_bytes() + life.shadow_bytes();
        if !chosen.is_empty() && (taken >= excess || taken + bytes > budget) {
            break;
        }
        taken += bytes;
        life.set_state(State::Cleaning);
        chosen.push(segment);
    }
    Some(chosen)
}
