//! How often each kind of error was answered, for INFO errorstats.
//!
//! Owns the bound on kinds: they come from error texts, and a client can make some of those up.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// Kinds counted one by one, as in Redis.
const KIND_COUNT_MAX: usize = 128;

/// Counts by kind, which is the first word of an error.
#[derive(Debug, Default)]
pub struct ErrorCounts(Mutex<BTreeMap<String, u64>>);

impl ErrorCounts {
    /// Counts an error by its text.
    pub fn add(&self, text: &str) {
        let kind = text.split(' ').next().unwrap_or_default();
        let mut counts = self.0.lock();
        if let Some(count) = counts.get_mut(kind) {
            *count += 1;
        } else if counts.len() < KIND_COUNT_MAX {
            counts.insert(kind.to_owned(), 1);
        }
    }

    /// The counts, by kind.
    pub fn list(&self) -> Vec<(String, u64)> {
        self.0
            .lock()
            .iter()
            .map(|(kind, count)| (kind.clone(), *count))
            .collect()
    }

    /// Forgets all counts.
    pub fn clear(&self) {
        self.0.lock().clear();
    }
}
