//! Seeded randomness for simulation: the same seed gives the same numbers, everywhere and for ever.
//! Must never be used where an adversary could profit from a guess.

/// The SplitMix64 generator (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct SimRandom {
    state: u64,
}

impl SimRandom {
    /// The sequence of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero. The bias is below `bound` / 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.next_u64()) * u128::from(bound);
        (product >> 64) as u64
    }

    /// Heads or tails.
    pub fn flip(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }

    /// A generator of its own, for a part that must not disturb this one's sequence.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self::new(self.next_u64())
    }

    /// Fills `target`.
    pub fn fill(&mut self, target: &mut [u8]) {
        for chunk in target.chunks_mut(8) {
            let bytes = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_paper() {
        let mut random = SimRandom::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(first, expected);
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        let mut random = SimRandom::new(1);
        let mut seen = [false; 7];
        (0..200).for_each(|_| seen[random.below(7) as usize] = true);
        assert_eq!(seen, [true; 7]);
    }
}
