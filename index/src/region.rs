//! A region's header: its size, and the way from a bucket's number to the bucket.
//!
//! Owns linear hashing's arithmetic and the directory's shape. Must never move a directory on
//! growth: tiers are added and taken away, nothing is copied.
//!
//! A region is a run of partitions that grow together. A bucket's number has the partition in its
//! lowest bits and bits of the tag above them, so that each bucket belongs to one partition.
//!
//! With `c` chunks a tier: tier 0 holds buckets 0 to `c - 1`, tier `t` holds the `c * 2^(t-1)`
//! buckets from number `c * 2^(t-1)` on, in `c` chunks of equal size. So the unused part of the
//! last chunk is at most one `c`-th of the region.

use crate::bucket::NODE_WORDS;
use crate::identity::{PARTITION_BITS, PARTITION_COUNT};
use crate::sync::{AtomicU32, AtomicU64};

/// Tiers whose node the header names itself.
const TIERS_INLINE: usize = 13;
/// Tiers named by the node that the header's last word names.
const TIERS_BEYOND: usize = NODE_WORDS;
/// Buckets a region may have, about 7 billion keys.
pub(crate) const BUCKETS_MAX: u32 = 1 << 30;

const _: () = {
    let chunk_bits = Shape::ANY.chunk_bits as usize;
    assert!(chunk_bits < Shape::EVEN.chunk_bits as usize);
    assert!(BUCKETS_MAX.ilog2() as usize - chunk_bits < TIERS_INLINE + TIERS_BEYOND);
};

/// Everything about a region that a reader looks at before it reaches a bucket: one cache line,
/// and a second one that only writers look at.
#[repr(C, align(128))]
pub(crate) struct Region {
    /// A [`State`].
    pub(crate) state: AtomicU64,
    /// The tiers' nodes; a tier that does not exist leaves a stale number.
    pub(crate) tiers: [AtomicU32; TIERS_INLINE],
    /// The node that names the tiers beyond; 0 = none. Once there it stays.
    pub(crate) beyond: AtomicU32,
    /// Entries, pages included.
    pub(crate) entries: AtomicU64,
    /// 1 while a thread grows or shrinks this region.
    pub(crate) stepping: AtomicU32,
    /// The bucket whose overflow nodes are moved next while they lie scattered; changed by the
    /// thread that steps.
    pub(crate) hand: AtomicU32,
}

#[cfg(not(loom))]
const _: () = assert!(std::mem::offset_of!(Region, entries) == 64);

impl Region {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            tiers: std::array::from_fn(|_| AtomicU32::new(0)),
            beyond: AtomicU32::new(0),
            entries: AtomicU64::new(0),
            stepping: AtomicU32::new(0),
            hand: AtomicU32::new(0),
        }
    }
}

/// How partitions are laid out in regions.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// A region has `2^partition_bits` partitions.
    partition_bits: u32,
    /// A tier has `2^chunk_bits` chunks.
    chunk_bits: u32,
}

impl Shape {
    /// For partitions that fill evenly: few regions, so that all that stands before the buckets
    /// fits into a core's second-level cache, and many chunks, since they reach the end of a
    /// chunk at the same time.
    pub(crate) const EVEN: Self = Self {
        partition_bits: if cfg!(any(miri, loom)) {
            PARTITION_BITS - 1
        } else {
            8
        },
        chunk_bits: 6,
    };
    /// For partitions of any size, up to one that holds everything: each is its own region.
    pub(crate) const ANY: Self = Self {
        partition_bits: 0,
        chunk_bits: 4,
    };

    pub(crate) fn regions(self) -> u32 {
        PARTITION_COUNT >> self.partition_bits
    }

    /// The region of a partition.
    #[inline]
    pub(crate) fn region_of(self, partition: u16) -> usize {
        usize::from(partition) >> self.partition_bits
    }

    /// The first partition of the region after that of `partition`.
    pub(crate) fn next_region(self, partition: u32) -> u32 {
        ((partition >> self.partition_bits) + 1) << self.partition_bits
    }

    /// Buckets that a region has at least: one a partition.
    pub(crate) fn buckets_min(self) -> u32 {
        1 << self.partition_bits
    }

    /// The number of which a bucket's number is the lowest bits.
    #[inline]
    pub(crate) fn number_of(self, partition: u16, tag_low: u32) -> u32 {
        let partition = u32::from(partition) & (self.buckets_min() - 1);
        tag_low << self.partition_bits | partition
    }

    /// The same for a member of bucket `bucket`, whose lowest bits are its partition's.
    #[inline]
    pub(crate) fn number_in(self, bucket: u32, tag_low: u32) -> u32 {
        tag_low << self.partition_bits | bucket & (self.buckets_min() - 1)
    }

    /// How many low bits of a tag the members of a bucket of depth `depth` share, and what they
    /// are.
    pub(crate) fn tag_bits(self, bucket: u32, depth: u32) -> (u32, u32) {
        (depth - self.partition_bits, bucket >> self.partition_bits)
    }

    /// Nodes of a tier, as a power of two.
    pub(crate) fn tier_order(self) -> u32 {
        self.chunk_bits - NODE_WORDS.ilog2()
    }
}

const _: () = assert!(Shape::EVEN.partition_bits < PARTITION_BITS);

/// How many buckets a region has, and how often that changed.
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

    /// The bucket that holds the members with number `number`.
    #[inline]
    pub(crate) fn bucket_of(self, number: u32) -> u32 {
        let buckets = self.buckets();
        // All ones up to the highest bit that a bucket's number can have.
        let mask = (u64::from(u32::MAX) >> (buckets - 1).leading_zeros()) as u32;
        let bucket = number & mask;
        if bucket < buckets {
            bucket
        } else {
            bucket & mask >> 1
        }
    }

    /// How many low bits of their numbers the members of `bucket` share.
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
    chunk: u32,
    /// A chunk is `2^order` buckets.
    pub(crate) order: u32,
    /// Which of the chunk's buckets.
    pub(crate) offset: u32,
}

impl Place {
    #[inline]
    pub(crate) fn of(bucket: u32, shape: Shape) -> Self {
        if bucket >> shape.chunk_bits == 0 {
            return Self {
                tier: 0,
                chunk: bucket,
                order: 0,
                offset: 0,
            };
        }
        let level = bucket.ilog2();
        let order = level - shape.chunk_bits;
        let within = bucket - (1 << level);
        Self {
            tier: order + 1,
            chunk: within >> order,
            order,
            offset: within & ((1 << order) - 1),
        }
    }

    /// Which of the tier's nodes names the chunk, and at which word.
    #[inline]
    pub(crate) fn chunk_slot(self) -> (u32, usize) {
        (
            self.chunk / NODE_WORDS as u32,
            self.chunk as usize % NODE_WORDS,
        )
    }

    pub(crate) fn starts_chunk(self) -> bool {
        self.offset == 0
    }

    pub(crate) fn starts_tier(self) -> bool {
        self.offset == 0 && self.chunk == 0
    }

    /// Where the tier's first node is named.
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
    /// In the region's header.
    Inline(usize),
    /// In the node that the header names for the tiers beyond.
    Beyond(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bucket counts to try: through several doublings.
    const BUCKETS: std::ops::RangeInclusive<u32> = 1..=if cfg!(miri) { 9 } else { 70 };
    /// Between the numbers to try.
    const STRIDE: usize = if cfg!(miri) { 0x1fff_1235 } else { 0x00f1_2345 };
    const PARTITION_STRIDE: usize = if cfg!(miri) { 4001 } else { 37 };

    fn state(buckets: u32) -> State {
        State::from_word(0).next(buckets)
    }

    #[test]
    fn every_number_has_one_bucket_at_its_depth() {
        for buckets in BUCKETS {
            let state = state(buckets);
            for number in (0..=u32::MAX).step_by(STRIDE) {
                let bucket = state.bucket_of(number);
                assert!(bucket < buckets);
                let depth = state.depth_of(bucket);
                assert_eq!(u64::from(number) % (1 << depth), u64::from(bucket));
            }
        }
    }

    #[test]
    fn a_split_moves_members_from_the_parent_only() {
        for buckets in BUCKETS {
            let (before, after) = (state(buckets), state(buckets + 1));
            for number in 0..BUCKETS.end() * 4 {
                let (old, new) = (before.bucket_of(number), after.bucket_of(number));
                assert!(old == new || (new == buckets && old == parent_of(buckets)));
            }
        }
    }

    fn check_directory(shape: Shape, chunks: u32) {
        let mut expected = 0_u32;
        for tier in 0..if cfg!(miri) { 3 } else { 10 } {
            let order = u32::saturating_sub(tier, 1);
            for chunk in 0..chunks {
                for offset in 0..1 << order {
                    let place = Place {
                        tier,
                        chunk,
                        order,
                        offset,
                    };
                    assert_eq!(Place::of(expected, shape), place);
                    expected += 1;
                }
            }
        }
        let last = Place::of(BUCKETS_MAX - 1, shape);
        assert!((last.tier as usize) < TIERS_INLINE + TIERS_BEYOND);
    }

    #[test]
    fn the_directory_has_a_place_for_every_bucket() {
        check_directory(Shape::EVEN, 64);
        check_directory(Shape::ANY, 16);
    }

    #[test]
    fn a_bucket_knows_its_members_partition_and_tag_bits() {
        for shape in [Shape::EVEN, Shape::ANY] {
            let state = state(shape.buckets_min() * 3 + 7);
            for partition in (0..PARTITION_COUNT as u16).step_by(PARTITION_STRIDE) {
                for low in (0..=u32::MAX).step_by(STRIDE) {
                    let bucket = state.bucket_of(shape.number_of(partition, low));
                    assert_eq!(
                        shape.number_in(bucket, low),
                        shape.number_of(partition, low)
                    );
                    let (bits, value) = shape.tag_bits(bucket, state.depth_of(bucket));
                    assert_eq!(u64::from(low) % (1 << bits), u64::from(value));
                }
            }
        }
    }

    #[test]
    fn states_with_as_many_buckets_differ() {
        let state = state(5);
        assert!(state.next(6).next(5) != state);
    }
}
