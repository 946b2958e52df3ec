//! What happens a second, smoothed over the last samples, for INFO.
//!
//! Owns the samples; the control thread takes one every 100 ms.

use parking_lot::Mutex;

/// Samples that a rate is the mean of, as in Redis.
const SAMPLE_COUNT: usize = 16;

/// What is told a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rate {
    /// Commands a second.
    pub commands: u64,
    /// Bytes read from sockets a second.
    pub input_bytes: u64,
    /// Bytes written to sockets a second.
    pub output_bytes: u64,
}

/// The sums at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sums {
    /// The moment, in microseconds of the monotonic clock.
    pub now_us: u64,
    /// Commands.
    pub commands: u64,
    /// Bytes read from sockets.
    pub input_bytes: u64,
    /// Bytes written to sockets.
    pub output_bytes: u64,
}

#[derive(Debug, Default)]
struct State {
    last: Sums,
    samples: [Rate; SAMPLE_COUNT],
    next: usize,
}

/// The last samples.
#[derive(Debug, Default)]
pub struct Rates(Mutex<State>);

impl Rates {
    /// Takes a sample of sums that never go back.
    pub fn sample(&self, sums: Sums) {
        let mut state = self.0.lock();
        let us = sums.now_us.saturating_sub(state.last.now_us).max(1);
        let a_second = |now: u64, before: u64| now.saturating_sub(before) * 1_000_000 / us;
        let rate = Rate {
            commands: a_second(sums.commands, state.last.commands),
            input_bytes: a_second(sums.input_bytes, state.last.input_bytes),
            output_bytes: a_second(sums.output_bytes, state.last.output_bytes),
        };
        let next = state.next;
        state.samples[next] = rate;
        state.next = (next + 1) % SAMPLE_COUNT;
        state.last = sums;
    }

    /// The mean of the last samples.
    pub fn mean(&self) -> Rate {
        let state = self.0.lock();
        let mean = |part: fn(&Rate) -> u64| {
            state.samples.iter().map(part).sum::<u64>() / SAMPLE_COUNT as u64
        };
        Rate {
            commands: mean(|rate| rate.commands),
            input_bytes: mean(|rate| rate.input_bytes),
            output_bytes: mean(|rate| rate.output_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_over_the_last_samples() {
        let rates = Rates::default();
        for step in 1..=32_u64 {
            let now_us = step * 100_000;
            rates.sample(Sums {
                now_us,
                commands: step * 10,
                input_bytes: 0,
                output_bytes: step,
            });
        }
        assert_eq!(
            rates.mean(),
            Rate {
                commands: 100,
                input_bytes: 0,
                output_bytes: 10
            }
        );
    }
}
