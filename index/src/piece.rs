//! A piece (2 MiB) that is handed out in parts: which runs of its blocks are free.
//!
//! Owns the lists of free runs, which go through the runs' own memory, and the bits that tell
//! whether a run's buddy is free. Must never write to the first word of a free block: in the
//! buckets' arena it is a lock that a late thread may still be looking at.

use crate::memory::{Memory, PIECE_BYTES};
use crate::sync::Ordering;

/// Ends a list.
const NONE: u32 = u32::MAX;
/// Orders of runs within a piece: 2^15 blocks of 64 bytes fill it (under loom, 2^5).
const PIECE_ORDERS: usize = (PIECE_BYTES / 64).ilog2() as usize;
/// Words of a free run's first block that link it; word 0 stays untouched.
const NEXT: usize = 2;
const PREVIOUS: usize = 3;

const _: () = assert!(PIECE_BYTES >> PIECE_ORDERS == 64);

/// The free runs of one piece.
pub(crate) struct Piece {
    /// First free run of each order.
    lists: [u32; PIECE_ORDERS],
    /// Orders of which there is a free run, a bit each.
    orders: u32,
    /// One bit for each pair of buddies, set while exactly one of them is free: half as many as
    /// blocks for order 0, half of these for order 1, and so on.
    pairs: Box<[u64]>,
}

impl Piece {
    /// Bytes of the table of a piece of `2^order` blocks.
    pub(crate) const fn table_bytes(order: u32) -> u64 {
        (size_of::<Self>() + (1 << order) / 8) as u64
    }

    /// A piece of `2^order` blocks, all of them in use.
    pub(crate) fn new(order: u32) -> Self {
        let pairs = vec![0; (1_usize << order).div_ceil(64)].into_boxed_slice();
        Self {
            lists: [NONE; PIECE_ORDERS],
            orders: 0,
            pairs,
        }
    }

    /// The least order of a free run that is at least `order`.
    pub(crate) fn fitting(&self, order: u32) -> Option<u32> {
        let fitting = self.orders >> order;
        (fitting != 0).then(|| order + fitting.trailing_zeros())
    }

    /// Takes a free run of order `order`, of which there is one.
    pub(crate) fn pop<const WORDS: usize>(&mut self, memory: &Memory<WORDS>, order: u32) -> u32 {
        let block = self.lists[order as usize];
        self.unlink(memory, block, order);
        block
    }

    /// Adds a free run whose buddy is in use.
    pub(crate) fn push<const WORDS: usize>(
        &mut self,
        memory: &Memory<WORDS>,
        block: u32,
        order: u32,
    ) {
        let next = std::mem::replace(&mut self.lists[order as usize], block);
        let words = memory.block(block);
        words[NEXT].store(next, Ordering::Relaxed);
        words[PREVIOUS].store(NONE, Ordering::Relaxed);
        if next != NONE {
            memory.block(next)[PREVIOUS].store(block, Ordering::Relaxed);
        }
        self.orders |= 1 << order;
        self.flip_pair::<WORDS>(block, order);
    }

    /// Joins a run being freed with its buddies as long as these are free, up to the whole piece;
    /// answers the run and its order.
    pub(crate) fn join<const WORDS: usize>(
        &mut self,
        memory: &Memory<WORDS>,
        mut block: u32,
        mut order: u32,
    ) -> (u32, u32) {
        while order < Self::order::<WORDS>() && self.is_buddy_free::<WORDS>(block, order) {
            self.unlink(memory, block ^ (1 << order), order);
            block &= !(1 << order);
            order += 1;
        }
        (block, order)
    }

    fn unlink<const WORDS: usize>(&mut self, memory: &Memory<WORDS>, block: u32, order: u32) {
        let words = memory.block(block);
        let next = words[NEXT].load(Ordering::Relaxed);
        let previous = words[PREVIOUS].load(Ordering::Relaxed);
        if next != NONE {
            memory.block(next)[PREVIOUS].store(previous, Ordering::Relaxed);
        }
        if previous == NONE {
            self.lists[order as usize] = next;
            self.orders &= !(u32::from(next == NONE) << order);
        } else {
            memory.block(previous)[NEXT].store(next, Ordering::Relaxed);
        }
        self.flip_pair::<WORDS>(block, order);
    }

    /// The order of the whole piece.
    const fn order<const WORDS: usize>() -> u32 {
        (PIECE_BYTES / (WORDS * 4)).ilog2()
    }

    /// The bit of the pair of `block` and its buddy.
    fn pair<const WORDS: usize>(block: u32, order: u32) -> (usize, u64) {
        let blocks = 1 << Self::order::<WORDS>();
        let before = blocks - (blocks >> order);
        let bit = before + ((block & (blocks - 1)) >> (order + 1));
        (bit as usize / 64, 1 << (bit % 64))
    }

    fn flip_pair<const WORDS: usize>(&mut self, block: u32, order: u32) {
        let (word, bit) = Self::pair::<WORDS>(block, order);
        self.pairs[word] ^= bit;
    }

    /// Whether the buddy of `block`, which is in use, is free.
    fn is_buddy_free<const WORDS: usize>(&self, block: u32, order: u32) -> bool {
        let (word, bit) = Self::pair::<WORDS>(block, order);
        self.pairs[word] & bit != 0
    }
}
