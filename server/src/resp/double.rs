//! Doubles as Redis 7.2 prints them: the shortest digits that read back the same.
//!
//! Owns only that format.

/// Digits that may follow the printed ones as zeros before an exponent is used.
const PADDING_ZEROS_MAX: isize = 7;

/// Whole numbers up to this size are printed without an exponent: half of what 64 bits hold.
const WHOLE_MAX: f64 = 4_611_686_018_427_387_904.0;

/// Digits that tell every double from its neighbours.
const DIGITS_MAX: isize = 17;

/// Formats a double as Redis does: shortest round-trip digits, an exponent only where the plain
/// form is long, `inf`, `-inf` and `nan`.
pub fn format_double(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 {
            "inf".into()
        } else {
            "-inf".into()
        };
    }
    if value == 0.0 {
        return if value.is_sign_negative() {
            "-0".into()
        } else {
            "0".into()
        };
    }
    if value.abs() <= WHOLE_MAX && value.fract() == 0.0 {
        return itoa::Buffer::new().format(value as i64).to_owned();
    }
    let (digits, exponent) = digits_of(&format!("{:e}", value.abs()));
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", place_point(&digits, exponent))
}

/// Formats a double with as many digits as tell it from its neighbours at most (C's `%.17g`): how
/// ZSCAN prints the scores of a skip list.
pub(crate) fn format_double_17(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return format_double(value);
    }
    let (digits, exponent) = digits_of(&format!("{:.16e}", value.abs()));
    let digits = digits.trim_end_matches('0');
    let sign = if value < 0.0 { "-" } else { "" };
    if (-4..DIGITS_MAX).contains(&exponent) {
        let last = exponent - digits.len().cast_signed() + 1;
        let plain = if last >= 0 {
            format!("{digits}{}", "0".repeat(last.cast_unsigned()))
        } else {
            with_fraction(digits, exponent)
        };
        return format!("{sign}{plain}");
    }
    let (mantissa, exponent_sign) = (with_point(digits), if exponent < 0 { '-' } else { '+' });
    format!("{sign}{mantissa}e{exponent_sign}{:02}", exponent.abs())
}

/// The digits of a number in Rust's scientific notation, and the power of ten of the first one.
fn digits_of(scientific: &str) -> (String, isize) {
    let (mantissa, exponent) = scientific
        .split_once('e')
        .expect("scientific notation has an exponent");
    let exponent = exponent.parse().expect("its exponent is decimal");
    let digits = mantissa.chars().filter(char::is_ascii_digit).collect();
    (digits, exponent)
}

/// Writes `digits` (the first one worth 10^`exponent`) plainly or with an exponent.
fn place_point(digits: &str, exponent: isize) -> String {
    let count = digits.len().cast_signed();
    // the power of ten of the last digit
    let last = exponent - count + 1;
    if last >= 0 && exponent < count + PADDING_ZEROS_MAX {
        return format!("{digits}{}", "0".repeat(last.cast_unsigned()));
    }
    if last < 0 && (last > -PADDING_ZEROS_MAX || exponent.abs() < 4) {
        return with_fraction(digits, exponent);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{}", with_point(digits), exponent.abs())
}

/// Digits that reach below one, without an exponent.
fn with_fraction(digits: &str, exponent: isize) -> String {
    if exponent < 0 {
        return format!("0.{}{digits}", "0".repeat((-exponent - 1).cast_unsigned()));
    }
    let (whole, fraction) = digits.split_at(exponent.cast_unsigned() + 1);
    format!("{whole}.{fraction}")
}

/// Digits with a point behind the first one, if there are more.
fn with_point(digits: &str) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{first}{point}{rest}")
}

#[cfg(test)]
mod tests {
    use super::{format_double, format_double_17};

    fn check(input: f64, expected: &str) {
        assert_eq!(format_double(input), expected);
    }

    #[test]
    fn prints_as_redis_does() {
        check(0.0, "0");
        check(-0.0, "-0");
        check(3.0, "3");
        check(-3.25, "-3.25");
        check(0.1, "0.1");
        check(1e21, "1e+21");
        check(1234.5678, "1234.5678");
        check(1e-9, "1e-9");
        check(0.000_012, "0.000012");
        check(f64::INFINITY, "inf");
        check(f64::NEG_INFINITY, "-inf");
        check(f64::NAN, "nan");
        check(1e15, "1000000000000000");
        check(-1e17, "-100000000000000000");
        check(1e19, "1e+19");
    }

    #[test]
    fn prints_seventeen_digits_as_c_does() {
        for (input, expected) in [
            (0.1, "0.10000000000000001"),
            (3.0, "3"),
            (-1234.5, "-1234.5"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1.5e300, "1.5000000000000001e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1.0000000000000001e-05"),
            (-0.0, "-0"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(format_double_17(input), expected);
        }
    }
}
