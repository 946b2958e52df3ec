//! How items are ordered.
//!
//! Owns comparison and separators. Must never read a page.

use std::borrow::Cow;
use std::cmp::Ordering;

/// Bytes of a score in front of a member.
const SCORE_BYTES: usize = 8;

/// How zero and minus zero are written as scores whose bytes sort as the numbers do.
const ZERO: [u8; SCORE_BYTES] = [0x80, 0, 0, 0, 0, 0, 0, 0];
const MINUS_ZERO: [u8; SCORE_BYTES] = [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

/// An order of items: the order of their bytes, but for what is said here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// None: items stand where they were put.
    Position,
    /// By bytes.
    Bytes,
    /// By bytes that begin with a score; minus zero is as large as zero.
    ScoreThenBytes,
}

impl Order {
    /// Compares two items, or prefixes of items.
    pub(super) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Position | Self::Bytes => a.cmp(b),
            Self::ScoreThenBytes => match (a.split_first_chunk(), b.split_first_chunk()) {
                (Some((a_score, a)), Some((b_score, b))) => canonical_score(a_score)
                    .cmp(canonical_score(b_score))
                    .then_with(|| a.cmp(b)),
                _ => self.canonical(a).cmp(&self.canonical(b)),
            },
        }
    }

    /// The item as bytes whose plain order is this order.
    fn canonical(self, item: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::ScoreThenBytes if item.starts_with(&MINUS_ZERO) => {
                Cow::Owned([&ZERO, &item[SCORE_BYTES..]].concat())
            }
            Self::ScoreThenBytes | Self::Position | Self::Bytes => Cow::Borrowed(item),
        }
    }

    /// The shortest bytes that sort after `left` and not after `right`; nothing where `left` does
    /// not sort before `right`.
    pub(super) fn separator(self, left: &[u8], right: &[u8]) -> Option<Vec<u8>> {
        if self == Self::Position {
            return Some(Vec::new());
        }
        let (left, right) = (self.canonical(left), self.canonical(right));
        let same = left.iter().zip(right.iter()).take_while(|(a, b)| a == b);
        let bytes = same.count() + 1;
        (left < right).then(|| right[..bytes].to_vec())
    }
}

fn canonical_score(score: &[u8; SCORE_BYTES]) -> &[u8; SCORE_BYTES] {
    if *score == MINUS_ZERO { &ZERO } else { score }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(order: Order, left: &[u8], right: &[u8], expected: Option<&[u8]>) {
        assert_eq!(order.separator(left, right).as_deref(), expected);
    }

    #[test]
    fn separators_are_short() {
        check(Order::Bytes, b"abcd", b"abxyz", Some(b"abx"));
        check(Order::Bytes, b"ab", b"abc", Some(b"abc"));
        check(Order::Bytes, b"", b"a", Some(b"a"));
        check(Order::Bytes, b"b", b"a", None);
        check(Order::Bytes, b"a", b"a", None);
        check(Order::Position, b"b", b"a", Some(b""));
    }

    #[test]
    fn both_zeros_are_one_score() {
        let zero = [&ZERO, b"b".as_slice()].concat();
        let minus_zero = [&MINUS_ZERO, b"a".as_slice()].concat();
        let order = Order::ScoreThenBytes;
        assert_eq!(order.compare(&minus_zero, &zero), Ordering::Less);
        let minus_zero = [&MINUS_ZERO, b"c".as_slice()].concat();
        assert_eq!(order.compare(&minus_zero, &zero), Ordering::Greater);
        check(
            order,
            &zero,
            &minus_zero,
            Some(&[&ZERO, b"c".as_slice()].concat()),
        );
        assert_eq!(order.compare(&ZERO[..3], &minus_zero), Ordering::Less);
        assert_eq!(order.compare(&MINUS_ZERO, &zero), Ordering::Less);
    }
}
