//! The id of an entry: a time and a number within it.
//!
//! Owns its order, its arithmetic and its stored form. Must never read a clock.

use std::fmt;

/// An entry's id. No two entries of a stream have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct EntryId {
    /// Milliseconds since the Unix epoch, or whatever the client chose.
    pub(crate) ms: u64,
    /// Counts the entries of one millisecond.
    pub(crate) seq: u64,
}

impl EntryId {
    /// Before all entries: none has it.
    pub(crate) const ZERO: Self = Self { ms: 0, seq: 0 };

    /// The last id there is.
    pub(crate) const MAX: Self = Self {
        ms: u64::MAX,
        seq: u64::MAX,
    };

    /// Bytes of its stored form.
    pub(super) const BYTES: usize = 16;

    /// Its stored form, whose bytes sort as the ids do.
    pub(super) fn encode(self) -> [u8; Self::BYTES] {
        let number = u128::from(self.ms) << u64::BITS | u128::from(self.seq);
        number.to_be_bytes()
    }

    /// The id that was stored.
    pub(super) fn decode(stored: [u8; Self::BYTES]) -> Self {
        let number = u128::from_be_bytes(stored);
        Self {
            ms: (number >> u64::BITS) as u64,
            seq: number as u64,
        }
    }

    /// The id after this one.
    pub(crate) fn next(self) -> Option<Self> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => Some(Self {
                ms: self.ms.checked_add(1)?,
                seq: 0,
            }),
        }
    }

    /// The id before this one.
    pub(crate) fn previous(self) -> Option<Self> {
        match self.seq.checked_sub(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => Some(Self {
                ms: self.ms.checked_sub(1)?,
                seq: u64::MAX,
            }),
        }
    }

    /// The id of an entry that comes behind this one at `now_ms`.
    pub(crate) fn next_at(self, now_ms: u64) -> Option<Self> {
        if now_ms > self.ms {
            return Some(Self { ms: now_ms, seq: 0 });
        }
        self.next()
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.ms, self.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(ms: u64, seq: u64) -> EntryId {
        EntryId { ms, seq }
    }

    fn check(id: EntryId, next: Option<EntryId>) {
        assert_eq!(id.next(), next);
        assert_eq!(next.and_then(EntryId::previous), next.map(|_| id));
        assert_eq!(EntryId::decode(id.encode()), id);
        if let Some(next) = next {
            assert!(id < next && id.encode() < next.encode());
        }
    }

    #[test]
    fn ids_follow_each_other() {
        check(EntryId::ZERO, Some(id(0, 1)));
        check(id(5, u64::MAX), Some(id(6, 0)));
        check(id(u64::MAX, 1), Some(id(u64::MAX, 2)));
        check(EntryId::MAX, None);
        assert_eq!(EntryId::ZERO.previous(), None);
    }

    #[test]
    fn time_does_not_go_back() {
        assert_eq!(id(5, 3).next_at(6), Some(id(6, 0)));
        assert_eq!(id(5, 3).next_at(5), Some(id(5, 4)));
        assert_eq!(id(5, u64::MAX).next_at(1), Some(id(6, 0)));
        assert_eq!(EntryId::MAX.next_at(1), None);
        assert_eq!(id(12, 7).to_string(), "12-7");
    }
}
