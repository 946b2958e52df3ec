//! Doubles as Redis 7.2 prints them: the shortest digits that read back the same.
//!
//! Owns only that format.

/// Digits that may follow the printed ones as zeros before an exponent is used.
const PADDING_ZEROS_MAX: isize = 7;

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
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific
        .split_once('e')
        .expect("the format above always has an exponent");
    let exponent: isize = exponent
        .parse()
        .expect("the format above has a decimal exponent");
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", place_point(&digits, exponent))
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
        if exponent < 0 {
            return format!("0.{}{digits}", "0".repeat((-exponent - 1).cast_unsigned()));
        }
        let (whole, fraction) = digits.split_at(exponent.cast_unsigned() + 1);
        return format!("{whole}.{fraction}");
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}e{sign}{}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::format_double;

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
    }
}
