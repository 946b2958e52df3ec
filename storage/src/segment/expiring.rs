//! How many of a segment's live bytes die by their deadlines, and when: a histogram a segment.
//!
//! | bucket | deadlines, in seconds after the base |
//! |---|---|
//! | 0 | below 256 |
//! | i in 1..15 | from 128 * 2^i, below 256 * 2^i |
//! | 15 | later: never counted as dead |
//!
//! The base is when the segment's first record with a deadline was counted. 16 buckets reach 48
//! days, each as wide as all before it, so bytes are known to be dead after at most twice their
//! time. 68 bytes a segment: 9 MB for the 131,072 segments of a terabyte, beside 11 GB of index.
//!
//! Owns an estimate that guides the choice of victims; whether a record has expired is never
//! decided by it.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

const BUCKET_COUNT: usize = 16;
/// Seconds that the first bucket spans.
const FIRST_S: u32 = 256;

/// One segment's histogram.
#[derive(Debug, Default)]
pub(super) struct Expiring {
    /// Unix time in seconds; 0: nothing was counted yet.
    base_s: AtomicU32,
    bytes: [AtomicI32; BUCKET_COUNT],
}

impl Expiring {
    /// Counts `bytes` more (or fewer) that die at `expiry_s`. What is taken away was added before.
    pub(super) fn add(&self, expiry_s: u32, bytes: i64, now_s: u32) {
        let claim =
            self.base_s
                .compare_exchange(0, now_s.max(1), Ordering::AcqRel, Ordering::Acquire);
        let base_s = claim.unwrap_or_else(|base_s| base_s);
        let base_s = if base_s == 0 { now_s.max(1) } else { base_s };
        let bytes = i32::try_from(bytes).expect("a record is at most 64 KiB");
        self.bytes[bucket(expiry_s.saturating_sub(base_s))].fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of those counted whose deadlines have passed for certain.
    pub(super) fn expired_bytes(&self, now_s: u32) -> u64 {
        let base_s = self.base_s.load(Ordering::Acquire);
        if base_s == 0 {
            return 0;
        }
        let passed_s = now_s.saturating_sub(base_s);
        let is_over = |index: &usize| FIRST_S << index <= passed_s;
        let over = (0..BUCKET_COUNT - 1).take_while(is_over);
        let bytes: i64 = over
            .map(|index| i64::from(self.bytes[index].load(Ordering::Relaxed)))
            .sum();
        u64::try_from(bytes).unwrap_or(0)
    }

    /// The segment is free: nothing is left to count.
    pub(super) fn clear(&self) {
        self.base_s.store(0, Ordering::Release);
        for bytes in &self.bytes {
            bytes.store(0, Ordering::Relaxed);
        }
    }
}

fn bucket(ahead_s: u32) -> usize {
    let doublings = (ahead_s / FIRST_S).checked_ilog2().map_or(0, |log| log + 1);
    (doublings as usize).min(BUCKET_COUNT - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_S: u32 = 1_900_000_000;

    #[test]
    fn bytes_are_dead_once_their_buckets_time_is_over() {
        let check = |ttl_s: u32, dead_after_s: u32| {
            let expiring = Expiring::default();
            expiring.add(NOW_S + ttl_s, 2048, NOW_S);
            assert_eq!(
                expiring.expired_bytes(NOW_S + dead_after_s - 1),
                0,
                "{ttl_s}"
            );
            assert_eq!(
                expiring.expired_bytes(NOW_S + dead_after_s),
                2048,
                "{ttl_s}"
            );
        };
        check(0, 256);
        check(255, 256);
        check(256, 512);
        check(3_600, 4_096);
        check(86_400, 131_072);
        check(4_194_303, 4_194_304);
    }

    #[test]
    fn never_before_their_deadline() {
        for ttl_s in [
            1,
            100,
            300,
            511,
            512,
            70_000,
            4_000_000,
            5_000_000,
            u32::MAX - NOW_S,
        ] {
            let expiring = Expiring::default();
            expiring.add(NOW_S + ttl_s, 64, NOW_S);
            assert_eq!(expiring.expired_bytes(NOW_S + ttl_s - 1), 0, "{ttl_s}");
        }
    }

    #[test]
    fn what_is_taken_away_is_not_counted() {
        let expiring = Expiring::default();
        expiring.add(NOW_S + 60, 2048, NOW_S);
        expiring.add(NOW_S + 90, 1024, NOW_S + 30);
        expiring.add(NOW_S + 60, -2048, NOW_S + 50);
        assert_eq!(expiring.expired_bytes(NOW_S + 256), 1024);
        expiring.clear();
        assert_eq!(expiring.expired_bytes(NOW_S + 256), 0);
    }

    #[test]
    fn a_clock_that_went_back_does_no_harm() {
        let expiring = Expiring::default();
        expiring.add(NOW_S + 60, 2048, NOW_S);
        assert_eq!(expiring.expired_bytes(NOW_S - 1_000_000), 0);
        expiring.add(NOW_S - 999_000, 2048, NOW_S - 1_000_000);
        assert_eq!(expiring.expired_bytes(NOW_S + 256), 4096);
    }
}
