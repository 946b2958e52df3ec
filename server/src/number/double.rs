//! Doubles as C's `strtod` reads them: decimal, hexadecimal, infinite.
//!
//! Owns the accepted spellings. Every value is the nearest double.

use super::LongDouble;

/// A number that must fill the whole text, as a score, a weight or a coordinate must. Blanks, NaN,
/// and numbers that overflow or vanish are refused.
pub(crate) fn parse_double(text: &[u8]) -> Option<f64> {
    let scanned = scan(text);
    let is_whole = !text.is_empty() && scanned.len == text.len() && !is_blank(text[0]);
    (is_whole && !scanned.is_beyond_range && !scanned.value.is_nan()).then_some(scanned.value)
}

/// A bound of a range of scores. Redis reads it with less care: blanks before it are passed over,
/// no text at all is 0, what overflows is infinite, and what follows a NUL is not read.
pub(crate) fn parse_score_bound(text: &[u8]) -> Option<f64> {
    let scanned = scan(text);
    let is_whole = text.get(scanned.len).is_none_or(|byte| *byte == 0);
    (is_whole && !scanned.value.is_nan()).then_some(scanned.value)
}

/// A weight that SORT orders by: as a bound of a range, but what overflows or vanishes is none.
pub(crate) fn parse_sort_weight(text: &[u8]) -> Option<f64> {
    let is_beyond_range = scan(text).is_beyond_range;
    parse_score_bound(text).filter(|_| !is_beyond_range)
}

/// What `strtod` makes of a text.
struct Scanned {
    value: f64,
    /// Bytes that it took; none where there is no number.
    len: usize,
    /// Whether it is infinite or 0 only because no double is as large or small.
    is_beyond_range: bool,
}

impl Scanned {
    fn signed(self, negative: bool, before: usize) -> Self {
        Self {
            value: if negative { -self.value } else { self.value },
            len: if self.len == 0 { 0 } else { before + self.len },
            ..self
        }
    }

    fn exactly(value: f64, len: usize) -> Self {
        Self {
            value,
            len,
            is_beyond_range: false,
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn scan(text: &[u8]) -> Scanned {
    let blanks = text.iter().take_while(|byte| is_blank(**byte)).count();
    let (negative, signs) = match text.get(blanks) {
        Some(b'-') => (true, 1),
        Some(b'+') => (false, 1),
        _ => (false, 0),
    };
    let before = blanks + signs;
    scan_unsigned(&text[before..]).signed(negative, before)
}

fn scan_unsigned(text: &[u8]) -> Scanned {
    let begins = |word: &[u8]| {
        let start = text.get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    if begins(b"infinity") {
        return Scanned::exactly(f64::INFINITY, 8);
    }
    if begins(b"inf") {
        return Scanned::exactly(f64::INFINITY, 3);
    }
    if begins(b"nan") {
        return Scanned::exactly(f64::NAN, 3);
    }
    match text {
        [b'0', b'x' | b'X', digits @ ..] => {
            scan_hexadecimal(text, digits).unwrap_or(Scanned::exactly(0.0, 1))
        }
        _ => scan_decimal(text),
    }
}

/// Digits, perhaps a point and more digits: their length, and how many of it are digits.
fn mantissa_len(text: &[u8], is_digit: fn(&u8) -> bool) -> (usize, usize) {
    let count = |text: &[u8]| text.iter().take_while(|byte| is_digit(byte)).count();
    let whole = count(text);
    if text.get(whole) != Some(&b'.') {
        return (whole, whole);
    }
    let fraction = count(&text[whole + 1..]);
    (whole + 1 + fraction, whole + fraction)
}

/// The length of an exponent after a mantissa, its letter included; 0 where it has no digits.
fn exponent_len(text: &[u8], letter: u8) -> usize {
    if !text
        .first()
        .is_some_and(|first| first.eq_ignore_ascii_case(&letter))
    {
        return 0;
    }
    let signs = usize::from(matches!(text.get(1), Some(b'+' | b'-')));
    let digits = text[1 + signs..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    match digits.count() {
        0 => 0,
        digits => 1 + signs + digits,
    }
}

fn scan_decimal(text: &[u8]) -> Scanned {
    let (mantissa, digits) = mantissa_len(text, u8::is_ascii_digit);
    if digits == 0 {
        return Scanned::exactly(0.0, 0);
    }
    let len = mantissa + exponent_len(&text[mantissa..], b'e');
    let number = std::str::from_utf8(&text[..len]).expect("digits are text");
    let value: f64 = number.parse().expect("a decimal float was recognized");
    let is_nothing = text[..mantissa]
        .iter()
        .all(|byte| matches!(byte, b'0' | b'.'));
    Scanned {
        value,
        len,
        is_beyond_range: value.is_infinite() || (value == 0.0 && !is_nothing),
    }
}

/// A hexadecimal number, `digits` being the text behind its `0x`.
#[expect(
    clippy::cast_precision_loss,
    reason = "64 bits become the nearest double, as they should"
)]
fn scan_hexadecimal(text: &[u8], digits: &[u8]) -> Option<Scanned> {
    let (mantissa, digit_count) = mantissa_len(digits, u8::is_ascii_hexdigit);
    if digit_count == 0 {
        return None;
    }
    let len = 2 + mantissa + exponent_len(&digits[mantissa..], b'p');
    let value = match LongDouble::parse(&text[..len]) {
        Some(LongDouble::Finite {
            mantissa, exponent, ..
        }) => scaled(mantissa as f64, exponent),
        Some(LongDouble::Infinite) | None => f64::INFINITY,
    };
    let is_nothing = !digits[..mantissa]
        .iter()
        .any(|byte| !matches!(byte, b'0' | b'.'));
    Some(Scanned {
        value,
        len,
        is_beyond_range: value.is_infinite() || (value == 0.0 && !is_nothing),
    })
}

/// `value * 2^exponent`, in steps that are doubles themselves.
fn scaled(mut value: f64, mut exponent: i32) -> f64 {
    const STEP: i32 = 1000;
    while exponent != 0 && value != 0.0 && value.is_finite() {
        let step = exponent.clamp(-STEP, STEP);
        value *= 2f64.powi(step);
        exponent -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, strict: Option<f64>, bound: Option<f64>) {
        assert_eq!(parse_double(text.as_bytes()), strict, "{text:?}");
        assert_eq!(parse_score_bound(text.as_bytes()), bound, "{text:?}");
    }

    fn same(text: &str, value: f64) {
        check(text, Some(value), Some(value));
    }

    #[test]
    fn reads_as_strtod() {
        same("0", 0.0);
        same("3", 3.0);
        same("+3.5", 3.5);
        same("-.5", -0.5);
        same("5.", 5.0);
        same("007", 7.0);
        same("1e3", 1000.0);
        same("1E-2", 0.01);
        same("inf", f64::INFINITY);
        same("-Infinity", f64::NEG_INFINITY);
        same("0x10", 16.0);
        same("-0X1.8p1", -3.0);
        same("4.9e-324", 5e-324);
        same("1.7976931348623157e308", f64::MAX);
        assert!(parse_double(b"-0").unwrap().is_sign_negative());
    }

    #[test]
    fn refuses_what_is_left_over() {
        for text in [
            "a", "1a", "1 ", "1e", "1e+", ".", "-", "--1", "0x", "0xg", "nan", "-nan", "1.2.3",
            "infin", "1_0",
        ] {
            check(text, None, None);
        }
    }

    #[test]
    fn bounds_are_read_with_less_care() {
        check("", None, Some(0.0));
        check(" 1", None, Some(1.0));
        check("\t-2", None, Some(-2.0));
        check("1\0x", None, Some(1.0));
        check("1e999", None, Some(f64::INFINITY));
        check("-1e999", None, Some(f64::NEG_INFINITY));
        check("1e-999", None, Some(0.0));
        check("0x1p99999", None, Some(f64::INFINITY));
    }
}
