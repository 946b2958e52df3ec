//! Load generators: other people's programs, and the built-in client.
//!
//! ```text
//!   suite --> redis_benchmark | memtier | fio --> tool (on the load's cores) --> parse --> Outcome
//!        \--> own (the built-in client, in this process) -----------------------------^
//! ```
//!
//! Owns command lines and the reading of what is printed. Must never make up a figure: output that
//! is not understood is an error.

pub(crate) mod fio;
pub(crate) mod memtier;
pub(crate) mod own;
pub(crate) mod redis_benchmark;
mod tool;

use std::path::PathBuf;

use crate::host::cancel::Flag;
use crate::results::{Latency, Point};

/// What a load generator needs of the run around it.
#[derive(Clone, Debug)]
pub(crate) struct Drive {
    /// Cores of the load.
    pub(crate) cores: Vec<usize>,
    /// Whether no server runs on them.
    pub(crate) is_apart: bool,
    /// For the outputs of load generators.
    pub(crate) scratch: PathBuf,
    pub(crate) cancel: Flag,
    pub(crate) tools: Tools,
}

/// Where other people's load generators are; absent when not installed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    pub(crate) redis_benchmark: Option<PathBuf>,
    pub(crate) memtier: Option<PathBuf>,
    pub(crate) fio: Option<PathBuf>,
}

/// What one run of a load generator showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// The command line, or the plan of the built-in client.
    pub(crate) command: Vec<String>,
    pub(crate) seconds: f64,
    /// Requests that were answered without an error.
    pub(crate) operations: u64,
    pub(crate) errors: u64,
    pub(crate) latency: Option<Latency>,
    pub(crate) client_cpu_s: f64,
    /// Threads of the load generator; 1 where it is not told.
    pub(crate) client_threads: u32,
    /// Bytes of keys and values that were written.
    pub(crate) written_bytes: Option<u64>,
    pub(crate) notes: Vec<String>,
    /// Intervals of equal length, when they were asked for.
    pub(crate) points: Vec<Point>,
}

impl Outcome {
    /// A load generator that is this busy, as a share of its threads' time, sets the rate itself.
    const BUSY_SHARE: f64 = 0.9;

    /// What to say of a load generator that had no time left, when it had none.
    pub(crate) fn busy_note(&self) -> Option<String> {
        let threads = f64::from(self.client_threads.max(1));
        let share = self.client_cpu_s / (self.seconds * threads);
        // Its start and end are in its CPU time, not in the seconds of the load.
        let percent = (share * 100.0).min(100.0);
        let is_busy = share.is_finite() && share > Self::BUSY_SHARE;
        is_busy.then(|| {
            format!("the load generator was busy {percent:.0} % of its time: the rate is its limit")
        })
    }

    /// Requests a second.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(crate) fn ops_per_s(&self) -> f64 {
        if self.seconds > 0.0 {
            self.operations as f64 / self.seconds
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_generator_without_time_left_is_named() {
        let outcome = |client_cpu_s, client_threads| Outcome {
            seconds: 2.0,
            client_cpu_s,
            client_threads,
            ..Outcome::default()
        };
        assert!(
            outcome(1.9, 0)
                .busy_note()
                .is_some_and(|note| note.contains("95 %"))
        );
        assert_eq!(outcome(1.9, 2).busy_note(), None);
        assert_eq!(outcome(1.0, 1).busy_note(), None);
        assert_eq!(Outcome::default().busy_note(), None);
    }
}
