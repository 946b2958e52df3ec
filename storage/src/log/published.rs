//! Which reservations are not published yet.
//!
//! A writer reserves, copies and publishes in one go, on one thread, without waiting. It marks the
//! time of it in its worker's own word, so that whoever flushes knows up to which LSN every record
//! is complete, and the durable LSN never passes an unpublished one.

use crate::sync::{AtomicU64, Ordering, spin_loop, yield_now};
use crate::units::Lsn;

/// The worker has no reservation under way.
const IDLE: u64 = u64::MAX;
/// Turns of the spin loop before the thread is given up: another thread may have been preempted
/// between its reservation and its publication.
const SPIN_TURNS_MAX: u32 = 100;

/// One word a cache line, so that workers do not share lines (two lines: the prefetcher pairs
/// them).
#[repr(align(128))]
struct Mark(AtomicU64);

/// The marks of all workers.
pub(crate) struct Published {
    marks: Box<[Mark]>,
}

impl Published {
    pub(crate) fn new(worker_count: usize) -> Self {
        Self {
            marks: (0..worker_count)
                .map(|_| Mark(AtomicU64::new(IDLE)))
                .collect(),
        }
    }

    /// A reservation is about to be made; it will not lie below `bound`.
    pub(crate) fn begin(&self, worker: usize, bound: Lsn) {
        self.marks[worker].0.store(bound.get(), Ordering::SeqCst);
    }

    /// The reservation's records are complete and in the index (or none was made).
    pub(crate) fn end(&self, worker: usize) {
        self.marks[worker].0.store(IDLE, Ordering::Release);
    }

    /// Whether all records below `limit` are complete. They have been reserved already.
    pub(crate) fn all_below(&self, limit: Lsn) -> bool {
        self.marks
            .iter()
            .all(|mark| mark.0.load(Ordering::SeqCst) >= limit.get())
    }

    /// Waits until all records below `limit` are complete. Never called between `begin` and `end`.
    pub(crate) fn wait_below(&self, limit: Lsn) {
        let mut turns = 0;
        while !self.all_below(limit) {
            turns += 1;
            if turns % SPIN_TURNS_MAX == 0 {
                yield_now();
            } else {
                spin_loop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpublished_record_holds_the_limit() {
        let published = Published::new(2);
        published.begin(1, Lsn::new(320));
        assert!(published.all_below(Lsn::new(320)));
        assert!(!published.all_below(Lsn::new(352)));
        published.end(1);
        assert!(published.all_below(Lsn::new(352)));
    }
}
