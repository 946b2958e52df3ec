//! Ranks by Zipf's law, as YCSB draws them: Gray et al., "Quickly generating billion-record
//! synthetic databases", SIGMOD 1994.
//!
//! Owns the arithmetic. Must never know which key a rank stands for.
#![expect(
    clippy::cast_precision_loss,
    reason = "ranks are far below 2^52 (KEY_COUNT_MAX)"
)]
#![expect(
    clippy::cast_sign_loss,
    reason = "a rank is a product of numbers that are not negative"
)]

use super::random::Random;

/// Terms of the zeta sum that are added one by one; the rest is an integral whose error is far
/// below 1e-9 of the sum (Euler-Maclaurin), so that a load over billions of keys starts at once.
const ZETA_TERMS_EXACT: u64 = 10_000;

/// Draws ranks below `count`, 0 the most frequent: the probability of rank r is near
/// 1 / (r + 1)^theta.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zipf {
    count: u64,
    theta: f64,
    zeta: f64,
    eta: f64,
}

impl Zipf {
    /// `theta` lies between 0 and 1, both excluded; `count` is at least 1.
    pub(crate) fn new(count: u64, theta: f64) -> Self {
        let zeta = zeta(count, theta);
        let eta =
            (1.0 - (2.0 / count as f64).powf(1.0 - theta)) / (1.0 - zeta_of_two(theta) / zeta);
        Self {
            count,
            theta,
            zeta,
            eta,
        }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        let unit = random.unit();
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < zeta_of_two(self.theta) {
            return 1.min(self.count - 1);
        }
        let base = self.eta.mul_add(unit - 1.0, 1.0);
        let rank = self.count as f64 * base.powf(1.0 / (1.0 - self.theta));
        (rank as u64).min(self.count - 1)
    }
}

fn zeta_of_two(theta: f64) -> f64 {
    1.0 + 0.5_f64.powf(theta)
}

/// The sum of 1 / i^theta for i from 1 to `count`.
fn zeta(count: u64, theta: f64) -> f64 {
    let term = |i: u64| (i as f64).powf(-theta);
    let exact = count.min(ZETA_TERMS_EXACT);
    let mut sum: f64 = (1..=exact).map(term).sum();
    if count > exact {
        let power = 1.0 - theta;
        let integral = ((count as f64).powf(power) - (exact as f64).powf(power)) / power;
        sum += integral + (term(count) - term(exact)) / 2.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_sum_is_the_long_one() {
        for theta in [0.5, 0.99] {
            let count = 300_000_u64;
            let long: f64 = (1..=count).map(|i| (i as f64).powf(-theta)).sum();
            assert!((zeta(count, theta) / long - 1.0).abs() < 1e-9, "{theta}");
        }
    }

    #[test]
    fn ranks_come_as_often_as_the_law_says() {
        let (count, theta, draws) = (10_000_u64, 0.99, 400_000_u32);
        let zipf = Zipf::new(count, theta);
        let mut random = Random::new(1);
        let mut seen = vec![0_u32; count as usize];
        for _ in 0..draws {
            seen[zipf.draw(&mut random) as usize] += 1;
        }
        for ranks in [1_usize, 2, 10, 100, 1000, 5000, 10_000] {
            let wanted = zeta(ranks as u64, theta) / zeta(count, theta);
            let found = f64::from(seen[..ranks].iter().sum::<u32>()) / f64::from(draws);
            // Gray's formula is itself an approximation between the first ranks and the last.
            assert!((found - wanted).abs() < 0.02, "{ranks}: {found}, {wanted}");
        }
    }

    #[test]
    fn one_key_and_two_keys_have_their_ranks() {
        for count in [1, 2] {
            let zipf = Zipf::new(count, 0.99);
            let mut random = Random::new(1);
            assert!((0..1000).all(|_| zipf.draw(&mut random) < count));
        }
    }
}
