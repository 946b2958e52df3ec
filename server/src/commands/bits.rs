//! Bits of a byte string, numbered from the highest bit of the first byte.
//!
//! Owns counting and finding them. Pure.

use std::ops::Range;

use super::string_value::integer;
use crate::command::CommandError;
use bytes::Bytes;

/// The bytes in which the bits of `span` lie.
pub(super) fn bytes_of(span: &Range<u64>) -> Range<u64> {
    if span.is_empty() {
        return 0..0;
    }
    span.start / 8..span.end.div_ceil(8)
}

/// The part of a byte inside `span`; `first_bit` is the number of the byte's highest bit.
fn mask(first_bit: u64, span: &Range<u64>) -> u8 {
    let before = span.start.saturating_sub(first_bit).min(8);
    let after = (first_bit + 8).saturating_sub(span.end).min(8);
    (0xff_u16 >> before) as u8 & (0xff_u16 << after) as u8
}

/// How many bits of `chunk` are set inside `span`; `first_bit` is the number of the chunk's first.
pub(super) fn count(chunk: &[u8], first_bit: u64, span: &Range<u64>) -> u64 {
    let [first, middle @ .., last] = chunk else {
        return chunk.first().map_or(0, |byte| {
            u64::from((byte & mask(first_bit, span)).count_ones())
        });
    };
    let last_bit = first_bit + 8 * (chunk.len() as u64 - 1);
    let edges =
        (first & mask(first_bit, span)).count_ones() + (last & mask(last_bit, span)).count_ones();
    let (words, rest) = middle.as_chunks::<8>();
    let words: u64 = words
        .iter()
        .map(|word| u64::from(u64::from_ne_bytes(*word).count_ones()))
        .sum();
    let rest: u32 = rest.iter().map(|byte| byte.count_ones()).sum();
    words + u64::from(rest + edges)
}

/// The number of the first bit of `chunk` inside `span` that equals `wanted`.
pub(super) fn find(chunk: &[u8], first_bit: u64, span: &Range<u64>, wanted: bool) -> Option<u64> {
    let without = if wanted { 0 } else { 0xff };
    let mut at = 0;
    loop {
        at += skip(&chunk[at..], without);
        let byte = chunk.get(at)? ^ without;
        let byte_bit = first_bit + 8 * at as u64;
        let inside = byte & mask(byte_bit, span);
        if inside != 0 {
            return Some(byte_bit + u64::from(inside.leading_zeros()));
        }
        at += 1;
    }
}

/// How many bytes at the beginning equal `byte`.
fn skip(bytes: &[u8], byte: u8) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let whole = words.iter().take_while(|word| **word == [byte; 8]).count() * 8;
    let rest = bytes[whole..]
        .iter()
        .take_while(|other| **other == byte)
        .count();
    whole + rest
}

/// Whether a range's numbers count bytes or bits, by its last argument.
pub(super) fn parse_unit(argument: &Bytes) -> Result<Unit, CommandError> {
    if argument.eq_ignore_ascii_case(b"bit") {
        Ok(Unit::Bit)
    } else if argument.eq_ignore_ascii_case(b"byte") {
        Ok(Unit::Byte)
    } else {
        Err(CommandError::Syntax)
    }
}

/// What a range's numbers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Byte,
    Bit,
}

impl Unit {
    /// The bits from `start` to `end` of a value of `len` bytes. Both count from its end below 0,
    /// stop at its borders, and include `end`.
    pub(super) fn span(self, start: i64, end: i64, len: u64) -> Range<u64> {
        let bits = match self {
            Self::Byte => 8,
            Self::Bit => 1,
        };
        let total = len * 8 / bits;
        let from_end = |index: i64| {
            if index < 0 {
                total.saturating_sub(index.unsigned_abs())
            } else {
                index.unsigned_abs()
            }
        };
        let (start, end) = (from_end(start), from_end(end).saturating_add(1).min(total));
        if start < end {
            start * bits..end * bits
        } else {
            0..0
        }
    }
}

/// An argument that has to be a bit's number, below the longest string's end; `scale` multiplies
/// it.
pub(super) fn parse_offset(text: &[u8], scale: u64, bytes_max: u64) -> Result<u64, CommandError> {
    integer(text)
        .ok()
        .and_then(|offset| u64::try_from(offset).ok())
        .and_then(|offset| offset.checked_mul(scale))
        .filter(|offset| offset / 8 < bytes_max)
        .ok_or(CommandError::other(
            "ERR bit offset is not an integer or out of range",
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bit(bytes: &[u8], number: u64) -> bool {
        bytes[number as usize / 8] >> (7 - number % 8) & 1 == 1
    }

    #[test]
    fn counts_and_finds_like_a_loop_over_bits() {
        let bytes: Vec<u8> = (0..40u8).map(|i| i.wrapping_mul(37) ^ 0x5a).collect();
        for start in 0..320 {
            for end in start..=320 {
                let span = start..end;
                let byte_range = bytes_of(&span);
                let chunk = &bytes[byte_range.start as usize..byte_range.end as usize];
                let first_bit = byte_range.start * 8;
                let expected = span.clone().filter(|i| bit(&bytes, *i)).count() as u64;
                assert_eq!(count(chunk, first_bit, &span), expected, "{span:?}");
                for wanted in [false, true] {
                    let expected = span.clone().find(|i| bit(&bytes, *i) == wanted);
                    assert_eq!(find(chunk, first_bit, &span, wanted), expected, "{span:?}");
                }
            }
        }
    }

    #[test]
    fn finds_behind_long_runs() {
        let mut bytes = vec![0; 1000];
        bytes[777] = 0x10;
        assert_eq!(find(&bytes, 0, &(0..8000), true), Some(777 * 8 + 3));
        assert_eq!(find(&bytes, 0, &(777 * 8 + 4..8000), true), None);
    }

    #[test]
    fn spans_clip() {
        for (unit, start, end, expected) in [
            (Unit::Byte, 0, -1, 0..24),
            (Unit::Byte, 1, 1, 8..16),
            (Unit::Byte, -2, 100, 8..24),
            (Unit::Byte, -100, -100, 0..8),
            (Unit::Byte, 3, 5, 0..0),
            (Unit::Byte, 2, 1, 0..0),
            (Unit::Bit, 5, 30, 5..24),
            (Unit::Bit, -1, -1, 23..24),
            (Unit::Bit, i64::MIN, i64::MAX, 0..24),
        ] {
            assert_eq!(unit.span(start, end, 3), expected, "{unit:?} {start} {end}");
        }
        assert_eq!(Unit::Byte.span(0, -1, 0), 0..0);
    }

    #[test]
    fn offsets_stay_below_the_longest_string() {
        let parse = |text: &str, scale| parse_offset(text.as_bytes(), scale, 16).ok();
        assert_eq!(parse("127", 1), Some(127));
        assert_eq!(parse("128", 1), None);
        assert_eq!(parse("-1", 1), None);
        assert_eq!(parse("x", 1), None);
        assert_eq!(parse("3", 8), Some(24));
        assert_eq!(parse("9223372036854775807", 64), None);
    }
}
