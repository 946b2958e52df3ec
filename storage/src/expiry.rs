//! Deadlines: what an index entry's seconds say, and the removal of what has expired.
//!
//! Entries hold the deadline in whole seconds, rounded up. So an entry tells for certain except in
//! the deadline's own second, in which the record's milliseconds decide.

use std::cell::OnceCell;

use cellar_index::Entry;

use crate::clock::Clock;

/// The moment at which deadlines are judged: the calendar is asked once, and only if there are any.
pub(crate) struct Moment<'a> {
    clock: &'a dyn Clock,
    unix_ms: OnceCell<u64>,
}

impl<'a> Moment<'a> {
    pub(crate) fn now(clock: &'a dyn Clock) -> Self {
        Self {
            clock,
            unix_ms: OnceCell::new(),
        }
    }

    pub(crate) fn unix_ms(&self) -> u64 {
        *self.unix_ms.get_or_init(|| self.clock.unix_ms())
    }
}

/// What an entry says of its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// It has none, or it lies ahead.
    Ahead,
    /// It lies in this second: the record decides.
    Now,
    /// It has passed.
    Passed,
}

/// Seconds for the index entry of a record with this deadline; 0: none.
pub(crate) fn entry_seconds(expiry_ms: Option<u64>) -> u32 {
    expiry_ms.map_or(0, |ms| {
        // The last second of the field's range stands for everything beyond it, in the year 2106:
        // the record decides then.
        u32::try_from(ms.div_ceil(1000)).unwrap_or(u32::MAX).max(1)
    })
}

/// What the entry says at this moment.
pub(crate) fn deadline(entry: &Entry, now: &Moment<'_>) -> Deadline {
    let seconds = u64::from(entry.expiry_s);
    if seconds == 0 {
        return Deadline::Ahead;
    }
    let now_ms = now.unix_ms();
    if now_ms <= (seconds - 1) * 1000 {
        Deadline::Ahead
    } else if now_ms >= seconds * 1000 && entry.expiry_s != u32::MAX {
        Deadline::Passed
    } else {
        Deadline::Now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SimClock;

    fn at(expiry_ms: Option<u64>, now_ms: u64) -> Deadline {
        let entry = Entry {
            location: 0,
            length_class: 0,
            value_type: 0,
            database: 0,
            referenced: false,
            expiry_s: entry_seconds(expiry_ms),
        };
        deadline(&entry, &Moment::now(&SimClock::new(now_ms)))
    }

    #[test]
    fn seconds_tell_except_in_the_last_one() {
        assert_eq!(at(None, u64::MAX), Deadline::Ahead);
        assert_eq!(at(Some(5_500), 5_000), Deadline::Ahead);
        assert_eq!(at(Some(5_500), 5_001), Deadline::Now);
        assert_eq!(at(Some(5_500), 5_999), Deadline::Now);
        assert_eq!(at(Some(5_500), 6_000), Deadline::Passed);
        assert_eq!(at(Some(5_000), 5_000), Deadline::Passed);
        assert_eq!(at(Some(1), 1), Deadline::Now);
    }

    #[test]
    fn deadlines_beyond_the_field_are_left_to_the_record() {
        assert_eq!(at(Some(u64::MAX), 4_294_967_296_000), Deadline::Now);
    }
}
