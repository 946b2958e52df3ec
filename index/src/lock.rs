//! A bucket's lock word: a lock and a sequence number in 32 bits.
//!
//! Owns the word's meaning and the memory orders around it. Must never let a late thread take the
//! lock of a bucket that is no longer in the table.
//!
//! Bit 0 set: open. Bit 0 clear: held by a writer, or the bucket is not in use. Memory fresh from
//! the system is zero, so it is not in use, and a bucket that leaves the table stays locked for
//! ever: a thread that comes late cannot get its lock. Buckets share their arena with nothing
//! else, so the word of a bucket is a lock word in each of its lives.
//! Bits 1-31: the sequence number, one more after every critical section that changed an entry.

use crate::sync::{AtomicU32, Ordering, fence, spin_loop, yield_now};

const OPEN: u32 = 1;
const SEQUENCE_STEP: u32 = 2;

/// Turns that a waiter spins before it lets the operating system run somebody else. To loom each
/// turn is another order to try, and none of them is shorter.
const SPIN_TURNS_MAX: u32 = if cfg!(loom) { 1 } else { 100 };

/// Waits a little longer each time, without end but never without yielding.
#[derive(Default)]
pub(crate) struct Patience {
    turns: u32,
}

impl Patience {
    /// Waits one turn; true where it yielded, and the caller should look again at what it is
    /// waiting for.
    pub(crate) fn turn(&mut self) -> bool {
        self.turns += 1;
        if self.turns < SPIN_TURNS_MAX {
            spin_loop();
            return false;
        }
        self.turns = 0;
        yield_now();
        true
    }
}

/// The lock word of a bucket.
#[derive(Clone, Copy)]
pub(crate) struct Lock<'a>(pub(crate) &'a AtomicU32);

/// A lock word as it was while open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opened(u32);

impl Lock<'_> {
    /// Begins a read: the word, if open.
    #[inline]
    pub(crate) fn begin_read(self) -> Option<Opened> {
        let word = self.0.load(Ordering::Acquire);
        (word & OPEN != 0).then_some(Opened(word))
    }

    /// Whether nothing read since `begin_read` answered `opened` was changed meanwhile.
    #[inline]
    pub(crate) fn is_unchanged(self, opened: Opened) -> bool {
        // Pairs with the release fence of `try_lock`: who saw a writer's store sees its lock.
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == opened.0
    }

    /// Takes the lock if it is open.
    #[inline]
    pub(crate) fn try_lock(self) -> Option<Opened> {
        let word = self.0.load(Ordering::Relaxed);
        if word & OPEN == 0 {
            return None;
        }
        self.0
            .compare_exchange(word, word & !OPEN, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        // Pairs with the acquire fence of `is_unchanged`.
        fence(Ordering::Release);
        Some(Opened(word))
    }

    /// Takes the lock within the bound of one spin.
    pub(crate) fn lock_within_spin(self) -> Option<Opened> {
        let mut patience = Patience::default();
        loop {
            if let Some(opened) = self.try_lock() {
                return Some(opened);
            }
            if patience.turn() {
                return None;
            }
        }
    }

    /// Releases the lock after a critical section that changed nothing.
    pub(crate) fn unlock_unchanged(self, opened: Opened) {
        self.0.store(opened.0, Ordering::Release);
    }

    /// Releases the lock after entries were changed.
    pub(crate) fn unlock_changed(self, opened: Opened) {
        self.0
            .store(opened.0.wrapping_add(SEQUENCE_STEP), Ordering::Release);
    }

    /// Opens a bucket that enters the table. Its word said "not in use", so nobody else writes it.
    pub(crate) fn open(self) {
        let word = self.0.load(Ordering::Relaxed);
        self.0
            .store(word.wrapping_add(SEQUENCE_STEP) | OPEN, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_zeroes_is_not_in_use() {
        let word = AtomicU32::new(0);
        let lock = Lock(&word);
        assert!(lock.begin_read().is_none());
        assert!(lock.try_lock().is_none());
        assert!(lock.lock_within_spin().is_none());
        lock.open();
        assert!(lock.begin_read().is_some());
    }

    #[test]
    fn a_reader_sees_that_entries_changed_and_only_that() {
        let word = AtomicU32::new(0);
        let lock = Lock(&word);
        lock.open();
        let read = lock.begin_read().expect("open");
        let held = lock.try_lock().expect("open");
        assert!(lock.try_lock().is_none());
        assert!(lock.begin_read().is_none());
        assert!(!lock.is_unchanged(read));
        lock.unlock_unchanged(held);
        assert!(lock.is_unchanged(read));
        let held = lock.lock_within_spin().expect("open");
        lock.unlock_changed(held);
        assert!(!lock.is_unchanged(read));
    }

    #[test]
    fn a_new_life_does_not_repeat_the_last_one() {
        let word = AtomicU32::new(u32::MAX);
        let lock = Lock(&word);
        let read = lock.begin_read().expect("open");
        lock.try_lock().expect("open");
        lock.open();
        assert!(!lock.is_unchanged(read));
        assert!(lock.begin_read().is_some());
    }
}
