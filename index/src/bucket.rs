//! A bucket and its overflow nodes: six entries, then three a node, packed without gaps.
//!
//! Owns the layout of both and every reading and writing of entries. Must never take a lock: a
//! writer holds the bucket's lock, a reader validates what it read.
//!
//! Bucket, 128 bytes. Like fields lie together, so that a miss costs one cache line:
//!
//! | words | holds |
//! |---|---|
//! | 0 | lock and sequence (see `lock.rs`) |
//! | 1 | link |
//! | 2-7, 8-13, 14-19, 20-25, 26-31 | words 0 to 4 of the six entries |
//!
//! Overflow node, 64 bytes: word 0 link, then words 0 to 4 of three entries.
//!
//! A link up to the number of slots says how many are filled; a larger one says that all are, and
//! names the next node. (Nodes 0 to 7 are never overflow nodes.)

use smallvec::SmallVec;

use crate::entry::{ENTRY_WORDS, MIXED_WORD, Packed};
use crate::identity::Identity;
use crate::memory::Memory;
use crate::sync::{AtomicU32, Ordering};

pub(crate) const BUCKET_WORDS: usize = 32;
pub(crate) const NODE_WORDS: usize = 16;
/// Entries of a bucket.
pub(crate) const BUCKET_SLOTS: usize = 6;
/// Entries of an overflow node.
pub(crate) const NODE_SLOTS: usize = 3;
/// Nodes below this are never allocated: their numbers would read as counts.
pub(crate) const NODES_RESERVED_ORDER: u32 = 3;

/// The word of a bucket that is its lock.
pub(crate) const LOCK: usize = 0;
const BUCKET_LINK: usize = 1;
const BUCKET_FIRST: usize = 2;
const NODE_LINK: usize = 0;
const NODE_FIRST: usize = 1;

const _: () = assert!(BUCKET_FIRST + BUCKET_SLOTS * ENTRY_WORDS == BUCKET_WORDS);
const _: () = assert!(NODE_FIRST + NODE_SLOTS * ENTRY_WORDS == NODE_WORDS);
const _: () = assert!(BUCKET_SLOTS < 1 << NODES_RESERVED_ORDER);

pub(crate) type Bucket = [AtomicU32; BUCKET_WORDS];
pub(crate) type Node = [AtomicU32; NODE_WORDS];

/// Entries of one chain, copied out: chains longer than this go to the heap.
pub(crate) type Entries = SmallVec<[Packed; 16]>;
/// Numbers of overflow nodes.
pub(crate) type Nodes = SmallVec<[u32; 8]>;

/// A bucket or an overflow node, seen alike.
#[derive(Clone, Copy)]
struct Part<'a> {
    link: &'a AtomicU32,
    /// The slots' words, plane by plane.
    planes: &'a [AtomicU32],
    slots: usize,
}

impl<'a> Part<'a> {
    #[inline]
    fn of_bucket(bucket: &'a Bucket) -> Self {
        Self {
            link: &bucket[BUCKET_LINK],
            planes: &bucket[BUCKET_FIRST..],
            slots: BUCKET_SLOTS,
        }
    }

    #[inline]
    fn of_node(node: &'a Node) -> Self {
        Self {
            link: &node[NODE_LINK],
            planes: &node[NODE_FIRST..],
            slots: NODE_SLOTS,
        }
    }

    #[inline]
    fn link(self) -> u32 {
        self.link.load(Ordering::Relaxed)
    }

    fn set_link(self, link: u32) {
        self.link.store(link, Ordering::Relaxed);
    }

    #[inline]
    fn filled(self, link: u32) -> usize {
        self.slots.min(link as usize)
    }

    #[inline]
    fn next(self, link: u32) -> Option<u32> {
        (link as usize > self.slots).then_some(link)
    }

    #[inline]
    fn word(self, slot: usize, word: usize) -> &'a AtomicU32 {
        &self.planes[word * self.slots + slot]
    }

    #[inline]
    fn read(self, slot: usize) -> Packed {
        std::array::from_fn(|word| self.word(slot, word).load(Ordering::Relaxed))
    }

    fn write(self, slot: usize, packed: &Packed) {
        for (word, value) in packed.iter().enumerate() {
            self.word(slot, word).store(*value, Ordering::Relaxed);
        }
    }

    /// The slot among the `filled` first ones that holds `id`.
    ///
    /// All slots are compared before any branch: which slot it is cannot be foreseen, and a
    /// branch foreseen wrongly costs the overlap with the next lookup's cache miss.
    #[inline]
    fn find<const SLOTS: usize>(self, filled: usize, id: Identity) -> Option<usize> {
        let lows: &[AtomicU32; SLOTS] = self.planes.first_chunk().expect("a part has its planes");
        let mut candidates = 0_u32;
        for (slot, low) in lows.iter().enumerate() {
            candidates |= u32::from(low.load(Ordering::Relaxed) == id.low()) << slot;
        }
        candidates &= (1 << filled) - 1;
        while candidates != 0 {
            let slot = candidates.trailing_zeros() as usize;
            if self.word(slot, 1).load(Ordering::Relaxed) == id.middle()
                && self.word(slot, MIXED_WORD).load(Ordering::Relaxed) & 0xff == id.top()
            {
                return Some(slot);
            }
            candidates &= candidates - 1;
        }
        None
    }
}

/// A slot of a chain.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a> {
    part: Part<'a>,
    slot: usize,
}

impl Slot<'_> {
    #[inline]
    pub(crate) fn read(self) -> Packed {
        self.part.read(self.slot)
    }

    pub(crate) fn write(self, packed: &Packed) {
        self.part.write(self.slot, packed);
    }

    /// The word that holds the referenced bit.
    pub(crate) fn mixed(&self) -> &AtomicU32 {
        self.part.word(self.slot, MIXED_WORD)
    }
}

/// What a reader found before its bucket changed under it.
pub(crate) enum Found<T> {
    Yes(T),
    No,
    /// The bucket changed: start over.
    Changed,
}

/// A bucket with its overflow nodes.
#[derive(Clone, Copy)]
pub(crate) struct Chain<'a> {
    bucket: &'a Bucket,
    nodes: &'a Memory<NODE_WORDS>,
}

impl<'a> Chain<'a> {
    #[inline]
    pub(crate) fn new(bucket: &'a Bucket, nodes: &'a Memory<NODE_WORDS>) -> Self {
        Self { bucket, nodes }
    }

    /// Looks `id` up. `valid` is asked before a link is followed: a link read from a bucket that
    /// changed may be anything.
    #[inline]
    pub(crate) fn find(self, id: Identity, valid: impl Fn() -> bool) -> Found<Slot<'a>> {
        let mut part = Part::of_bucket(self.bucket);
        let mut link = part.link();
        if let Some(slot) = part.find::<BUCKET_SLOTS>(part.filled(link), id) {
            return Found::Yes(Slot { part, slot });
        }
        while let Some(next) = part.next(link) {
            if !valid() {
                return Found::Changed;
            }
            part = Part::of_node(self.nodes.block(next));
            link = part.link();
            if let Some(slot) = part.find::<NODE_SLOTS>(part.filled(link), id) {
                return Found::Yes(Slot { part, slot });
            }
        }
        Found::No
    }

    /// Asks for the cache line of the first overflow node.
    #[inline]
    pub(crate) fn prefetch_overflow(self, valid: impl Fn() -> bool) {
        let part = Part::of_bucket(self.bucket);
        if let Some(next) = part.next(part.link())
            && valid()
        {
            self.nodes.prefetch(next);
        }
    }

    /// Copies all entries; false where `valid` said that the bucket changed.
    pub(crate) fn copy(self, entries: &mut Entries, valid: impl Fn() -> bool) -> bool {
        let mut part = Part::of_bucket(self.bucket);
        loop {
            let link = part.link();
            entries.extend((0..part.filled(link)).map(|slot| part.read(slot)));
            let Some(next) = part.next(link) else {
                return true;
            };
            if !valid() {
                return false;
            }
            part = Part::of_node(self.nodes.block(next));
        }
    }

    // What follows is for the holder of the bucket's lock.

    /// Finds `id`'s slot under the lock.
    pub(crate) fn find_locked(self, id: Identity) -> Option<Slot<'a>> {
        match self.find(id, || true) {
            Found::Yes(slot) => Some(slot),
            Found::No | Found::Changed => None,
        }
    }

    /// Free slots of the last part.
    pub(crate) fn room(self) -> usize {
        let last = self.last();
        last.slots - last.filled(last.link())
    }

    /// Adds an entry that is not there yet; takes a node from `spares` where the chain is full.
    pub(crate) fn insert(self, packed: &Packed, spares: &mut Nodes) {
        let last = self.last();
        let filled = last.filled(last.link());
        if filled < last.slots {
            last.write(filled, packed);
            last.set_link(filled as u32 + 1);
            return;
        }
        let node = spares.pop().expect("room was obtained before the insert");
        let part = Part::of_node(self.nodes.block(node));
        part.write(0, packed);
        part.set_link(1);
        last.set_link(node);
    }

    /// Removes what is in `slot` by moving the chain's last entry there; a node that this empties
    /// goes to `spares`.
    pub(crate) fn remove(self, slot: Slot<'_>, spares: &mut Nodes) {
        let mut before: Option<(Part<'_>, u32)> = None;
        let mut last = Part::of_bucket(self.bucket);
        while let Some(next) = last.next(last.link()) {
            before = Some((last, next));
            last = Part::of_node(self.nodes.block(next));
        }
        let filled = last.filled(last.link());
        slot.write(&last.read(filled - 1));
        last.set_link(filled as u32 - 1);
        if let Some((before, emptied)) = before.filter(|_| filled == 1) {
            before.set_link(before.slots as u32);
            spares.push(emptied);
        }
    }

    /// Takes everything out: the entries, and the nodes that held them.
    pub(crate) fn drain(self, entries: &mut Entries, nodes: &mut Nodes) {
        self.copy(entries, || true);
        let mut part = Part::of_bucket(self.bucket);
        while let Some(next) = part.next(part.link()) {
            nodes.push(next);
            part = Part::of_node(self.nodes.block(next));
        }
        self.clear();
    }

    /// Moves what is in nodes from `above` on to nodes that `lower` answers, as long as it answers
    /// any; adds the nodes left to `moved`.
    pub(crate) fn move_nodes(self, above: u32, moved: &mut Nodes, lower: impl Fn() -> Option<u32>) {
        let mut part = Part::of_bucket(self.bucket);
        while let Some(next) = part.next(part.link()) {
            let before = part;
            let node = self.nodes.block(next);
            part = Part::of_node(node);
            if next < above {
                continue;
            }
            let Some(lower) = lower() else { return };
            let target = self.nodes.block(lower);
            for (from, to) in node.iter().zip(target) {
                to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            part = Part::of_node(target);
            before.set_link(lower);
            moved.push(next);
        }
    }

    /// Makes the chain empty, whatever was there.
    pub(crate) fn clear(self) {
        Part::of_bucket(self.bucket).set_link(0);
    }

    fn last(self) -> Part<'a> {
        let mut part = Part::of_bucket(self.bucket);
        while let Some(next) = part.next(part.link()) {
            part = Part::of_node(self.nodes.block(next));
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hasher;

    fn packed(number: u32) -> (Identity, Packed) {
        let id = Hasher::new([9; 16]).key(number, b"key");
        (
            id,
            [
                id.low(),
                id.middle(),
                id.top() | number << 8,
                number,
                !number,
            ],
        )
    }

    fn empty_bucket() -> Bucket {
        std::array::from_fn(|_| AtomicU32::new(u32::MAX))
    }

    /// A chain on which entries 0 to `count - 1` were put, and the nodes not yet used.
    fn check(count: u32, work: impl Fn(Chain<'_>, &mut Nodes)) {
        let (bucket, memory) = (
            empty_bucket(),
            Memory::reserve().expect("addresses are to be had"),
        );
        let chain = Chain::new(&bucket, &memory);
        chain.clear();
        let mut spares: Nodes = (8..40).collect();
        for number in 0..count {
            chain.insert(&packed(number).1, &mut spares);
        }
        work(chain, &mut spares);
    }

    #[test]
    fn a_chain_takes_as_many_nodes_as_its_entries_need() {
        for count in 0..=20 {
            check(count, |chain, spares| {
                let nodes = (count as usize)
                    .saturating_sub(BUCKET_SLOTS)
                    .div_ceil(NODE_SLOTS);
                assert_eq!(spares.len(), 32 - nodes);
                assert_eq!(
                    chain.room(),
                    BUCKET_SLOTS + nodes * NODE_SLOTS - count as usize
                );
                let mut entries = Entries::new();
                assert!(chain.copy(&mut entries, || true));
                let expected: Entries = (0..count).map(|number| packed(number).1).collect();
                assert_eq!(entries, expected);
            });
        }
    }

    #[test]
    fn removal_of_any_entry_leaves_the_others_and_frees_emptied_nodes() {
        for count in 1..=13 {
            for removed in 0..count {
                check(count, |chain, spares| {
                    let slot = chain.find_locked(packed(removed).0).expect("it was put");
                    chain.remove(slot, spares);
                    for number in 0..count {
                        let found = chain.find_locked(packed(number).0).map(Slot::read);
                        assert_eq!(found, (number != removed).then_some(packed(number).1));
                    }
                    let left = count as usize - 1;
                    let nodes = left.saturating_sub(BUCKET_SLOTS).div_ceil(NODE_SLOTS);
                    assert_eq!(spares.len(), 32 - nodes);
                });
            }
        }
    }

    #[test]
    fn a_drained_chain_gives_up_all_its_nodes() {
        check(14, |chain, spares| {
            let (mut entries, mut nodes) = (Entries::new(), Nodes::new());
            chain.drain(&mut entries, &mut nodes);
            assert_eq!((entries.len(), nodes.len(), spares.len()), (14, 3, 29));
            assert!(chain.find_locked(packed(0).0).is_none());
            assert_eq!(chain.room(), BUCKET_SLOTS);
        });
    }

    #[test]
    fn high_nodes_move_low_and_keep_their_entries() {
        check(14, |chain, spares| {
            // The chain's nodes are 39, 38 and 37.
            let lower = std::cell::Cell::new(50);
            let next_lower = || (lower.get() < 52).then(|| lower.replace(lower.get() + 1));
            let mut moved = Nodes::new();
            chain.move_nodes(38, &mut moved, next_lower);
            assert_eq!(moved.as_slice(), [39, 38]);
            let mut entries = Entries::new();
            assert!(chain.copy(&mut entries, || true));
            let expected: Entries = (0..14).map(|number| packed(number).1).collect();
            assert_eq!(entries, expected);
            let (mut drained, mut nodes) = (Entries::new(), Nodes::new());
            chain.drain(&mut drained, &mut nodes);
            assert_eq!(nodes.as_slice(), [50, 51, 37]);
            assert_eq!(spares.len(), 29);
        });
    }

    #[test]
    fn each_part_of_the_tag_tells_entries_apart() {
        check(0, |chain, spares| {
            let (id, words) = packed(1);
            for bit in 0..72 {
                let mut other = words;
                other[bit / 32] ^= 1 << (bit % 32);
                chain.insert(&other, spares);
            }
            assert!(chain.find_locked(id).is_none());
            chain.insert(&words, spares);
            assert_eq!(chain.find_locked(id).map(Slot::read), Some(words));
        });
    }

    #[test]
    fn a_reader_does_not_follow_a_link_that_may_be_stale() {
        check(9, |chain, _| {
            let (first, last) = (packed(0).0, packed(8).0);
            assert!(matches!(chain.find(first, || false), Found::Yes(_)));
            assert!(matches!(chain.find(last, || false), Found::Changed));
            assert!(matches!(chain.find(last, || true), Found::Yes(_)));
            assert!(!chain.copy(&mut Entries::new(), || false));
        });
    }
}
