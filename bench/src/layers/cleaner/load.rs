//! Which keys are overwritten, and by how much: the loads of the simulation of cleaning.
//!
//! Owns the seeded generator and the distributions. Must never know a segment.

/// Which key an overwrite hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Load {
    /// All keys alike.
    Uniform,
    /// Zipf's law with exponent 0.99, the ranks scattered over the keys.
    Zipfian,
    /// Nine of ten overwrites hit one of ten keys.
    HotCold,
}

impl Load {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipfian => "zipfian 0.99",
            Self::HotCold => "hot/cold 90:10",
        }
    }
}

/// Skew of the zipfian load: that of YCSB.
const ZIPF_EXPONENT: f64 = 0.99;

/// Pseudo-random numbers: `splitmix64` (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        (((self.next_u64() >> 32) * u64::from(end)) >> 32) as u32
    }

    /// A number in 0..1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Draws the keys that are overwritten.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    load: Load,
    key_count: u32,
    zipf: Zipf,
    /// Prime to the key count: spreads ranks over the keys.
    stride: u64,
}

impl Keys {
    pub(crate) fn new(load: Load, key_count: u32) -> Self {
        let count = u64::from(key_count);
        let is_prime_to = |stride: &u64| greatest_common_divisor(*stride, count) == 1;
        // The golden section of the keys, or the next that is prime to their count: one above a
        // multiple of the count is, at the latest.
        let golden = (count * 618_034 / 1_000_000).max(1);
        Self {
            load,
            key_count,
            zipf: Zipf::new(key_count),
            stride: (golden..=count + 1)
                .find(is_prime_to)
                .expect("n + 1 is prime to n"),
        }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> u32 {
        match self.load {
            Load::Uniform => random.below(self.key_count),
            Load::Zipfian => self.scatter(self.zipf.draw(random)),
            Load::HotCold => {
                let hot = (self.key_count / 10).max(1);
                let rank = if random.below(10) > 0 {
                    random.below(hot)
                } else {
                    hot + random.below(self.key_count - hot)
                };
                self.scatter(rank)
            }
        }
    }

    fn scatter(&self, rank: u32) -> u32 {
        (u64::from(rank) * self.stride % u64::from(self.key_count)) as u32
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// Ranks by Zipf's law, drawn by inverting its integral (Gray et al., SIGMOD 1994).
#[derive(Clone, Copy, Debug)]
struct Zipf {
    count: f64,
    zeta: f64,
    eta: f64,
}

impl Zipf {
    fn new(count: u32) -> Self {
        let zeta = |n: u32| {
            (1..=n)
                .map(|rank| f64::from(rank).powf(-ZIPF_EXPONENT))
                .sum::<f64>()
        };
        let total = zeta(count);
        let eta =
            (1.0 - (2.0 / f64::from(count)).powf(1.0 - ZIPF_EXPONENT)) / (1.0 - zeta(2) / total);
        Self {
            count: f64::from(count),
            zeta: total,
            eta,
        }
    }

    #[expect(clippy::cast_sign_loss, reason = "ranks and counts are not negative")]
    fn draw(&self, random: &mut Random) -> u32 {
        let unit = random.unit();
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(ZIPF_EXPONENT) {
            return 1;
        }
        let base = self.eta.mul_add(unit, 1.0 - self.eta);
        let rank = self.count * base.powf(1.0 / (1.0 - ZIPF_EXPONENT));
        (rank as u32).min(self.count as u32 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of_first_tenth(load: Load) -> f64 {
        let keys = Keys::new(load, 10_000);
        let unscattered: Vec<u32> = {
            let mut rank_of = vec![0; 10_000];
            for rank in 0..10_000 {
                rank_of[keys.scatter(rank) as usize] = rank;
            }
            rank_of
        };
        let mut random = Random::new(1);
        let hits: u32 = (0..100_000)
            .map(|_| u32::from(unscattered[keys.draw(&mut random) as usize] < 1000))
            .sum();
        f64::from(hits) / 100_000.0
    }

    #[test]
    fn loads_are_as_skewed_as_they_say() {
        let near = |found: f64, wanted: f64| (found - wanted).abs() < 0.02;
        assert!(near(share_of_first_tenth(Load::Uniform), 0.1));
        assert!(near(share_of_first_tenth(Load::HotCold), 0.9));
        // Harmonic sums to exponent 0.99: H(1000) / H(10000).
        assert!(near(share_of_first_tenth(Load::Zipfian), 0.75));
    }

    #[test]
    fn a_seed_is_replayed() {
        let draws = |seed| {
            let mut random = Random::new(seed);
            let keys = Keys::new(Load::Zipfian, 1000);
            (0..100).map(|_| keys.draw(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
    }
}
