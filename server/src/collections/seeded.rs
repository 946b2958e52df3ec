//! The seeded generator of the model tests.
//!
//! Owns the seed: `SEED=` replays a run, and a failing run prints it.

/// SplitMix64 (Steele, Lea, Flood 2014).
pub(crate) struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The numbers of `SEED`, of the present time without it; the seed is shown if the test fails.
    pub(crate) fn seeded() -> Self {
        let seed = std::env::var("SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| {
            let age = std::time::UNIX_EPOCH.elapsed().expect("the clock is set");
            age.as_nanos() as u64
        });
        println!("SEED={seed}");
        Self(seed)
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
