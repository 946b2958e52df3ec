//! Linear hashing's steps: a region gains or loses one bucket.
//!
//! Owns when a step is due and how it runs. Must never wait: a step that finds a bucket busy is
//! left to a later operation. At most one thread at a time steps a region.

use crate::bucket::{Chain, Entries, NODE_SLOTS, Nodes};
use crate::region::{BUCKETS_MAX, Place, Region, State, TierSlot, parent_of};
use crate::sync::Ordering;
use crate::table::{Index, IndexFull};

/// Entries for every ten buckets above which a region grows: six slots a bucket, filled to
/// 110 %. `docs/index.md` has the measured trade of bytes against buckets visited.
const ENTRIES_PER_TEN_BUCKETS: u64 = 66;
/// A region shrinks when it would still not grow with one bucket and this part of its buckets less,
/// so that a key that comes and goes does not split and merge the same bucket over and over.
const SHRINK_PART: u64 = 128;

/// Overflow nodes that a merge may need beyond those of the two buckets: the six slots that go.
const MERGE_NODES: usize = 6_usize.div_ceil(NODE_SLOTS);

/// What a region needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Grow,
    Shrink,
    Stay,
}

fn step_due(entries: u64, buckets: u32, buckets_min: u32) -> Step {
    let (entries, buckets) = (entries * 10, u64::from(buckets));
    let full = buckets * ENTRIES_PER_TEN_BUCKETS;
    if entries > full && buckets < u64::from(BUCKETS_MAX) {
        Step::Grow
    } else if buckets > u64::from(buckets_min)
        && entries + ENTRIES_PER_TEN_BUCKETS < full - full / SHRINK_PART
    {
        Step::Shrink
    } else {
        Step::Stay
    }
}

impl Index {
    /// Brings a region one step nearer to its right size, and its overflow nodes nearer together
    /// where they lie scattered. The caller holds no bucket's lock.
    ///
    /// `freed`: the operation gave nodes back. Others do not look how scattered nodes are, which
    /// all threads write to.
    pub(crate) fn step(&self, partition: u16, freed: bool) {
        let region = self.region(partition);
        let sparse_above = freed.then(|| self.nodes.sparse_above()).flatten();
        if self.due(region) == Step::Stay && sparse_above.is_none()
            || region.stepping.swap(1, Ordering::Acquire) == 1
        {
            return;
        }
        // Asked again: only now can nobody else change the number of buckets.
        match self.due(region) {
            // A step that does not fit into the bound is no loss: chains get longer until it does.
            Step::Grow => drop(self.grow(region)),
            Step::Shrink => self.shrink(region),
            Step::Stay => {}
        }
        if let Some(above) = sparse_above {
            self.compact(region, above);
        }
        region.stepping.store(0, Ordering::Release);
    }

    fn due(&self, region: &Region) -> Step {
        let state = State::from_word(region.state.load(Ordering::Relaxed));
        let entries = region.entries.load(Ordering::Relaxed);
        step_due(entries, state.buckets(), self.shape.buckets_min())
    }

    /// Gives a new region its first buckets, one a partition.
    pub(crate) fn found(&self, region: &Region) -> Result<(), IndexFull> {
        let buckets = self.shape.buckets_min();
        for bucket in 0..buckets {
            let place = Place::of(bucket, self.shape);
            self.make_room(region, place)?;
            let block = self.block_at(region, place);
            self.chain(block).clear();
            self.lock_of(block).open();
        }
        self.usage
            .buckets
            .fetch_add(u64::from(buckets), Ordering::Relaxed);
        let state = State::from_word(region.state.load(Ordering::Relaxed));
        region
            .state
            .store(state.next(buckets).word(), Ordering::Release);
        Ok(())
    }

    /// Adds a bucket.
    pub(crate) fn grow(&self, region: &Region) -> Result<(), IndexFull> {
        let state = State::from_word(region.state.load(Ordering::Relaxed));
        let place = Place::of(state.buckets(), self.shape);
        self.make_room(region, place)?;
        let block = self.block_at(region, place);
        if !self.split(region, state, block) && place.starts_chunk() {
            self.remove_chunk(region, place);
        }
        Ok(())
    }

    /// Makes sure that the directory has a block at `place`, which comes after all it has.
    fn make_room(&self, region: &Region, place: Place) -> Result<(), IndexFull> {
        if place.starts_tier() {
            self.add_tier(region, place)?;
        }
        if place.starts_chunk() {
            let added = self.add_chunk(region, place);
            if added.is_err() && place.starts_tier() {
                self.remove_tier(region, place);
            }
            added?;
        }
        Ok(())
    }

    /// Splits the parent of the bucket to come into itself and `block`; false where it is busy.
    fn split(&self, region: &Region, state: State, block: u32) -> bool {
        let bucket = state.buckets();
        let parent = self.block_at(region, Place::of(parent_of(bucket), self.shape));
        let parent_lock = self.lock_of(parent);
        let Some(opened) = parent_lock.lock_within_spin() else {
            return false;
        };
        let (old, new) = (self.chain(parent), self.chain(block));
        let (mut entries, mut nodes) = (Entries::new(), Nodes::new());
        old.drain(&mut entries, &mut nodes);
        new.clear();
        let after = state.next(bucket + 1);
        for packed in &entries {
            let moves = after.bucket_of(self.shape.number_in(bucket, packed[0])) == bucket;
            // The nodes always suffice: two partly filled chains need no more than one did.
            if moves { new } else { old }.insert(packed, &mut nodes);
        }
        region.state.store(after.word(), Ordering::Release);
        self.lock_of(block).open();
        parent_lock.unlock_changed(opened);
        self.usage.buckets.fetch_add(1, Ordering::Relaxed);
        self.free_nodes(&mut nodes);
        true
    }

    /// Takes a region's last bucket away.
    pub(crate) fn shrink(&self, region: &Region) {
        let state = State::from_word(region.state.load(Ordering::Relaxed));
        let bucket = state.buckets() - 1;
        let place = Place::of(bucket, self.shape);
        let mut nodes = Nodes::new();
        if self.spare_nodes(&mut nodes, MERGE_NODES).is_ok()
            && self.merge(region, state, &mut nodes)
            && place.starts_chunk()
        {
            self.remove_chunk(region, place);
        }
        self.free_nodes(&mut nodes);
    }

    /// Moves the last bucket's entries to its parent; false where one of them is busy.
    fn merge(&self, region: &Region, state: State, nodes: &mut Nodes) -> bool {
        let bucket = state.buckets() - 1;
        let parent = self.block_at(region, Place::of(parent_of(bucket), self.shape));
        let block = self.block_at(region, Place::of(bucket, self.shape));
        let parent_lock = self.lock_of(parent);
        let Some(opened) = parent_lock.lock_within_spin() else {
            return false;
        };
        // Locked and never opened again: the bucket leaves the table.
        if self.lock_of(block).lock_within_spin().is_none() {
            parent_lock.unlock_unchanged(opened);
            return false;
        }
        let mut entries = Entries::new();
        self.chain(block).drain(&mut entries, nodes);
        let into: Chain<'_> = self.chain(parent);
        for packed in &entries {
            into.insert(packed, nodes);
        }
        region
            .state
            .store(state.next(bucket).word(), Ordering::Release);
        parent_lock.unlock_changed(opened);
        self.usage.buckets.fetch_sub(1, Ordering::Relaxed);
        true
    }

    fn add_tier(&self, region: &Region, place: Place) -> Result<(), IndexFull> {
        let word = match place.tier_slot() {
            TierSlot::Inline(tier) => &region.tiers[tier],
            TierSlot::Beyond(tier) => {
                let mut beyond = region.beyond.load(Ordering::Relaxed);
                if beyond == 0 {
                    beyond = self.directory_nodes(0)?;
                    region.beyond.store(beyond, Ordering::Release);
                }
                &self.nodes.memory().block(beyond)[tier]
            }
        };
        word.store(
            self.directory_nodes(self.shape.tier_order())?,
            Ordering::Relaxed,
        );
        Ok(())
    }

    fn remove_tier(&self, region: &Region, place: Place) {
        let order = self.shape.tier_order();
        self.nodes
            .free(self.tier_of(region, place), order, &self.budget);
        self.usage
            .directory_nodes
            .fetch_sub(1 << order, Ordering::Relaxed);
    }

    /// A run of `2^order` nodes for the directory.
    fn directory_nodes(&self, order: u32) -> Result<u32, IndexFull> {
        let node = self
            .nodes
            .allocate(order, &self.budget)
            .ok_or_else(|| self.full())?;
        self.usage
            .directory_nodes
            .fetch_add(1 << order, Ordering::Relaxed);
        Ok(node)
    }

    fn add_chunk(&self, region: &Region, place: Place) -> Result<(), IndexFull> {
        let chunk = self
            .buckets
            .allocate(place.order, &self.budget)
            .ok_or_else(|| self.full())?;
        self.chunk_word(region, place)
            .store(chunk, Ordering::Relaxed);
        Ok(())
    }

    /// Gives up the chunk that `place` starts, and the tier that the chunk starts.
    fn remove_chunk(&self, region: &Region, place: Place) {
        let chunk = self.chunk_word(region, place).load(Ordering::Relaxed);
        self.buckets.free(chunk, place.order, &self.budget);
        if place.starts_tier() {
            self.remove_tier(region, place);
        }
    }

    pub(crate) fn block_at(&self, region: &Region, place: Place) -> u32 {
        self.chunk_word(region, place).load(Ordering::Relaxed) + place.offset
    }

    /// Adds overflow nodes to `spares` until there are `count`.
    pub(crate) fn spare_nodes(&self, spares: &mut Nodes, count: usize) -> Result<(), IndexFull> {
        while spares.len() < count {
            let node = self
                .nodes
                .allocate(0, &self.budget)
                .ok_or_else(|| self.full())?;
            spares.push(node);
        }
        Ok(())
    }

    /// Gives nodes back; false where there are none.
    pub(crate) fn free_nodes(&self, spares: &mut Nodes) -> bool {
        let any = !spares.is_empty();
        for node in spares.drain(..) {
            self.nodes.free(node, 0, &self.budget);
        }
        any
    }

    pub(crate) fn full(&self) -> IndexFull {
        IndexFull {
            bytes_max: self.budget.bytes_max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, Hasher, Identity};

    const ENTRY: Entry = Entry {
        location: 1,
        length_class: 0,
        value_type: 0,
        database: 0,
        referenced: false,
        expiry_s: 0,
    };

    /// An index of which partition 0 has `count` keys, and those.
    fn filled(count: u32) -> (Index, Vec<Identity>) {
        let index = Index::new_for_uneven(0).expect("addresses are to be had");
        let hasher = Hasher::new([1; 16]);
        let ids = (0..count).map(|number| hasher.key(number, b"").in_partition(0));
        let ids: Vec<Identity> = ids.collect();
        for id in &ids {
            let mut lock = index.lock(*id);
            lock.ensure_room(*id).expect("there is no bound");
            lock.put(*id, ENTRY);
        }
        (index, ids)
    }

    fn buckets(index: &Index) -> u32 {
        State::from_word(index.region(0).state.load(Ordering::Relaxed)).buckets()
    }

    fn block(index: &Index, bucket: u32) -> u32 {
        index.block_at(index.region(0), Place::of(bucket, index.shape))
    }

    /// Steps `step` while a writer holds `bucket`, then again when it does not.
    fn check_busy(bucket_of: impl Fn(u32) -> u32, step: impl Fn(&Index), change: i64) {
        let (index, ids) = filled(200);
        let before = buckets(&index);
        let busy = block(&index, bucket_of(before));
        let member = ids.iter().find(|id| index.locate(**id).block == busy);
        let held = index.lock(*member.expect("no bucket of 200 keys is empty"));
        step(&index);
        assert_eq!(buckets(&index), before, "a busy bucket is left alone");
        drop(held);
        step(&index);
        assert_eq!(i64::from(buckets(&index)) - i64::from(before), change);
        assert!(ids.iter().all(|id| index.lookup(*id) == Some(ENTRY)));
    }

    #[test]
    fn a_bucket_that_a_writer_holds_is_neither_split_nor_merged() {
        let grow = |index: &Index| index.grow(index.region(0)).expect("there is no bound");
        let shrink = |index: &Index| index.shrink(index.region(0));
        check_busy(parent_of, grow, 1);
        check_busy(|buckets| buckets - 1, shrink, -1);
        check_busy(|buckets| parent_of(buckets - 1), shrink, -1);
    }

    #[test]
    fn a_bucket_that_left_the_table_stays_locked_and_its_readers_notice() {
        let (index, ids) = filled(200);
        let last = block(&index, buckets(&index) - 1);
        let member = ids.iter().find(|id| index.locate(**id).block == last);
        let located = index.locate(*member.expect("no bucket of 200 keys is empty"));
        assert!(located.is_current());
        index.shrink(index.region(0));
        assert!(!located.is_current());
        assert!(index.lock_of(last).try_lock().is_none());
        assert!(index.lock_of(last).begin_read().is_none());
        index.grow(index.region(0)).expect("there is no bound");
        assert!(!located.is_current(), "the same bucket in another life");
        assert!(
            index
                .lock_of(block(&index, buckets(&index) - 1))
                .begin_read()
                .is_some()
        );
    }

    #[test]
    fn splitting_and_merging_give_back_all_they_took() {
        let (index, ids) = filled(200);
        let before = (buckets(&index), index.bytes());
        for _ in 0..if cfg!(miri) { 20 } else { 3000 } {
            index.grow(index.region(0)).expect("there is no bound");
        }
        while buckets(&index) > before.0 {
            index.shrink(index.region(0));
        }
        assert_eq!(index.bytes().buckets, before.1.buckets);
        assert_eq!(index.bytes().overflow, before.1.overflow);
        assert_eq!(index.bytes().directory, before.1.directory);
        assert!(ids.iter().all(|id| index.lookup(*id) == Some(ENTRY)));
    }

    #[test]
    fn steps_are_due_at_the_fill_and_not_at_once_back() {
        assert_eq!(step_due(0, 1, 1), Step::Stay);
        assert_eq!(step_due(6, 1, 1), Step::Stay);
        assert_eq!(step_due(7, 1, 1), Step::Grow);
        assert_eq!(step_due(0, 256, 256), Step::Stay);
        for buckets in 2..1000 {
            let entries = u64::from(buckets) * ENTRIES_PER_TEN_BUCKETS / 10;
            assert_eq!(step_due(entries + 1, buckets, 1), Step::Grow);
            assert_eq!(step_due(entries + 1, buckets + 1, 1), Step::Stay);
            assert_eq!(step_due(entries, buckets, 1), Step::Stay);
            assert_eq!(step_due(entries * 7 / 8, buckets + 2, 1), Step::Shrink);
        }
    }
}
