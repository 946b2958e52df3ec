//! Hands out runs of `2^n` blocks and takes them back: a buddy allocator over one reservation.
//!
//! Owns which blocks are free, and what is taken from the system. Must never write to the first
//! word of a free block: in the buckets' arena it is a lock that a late thread may still be
//! looking at.
//!
//! Runs smaller than a piece (2 MiB) sit in linked lists through their own memory; whole pieces
//! sit in ordered sets and are given back to the system.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use parking_lot::Mutex;

use crate::memory::{Memory, PIECE_BYTES};

/// Ends a free list.
const NONE: u32 = u32::MAX;
/// Orders of runs: up to 2^31 blocks.
const ORDERS: usize = 32;
/// Words of a free block's memory that link it; word 0 stays untouched.
const NEXT: usize = 2;
const PREVIOUS: usize = 3;
/// Free pieces that stay with the index, so that a table that breathes around a piece's edge
/// does not fault the same 2 MiB in over and over.
const KEPT_PIECES_MAX: usize = 2;

/// What may be taken from the system, shared by all arenas.
pub(crate) struct Budget {
    /// 0 = no bound.
    bytes_max: AtomicU64,
    used_bytes: AtomicU64,
}

impl Budget {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max: AtomicU64::new(bytes_max),
            used_bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed)
    }

    pub(crate) fn set_bytes_max(&self, bytes: u64) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Takes `bytes` whatever the bound.
    pub(crate) fn charge(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn try_charge(&self, bytes: u64) -> bool {
        let used = self.used_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let bytes_max = self.bytes_max();
        let fits = bytes_max == 0 || used <= bytes_max;
        if !fits {
            self.refund(bytes);
        }
        fits
    }

    fn refund(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What an arena holds, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct ArenaBytes {
    /// Taken from the system, bookkeeping included.
    pub(crate) backed: u64,
    /// Of these, asked to be on huge pages.
    pub(crate) huge: u64,
    /// The allocator's own tables.
    pub(crate) bookkeeping: u64,
}

pub(crate) struct Arena<const WORDS: usize> {
    memory: Memory<WORDS>,
    /// Boxed, so that its lock shares no cache line with what readers read.
    free: Box<Mutex<FreeBlocks>>,
}

struct FreeBlocks {
    /// First free run of each order below a piece's.
    lists: [u32; ORDERS],
    /// Free runs of each order from a piece's upwards, none of their memory taken.
    whole: [BTreeSet<u32>; ORDERS],
    /// Free pieces whose memory is taken.
    kept: Vec<u32>,
    /// Per piece taken apart: one bit for each pair of buddies, set while exactly one is free.
    pairs: Vec<Option<Box<[u64]>>>,
    backed_pieces: u64,
}

impl<const WORDS: usize> Arena<WORDS> {
    /// The order of a run that fills a piece.
    pub(crate) const PIECE_ORDER: u32 = (PIECE_BYTES / (WORDS * 4)).ilog2();
    const PIECE_BLOCKS: u32 = 1 << Self::PIECE_ORDER;
    /// Bytes of one piece's pair bits: a bit a block.
    const PAIRS_BYTES: u64 = Self::PIECE_BLOCKS as u64 / 8;
    /// What a piece costs: its pair bits are counted even while it is in one run and has none.
    const PIECE_COST_BYTES: u64 = PIECE_BYTES as u64 + Self::PAIRS_BYTES;

    pub(crate) fn new() -> io::Result<Self> {
        let memory = Memory::reserve()?;
        let mut free = FreeBlocks {
            lists: [NONE; ORDERS],
            whole: std::array::from_fn(|_| BTreeSet::new()),
            kept: Vec::with_capacity(KEPT_PIECES_MAX),
            pairs: Vec::new(),
            backed_pieces: 0,
        };
        free.whole[memory.blocks().ilog2() as usize].insert(0);
        Ok(Self {
            memory,
            free: Box::new(Mutex::new(free)),
        })
    }

    pub(crate) fn memory(&self) -> &Memory<WORDS> {
        &self.memory
    }

    /// A run of `2^order` blocks, aligned to its size; `None` when the bound or the reservation
    /// is reached. The contents are whatever was left there.
    pub(crate) fn allocate(&self, order: u32, budget: &Budget) -> Option<u32> {
        let mut free = self.free.lock();
        let block = match order.cmp(&Self::PIECE_ORDER) {
            std::cmp::Ordering::Less => self.take_run(&mut free, order, budget),
            std::cmp::Ordering::Equal => Self::take_piece(&mut free, budget),
            std::cmp::Ordering::Greater => Self::take_pieces(&mut free, order, budget),
        };
        // Whoever reads what the caller is about to write here, through a stale number, must also
        // see that the table had let go of it (see `Index::locate`).
        fence(Ordering::Release);
        block
    }

    /// Takes back a run that `allocate` returned.
    pub(crate) fn free(&self, block: u32, order: u32, budget: &Budget) {
        let mut free = self.free.lock();
        fence(Ordering::Release);
        let (block, order) = self.join(&mut free, block, order);
        if order < Self::PIECE_ORDER {
            self.push(&mut free, block, order);
            free.set_pair(Self::pair(block, order), true);
        } else if order == Self::PIECE_ORDER && free.kept.len() < KEPT_PIECES_MAX {
            free.kept.push(block);
        } else {
            self.give_back(&mut free, block, order, budget);
        }
    }

    pub(crate) fn bytes(&self) -> ArenaBytes {
        let free = self.free.lock();
        let pieces_bytes = free.backed_pieces * PIECE_BYTES as u64;
        ArenaBytes {
            backed: free.backed_pieces * Self::PIECE_COST_BYTES,
            huge: if self.memory.huge_pages() {
                pieces_bytes
            } else {
                0
            },
            bookkeeping: free.backed_pieces * Self::PAIRS_BYTES,
        }
    }

    fn take_run(&self, free: &mut FreeBlocks, order: u32, budget: &Budget) -> Option<u32> {
        let listed = (order..Self::PIECE_ORDER).find(|&o| free.lists[o as usize] != NONE);
        let (block, mut have) = if let Some(found) = listed {
            let block = free.lists[found as usize];
            self.unlink(free, block, found);
            (block, found)
        } else {
            let piece = Self::take_piece(free, budget)?;
            Self::map_pairs(free, piece);
            (piece, Self::PIECE_ORDER)
        };
        while have > order {
            have -= 1;
            let upper = block + (1 << have);
            self.push(free, upper, have);
            free.set_pair(Self::pair(upper, have), true);
        }
        Some(block)
    }

    fn take_piece(free: &mut FreeBlocks, budget: &Budget) -> Option<u32> {
        free.kept
            .pop()
            .or_else(|| Self::take_pieces(free, Self::PIECE_ORDER, budget))
    }

    /// A run of whole pieces, the lowest that fits, so that the upper ones may go back.
    fn take_pieces(free: &mut FreeBlocks, order: u32, budget: &Budget) -> Option<u32> {
        let found = (order as usize..ORDERS).find(|&o| !free.whole[o].is_empty())?;
        let pieces = 1_u64 << (order - Self::PIECE_ORDER);
        if !budget.try_charge(pieces * Self::PIECE_COST_BYTES) {
            return None;
        }
        let block = free.whole[found]
            .pop_first()
            .expect("just seen not to be empty");
        for half in order as usize..found {
            free.whole[half].insert(block + (1 << half));
        }
        free.backed_pieces += pieces;
        Some(block)
    }

    /// Joins a run being freed with its free buddies, up to a piece.
    fn join(&self, free: &mut FreeBlocks, mut block: u32, mut order: u32) -> (u32, u32) {
        while order < Self::PIECE_ORDER {
            let pair = Self::pair(block, order);
            if !free.pair_is_set(pair) {
                break;
            }
            self.unlink(free, block ^ (1 << order), order);
            block &= !(1 << order);
            order += 1;
        }
        (block, order)
    }

    fn give_back(&self, free: &mut FreeBlocks, block: u32, order: u32, budget: &Budget) {
        let pieces = 1_u64 << (order - Self::PIECE_ORDER);
        self.memory.release(block, 1 << order);
        budget.refund(pieces * Self::PIECE_COST_BYTES);
        free.backed_pieces -= pieces;
        if let Some(pairs) = free.pairs.get_mut((block >> Self::PIECE_ORDER) as usize) {
            *pairs = None;
        }
        let (mut block, mut order) = (block, order as usize);
        while order + 1 < ORDERS && free.whole[order].remove(&(block ^ (1 << order))) {
            block &= !(1 << order);
            order += 1;
        }
        free.whole[order].insert(block);
    }

    fn map_pairs(free: &mut FreeBlocks, block: u32) {
        let piece = (block >> Self::PIECE_ORDER) as usize;
        if free.pairs.len() <= piece {
            free.pairs.resize(piece + 1, None);
        }
        let words = (Self::PAIRS_BYTES / 8) as usize;
        free.pairs[piece].get_or_insert_with(|| vec![0; words].into_boxed_slice());
    }

    /// Where the bit of `block` and its buddy stands: which piece, which bit. A piece of `2^p`
    /// blocks has `2^(p-1)` pairs of order 0, half as many of order 1, and so on.
    fn pair(block: u32, order: u32) -> (usize, u32) {
        let piece = (block >> Self::PIECE_ORDER) as usize;
        let within = (block & (Self::PIECE_BLOCKS - 1)) >> (order + 1);
        let before = Self::PIECE_BLOCKS - (Self::PIECE_BLOCKS >> order);
        (piece, before + within)
    }

    fn push(&self, free: &mut FreeBlocks, block: u32, order: u32) {
        let next = std::mem::replace(&mut free.lists[order as usize], block);
        let words = self.memory.block(block);
        words[NEXT].store(next, Ordering::Relaxed);
        words[PREVIOUS].store(NONE, Ordering::Relaxed);
        if next != NONE {
            self.memory.block(next)[PREVIOUS].store(block, Ordering::Relaxed);
        }
    }

    fn unlink(&self, free: &mut FreeBlocks, block: u32, order: u32) {
        let words = self.memory.block(block);
        let next = words[NEXT].load(Ordering::Relaxed);
        let previous = words[PREVIOUS].load(Ordering::Relaxed);
        if next != NONE {
            self.memory.block(next)[PREVIOUS].store(previous, Ordering::Relaxed);
        }
        if previous == NONE {
            free.lists[order as usize] = next;
        } else {
            self.memory.block(previous)[NEXT].store(next, Ordering::Relaxed);
        }
        free.set_pair(Self::pair(block, order), false);
    }
}

impl FreeBlocks {
    fn pair_is_set(&self, (piece, bit): (usize, u32)) -> bool {
        self.pair_bits(piece)[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    fn set_pair(&mut self, (piece, bit): (usize, u32), value: bool) {
        let bits = self.pairs[piece]
            .as_deref_mut()
            .expect("a piece taken apart has pair bits");
        let word = &mut bits[bit as usize / 64];
        *word = *word & !(1 << (bit % 64)) | u64::from(value) << (bit % 64);
    }

    fn pair_bits(&self, piece: usize) -> &[u64] {
        self.pairs[piece]
            .as_deref()
            .expect("a piece taken apart has pair bits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Small = Arena<32>;

    fn arena() -> Small {
        Arena::new().expect("addresses are to be had")
    }

    fn next_random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    #[test]
    fn runs_are_aligned_and_apart_and_all_memory_goes_back() {
        const ROUNDS: usize = if cfg!(miri) { 60 } else { 20_000 };
        let (arena, budget) = (arena(), Budget::new(0));
        let mut live: Vec<(u32, u32)> = Vec::new();
        let mut owner = std::collections::BTreeMap::new();
        let mut random = 7;
        for round in 0..ROUNDS {
            let order = (next_random(&mut random) % 11) as u32;
            if live.is_empty() || next_random(&mut random) % 100 < 55 && live.len() < 300 {
                let block = arena.allocate(order, &budget).expect("there is no bound");
                assert_eq!(block % (1 << order), 0);
                let before = owner.range(..block + (1 << order)).next_back();
                assert!(before.is_none_or(|(start, length)| start + length <= block));
                owner.insert(block, 1 << order);
                live.push((block, order));
            } else {
                let (block, order) = live.swap_remove(round % live.len());
                owner.remove(&block);
                arena.free(block, order, &budget);
            }
        }
        for (block, order) in live.drain(..) {
            arena.free(block, order, &budget);
        }
        assert!(arena.bytes().backed <= KEPT_PIECES_MAX as u64 * Small::PIECE_COST_BYTES);
        assert_eq!(
            budget.used_bytes.load(Ordering::Relaxed),
            arena.bytes().backed
        );
        let free = arena.free.lock();
        assert!(
            free.lists.iter().all(|list| *list == NONE),
            "all runs joined to pieces"
        );
    }

    #[test]
    fn the_first_word_of_a_freed_block_is_left_alone() {
        let (arena, budget) = (arena(), Budget::new(0));
        let blocks: Vec<u32> = (0..8)
            .map(|_| arena.allocate(0, &budget).unwrap())
            .collect();
        for block in &blocks {
            arena.memory().block(*block)[0].store(!block, Ordering::Relaxed);
        }
        for block in &blocks {
            arena.free(*block, 0, &budget);
        }
        for block in &blocks {
            assert_eq!(
                arena.memory().block(*block)[0].load(Ordering::Relaxed),
                !block
            );
        }
    }

    #[test]
    fn nothing_is_taken_beyond_the_bound() {
        let (arena, budget) = (arena(), Budget::new(Small::PIECE_COST_BYTES));
        assert_eq!(arena.allocate(Small::PIECE_ORDER + 1, &budget), None);
        let piece = arena.allocate(Small::PIECE_ORDER, &budget).unwrap();
        assert_eq!(arena.allocate(0, &budget), None);
        arena.free(piece, Small::PIECE_ORDER, &budget);
        assert_eq!(arena.allocate(Small::PIECE_ORDER, &budget), Some(piece));
    }

    #[test]
    #[cfg(not(miri))]
    fn runs_of_several_pieces_join_again() {
        let (arena, budget) = (arena(), Budget::new(0));
        let orders = [3, 0, 2, 1, 5].map(|order| order + Small::PIECE_ORDER);
        let blocks = orders.map(|order| arena.allocate(order, &budget).unwrap());
        for (block, order) in blocks.into_iter().zip(orders) {
            assert_eq!(block % (1 << order), 0);
            arena.free(block, order, &budget);
        }
        let kept = arena
            .free
            .lock()
            .kept
            .pop()
            .expect("one piece was freed alone");
        arena.give_back(&mut arena.free.lock(), kept, Small::PIECE_ORDER, &budget);
        let whole = &arena.free.lock().whole;
        assert_eq!(whole.iter().map(BTreeSet::len).sum::<usize>(), 1);
        assert_eq!(budget.used_bytes.load(Ordering::Relaxed), 0);
    }
}
