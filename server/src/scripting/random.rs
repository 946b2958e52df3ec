//! The random numbers of scripts: the sequence that Redis draws, which goes on from script to
//! script.
//!
//! Owns the generator, the 48-bit one of POSIX's `lrand48`. Must never be used for anything else.

use std::cell::Cell;

const MULTIPLIER: u64 = 0x5_deec_e66d;
const INCREMENT: u64 = 0xb;
const MASK: u64 = (1 << 48) - 1;
/// What POSIX puts below a seed.
const SEED_LOW: u64 = 0x330e;
/// One more than the largest number that is drawn, as Redis counts.
const RANGE: u32 = i32::MAX as u32;

/// Where the sequence begins, as Redis's does.
const START: u64 = 0x1234_abcd_330e;

/// A generator.
#[derive(Debug)]
pub(super) struct Random(Cell<u64>);

impl Default for Random {
    fn default() -> Self {
        Self(Cell::new(START))
    }
}

impl Random {
    /// Starts a sequence over.
    pub(super) fn seed(&self, seed: i32) {
        self.0.set(u64::from(seed.cast_unsigned()) << 16 | SEED_LOW);
    }

    /// A number from 0 up to, and without, 1.
    pub(super) fn fraction(&self) -> f64 {
        let state = self
            .0
            .get()
            .wrapping_mul(MULTIPLIER)
            .wrapping_add(INCREMENT)
            & MASK;
        self.0.set(state);
        let drawn = (state >> 17) as u32 % RANGE;
        f64::from(drawn) / f64::from(RANGE)
    }
}

#[cfg(test)]
#[expect(clippy::cast_sign_loss, reason = "fractions are not negative")]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_redis_own() {
        let random = Random::default();
        let draw = |below: f64| (random.fraction() * below) as u32 + 1;
        assert_eq!([draw(10.0), draw(100.0), draw(100.0)], [4, 85, 36]);
        random.seed(0);
        assert_eq!([draw(100.0), draw(100.0)], [18, 75]);
    }
}
