//! Walking the table: cursors, whole partitions, random entries.
//!
//! Owns the cursor's meaning. Must never hold a lock while a caller's function runs.
//!
//! A cursor is a partition and a position. Positions are the tags' low words read backwards (bit
//! 0 first), so that a bucket of depth `d` is an interval of `2^(32-d)` positions: a split halves
//! the interval, a merge joins two neighbours. A step visits the bucket around the cursor's
//! position and goes on at that bucket's end. So every position is passed exactly in the company
//! of all that is stored there: what is in the table from a scan's first to its last call is
//! visited at least once, whatever grows or shrinks meanwhile.

use std::sync::atomic::Ordering;

use crate::bucket::Entries;
use crate::entry::{Entry, identity_of};
use crate::identity::{Identity, PARTITION_BITS, PARTITION_COUNT};
use crate::lock::Patience;
use crate::region::State;
use crate::table::Index;

/// Empty regions that one step of a scan passes over: some microseconds at most.
const EMPTY_REGIONS_MAX: u32 = 256;
/// Random buckets that one `random` looks into: some 50 microseconds at most.
const RANDOM_BUCKETS_MAX: u32 = 256;
/// Buckets that one `random` then visits in a row, some 50 microseconds at most: twice those of a
/// region at its least, so that the only key of a store is always found.
const NEAR_BUCKETS_MAX: u32 = 2 * 256 + 2;
/// Slots among which `random` draws: a chain this long or shorter is drawn from fairly.
const RANDOM_SLOTS: u64 = 16;

impl Index {
    /// Calls `visit` with every entry of one bucket, pages included, and answers the cursor to go
    /// on with. 0 begins a scan, and is answered at its end; so is it for a cursor that no scan
    /// answered.
    ///
    /// What is in the table during the whole scan is visited at least once; other entries may be
    /// visited or not, and any may be visited twice.
    pub fn scan(&self, cursor: u64, visit: &mut dyn FnMut(Identity, Entry)) -> u64 {
        if cursor >= Self::cursor_at(PARTITION_COUNT) {
            return 0;
        }
        let cursor = self.visit_bucket(cursor, visit);
        self.skip_empty(cursor)
    }

    /// Calls `visit` with every entry of `partition`, with the same guarantee as a scan.
    pub fn scan_partition(&self, partition: u16, visit: &mut dyn FnMut(Identity, Entry)) {
        let partition = u32::from(partition);
        let (mut cursor, end) = (Self::cursor_at(partition), Self::cursor_at(partition + 1));
        while cursor < end {
            cursor = self.visit_bucket(cursor, visit);
        }
    }

    /// The cursor at which a scan enters `partition`.
    pub fn cursor_of_partition(partition: u16) -> u64 {
        Self::cursor_at(u32::from(partition))
    }

    /// An entry drawn by the number `random` among those that `wanted` accepts; pages are never
    /// drawn.
    ///
    /// Every entry in a chain of at most 16 is equally likely as long as one of 256 random buckets
    /// has a wanted one. `None`: there was none in any of them, nor in 514 buckets in a row; try
    /// again with another number while the counters say that there are any.
    pub fn random(
        &self,
        random: u64,
        wanted: &mut dyn FnMut(&Entry) -> bool,
    ) -> Option<(Identity, Entry)> {
        let mut random = random;
        let mut entries = Entries::new();
        for _ in 0..RANDOM_BUCKETS_MAX {
            random = next_random(random);
            let partition = (random >> (u64::BITS - PARTITION_BITS)) as u16;
            self.copy_bucket(partition, random as u32, &mut entries);
            let slot = (random >> 32) % RANDOM_SLOTS.max(entries.len() as u64);
            let drawn = entries
                .get(slot as usize)
                .map(|packed| (identity_of(partition, packed), Entry::unpack(packed)));
            if let Some(drawn) = drawn.filter(|(_, entry)| entry.is_key() && wanted(entry)) {
                return Some(drawn);
            }
        }
        self.near(random, wanted)
    }

    /// The first wanted entry that a scan from a random place meets within the bound.
    fn near(
        &self,
        random: u64,
        wanted: &mut dyn FnMut(&Entry) -> bool,
    ) -> Option<(Identity, Entry)> {
        let mut cursor = random >> (u32::BITS - PARTITION_BITS);
        let mut found = None;
        for _ in 0..NEAR_BUCKETS_MAX {
            cursor = self.scan(cursor, &mut |id, entry| {
                if found.is_none() && entry.is_key() && wanted(&entry) {
                    found = Some((id, entry));
                }
            });
            if found.is_some() {
                break;
            }
        }
        found
    }

    fn cursor_at(partition: u32) -> u64 {
        u64::from(partition) << 32
    }

    fn visit_bucket(&self, cursor: u64, visit: &mut dyn FnMut(Identity, Entry)) -> u64 {
        let partition = (cursor >> 32) as u16;
        let mut entries = Entries::new();
        let low = (cursor as u32).reverse_bits();
        let next =
            Self::cursor_at(u32::from(partition)) + self.copy_bucket(partition, low, &mut entries);
        // The next step's bucket comes while this one's entries are looked at.
        if next < Self::cursor_at(PARTITION_COUNT) {
            let located = self.locate_low((next >> 32) as u16, (next as u32).reverse_bits());
            self.buckets.memory().prefetch(located.block);
        }
        for packed in &entries {
            visit(identity_of(partition, packed), Entry::unpack(packed));
        }
        next
    }

    /// Replaces `entries` with those of the bucket of tags with the low word `low`; answers the
    /// position at which the bucket ends.
    fn copy_bucket(&self, partition: u16, low: u32, entries: &mut Entries) -> u64 {
        let mut patience = Patience::default();
        loop {
            entries.clear();
            let located = self.locate_low(partition, low);
            if let Some((chain, lock, opened)) = self.begin_read(&located) {
                let copied = chain.copy(entries, || lock.is_unchanged(opened));
                if copied && lock.is_unchanged(opened) && located.is_current() {
                    return self.end_of_bucket(located.state, partition, low);
                }
            }
            patience.turn();
        }
    }

    /// The position after the last one of the bucket of `low`.
    fn end_of_bucket(&self, state: State, partition: u16, low: u32) -> u64 {
        let bucket = state.bucket_of(self.shape.number_of(partition, low));
        let (bits, value) = self.shape.tag_bits(bucket, state.depth_of(bucket));
        u64::from(value.reverse_bits()) + (1 << (32 - bits))
    }

    /// Moves a cursor that enters a partition of an empty region on to the next region.
    fn skip_empty(&self, mut cursor: u64) -> u64 {
        for _ in 0..EMPTY_REGIONS_MAX {
            let partition = (cursor >> 32) as u32;
            if partition >= PARTITION_COUNT {
                return 0;
            }
            let entries = &self.region(partition as u16).entries;
            if cursor as u32 != 0 || entries.load(Ordering::Relaxed) != 0 {
                return cursor;
            }
            cursor = Self::cursor_at(self.shape.next_region(partition));
        }
        if cursor >= Self::cursor_at(PARTITION_COUNT) {
            0
        } else {
            cursor
        }
    }
}

/// The next of a sequence of numbers that look random (Weyl steps through the finalizer of
/// Steele, Lea and Flood's SplitMix).
fn next_random(random: u64) -> u64 {
    let mut mixed = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
