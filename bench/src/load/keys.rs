//! Which key an operation is for.
//!
//! Owns the distribution over the keys and the frontier of inserts. Must never know a command.

use std::collections::VecDeque;

use super::plan::KeyChoice;
use super::random::Random;
use super::zipf::Zipf;

/// Keys of a load at most: a rank times a stride, both below it, stays in 64 bits.
pub(crate) const KEY_COUNT_MAX: u64 = u32::MAX as u64;

/// Draws keys: numbers from 0 to the count of keys, inserted ones included.
#[derive(Debug)]
pub(crate) struct Keys {
    choice: KeyChoice,
    count: u64,
    zipf: Zipf,
    /// Prime to the count: spreads the ranks over the keys, each key keeping one rank.
    stride: u64,
    next_sequential: u64,
    inserts: Inserts,
}

impl Keys {
    pub(crate) fn new(choice: KeyChoice, count: u64) -> Self {
        let theta = match choice {
            KeyChoice::Zipfian { theta } => theta,
            KeyChoice::Latest => KeyChoice::THETA_OF_YCSB,
            KeyChoice::Uniform | KeyChoice::Sequential => 0.5,
        };
        Self {
            choice,
            count,
            zipf: Zipf::new(count, theta),
            stride: stride_prime_to(count),
            next_sequential: 0,
            inserts: Inserts::new(count),
        }
    }

    /// The key of an operation on a key that is there.
    pub(crate) fn draw(&mut self, random: &mut Random) -> u64 {
        match self.choice {
            KeyChoice::Uniform => random.below(self.count),
            KeyChoice::Zipfian { .. } => self.zipf.draw(random) * self.stride % self.count,
            KeyChoice::Sequential => {
                let key = self.next_sequential;
                self.next_sequential = (key + 1) % self.count;
                key
            }
            KeyChoice::Latest => self.inserts.acknowledged - 1 - self.zipf.draw(random),
        }
    }

    /// A new key, for an insert that is sent now.
    pub(crate) fn insert(&mut self) -> u64 {
        self.inserts.issue()
    }

    /// The insert of `key` was answered.
    pub(crate) fn inserted(&mut self, key: u64) {
        self.inserts.answer(key);
    }
}

/// The golden section of the keys, or the next number that is prime to their count.
fn stride_prime_to(count: u64) -> u64 {
    let golden = (count * 618 / 1000).max(1);
    (golden..=count + 1)
        .find(|stride| greatest_common_divisor(*stride, count) == 1)
        .expect("n + 1 is prime to n")
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// The keys beyond the first ones: all below `acknowledged` were answered.
#[derive(Debug)]
struct Inserts {
    acknowledged: u64,
    /// Whether each key from `acknowledged` on was answered; as long as the inserts in flight span.
    answered: VecDeque<bool>,
}

impl Inserts {
    fn new(count: u64) -> Self {
        Self {
            acknowledged: count,
            answered: VecDeque::new(),
        }
    }

    fn issue(&mut self) -> u64 {
        let key = self.acknowledged + self.answered.len() as u64;
        self.answered.push_back(false);
        key
    }

    fn answer(&mut self, key: u64) {
        let index = (key - self.acknowledged) as usize;
        self.answered[index] = true;
        while self.answered.front() == Some(&true) {
            self.answered.pop_front();
            self.acknowledged += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u64 = 1000;
    const DRAWS: u64 = 500_000;

    fn drawn(choice: KeyChoice) -> Vec<u64> {
        let mut keys = Keys::new(choice, COUNT);
        let mut random = Random::new(7);
        let mut seen = vec![0; COUNT as usize];
        for _ in 0..DRAWS {
            seen[keys.draw(&mut random) as usize] += 1;
        }
        seen
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of a test")]
    fn share(count: u64) -> f64 {
        count as f64 / DRAWS as f64
    }

    /// Sum of (found - wanted)^2 / wanted for keys that are all as likely.
    #[expect(clippy::cast_precision_loss, reason = "counts of a test")]
    fn chi_square(seen: &[u64]) -> f64 {
        let wanted = DRAWS as f64 / seen.len() as f64;
        let square = |found: &u64| (*found as f64 - wanted).powi(2) / wanted;
        seen.iter().map(square).sum()
    }

    #[test]
    fn uniform_keys_are_all_as_likely() {
        // 999 degrees of freedom: mean 999, deviation 45; five of them either way.
        let found = chi_square(&drawn(KeyChoice::Uniform));
        assert!((775.0..1225.0).contains(&found), "{found}");
        let zipfian = chi_square(&drawn(KeyChoice::Zipfian { theta: 0.99 }));
        assert!(zipfian > 100_000.0, "{zipfian}");
    }

    #[test]
    fn sequential_keys_come_once_each_turn() {
        assert!(chi_square(&drawn(KeyChoice::Sequential)) < 1e-9);
    }

    #[test]
    fn zipfian_ranks_are_scattered_one_to_one() {
        let seen = drawn(KeyChoice::Zipfian { theta: 0.99 });
        assert!(seen.iter().all(|count| *count > 0));
        let mut ranked: Vec<usize> = (0..seen.len()).collect();
        ranked.sort_by_key(|key| std::cmp::Reverse(seen[*key]));
        let hottest = share(seen[ranked[0]]);
        // 1 / zeta(1000, 0.99) is 0.1289.
        assert!((hottest - 0.1289).abs() < 0.003, "{hottest}");
        assert!(ranked[0].abs_diff(ranked[1]) > 100, "{:?}", &ranked[..2]);
    }

    #[test]
    fn the_latest_keys_are_the_likeliest_and_all_acknowledged() {
        let mut keys = Keys::new(KeyChoice::Latest, COUNT);
        let mut random = Random::new(3);
        let first = keys.insert();
        let second = keys.insert();
        assert_eq!((first, second), (COUNT, COUNT + 1));
        keys.inserted(second);
        assert!((0..DRAWS).all(|_| keys.draw(&mut random) < COUNT));
        keys.inserted(first);
        let newest = (0..DRAWS).filter(|_| keys.draw(&mut random) == second);
        let share = share(newest.count() as u64);
        assert!((share - 0.1289).abs() < 0.003, "{share}");
    }

    #[test]
    fn a_stride_is_prime_to_any_count() {
        for count in [1, 2, 3, 10, 618, 1000, KEY_COUNT_MAX] {
            assert_eq!(greatest_common_divisor(stride_prime_to(count), count), 1);
        }
    }
}
