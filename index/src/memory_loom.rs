//! The table's memory under loom, in place of `memory.rs`: a few blocks on the heap, of atomics
//! that loom watches.
//!
//! Owns the same promises. Must never hold more than a model needs: each word costs time in each
//! of its runs.

use std::io;

use crate::sync::{AtomicU32, Ordering};

/// Enough for a piece to hold 16 buckets or 32 nodes.
pub(crate) const PIECE_BYTES: usize = 2 << 10;

/// Blocks of `WORDS` 32-bit words that fill one piece, all zero at first.
pub(crate) struct Memory<const WORDS: usize> {
    blocks: Box<[[AtomicU32; WORDS]]>,
}

impl<const WORDS: usize> Memory<WORDS> {
    pub(crate) fn reserve() -> io::Result<Self> {
        let block = |_| std::array::from_fn(|_| AtomicU32::new(0));
        Ok(Self {
            blocks: (0..PIECE_BYTES / (WORDS * 4)).map(block).collect(),
        })
    }

    pub(crate) fn blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    pub(crate) fn huge_pages(&self) -> bool {
        false
    }

    pub(crate) fn block(&self, block: u32) -> &[AtomicU32; WORDS] {
        &self.blocks[block as usize]
    }

    pub(crate) fn prefetch(&self, _block: u32) {}

    pub(crate) fn release(&self, block: u32, count: u32) {
        for block in &self.blocks[block as usize..(block + count) as usize] {
            for word in block {
                word.store(0, Ordering::Relaxed);
            }
        }
    }
}
