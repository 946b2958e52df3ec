//! The latency history: the longest times of each second, by event, for LATENCY.
//!
//! Owns its samples and their bound.

use std::collections::{BTreeMap, VecDeque};

/// Samples kept for an event, as in Redis.
const SAMPLE_COUNT_MAX: usize = 160;

/// The longest time in one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The second, since the Unix epoch.
    pub unix_seconds: u64,
    /// The longest time in it, in milliseconds.
    pub ms: u64,
}

/// One event's samples, the oldest first.
#[derive(Debug, Default)]
pub struct EventHistory {
    samples: VecDeque<Sample>,
    ms_max: u64,
}

impl EventHistory {
    /// The samples, the oldest first.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = Sample> + '_ {
        self.samples.iter().copied()
    }

    /// The newest sample.
    pub fn latest(&self) -> Option<Sample> {
        self.samples.back().copied()
    }

    /// The longest time ever, in milliseconds.
    pub fn ms_max(&self) -> u64 {
        self.ms_max
    }

    fn add(&mut self, sample: Sample) {
        self.ms_max = self.ms_max.max(sample.ms);
        if let Some(last) = self
            .samples
            .back_mut()
            .filter(|s| s.unix_seconds == sample.unix_seconds)
        {
            last.ms = last.ms.max(sample.ms);
            return;
        }
        if self.samples.len() == SAMPLE_COUNT_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }
}

/// All events' histories.
#[derive(Debug, Default)]
pub struct LatencyHistory(BTreeMap<&'static str, EventHistory>);

impl LatencyHistory {
    /// Adds a sample of an event.
    pub fn add(&mut self, event: &'static str, sample: Sample) {
        self.0.entry(event).or_default().add(sample);
    }

    /// The events that have samples, by name.
    pub fn events(&self) -> impl ExactSizeIterator<Item = (&'static str, &EventHistory)> {
        self.0.iter().map(|(name, history)| (*name, history))
    }

    /// One event's history.
    pub fn event(&self, name: &str) -> Option<&EventHistory> {
        self.0.get(name)
    }

    /// Forgets one event; returns whether it had samples.
    pub fn forget(&mut self, name: &str) -> bool {
        self.0.remove(name).is_some()
    }

    /// Forgets all events; returns how many had samples.
    pub fn clear(&mut self) -> usize {
        std::mem::take(&mut self.0).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_longest_of_a_second() {
        let mut history = LatencyHistory::default();
        for (unix_seconds, ms) in [(1, 5), (1, 9), (1, 2), (2, 3)] {
            history.add("command", Sample { unix_seconds, ms });
        }
        let event = history.event("command").unwrap();
        let samples: Vec<(u64, u64)> = event.samples().map(|s| (s.unix_seconds, s.ms)).collect();
        assert_eq!(samples, [(1, 9), (2, 3)]);
        assert_eq!(event.ms_max(), 9);
        assert!(history.forget("command"));
        assert!(!history.forget("command"));
    }

    #[test]
    fn is_bounded() {
        let mut history = LatencyHistory::default();
        for unix_seconds in 0..1000 {
            history.add(
                "command",
                Sample {
                    unix_seconds,
                    ms: 1,
                },
            );
        }
        assert_eq!(
            history.event("command").unwrap().samples().len(),
            SAMPLE_COUNT_MAX
        );
    }
}
