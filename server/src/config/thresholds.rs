//! The bounds within which Redis keeps a value compact, how long a script runs before others are
//! told, and how many replicas a write asks for. The first ones change only what OBJECT ENCODING
//! says, how the registers of a HyperLogLog are kept, and by how many entries streams are trimmed
//! approximately.
//!
//! Owns a copy of their numbers that every command may read. Must never decide how a value is kept.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use super::remembered;

/// One of the bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// Milliseconds that a script runs before others are answered that it does.
    BusyMs,
    /// Replicas without which nothing is written.
    MinReplicas,
    /// Fields of a hash.
    HashEntries,
    /// Bytes of a hash's field or value.
    HashValue,
    /// Bytes of a HyperLogLog whose registers are kept as runs.
    HllSparseBytes,
    /// Entries of a list's part, or a code for its bytes where it is negative.
    ListSize,
    /// Members of a set of integers.
    SetIntsetEntries,
    /// Members of a set.
    SetEntries,
    /// Bytes of a set's member.
    SetValue,
    /// Bytes of a stream's node, which Redis trims as a whole.
    StreamNodeBytes,
    /// Entries of a stream's node.
    StreamNodeEntries,
    /// Members of a sorted set.
    ZsetEntries,
    /// Bytes of a sorted set's member.
    ZsetValue,
}

impl Threshold {
    const ALL: [Self; 13] = [
        Self::BusyMs,
        Self::MinReplicas,
        Self::HashEntries,
        Self::HashValue,
        Self::HllSparseBytes,
        Self::ListSize,
        Self::SetIntsetEntries,
        Self::SetEntries,
        Self::SetValue,
        Self::StreamNodeBytes,
        Self::StreamNodeEntries,
        Self::ZsetEntries,
        Self::ZsetValue,
    ];

    /// The parameter that sets it.
    const fn parameter(self) -> &'static str {
        match self {
            Self::BusyMs => "busy-reply-threshold",
            Self::MinReplicas => "min-replicas-to-write",
            Self::HashEntries => "hash-max-listpack-entries",
            Self::HashValue => "hash-max-listpack-value",
            Self::HllSparseBytes => "hll-sparse-max-bytes",
            Self::ListSize => "list-max-listpack-size",
            Self::SetIntsetEntries => "set-max-intset-entries",
            Self::SetEntries => "set-max-listpack-entries",
            Self::SetValue => "set-max-listpack-value",
            Self::StreamNodeBytes => "stream-node-max-bytes",
            Self::StreamNodeEntries => "stream-node-max-entries",
            Self::ZsetEntries => "zset-max-listpack-entries",
            Self::ZsetValue => "zset-max-listpack-value",
        }
    }
}

/// Their present numbers.
#[derive(Debug)]
pub(super) struct Thresholds([AtomicI64; Threshold::ALL.len()]);

impl Default for Thresholds {
    fn default() -> Self {
        let thresholds = Self(Default::default());
        for parameter in remembered::PARAMETERS {
            thresholds.remember(parameter.name, parameter.default);
        }
        thresholds
    }
}

impl Thresholds {
    /// Takes a parameter's value over, if it is one of these.
    pub(super) fn remember(&self, name: &str, value: &str) {
        let threshold = Threshold::ALL
            .into_iter()
            .find(|threshold| threshold.parameter() == name);
        if let (Some(threshold), Ok(value)) = (threshold, value.parse()) {
            self.0[threshold as usize].store(value, Relaxed);
        }
    }

    /// The number of one.
    pub(super) fn get(&self, threshold: Threshold) -> i64 {
        self.0[threshold as usize].load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threshold_has_its_parameter() {
        let thresholds = Thresholds::default();
        let numbers = Threshold::ALL.map(|threshold| thresholds.get(threshold));
        assert_eq!(
            numbers,
            [5000, 0, 128, 64, 3000, -2, 512, 128, 64, 4096, 100, 128, 64]
        );
        thresholds.remember("set-max-listpack-value", "7");
        thresholds.remember("hz", "3");
        assert_eq!(thresholds.get(Threshold::SetValue), 7);
    }
}
