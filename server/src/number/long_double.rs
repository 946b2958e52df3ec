//! The 80-bit floats of x87, in which Redis computes INCRBYFLOAT: a 64-bit mantissa, every
//! operation rounded to nearest even. Computed in software, so that every machine answers alike.
//!
//! Owns reading (as C's `strtold`), adding, and printing with 17 decimals.

use super::natural::Natural;

/// The exponent of the smallest denormal number, in units of the mantissa's lowest bit.
const EXPONENT_MIN: i32 = -16445;

/// The exponent of the largest numbers.
const EXPONENT_MAX: i32 = 16320;

/// Texts from this length on are not numbers.
const TEXT_BYTES_MAX: usize = 5 * 1024;

/// Decimal exponents of a leading digit beyond which a number is certainly infinite or zero.
const DECIMAL_EXPONENT_MAX: i64 = 4_940;
const DECIMAL_EXPONENT_MIN: i64 = -4_960;

/// Bits of a quotient that are enough to round it: 64 of the mantissa, a half, and some slack.
const QUOTIENT_BITS: usize = 68;

/// Digits after the point in print.
const DECIMALS: usize = 17;
const DECIMALS_SCALE: u128 = 10u128.pow(DECIMALS as u32);

/// A number that is not NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LongDouble {
    /// `mantissa * 2^exponent`
    Finite {
        /// Whether it is below zero; zero has a sign as well.
        negative: bool,
        /// At least 2^63 but for zero and denormal numbers.
        mantissa: u64,
        /// From [`EXPONENT_MIN`] to [`EXPONENT_MAX`].
        exponent: i32,
    },
    /// Beyond all finite numbers, on either side: no caller tells them apart.
    Infinite,
}

impl LongDouble {
    /// Reads a whole text as `strtold` does, hexadecimal and `inf` included. Blanks, NaN, and
    /// numbers that overflow or vanish are refused.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        if text.len() >= TEXT_BYTES_MAX {
            return None;
        }
        let (negative, body) = match text.split_first()? {
            (b'-', body) => (true, body),
            (b'+', body) => (false, body),
            _ => (false, text),
        };
        if body.eq_ignore_ascii_case(b"inf") || body.eq_ignore_ascii_case(b"infinity") {
            return Some(Self::Infinite);
        }
        let rounded = match body {
            [b'0', b'x' | b'X', body @ ..] => parse_hexadecimal(negative, body)?,
            _ => parse_decimal(negative, body)?,
        };
        match rounded {
            Rounded::Exact(value) => Some(value),
            Rounded::Overflow | Rounded::Vanished => None,
        }
    }

    /// The sum, or nothing where it is infinite or no number.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        let (Self::Finite { .. }, Self::Finite { .. }) = (self, other) else {
            return None;
        };
        let (high, low) = if self.top_exponent() >= other.top_exponent() {
            (self, other)
        } else {
            (other, self)
        };
        let (high_value, exponent) = high.widened();
        let (low_value, low_exponent) = low.widened();
        let distance = exponent.abs_diff(low_exponent);
        let (low_value, rest) = if low_value == 0 {
            (0, false)
        } else if distance >= 127 {
            (0, true)
        } else {
            let rest = low_value & ((1 << distance) - 1) != 0;
            (low_value >> distance, rest)
        };
        // what is below the lowest kept bit only matters as "not exactly half": one bit says so
        let low_value = low_value | i128::from(rest);
        let sum = high.signed(high_value) + low.signed(low_value);
        match round(sum < 0, sum.unsigned_abs(), exponent, false) {
            Rounded::Exact(value) => Some(value),
            Rounded::Overflow => None,
            Rounded::Vanished => unreachable!("a sum is never below the smallest denormal"),
        }
    }

    /// Prints with at most 17 decimals, without trailing zeros and without an exponent. Infinity,
    /// which no sum is, prints as `inf`.
    pub(crate) fn format(self) -> String {
        let Self::Finite {
            negative,
            mantissa,
            exponent,
        } = self
        else {
            return "inf".into();
        };
        let digits = if exponent >= 0 {
            let mut whole = Natural::from(mantissa);
            whole.shift_left(exponent.unsigned_abs() as usize);
            whole.to_decimal()
        } else {
            format_scaled(scale_decimals(mantissa, exponent.unsigned_abs()))
        };
        if negative && digits != "0" {
            format!("-{digits}")
        } else {
            digits
        }
    }

    /// The exponent of the bit above the highest set one; very low for zero.
    fn top_exponent(self) -> i32 {
        match self {
            Self::Finite { mantissa: 0, .. } => i32::MIN,
            Self::Finite {
                mantissa, exponent, ..
            } => exponent + 64 - mantissa.leading_zeros().cast_signed(),
            Self::Infinite => i32::MAX,
        }
    }

    /// The magnitude with its highest bit moved to bit 125, so that a sum still fits, and its
    /// exponent.
    fn widened(self) -> (i128, i32) {
        match self {
            Self::Finite { mantissa: 0, .. } | Self::Infinite => (0, EXPONENT_MIN - 128),
            Self::Finite {
                mantissa, exponent, ..
            } => {
                let shift = 62 + mantissa.leading_zeros();
                (
                    i128::from(mantissa) << shift,
                    exponent - shift.cast_signed(),
                )
            }
        }
    }

    fn signed(self, magnitude: i128) -> i128 {
        match self {
            Self::Finite { negative: true, .. } => -magnitude,
            Self::Finite { .. } | Self::Infinite => magnitude,
        }
    }
}

/// What became of an exact value when it was fitted into the format.
enum Rounded {
    Exact(LongDouble),
    Overflow,
    /// It was not zero and became zero.
    Vanished,
}

/// Rounds `value * 2^exponent` to the nearest number, ties to even. `rest` says that a bit below
/// the lowest one of `value` is set; then `value` has at least 66 bits.
fn round(negative: bool, value: u128, exponent: i32, rest: bool) -> Rounded {
    if value == 0 && !rest {
        return Rounded::Exact(LongDouble::Finite {
            negative,
            mantissa: 0,
            exponent: 0,
        });
    }
    let bit_count = 128 - value.leading_zeros().cast_signed();
    let shift = (bit_count - 64).max(EXPONENT_MIN - exponent);
    let (mut mantissa, mut exponent) = (value, exponent + shift);
    if shift <= 0 {
        mantissa <<= shift.unsigned_abs();
    } else if shift > 127 {
        return Rounded::Vanished;
    } else {
        let lost = value & ((1 << shift) - 1);
        let half = 1 << (shift - 1);
        mantissa >>= shift;
        let is_odd = mantissa & 1 == 1;
        if lost > half || lost == half && (rest || is_odd) {
            mantissa += 1;
        }
        if mantissa >> 64 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    if mantissa == 0 {
        return Rounded::Vanished;
    }
    if exponent > EXPONENT_MAX {
        return Rounded::Overflow;
    }
    let mantissa = mantissa as u64;
    Rounded::Exact(LongDouble::Finite {
        negative,
        mantissa,
        exponent,
    })
}

/// The parts of `digits[.digits][marker[sign]digits]`.
struct Parts<'a> {
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

fn split(text: &[u8], marker: u8, is_digit: fn(&u8) -> bool) -> Option<Parts<'_>> {
    let (number, exponent) = match text.iter().position(|b| b.eq_ignore_ascii_case(&marker)) {
        Some(at) => (&text[..at], parse_exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = match number.iter().position(|b| *b == b'.') {
        Some(at) => (&number[..at], &number[at + 1..]),
        None => (number, &number[..0]),
    };
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    let is_clean = whole.iter().chain(fraction).all(is_digit);
    (has_digits && is_clean).then_some(Parts {
        whole,
        fraction,
        exponent,
    })
}

/// A decimal exponent; one too large to matter is cut.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', digits) => (true, digits),
        (b'+', digits) => (false, digits),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let magnitude = digits.iter().fold(0i64, |value, digit| {
        (value * 10 + i64::from(digit - b'0')).min(1_000_000)
    });
    Some(if negative { -magnitude } else { magnitude })
}

fn parse_decimal(negative: bool, text: &[u8]) -> Option<Rounded> {
    let Parts {
        whole,
        fraction,
        exponent,
    } = split(text, b'e', u8::is_ascii_digit)?;
    let digits = || {
        whole
            .iter()
            .chain(fraction)
            .copied()
            .skip_while(|digit| *digit == b'0')
    };
    let digit_count = digits().count().cast_signed() as i64;
    if digit_count == 0 {
        return Some(round(negative, 0, 0, false));
    }
    let exponent = exponent - fraction.len().cast_signed() as i64;
    if digit_count + exponent > DECIMAL_EXPONENT_MAX {
        return Some(Rounded::Overflow);
    }
    if digit_count + exponent < DECIMAL_EXPONENT_MIN {
        return Some(Rounded::Vanished);
    }
    let mut number = Natural::from_digits(digits());
    let power = exponent.unsigned_abs() as usize;
    if exponent >= 0 {
        number.multiply_power_of_ten(power);
        let (value, shift, rest) = number.top();
        return Some(round(negative, value, shift.cast_signed() as i32, rest));
    }
    let mut divisor = Natural::from(1);
    divisor.multiply_power_of_ten(power);
    let shift = (divisor.bit_count() + QUOTIENT_BITS).saturating_sub(number.bit_count());
    number.shift_left(shift);
    // without the shift the quotient would have too many bits: its lower ones join the rest
    let excess = number
        .bit_count()
        .saturating_sub(divisor.bit_count() + QUOTIENT_BITS);
    divisor.shift_left(excess);
    let (value, rest) = number.divide(divisor);
    Some(round(
        negative,
        value,
        excess.cast_signed() as i32 - shift.cast_signed() as i32,
        rest,
    ))
}

fn parse_hexadecimal(negative: bool, text: &[u8]) -> Option<Rounded> {
    let Parts {
        whole,
        fraction,
        exponent,
    } = split(text, b'p', u8::is_ascii_hexdigit)?;
    let mut exponent = exponent - 4 * fraction.len().cast_signed() as i64;
    let (mut value, mut rest) = (0u128, false);
    for digit in whole.iter().chain(fraction) {
        let digit = (*digit as char).to_digit(16).unwrap_or(0);
        if value >> 120 == 0 {
            value = value << 4 | u128::from(digit);
        } else {
            rest |= digit != 0;
            exponent += 4;
        }
    }
    // far beyond either bound the exact exponent does not matter
    Some(round(
        negative,
        value,
        exponent.clamp(-20_000, 20_000) as i32,
        rest,
    ))
}

/// `mantissa / 2^shift` in units of 10^-17, rounded to nearest even.
fn scale_decimals(mantissa: u64, shift: u32) -> u128 {
    let scaled = u128::from(mantissa) * DECIMALS_SCALE;
    if shift > 127 {
        return 0;
    }
    let lost = scaled & ((1 << shift) - 1);
    let half = 1 << (shift - 1);
    let kept = scaled >> shift;
    kept + u128::from(lost > half || lost == half && kept & 1 == 1)
}

fn format_scaled(scaled: u128) -> String {
    let (whole, fraction) = (scaled / DECIMALS_SCALE, scaled % DECIMALS_SCALE);
    if fraction == 0 {
        return whole.to_string();
    }
    let fraction = format!("{fraction:017}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::LongDouble;

    fn parse(text: &str) -> LongDouble {
        LongDouble::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text} is a number"))
    }

    /// The expected sums come from x87 hardware.
    fn sum(left: &str, right: &str, expected: &str) {
        let sum = parse(left).plus(parse(right)).unwrap();
        assert_eq!(sum.format(), expected, "{left} + {right}");
    }

    #[test]
    fn adds_as_x87_does() {
        sum("10.5", "0.1", "10.6");
        sum("5.0e3", "200", "5200");
        sum("0.1", "0.2", "0.3");
        sum("3", "1.1", "4.1");
        sum("1e17", "0.1", "100000000000000000.1015625");
        sum("18446744073709551615", "1", "18446744073709551616");
        sum("18446744073709551616", "1", "18446744073709551616");
        sum("-1", "1", "0");
        sum("0", "-0.00000000000000000001", "0");
        sum("0x1.8p3", "1", "13");
        sum(
            "123456789.123456789",
            "0.000000001",
            "123456789.12345678999554366",
        );
        sum("1e-17", "1e-18", "0.00000000000000001");
        sum("0.00000000000000000500000001", "0", "0.00000000000000001");
        sum("9.99999999999999999999999", "0", "10");
        sum("1.00000000000000000005421", "0", "1");
        sum(
            "1.0000000000000000000542101086242752217003726400434970855712890625",
            "0",
            "1",
        );
        sum("2.5", "-2.25", "0.25");
        sum("1e40", "-1e40", "0");
        sum(
            "3.14159265358979323846264338327950288",
            "0",
            "3.14159265358979324",
        );
        sum("7e-4950", "0", "0");
        sum("0.015625", "0.3", "0.315625");
        sum("0xffffffffffffffffff", "0", "4722366482869645213696");
        sum("36893488147419103233.5", "0.25", "36893488147419103232");
    }

    #[test]
    fn reaches_the_bounds_of_the_format() {
        let large = parse("1e4931").plus(parse("0")).unwrap().format();
        assert_eq!(large.len(), 4932);
        assert_eq!(parse("1e4932").plus(parse("1e4932")), None);
        assert_eq!(parse("7e-4950").format(), "0");
        assert_ne!(parse("7e-4950"), parse("0"));
        let tiny = parse("1e-4940");
        assert_eq!(tiny.plus(parse("-1e-4940")).unwrap().format(), "0");
    }

    #[test]
    fn has_no_infinite_sum() {
        assert_eq!(parse("inf").plus(parse("1")), None);
        assert_eq!(parse("1").plus(parse("-Infinity")), None);
    }

    #[test]
    fn refuses_what_strtold_leaves_over() {
        for text in [
            "", "-", "+", ".", "e5", "1e", "1e+", "1 ", " 1", "1x", "0x", "0x.", "1.2.3", "nan",
            "-nan", "infin", "1e5000", "1e-5000", "--1", "0x1p", "1_0",
        ] {
            assert_eq!(LongDouble::parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(LongDouble::parse("1".repeat(5 * 1024).as_bytes()), None);
    }

    #[test]
    fn takes_every_spelling_of_strtold() {
        for text in [
            "3", "+3", "3.", "03", "3e0", "30e-1", ".3E+1", "0x3", "0X.cp2", "0x1.8P1",
        ] {
            assert_eq!(parse(text), parse("3"), "{text}");
        }
        for text in ["0", "-0", "0.0", "0e9999999999", ".0", "0x0"] {
            assert_eq!(parse(text).format(), "0", "{text}");
        }
    }
}
