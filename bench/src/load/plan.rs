//! What a load is: where it goes, how fast, which operations on which keys, for how long.
//!
//! Owns the plan and its validation. Must never open a socket.

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::content::{HEAD_BYTES, VALUE_BYTES_MAX};
use super::error::LoadError;
use super::keys::KEY_COUNT_MAX;

/// Connections at most: a client's share of the usual limit of open files.
pub(crate) const CONNECTIONS_MAX: u32 = 4096;
/// Commands in flight on one connection at most: what redis-benchmark is run with, and eightfold.
pub(crate) const PIPELINE_MAX: u32 = 1024;
/// Points of a series at most: a run of an hour at intervals of 100 ms, and more.
pub(crate) const SERIES_POINTS_MAX: u64 = 100_000;
/// Bytes of a key's prefix at most; key lengths beyond are no case of these benchmarks.
const KEY_PREFIX_BYTES_MAX: usize = 1024;

/// A load on one server.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) address: Address,
    pub(crate) connections: u32,
    /// Commands in flight on one connection at most.
    pub(crate) pipeline: u32,
    pub(crate) pace: Pace,
    pub(crate) mix: Mix,
    pub(crate) keys: KeyChoice,
    /// Keys that are there before the load; inserts add further ones.
    pub(crate) key_count: u64,
    /// What stands before a key's twelve digits.
    pub(crate) key_prefix: String,
    /// Sizes of values, drawn evenly; a size follows from key and version.
    pub(crate) value_bytes: RangeInclusive<usize>,
    /// Checks every byte of every value read. The values must be of this load's making, with the
    /// same `value_bytes`.
    pub(crate) verify: bool,
    pub(crate) length: Length,
    /// What is sent before anything is counted.
    pub(crate) warm_up: Duration,
    pub(crate) seed: u64,
    /// Length of a point of the series; zero for no series.
    pub(crate) interval: Duration,
}

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// When an operation is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// A connection sends its next `pipeline` operations when the last of the former is answered.
    Closed,
    /// Operations start at this rate whether or not the server keeps up; their latency counts from
    /// when they were due.
    OpenPerSecond(f64),
}

/// Shares of the operations in percent; they add up to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mix {
    /// Reads.
    pub(crate) get: u32,
    /// Overwrites of keys that are there.
    pub(crate) set: u32,
    /// Reads whose key is then overwritten: one operation.
    pub(crate) rmw: u32,
    /// Writes of new keys.
    pub(crate) insert: u32,
}

/// Which of the keys an operation is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum KeyChoice {
    Uniform,
    /// Zipf's law with exponent `theta` (0 to 1, both excluded), the ranks scattered over the keys.
    Zipfian {
        theta: f64,
    },
    /// One after the other, round and round.
    Sequential,
    /// Zipf's law over the age of the keys: the newest one most often.
    Latest,
}

/// How long a load lasts after its warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Time(Duration),
    Operations(u64),
}

impl Mix {
    pub(crate) const GET: Self = Self::of(100, 0, 0, 0);
    pub(crate) const SET: Self = Self::of(0, 100, 0, 0);
    /// Half reads, half overwrites.
    pub(crate) const YCSB_A: Self = Self::of(50, 50, 0, 0);
    pub(crate) const YCSB_B: Self = Self::of(95, 5, 0, 0);
    pub(crate) const YCSB_C: Self = Self::GET;
    /// Reads and inserts; with `KeyChoice::Latest`.
    pub(crate) const YCSB_D: Self = Self::of(95, 0, 0, 5);
    /// Reads and read-modify-writes.
    pub(crate) const YCSB_F: Self = Self::of(50, 0, 50, 0);

    /// Shares of reads, overwrites, read-modify-writes and inserts, in percent.
    pub(crate) const fn of(get: u32, set: u32, rmw: u32, insert: u32) -> Self {
        Self {
            get,
            set,
            rmw,
            insert,
        }
    }
}

impl KeyChoice {
    /// The exponent that YCSB draws with.
    pub(crate) const THETA_OF_YCSB: f64 = 0.99;
    pub(crate) const ZIPFIAN_OF_YCSB: Self = Self::Zipfian {
        theta: Self::THETA_OF_YCSB,
    };
}

impl Plan {
    /// The load that writes each of this plan's keys once, in order, as fast as it goes.
    pub(crate) fn fill(&self) -> Self {
        Self {
            pace: Pace::Closed,
            mix: Mix::SET,
            keys: KeyChoice::Sequential,
            length: Length::Operations(self.key_count),
            warm_up: Duration::ZERO,
            interval: Duration::ZERO,
            ..self.clone()
        }
    }

    /// Refuses a plan that has no sense or no bound.
    pub(super) fn validate(&self) -> Result<(), LoadError> {
        let refuse = |what| Err(LoadError::Plan { what });
        if !(1..=CONNECTIONS_MAX).contains(&self.connections) {
            return refuse("connections: 1 to 4096");
        }
        if !(1..=PIPELINE_MAX).contains(&self.pipeline) {
            return refuse("pipeline: 1 to 1024");
        }
        if matches!(self.pace, Pace::OpenPerSecond(rate) if !(0.1..=1e7).contains(&rate)) {
            return refuse("rate: 0.1 to 10,000,000 operations a second");
        }
        if [self.mix.get, self.mix.set, self.mix.rmw, self.mix.insert]
            .iter()
            .try_fold(0_u32, |sum, share| sum.checked_add(*share))
            != Some(100)
        {
            return refuse("mix: shares add up to 100 percent");
        }
        if matches!(self.keys, KeyChoice::Zipfian { theta } if !(0.01..=0.999).contains(&theta)) {
            return refuse("theta: 0.01 to 0.999");
        }
        if !(1..=KEY_COUNT_MAX).contains(&self.key_count) {
            return refuse("key count: 1 to 4,294,967,295");
        }
        if self.key_prefix.len() > KEY_PREFIX_BYTES_MAX {
            return refuse("key prefix: at most 1024 bytes");
        }
        self.validate_values()?;
        self.validate_time()
    }

    fn validate_values(&self) -> Result<(), LoadError> {
        let refuse = |what| Err(LoadError::Plan { what });
        let (bytes_min, bytes_max) = (*self.value_bytes.start(), *self.value_bytes.end());
        if !(1..=bytes_max).contains(&bytes_min) || bytes_max > VALUE_BYTES_MAX {
            return refuse("value bytes: 1 to 1,048,576, the lesser first");
        }
        if bytes_min < HEAD_BYTES && bytes_max >= HEAD_BYTES {
            return refuse("value bytes: all below 16 or none, which a value's version needs");
        }
        Ok(())
    }

    fn validate_time(&self) -> Result<(), LoadError> {
        let refuse = |what| Err(LoadError::Plan { what });
        match self.length {
            Length::Time(Duration::ZERO) | Length::Operations(0) => {
                return refuse("length: above zero");
            }
            Length::Time(time) if !self.interval.is_zero() => {
                let points = time.as_nanos() / self.interval.as_nanos();
                if points > u128::from(SERIES_POINTS_MAX) {
                    return refuse("interval: at most 100,000 points in a series");
                }
            }
            Length::Time(_) | Length::Operations(_) => {}
        }
        Ok(())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp(address) => write!(f, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            address: Address::Unix("server.sock".into()),
            connections: 1,
            pipeline: 1,
            pace: Pace::Closed,
            mix: Mix::YCSB_A,
            keys: KeyChoice::Uniform,
            key_count: 10,
            key_prefix: "key:".to_owned(),
            value_bytes: 16..=32,
            verify: true,
            length: Length::Operations(1),
            warm_up: Duration::ZERO,
            seed: 1,
            interval: Duration::ZERO,
        }
    }

    #[test]
    fn plans_without_sense_are_refused() {
        type Change = fn(&mut Plan);
        let changes: [(&str, Change); 9] = [
            ("connections", |plan| plan.connections = 0),
            ("pipeline", |plan| plan.pipeline = 2000),
            ("rate", |plan| plan.pace = Pace::OpenPerSecond(0.0)),
            ("mix", |plan| plan.mix = Mix::of(50, 49, 0, 0)),
            ("theta", |plan| {
                plan.keys = KeyChoice::Zipfian { theta: 1.0 }
            }),
            ("key count", |plan| plan.key_count = 0),
            ("value bytes", |plan| plan.value_bytes = 8..=16),
            ("length", |plan| plan.length = Length::Operations(0)),
            ("interval", |plan| {
                plan.length = Length::Time(Duration::from_hours(1));
                plan.interval = Duration::from_millis(1);
            }),
        ];
        assert!(plan().validate().is_ok());
        for (name, change) in changes {
            let mut plan = plan();
            change(&mut plan);
            let error = plan.validate().unwrap_err().to_string();
            assert!(error.contains(name), "{name}: {error}");
        }
    }

    #[test]
    fn presets_are_whole() {
        for mix in [Mix::YCSB_A, Mix::YCSB_B, Mix::YCSB_D, Mix::YCSB_F, Mix::SET] {
            assert_eq!(mix.get + mix.set + mix.rmw + mix.insert, 100);
        }
    }
}
