//! Memory that threads use side by side, under loom: in place of the words of `memory.rs`.
//!
//! Owns the check of the contract that `SharedBuffer` states: loom ends the model where a word is
//! read or written while another thread's write of it is not ordered before. Must never reach a
//! device: there is no address to give.
#![expect(
    unsafe_code,
    reason = "the watch over a word is used by several threads"
)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use loom::cell::UnsafeCell;

use super::memory::{BUFFER_ALIGN, MemorySource};

/// A word, and loom's watch over who may touch it.
pub(super) struct Word {
    value: AtomicU64,
    watch: UnsafeCell<()>,
}

// SAFETY: the cell holds nothing; only that it is touched matters, and loom does that in turns.
unsafe impl Sync for Word {}

impl Word {
    pub(super) fn load(&self, order: Ordering) -> u64 {
        self.watch.with(|_| self.value.load(order))
    }

    pub(super) fn store(&self, value: u64, order: Ordering) {
        self.watch.with_mut(|_| self.value.store(value, order));
    }
}

/// Zeroed words.
pub(super) struct SharedMemory(Box<[Word]>);

impl SharedMemory {
    pub(super) fn new(_source: &'static MemorySource, bytes: usize) -> Self {
        let words = bytes.max(1).next_multiple_of(BUFFER_ALIGN) / size_of::<u64>();
        let word = |_| Word {
            value: AtomicU64::new(0),
            watch: UnsafeCell::new(()),
        };
        Self((0..words).map(word).collect())
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.len() * size_of::<u64>()
    }

    pub(super) fn words(&self) -> &[Word] {
        &self.0
    }

    pub(super) fn address(&self, _offset: usize) -> NonNull<u8> {
        unreachable!("no device transfers under loom")
    }
}
