//! Seeded random numbers for the tests, and identities to use them on.

use cellar_index::{Hasher, Identity};

/// A xorshift generator.
pub(crate) struct Random(u64);

impl Random {
    /// `seed` 0 counts as 1: the generator would stay at zero.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The next number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// `SEED` from the environment, or a new one; printed by the caller.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("SEED")
        .ok()
        .map(|text| text.parse().expect("SEED is a number"));
    given.unwrap_or_else(|| {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one("seed") | 1
    })
}

/// `count` identities in the partitions below `partitions`.
pub(crate) fn ids(count: usize, partitions: u16) -> Vec<Identity> {
    let hasher = Hasher::new([3; 16]);
    (0..count as u32)
        .map(|number| {
            hasher
                .key(number, b"key")
                .in_partition(number as u16 % partitions)
        })
        .collect()
}
