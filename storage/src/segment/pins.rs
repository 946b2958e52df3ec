//! Pins: which segments have readers, so that none is reused under them.
//!
//! One counter a worker and segment. A worker writes only its own row, so that a GET touches no
//! cache line that another worker writes; whoever frees a segment adds the column up. The pairing
//! that makes this safe: a reader pins, fences, and re-validates the index entry; the cleaner
//! changes the entry, fences, and then looks for pins.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::sync::{AtomicU32, Ordering, fence};
use crate::units::SegmentNumber;

/// The pin counters of a store: a row a worker, a column a segment.
pub(crate) struct Pins {
    rows: Box<[Box<[AtomicU32]>]>,
}

impl Pins {
    pub(crate) fn new(worker_count: usize, segment_count: usize) -> Self {
        let row = || (0..segment_count).map(|_| AtomicU32::new(0)).collect();
        Self {
            rows: (0..worker_count).map(|_| row()).collect(),
        }
    }

    /// Counts one more reader; the caller validates afterwards that the segment is still the one.
    /// Called on the worker's own thread, the only one that writes its row.
    pub(crate) fn pin(&self, worker: usize, segment: SegmentNumber) {
        let counter = &self.rows[worker][segment.get() as usize];
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Takes a pin back, on the same thread.
    pub(crate) fn unpin(&self, worker: usize, segment: SegmentNumber) {
        let counter = &self.rows[worker][segment.get() as usize];
        let before = counter.load(Ordering::Relaxed);
        assert!(before > 0, "segment unpinned more often than pinned");
        counter.store(before - 1, Ordering::Release);
    }

    /// Whether any worker reads from the segment. The index no longer points into it.
    pub(crate) fn any(&self, segment: SegmentNumber) -> bool {
        fence(Ordering::SeqCst);
        self.rows
            .iter()
            .any(|row| row[segment.get() as usize].load(Ordering::Acquire) > 0)
    }
}

/// One reader's hold on a segment, given back when dropped.
pub(crate) struct Pin {
    pins: Arc<Pins>,
    worker: usize,
    segment: SegmentNumber,
    /// Stays on the thread whose row it counts in.
    _thread: PhantomData<*const ()>,
}

impl Pin {
    /// Takes over a pin that was counted by [`Pins::pin`].
    pub(crate) fn adopt(pins: &Arc<Pins>, worker: usize, segment: SegmentNumber) -> Self {
        Self {
            pins: Arc::clone(pins),
            worker,
            segment,
            _thread: PhantomData,
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.unpin(self.worker, self.segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_seen_until_it_is_dropped() {
        let pins = Arc::new(Pins::new(2, 4));
        let segment = SegmentNumber::new(3);
        pins.pin(1, segment);
        let pin = Pin::adopt(&pins, 1, segment);
        assert!(pins.any(segment));
        assert!(!pins.any(SegmentNumber::new(2)));
        drop(pin);
        assert!(!pins.any(segment));
    }
}
