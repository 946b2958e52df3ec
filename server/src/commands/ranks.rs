//! Ranges of elements by their places, as lists and sorted sets take them.
//!
//! Owns what numbers below zero and beyond the end mean there.

use std::ops::Range;

/// The ranks from `first` to `last`, both included and counted from the end where they are
/// negative, of `count` elements.
pub(in crate::commands) fn ranks(first: i64, last: i64, count: u64) -> Range<u64> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let from_start = |rank: i64| if rank < 0 { count + rank } else { rank };
    let start = from_start(first).max(0);
    let end = from_start(last).min(count - 1) + 1;
    if start >= end {
        return 0..0;
    }
    start.unsigned_abs()..end.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(first: i64, last: i64, expected: Range<u64>) {
        assert_eq!(ranks(first, last, 5), expected, "{first} {last}");
    }

    #[test]
    fn ranks_are_clipped() {
        check(0, -1, 0..5);
        check(1, 3, 1..4);
        check(-2, -1, 3..5);
        check(-100, 100, 0..5);
        check(3, 1, 0..0);
        check(5, 9, 0..0);
        check(0, -100, 0..0);
        check(i64::MIN, i64::MAX, 0..5);
        check(i64::MAX, i64::MIN, 0..0);
        assert_eq!(ranks(0, -1, 0), 0..0);
    }

    #[test]
    fn ranks_far_outside_are_clipped() {
        check(0, 0, 0..1);
        check(0, -6, 0..0);
        check(-1, -2, 0..0);
    }
}
