//! Pressure: from which marks on keys are evicted, and which writes have to wait for it.

use crate::evict::{Shortage, Sketch};
use crate::store::{CLEANER_SEGMENTS, Store};
use crate::write::Mark;

/// Share of the room, in percent, from which the cleaner gives keys up: as much as leaves it time
/// until writers are stopped at the growth mark.
const EVICT_PERCENT: u64 = 85;
/// The same while segments are short: fuller ones cost more than two bytes copied for each byte of
/// room.
const EVICT_SHORT_PERCENT: u64 = 70;
/// Segments at least between that mark and the growth mark: two of a turn of the cleaner, and one
/// that writers fill meanwhile.
const EVICT_AHEAD_SEGMENTS: u64 = 3;
/// Below the growth mark by so many segments the hand helps the cleaner: a batch has always room.
const HAND_AHEAD_SEGMENTS: u64 = 1;
/// One part in so many of the room may be tombstones before the hand leaves the rest to the
/// cleaner: removing small values makes no room until tombstones are dropped.
const SHADOW_PART_MAX: u64 = 8;
/// One part in so many of the index's bound is kept free.
const INDEX_FREE_PART: u64 = 32;
/// Bytes of device for each key that the sketch is made for.
const SKETCH_BYTES_PER_KEY: u64 = 1 << 10;
/// One part in so many of the memory bound may be the sketch.
const SKETCH_MEMORY_PART: u64 = 16;

impl Store {
    /// Whether the policy makes room by eviction.
    pub(crate) fn evicts(&self) -> bool {
        self.eviction().order().is_some()
    }

    /// Whether the policy finds any key that may go.
    pub(crate) fn has_evictable_keys(&self) -> bool {
        if self.eviction_policy().is_volatile() {
            self.has_expiring_keys()
        } else {
            self.evicts() && !self.index().is_empty()
        }
    }

    /// Bytes of live data and tombstones from which keys are given up.
    fn evict_mark(&self) -> u64 {
        let ahead = EVICT_AHEAD_SEGMENTS * u64::from(self.segment_bytes());
        let growth = self.live_bytes_max(Mark::Growth);
        // A store of a few segments has no such distance.
        let latest = growth.saturating_sub(ahead).max(growth / 2);
        self.room_bytes(EVICT_PERCENT).min(latest)
    }

    fn is_over_evict_mark(&self) -> bool {
        self.taken_bytes() > self.evict_mark()
    }

    /// Whether the cleaner gives keys up instead of copying them.
    pub(crate) fn is_pressed(&self) -> bool {
        self.evicts() && self.excess_bytes() > 0
    }

    /// Bytes of live data and tombstones that are too much.
    pub(super) fn excess_bytes(&self) -> u64 {
        let mark = self.evict_mark();
        let mark = if self.are_segments_short() {
            mark.min(self.room_bytes(EVICT_SHORT_PERCENT))
        } else {
            mark
        };
        self.taken_bytes().saturating_sub(mark)
    }

    /// Whether the cleaner has to work though segments are free: it finds keys to give up wherever
    /// it cleans, or much of what keeps writers out are tombstones, which only cleaning drops.
    pub(crate) fn wants_giving_up(&self) -> bool {
        let finds_keys = || self.evicts() && !self.eviction_policy().is_volatile();
        self.is_over_evict_mark() && (self.is_full_of_shadows() || finds_keys())
    }

    fn is_full_of_shadows(&self) -> bool {
        self.segments().shadow_bytes() > self.room_bytes(100) / SHADOW_PART_MAX
    }

    /// Whether writers leave the last segments to tombstones: without those no key can be given up.
    pub(crate) fn spares_log(&self) -> bool {
        self.evicts() && self.segments().free_count() <= CLEANER_SEGMENTS && self.is_pressed()
    }

    /// What the hand has to evict for. `wanted`: writers wait for memory.
    pub(super) fn shortage(&self, wanted: bool) -> Option<Shortage> {
        if !self.has_evictable_keys() || self.log().is_latched() {
            return None;
        }
        if wanted || self.is_index_full() {
            return Some(Shortage::Memory);
        }
        let ahead = HAND_AHEAD_SEGMENTS * u64::from(self.segment_bytes());
        let mark = if self.eviction_policy().is_volatile() {
            // The cleaner meets keys that may go only here and there.
            self.evict_mark()
        } else {
            self.live_bytes_max(Mark::Growth).saturating_sub(ahead)
        };
        (self.taken_bytes() > mark && !self.is_full_of_shadows()).then_some(Shortage::Space)
    }

    fn is_index_full(&self) -> bool {
        let bound = self.index().bytes_max();
        // What clients hold for a moment shall not cost all keys.
        let bound = bound.max(self.memory_bytes_max() / 4);
        let bytes = self.index().bytes();
        bound > 0 && bytes.total - bytes.free > bound - bound / INDEX_FREE_PART
    }

    pub(super) fn new_sketch(&self) -> Sketch {
        let bytes_max = match self.memory_bytes_max() {
            0 => u64::MAX,
            bytes => bytes / SKETCH_MEMORY_PART,
        };
        Sketch::new(self.room_bytes(100) / SKETCH_BYTES_PER_KEY, bytes_max)
    }
}
