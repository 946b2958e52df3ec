//! Who this run of the server is: ids and the time of its start.
//!
//! Owns the ids' layout.

use std::fmt::Write;

use cellar_storage::Clock;
use parking_lot::Mutex;

/// Digits of an id, as in Redis.
const ID_DIGIT_COUNT: usize = 40;

/// Ids and start time of one run.
#[derive(Debug)]
pub struct Identity {
    /// The run's id, in 40 hexadecimal digits.
    pub run_id: String,
    /// The start, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// The start, in microseconds of the monotonic clock.
    pub started_us: u64,
    replication_id: Mutex<(String, u64)>,
}

impl Identity {
    /// A new run; ids follow from `seed`.
    pub fn new(clock: &dyn Clock, seed: u64) -> Self {
        Self {
            run_id: id(seed),
            started_unix_ms: clock.unix_ms(),
            started_us: clock.monotonic_us(),
            replication_id: Mutex::new((id(seed ^ u64::MAX), seed)),
        }
    }

    /// The id of the history that a replica would follow.
    pub fn replication_id(&self) -> String {
        self.replication_id.lock().0.clone()
    }

    /// Starts another history (DEBUG CHANGE-REPL-ID).
    pub fn change_replication_id(&self) {
        let mut current = self.replication_id.lock();
        let seed = current.1.wrapping_add(1);
        *current = (id(seed), seed);
    }
}

/// An id from a seed, by SplitMix64.
fn id(mut seed: u64) -> String {
    let mut digits = String::with_capacity(ID_DIGIT_COUNT + 16);
    while digits.len() < ID_DIGIT_COUNT {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = seed;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        write!(digits, "{:016x}", word ^ (word >> 31)).expect("a string takes everything");
    }
    digits.truncate(ID_DIGIT_COUNT);
    digits
}
