//! Pacing: how fast the cleaner may use the devices.
//!
//! A token bucket. Each byte that clients write earns credit at the turn's price: what keeps step
//! with them, from what the victims give for what they cost. The price is lower while there are
//! enough free segments and higher as they run short, and time earns a little, so that an idle
//! store recovers. Credit is spent when an operation of the cleaner's has ended. So cleaning goes
//! on evenly long before anybody waits for it. When only the reserve is left the bucket counts no
//! more: the cleaner goes as fast as it can.
//!
//! Owns the bucket. Must never hold the cleaner up for ever: credit always grows.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::cleaner::rule::{RESERVE_SEGMENTS, clean_mark};
use crate::store::Store;
use crate::units::SegmentNumber;
use crate::worker::Worker;

/// One operation of the cleaner's on a device at most: a client's read behind it waits for no more
/// than this.
pub(super) const IO_BYTES_MAX: u32 = 128 << 10;
/// Operations of one kind in flight when clients wait for segments.
pub(super) const DEPTH_MAX: usize = 4;
/// Credit that is saved up at most: what clients earn from one look to the next at a gigabyte a
/// second.
const CREDIT_BYTES_MAX: i64 = 4 << 20;
/// The turn's price is right when cleaning has just become due, and rises from there by so much, in
/// percent, until only the reserve is left.
const FACTOR_PERCENT_SPAN: u64 = 200;
/// A turn's price at most: a byte of clients' earns the reading and writing of 50.
const PRICE_PERCENT_MAX: u64 = 5_000;
/// Earned without any load: a fifth of a slow drive, a fiftieth of a fast one.
const IDLE_BYTES_PER_S: u64 = 32 << 20;
/// How long a cleaner without credit waits before it looks again.
const LOOK_US: u64 = 1_000;

/// The bucket and what it was last filled by.
#[derive(Debug, Default)]
struct Bucket {
    credit_bytes: i64,
    filled_at_us: u64,
    filled_at_lsn: u64,
}

impl Bucket {
    /// Adds what was earned since the last time, at a price for the bytes of the hot log.
    fn fill(&mut self, now_us: u64, tail: u64, price_percent: u64) {
        let elapsed_us = now_us.saturating_sub(self.filled_at_us).min(1_000_000);
        let written = tail.saturating_sub(self.filled_at_lsn);
        self.filled_at_us = now_us;
        self.filled_at_lsn = tail;
        let by_time = elapsed_us * IDLE_BYTES_PER_S / 1_000_000;
        let by_load = written.saturating_mul(price_percent) / 100;
        let earned = i64::try_from(by_time.saturating_add(by_load)).unwrap_or(CREDIT_BYTES_MAX);
        let earned = earned.min(2 * CREDIT_BYTES_MAX);
        self.credit_bytes = (self.credit_bytes + earned).min(CREDIT_BYTES_MAX);
    }
}

/// The pace of a store's cleaner.
#[derive(Debug, Default)]
pub(super) struct Pace {
    bucket: Mutex<Bucket>,
    /// In percent of what clients write.
    turn_price: AtomicU64,
}

impl Pace {
    /// Credit left in bytes; below zero when the last operation cost more than there was.
    pub(super) fn credit_bytes(&self) -> i64 {
        self.bucket.lock().credit_bytes
    }

    /// Sets the price of the turn that begins.
    pub(super) fn aim(&self, price_percent: u64) {
        self.turn_price.store(price_percent, Ordering::Relaxed);
    }

    /// Fills the bucket: whether there is credit.
    fn earn(&self, now_us: u64, tail: u64, price_percent: u64) -> bool {
        let mut bucket = self.bucket.lock();
        bucket.fill(now_us, tail, price_percent);
        bucket.credit_bytes > 0
    }

    /// An operation of the cleaner's has ended.
    pub(super) fn spend(&self, bytes: u64) {
        let bytes = i64::try_from(bytes).expect("an operation is bounded");
        let mut bucket = self.bucket.lock();
        // An emergency leaves no more than this behind it.
        bucket.credit_bytes = (bucket.credit_bytes - bytes).max(-CREDIT_BYTES_MAX);
    }
}

/// How many operations of one kind the cleaner may have in flight: one when cleaning has just
/// become due, more as segments run short.
pub(super) fn depth(store: &Store) -> usize {
    if is_emergency(store) {
        return DEPTH_MAX;
    }
    let (lack, way) = lack(store);
    1 + usize::try_from((DEPTH_MAX as u64 - 1) * lack / way).expect("at most the bound")
}

/// Whether the segments that clients may open have run out.
pub(super) fn is_emergency(store: &Store) -> bool {
    store.segments().free_count() <= RESERVE_SEGMENTS
}

/// Waits until the cleaner may start an operation.
pub(super) async fn wait_turn(worker: &Rc<Worker>) {
    let store = worker.store();
    loop {
        let (now_us, tail) = (store.clock().monotonic_us(), store.log().tail().get());
        let pace = &store.cleaner().pace;
        let turn_price = pace.turn_price.load(Ordering::Relaxed);
        let price = turn_price * factor_percent(lack(store)) / 100;
        let has_credit = pace.earn(now_us, tail, price);
        if has_credit || is_emergency(store) || store.is_closing() || store.log().is_latched() {
            return;
        }
        tokio::select! {
            biased;
            () = store.clean_wanted().notified() => {}
            () = store.clock().sleep(LOOK_US) => {}
        }
    }
}

/// The bytes of the cleaner's for each byte of clients', in percent, at which a turn over `victims`
/// keeps step: clients must not write more meanwhile than it gives back, nor more than half of what
/// they can write before only the reserve is left.
pub(super) fn turn_price(store: &Store, victims: &[SegmentNumber], taken: u64) -> u64 {
    let segment_bytes = u64::from(store.segment_bytes());
    let cleaned = victims.len() as u64 * segment_bytes;
    let gain = cleaned.saturating_sub(taken);
    let kept = RESERVE_SEGMENTS * segment_bytes + taken;
    let room = free_bytes(store).saturating_sub(kept) / 2;
    // Live bytes are read and written, and of the rest most is read over.
    let operations = cleaned + taken;
    let step = gain.min(room).max(1);
    (operations * 100 / step).min(PRICE_PERCENT_MAX)
}

/// What can be written before no segment is free, in bytes.
fn free_bytes(store: &Store) -> u64 {
    let rest = u64::from(store.cold().room_bytes()) + u64::from(store.log().room_bytes());
    store.segments().free_count() * u64::from(store.segment_bytes()) + rest
}

/// How far it is, in bytes, from where cleaning becomes due, and from there to the reserve.
fn lack(store: &Store) -> (u64, u64) {
    let segment_bytes = u64::from(store.segment_bytes());
    let mark = clean_mark(u64::from(store.segments().count()));
    let top = (mark + 1) * segment_bytes;
    let way = top - (RESERVE_SEGMENTS + 1) * segment_bytes;
    (top.saturating_sub(free_bytes(store)).min(way), way)
}

fn factor_percent((lack, way): (u64, u64)) -> u64 {
    100 + FACTOR_PERCENT_SPAN * lack / way
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_rises_on_the_way_to_the_reserve() {
        assert_eq!(factor_percent((0, 1000)), 100);
        assert_eq!(factor_percent((500, 1000)), 200);
        assert_eq!(factor_percent((1000, 1000)), 300);
    }

    #[test]
    fn credit_is_earned_by_load_and_by_time_up_to_a_bound() {
        let mut bucket = Bucket::default();
        bucket.fill(1_000, 0, 400);
        let by_time = i64::try_from(IDLE_BYTES_PER_S / 1_000).unwrap();
        assert_eq!(bucket.credit_bytes, by_time);
        bucket.fill(1_000, 10_000, 400);
        assert_eq!(bucket.credit_bytes, by_time + 40_000);
        bucket.fill(1_000, 1 << 40, 10_000);
        assert_eq!(bucket.credit_bytes, CREDIT_BYTES_MAX);
        bucket.fill(u64::MAX, u64::MAX, 10_000);
        assert_eq!(bucket.credit_bytes, CREDIT_BYTES_MAX);
    }

    #[test]
    fn debt_is_bounded() {
        let pace = Pace::default();
        for _ in 0..1_000 {
            pace.spend(u64::from(IO_BYTES_MAX));
        }
        assert_eq!(pace.credit_bytes(), -CREDIT_BYTES_MAX);
    }
}
