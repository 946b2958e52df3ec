//! Numbers as Redis reads them from arguments and values: strict decimal integers here, doubles
//! in [`double`], 80-bit floats in [`long_double`].
//!
//! Owns the accepted spellings. Must never know a command.

mod double;
mod long_double;
mod natural;

pub(crate) use double::{parse_double, parse_score_bound, parse_sort_weight};
pub(crate) use long_double::LongDouble;

/// Digits of the longest 64-bit number, its sign included.
const I64_BYTES_MAX: usize = 20;

/// A signed 64-bit number written exactly as Redis would print it: no sign but `-`, no leading
/// zeros, no blanks, no `-0`.
pub(crate) fn parse_i64(text: &[u8]) -> Option<i64> {
    if text == b"0" {
        return Some(0);
    }
    if text.len() > I64_BYTES_MAX {
        return None;
    }
    let (negative, digits) = match text.split_first()? {
        (b'-', digits) => (true, digits),
        _ => (false, text),
    };
    if !matches!(digits.first()?, b'1'..=b'9') {
        return None;
    }
    let mut magnitude: u64 = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        magnitude = magnitude.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// An unsigned 64-bit number as C's `strtoul` reads one that fills the whole text: a sign and
/// leading zeros are fine, a negative number wraps, nothing at all is 0.
pub(crate) fn parse_cursor(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return Some(0);
    }
    let (negative, digits) = match text[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}

#[cfg(test)]
mod tests {
    use super::{parse_cursor, parse_i64};

    fn check(text: &str, expected: Option<i64>) {
        assert_eq!(parse_i64(text.as_bytes()), expected, "{text:?}");
    }

    #[test]
    fn reads_what_it_would_print() {
        check("0", Some(0));
        check("7", Some(7));
        check("-12", Some(-12));
        check("9223372036854775807", Some(i64::MAX));
        check("-9223372036854775808", Some(i64::MIN));
    }

    #[test]
    fn refuses_every_other_spelling() {
        for text in [
            "", "-", "+1", " 1", "1 ", "01", "-0", "-01", "1a", "1.0", "0x1", "1e3",
        ] {
            check(text, None);
        }
        check("9223372036854775808", None);
        check("-9223372036854775809", None);
        check("18446744073709551616", None);
        check("99999999999999999999", None);
        check("999999999999999999999", None);
    }

    #[test]
    fn reads_cursors_as_strtoul() {
        for (text, expected) in [
            ("", Some(0)),
            ("0", Some(0)),
            ("007", Some(7)),
            ("+5", Some(5)),
            ("-1", Some(u64::MAX)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            (" 1", None),
            ("1x", None),
            ("-", None),
        ] {
            assert_eq!(parse_cursor(text.as_bytes()), expected, "{text:?}");
        }
    }
}
