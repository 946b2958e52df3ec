//! How long commands took, in buckets that grow with the value.
//!
//! Owns the bucket arithmetic: values below 8 have a bucket each, above every power of two is cut
//! into 8, so that a bucket's bounds are at most an eighth apart.

use super::Counter;

/// Buckets per power of two, as a power of two.
const SPLIT_BITS: u32 = 3;
const SPLIT: usize = 1 << SPLIT_BITS;
/// Powers of two told apart: 2^36 µs are 19 hours, longer values count there.
const POWER_MAX: u32 = 36;
const BUCKET_COUNT: usize = (POWER_MAX - SPLIT_BITS + 1) as usize * SPLIT + SPLIT;

/// Counts of one thread by microseconds.
#[derive(Debug)]
pub struct Histogram([Counter; BUCKET_COUNT]);

impl Default for Histogram {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Counter::default()))
    }
}

impl Histogram {
    /// Counts a value.
    pub fn record(&self, us: u64) {
        self.0[bucket(us)].add(1);
    }
}

fn bucket(us: u64) -> usize {
    if us < SPLIT as u64 {
        return us as usize;
    }
    let power = us.ilog2();
    if power > POWER_MAX {
        return BUCKET_COUNT - 1;
    }
    let part = (us >> (power - SPLIT_BITS)) as usize - SPLIT;
    (power - SPLIT_BITS + 1) as usize * SPLIT + part
}

/// The largest value of a bucket.
fn upper_bound(bucket: usize) -> u64 {
    if bucket < SPLIT {
        return bucket as u64;
    }
    let shift = (bucket / SPLIT - 1) as u32;
    let part = (bucket % SPLIT + SPLIT) as u64;
    ((part + 1) << shift) - 1
}

/// Counts summed over threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramTotals(Vec<u64>);

impl Default for HistogramTotals {
    fn default() -> Self {
        Self(vec![0; BUCKET_COUNT])
    }
}

impl HistogramTotals {
    /// Adds one thread's counts.
    pub fn add(&mut self, histogram: &Histogram) {
        for (sum, counter) in self.0.iter_mut().zip(&histogram.0) {
            *sum += counter.get();
        }
    }

    /// Takes away what stood at an earlier time.
    pub fn subtract(&mut self, earlier: &Self) {
        for (sum, before) in self.0.iter_mut().zip(&earlier.0) {
            *sum = sum.saturating_sub(*before);
        }
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The value, in microseconds, that so many in a thousand do not exceed, to an eighth.
    pub fn percentile(&self, per_mille: u64) -> u64 {
        let mut left = (self.count() * per_mille).div_ceil(1000);
        for (bucket, count) in self.0.iter().enumerate() {
            if *count >= left.max(1) {
                return upper_bound(bucket);
            }
            left = left.saturating_sub(*count);
        }
        0
    }

    /// For each power of two up to the first that all values are below or at: how many are. Powers
    /// that add nothing are left out.
    pub fn powers(&self) -> Vec<(u64, u64)> {
        let total = self.count();
        let mut powers = Vec::new();
        let (mut bucket, mut sum, mut told) = (0, 0, 0);
        for bound in (0..=POWER_MAX).map(|power| 1_u64 << power) {
            while bucket < BUCKET_COUNT && upper_bound(bucket) <= bound {
                sum += self.0[bucket];
                bucket += 1;
            }
            if sum > told {
                powers.push((bound, sum));
                told = sum;
            }
            if sum == total {
                return powers;
            }
        }
        powers.push((1 << (POWER_MAX + 1), total));
        powers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_bounded() {
        let mut last = 0;
        for us in (0..5000).chain([1 << 20, (1 << 36) - 1, 1 << 36, u64::MAX]) {
            let index = bucket(us);
            assert!(index >= last && index < BUCKET_COUNT);
            last = index;
            if us < 1 << 36 {
                assert!(upper_bound(index) >= us);
                assert!(upper_bound(index) - us <= us / 8);
            }
        }
    }

    #[test]
    fn tells_percentiles_and_powers() {
        let histogram = Histogram::default();
        for us in 1..=100 {
            histogram.record(us);
        }
        let mut totals = HistogramTotals::default();
        totals.add(&histogram);
        assert_eq!(totals.count(), 100);
        assert!((50..=56).contains(&totals.percentile(500)));
        assert!((99..=111).contains(&totals.percentile(990)));
        let powers = totals.powers();
        assert_eq!(powers.first(), Some(&(1, 1)));
        assert_eq!(powers.last(), Some(&(128, 100)));
        let earlier = totals.clone();
        totals.subtract(&earlier);
        assert_eq!(totals.count(), 0);
        assert!(totals.powers().is_empty());
    }
}
