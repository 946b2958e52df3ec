//! Memory that threads use side by side, under ThreadSanitizer: in place of the atomic words of
//! `memory.rs`, which can be in no data race whatever their users do.
//!
//! Owns plain accesses, so that the contract which `SharedBuffer` states is watched: who reads a
//! range before it was published, or writes one that others use, is reported. Must never be built
//! into what serves.
#![expect(
    unsafe_code,
    reason = "the race that the contract rules out is what is looked for"
)]

use std::cell::UnsafeCell;
use std::sync::atomic::Ordering;

/// A word that ThreadSanitizer watches.
#[repr(transparent)]
pub(super) struct Word(UnsafeCell<u64>);

// SAFETY: users keep the contract of `SharedBuffer`, or the test ends.
unsafe impl Sync for Word {}

impl Word {
    pub(super) fn load(&self, _order: Ordering) -> u64 {
        // SAFETY: the word was published before, and nobody writes it meanwhile: the contract.
        unsafe { self.0.get().read() }
    }

    pub(super) fn store(&self, value: u64, _order: Ordering) {
        // SAFETY: the caller is the word's only user: the contract.
        unsafe { self.0.get().write(value) }
    }
}
