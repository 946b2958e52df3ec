//! A partition's header: its size, and the way from a bucket's number to the bucket.
//!
//! Owns linear hashing's arithmetic and the directory's shape. Must never move a directory on
//! growth: tiers are added and taken away, nothing is copied.
//!
//! Tier 0 holds buckets 0-15, tier `t` holds the `2^(t+3)` buckets from number `2^(t+3)` on. Each
//! tier has 16 chunks of equal size, so that the unused part of the last chunk is at most a
//! sixteenth of the partition, and a tier's 16 chunk numbers fill one 64-byte node.

use std::sync::atomic::{AtomicU32, AtomicU64};

/// Chunks of a tier.
pub(crate) const TIER_CHUNKS: u32 = 16;
const TIER_CHUNKS_LOG: u32 = TIER_CHUNKS.ilog2();
/// Tiers whose node the header names itself: 2^14 buckets, about 100,000 keys.
const TIERS_INLINE: usize = 11;
/// Tiers named by the node that the header's last word names.
const TIERS_BEYOND: usize = 16;
/// Buckets a partition may have: 2^30, about 7 billion keys.
pub(crate) const BUCKETS_MAX: u32 = 1 << (TIERS_INLINE + TIERS_BEYOND - 1 + 4);

/// Everything about a partition that a reader looks at before it reaches a bucket: one cache
/// line.
#[repr(C, align(64))]
pub(crate) struct Partition {
    /// A [`State`].
    pub(crate) state: AtomicU64,
    /// Entries, pages included.
    pub(crate) entries: AtomicU32,
    /// 1 while a thread grows or shrinks this partition.
    pub(crate) stepping: AtomicU32,
    /// The tiers' nodes; a tier that does not exist leaves a stale number.
    pub(crate) tiers: [AtomicU32; TIERS_INLINE],
    /// The node that names the tiers beyond; 0 = none. Once there it stays.
    pub(crate) beyond: AtomicU32,
}

const _: () = assert!(size_of::<Partition>() == 64);

impl Partition {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            entries: AtomicU32::new(0),
            stepping: AtomicU32::new(0),
            tiers: [const { AtomicU32::new(0) }; TIERS_INLINE],
            beyond: AtomicU32::new(0),
        }
    }
}

/// How many buckets a partition has, and how often that changed.
///
/// The change count makes a state unique: whoever sees the same state twice knows that no bucket
/// came or went in between.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(u64);

impl State {
    pub(crate) fn from_word(word: u64) -> Self {
        Self(word)
    }

    pub(crate) fn word(self) -> u64 {
        self.0
    }

    pub(crate) fn buckets(self) -> u32 {
        self.0 as u32
    }

    /// The next state, with `buckets` buckets.
    pub(crate) fn next(self, buckets: u32) -> Self {
        let changes = (self.0 >> 32).wrapping_add(1);
        Self(changes << 32 | u64::from(buckets))
    }

    /// The bucket that holds tags whose low word is `low`.
    #[inline]
    pub(crate) fn bucket_of(self, low: u32) -> u32 {
        let buckets = self.buckets();
        // All ones up to the highest bit that a bucket's number can have.
        let mask = (u64::from(u32::MAX) >> (buckets - 1).leading_zeros()) as u32;
        let bucket = low & mask;
        if bucket < buckets {
            bucket
        } else {
            bucket & mask >> 1
        }
    }

    /// How many low bits of a tag the members of `bucket` share.
    pub(crate) fn depth_of(self, bucket: u32) -> u32 {
        let level = self.buckets().ilog2();
        let split = bucket < self.buckets() - (1 << level) || bucket >= 1 << level;
        level + u32::from(split)
    }
}

/// The bucket whose members bucket `bucket` takes over from when it comes into being.
pub(crate) fn parent_of(bucket: u32) -> u32 {
    bucket - (1 << bucket.ilog2())
}

/// Where the directory keeps a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) tier: u32,
    /// Which of the tier's chunks.
    pub(crate) chunk: u32,
    /// A chunk is `2^order` buckets.
    pub(crate) order: u32,
    /// Which of the chunk's buckets.
    pub(crate) offset: u32,
}

impl Place {
    #[inline]
    pub(crate) fn of(bucket: u32) -> Self {
        if bucket < TIER_CHUNKS {
            return Self {
                tier: 0,
                chunk: bucket,
                order: 0,
                offset: 0,
            };
        }
        let level = bucket.ilog2();
        let order = level - TIER_CHUNKS_LOG;
        let within = bucket - (1 << level);
        Self {
            tier: order + 1,
            chunk: within >> order,
            order,
            offset: within & ((1 << order) - 1),
        }
    }

    pub(crate) fn starts_chunk(self) -> bool {
        self.offset == 0
    }

    pub(crate) fn starts_tier(self) -> bool {
        self.offset == 0 && self.chunk == 0
    }

    /// The tier's index among those that the header names itself, or among those beyond.
    #[inline]
    pub(crate) fn tier_slot(self) -> TierSlot {
        match (self.tier as usize).checked_sub(TIERS_INLINE) {
            None => TierSlot::Inline(self.tier as usize),
            Some(beyond) => TierSlot::Beyond(beyond),
        }
    }
}

/// Where a tier's node is named.
#[derive(Clone, Copy)]
pub(crate) enum TierSlot {
    Inline(usize),
    Beyond(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(buckets: u32) -> State {
        State::from_word(0).next(buckets)
    }

    #[test]
    fn every_low_word_has_one_bucket_at_its_depth() {
        for buckets in 1..=70_u32 {
            let state = state(buckets);
            for low in (0..=u32::MAX).step_by(0x00f1_2345) {
                let bucket = state.bucket_of(low);
                assert!(bucket < buckets);
                let depth = state.depth_of(bucket);
                assert_eq!(u64::from(low) % (1 << depth), u64::from(bucket));
            }
        }
    }

    #[test]
    fn a_split_moves_members_from_the_parent_only() {
        for buckets in 1..=70_u32 {
            let (before, after) = (state(buckets), state(buckets + 1));
            for low in 0..4096 {
                let (old, new) = (before.bucket_of(low), after.bucket_of(low));
                assert!(old == new || (new == buckets && old == parent_of(buckets)));
            }
        }
    }

    #[test]
    fn the_directory_has_a_place_for_every_bucket() {
        let mut expected = 0_u32;
        for tier in 0..13_u32 {
            let order = tier.saturating_sub(1);
            for chunk in 0..TIER_CHUNKS {
                for offset in 0..1 << order {
                    assert_eq!(
                        Place::of(expected),
                        Place {
                            tier,
                            chunk,
                            order,
                            offset
                        }
                    );
                    expected += 1;
                }
            }
        }
        let last = Place::of(BUCKETS_MAX - 1);
        assert_eq!(last.tier as usize, TIERS_INLINE + TIERS_BEYOND - 1);
    }

    #[test]
    fn states_with_as_many_buckets_differ() {
        let state = state(5);
        assert!(state.next(6).next(5) != state);
    }
}
