//! Hands out runs of `2^n` blocks and takes them back: a buddy allocator over one reservation.
//!
//! Owns what is taken from the system, and which pieces (2 MiB) are free. Must never prefer a
//! higher piece to a lower one: so the upper pieces empty themselves and go back.

use std::collections::BTreeSet;
use std::io;

use crate::budget::Budget;
use crate::memory::{Memory, PIECE_BYTES};
use crate::piece::Piece;
use crate::sync::{AtomicU64, Mutex, Ordering, fence};

/// Orders of runs: up to 2^31 blocks.
const ORDERS: usize = 32;
/// Free pieces that stay with the index, so that a table that breathes around a piece's edge
/// does not fault the same 2 MiB in over and over.
const KEPT_PIECES_MAX: usize = 1;
/// An arena is sparse when more than this part of what is handed out is free, the kept and the
/// last piece apart: less is not worth moving anything.
const SPARSE_PART: u64 = 64;

/// What an arena holds, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct ArenaBytes {
    /// Taken from the system, bookkeeping included.
    pub(crate) backed: u64,
    /// Of these, asked to be on huge pages.
    pub(crate) huge: u64,
    /// The allocator's own tables.
    pub(crate) bookkeeping: u64,
    /// Handed out.
    pub(crate) allocated: u64,
}

/// An allocator of blocks of `WORDS` 32-bit words.
pub(crate) struct Arena<const WORDS: usize> {
    memory: Memory<WORDS>,
    /// Boxed, so that what writers change shares no cache line with what readers read.
    inner: Box<Inner>,
}

struct Inner {
    free: Mutex<FreeBlocks>,
    /// Blocks handed out; changed under the lock.
    allocated: AtomicU64,
    /// Pieces whose memory is taken; changed under the lock.
    backed: AtomicU64,
}

struct FreeBlocks {
    /// Free runs of each order from a piece's upwards, none of their memory taken.
    whole: [BTreeSet<u32>; ORDERS],
    /// Free pieces whose memory is taken.
    kept: BTreeSet<u32>,
    /// The pieces taken apart, by number.
    pieces: Vec<Option<Piece>>,
    /// For each order: no piece below this number has a free run that large.
    lowest: [usize; ORDERS],
}

impl<const WORDS: usize> Arena<WORDS> {
    /// The order of a run that fills a piece.
    const PIECE_ORDER: u32 = (PIECE_BYTES / (WORDS * 4)).ilog2();
    const TABLE_BYTES: u64 = Piece::table_bytes(Self::PIECE_ORDER);
    /// What a piece costs: its table is counted even while it is in one run and has none.
    const PIECE_COST_BYTES: u64 = PIECE_BYTES as u64 + Self::TABLE_BYTES;

    pub(crate) fn new() -> io::Result<Self> {
        let memory = Memory::reserve()?;
        let mut free = FreeBlocks {
            whole: std::array::from_fn(|_| BTreeSet::new()),
            kept: BTreeSet::new(),
            pieces: Vec::new(),
            lowest: [0; ORDERS],
        };
        free.whole[memory.blocks().ilog2() as usize].insert(0);
        let inner = Box::new(Inner {
            free: Mutex::new(free),
            allocated: AtomicU64::new(0),
            backed: AtomicU64::new(0),
        });
        Ok(Self { memory, inner })
    }

    pub(crate) fn memory(&self) -> &Memory<WORDS> {
        &self.memory
    }

    /// A run of `2^order` blocks, aligned to its size, in the lowest piece that has one; `None`
    /// when the bound or the reservation is reached. The contents are whatever was left there.
    pub(crate) fn allocate(&self, order: u32, budget: &Budget) -> Option<u32> {
        let mut free = self.inner.free.lock();
        let block = match order.cmp(&Self::PIECE_ORDER) {
            std::cmp::Ordering::Less => self.take_run(&mut free, order, budget),
            std::cmp::Ordering::Equal => self.take_piece(&mut free, budget),
            std::cmp::Ordering::Greater => self.take_pieces(&mut free, order, budget),
        }?;
        self.inner
            .allocated
            .fetch_add(1 << order, Ordering::Relaxed);
        // Whoever reads what the caller is about to write here, through a stale number, must also
        // see that the table had let go of it (see `Index::locate_low`).
        fence(Ordering::Release);
        Some(block)
    }

    /// Takes back a run that `allocate` returned.
    pub(crate) fn free(&self, block: u32, order: u32, budget: &Budget) {
        let mut free = self.inner.free.lock();
        // The same for what is written here: the links of free runs.
        fence(Ordering::Release);
        self.inner
            .allocated
            .fetch_sub(1 << order, Ordering::Relaxed);
        match order.cmp(&Self::PIECE_ORDER) {
            std::cmp::Ordering::Less => self.put_run(&mut free, block, order, budget),
            std::cmp::Ordering::Equal => self.put_piece(&mut free, block, budget),
            std::cmp::Ordering::Greater => self.put_pieces(&mut free, block, order, budget),
        }
    }

    pub(crate) fn bytes(&self) -> ArenaBytes {
        let pieces = self.inner.backed.load(Ordering::Relaxed);
        let huge = if self.memory.huge_pages() {
            pieces * PIECE_BYTES as u64
        } else {
            0
        };
        ArenaBytes {
            backed: pieces * Self::PIECE_COST_BYTES,
            huge,
            bookkeeping: pieces * Self::TABLE_BYTES,
            allocated: self.inner.allocated.load(Ordering::Relaxed) * (WORDS as u64 * 4),
        }
    }

    /// Where an arena much of which is free would end if it were not, with some room to spare;
    /// `None` where it is not sparse.
    pub(crate) fn sparse_above(&self) -> Option<u32> {
        let allocated = self.inner.allocated.load(Ordering::Relaxed);
        let backed = self.inner.backed.load(Ordering::Relaxed) << Self::PIECE_ORDER;
        let dense = allocated + allocated / SPARSE_PART;
        // The last piece may be hardly used.
        let least = dense + ((KEPT_PIECES_MAX as u64 + 1) << Self::PIECE_ORDER);
        (backed > least).then_some(dense as u32)
    }

    fn take_run(&self, free: &mut FreeBlocks, order: u32, budget: &Budget) -> Option<u32> {
        let (number, block, mut have) = if let Some(number) = free.lowest_with(order) {
            let piece = free.piece(number);
            let have = piece.fitting(order).expect("the piece has such a run");
            (number, piece.pop(&self.memory, have), have)
        } else {
            let block = self.take_piece(free, budget)?;
            (
                free.take_apart(block, Self::PIECE_ORDER),
                block,
                Self::PIECE_ORDER,
            )
        };
        while have > order {
            have -= 1;
            free.piece(number)
                .push(&self.memory, block + (1 << have), have);
        }
        Some(block)
    }

    fn put_run(&self, free: &mut FreeBlocks, block: u32, order: u32, budget: &Budget) {
        let number = (block >> Self::PIECE_ORDER) as usize;
        let piece = free.piece(number);
        let (block, order) = piece.join(&self.memory, block, order);
        if order == Self::PIECE_ORDER {
            free.pieces[number] = None;
            self.put_piece(free, block, budget);
            return;
        }
        piece.push(&self.memory, block, order);
        for lowest in &mut free.lowest[..=order as usize] {
            *lowest = number.min(*lowest);
        }
    }

    fn take_piece(&self, free: &mut FreeBlocks, budget: &Budget) -> Option<u32> {
        let kept = free.kept.pop_first();
        kept.or_else(|| self.take_pieces(free, Self::PIECE_ORDER, budget))
    }

    /// Keeps the lowest free pieces and gives the others back.
    fn put_piece(&self, free: &mut FreeBlocks, block: u32, budget: &Budget) {
        free.kept.insert(block);
        if free.kept.len() > KEPT_PIECES_MAX {
            let highest = free.kept.pop_last().expect("just seen not to be empty");
            self.put_pieces(free, highest, Self::PIECE_ORDER, budget);
        }
    }

    fn take_pieces(&self, free: &mut FreeBlocks, order: u32, budget: &Budget) -> Option<u32> {
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
        self.inner.backed.fetch_add(pieces, Ordering::Relaxed);
        Some(block)
    }

    fn put_pieces(&self, free: &mut FreeBlocks, block: u32, order: u32, budget: &Budget) {
        let pieces = 1_u64 << (order - Self::PIECE_ORDER);
        self.memory.release(block, 1 << order);
        budget.refund(pieces * Self::PIECE_COST_BYTES);
        self.inner.backed.fetch_sub(pieces, Ordering::Relaxed);
        free.put_whole(block, order as usize);
    }
}

impl FreeBlocks {
    /// The lowest piece that has a free run of order `order` or a larger one.
    fn lowest_with(&mut self, order: u32) -> Option<usize> {
        let has_run = |piece: &Option<Piece>| {
            piece
                .as_ref()
                .is_some_and(|piece| piece.fitting(order).is_some())
        };
        let from = self.lowest[order as usize];
        let found = self
            .pieces
            .iter()
            .skip(from)
            .position(has_run)
            .map(|skipped| from + skipped);
        self.lowest[order as usize] = found.unwrap_or(self.pieces.len());
        found
    }

    fn piece(&mut self, number: usize) -> &mut Piece {
        self.pieces[number]
            .as_mut()
            .expect("a run's piece is taken apart")
    }

    /// Makes a piece one that is handed out in parts; answers its number.
    fn take_apart(&mut self, block: u32, order: u32) -> usize {
        let number = (block >> order) as usize;
        if self.pieces.len() <= number {
            self.pieces.resize_with(number + 1, || None);
        }
        self.pieces[number] = Some(Piece::new(order));
        for lowest in &mut self.lowest {
            *lowest = number.min(*lowest);
        }
        number
    }

    /// Adds a run of whole pieces, joined with its buddies.
    fn put_whole(&mut self, mut block: u32, mut order: usize) {
        while order + 1 < ORDERS && self.whole[order].remove(&(block ^ (1 << order))) {
            block &= !(1 << order);
            order += 1;
        }
        self.whole[order].insert(block);
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
        assert_eq!(budget.used_bytes(), arena.bytes().backed);
        assert_eq!(arena.bytes().allocated, 0);
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
        let mut free = arena.inner.free.lock();
        let kept = free.kept.pop_first().expect("one piece was freed alone");
        arena.put_pieces(&mut free, kept, Small::PIECE_ORDER, &budget);
        assert_eq!(free.whole.iter().map(BTreeSet::len).sum::<usize>(), 1);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    #[cfg(not(miri))]
    fn the_lowest_piece_with_room_is_used_first() {
        let (arena, budget) = (arena(), Budget::new(0));
        let blocks: Vec<u32> = (0..9 << Small::PIECE_ORDER)
            .map(|_| arena.allocate(0, &budget).unwrap())
            .collect();
        assert_eq!(arena.sparse_above(), None);
        let odd: Vec<u32> = blocks
            .iter()
            .copied()
            .filter(|block| block % 2 == 1)
            .collect();
        for block in &odd {
            arena.free(*block, 0, &budget);
        }
        let dense = arena.sparse_above().expect("half of it is free");
        assert!((9 << Small::PIECE_ORDER) / 2 < dense && dense < 6 << Small::PIECE_ORDER);
        for block in &odd {
            let piece = arena.allocate(0, &budget).unwrap() >> Small::PIECE_ORDER;
            assert_eq!(piece, block >> Small::PIECE_ORDER);
        }
    }
}
