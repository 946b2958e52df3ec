//! Numbers in as many digits as are asked for, as C's `%.17g` prints them.
//!
//! Owns that notation.

#![expect(
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "an exponent of a double has three digits"
)]

/// A number in at most `digits` significant digits, without zeros at its end; an exponent where C
/// prints one.
pub(in crate::scripting) fn format_number(number: f64, digits: usize) -> String {
    if number.is_nan() {
        return if number.is_sign_negative() {
            "-nan"
        } else {
            "nan"
        }
        .to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let digits = digits.max(1);
    let scientific = format!("{:.*e}", digits - 1, number);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        let magnitude = exponent.unsigned_abs();
        return format!("{}e{sign}{magnitude:02}", trim(mantissa));
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trim(&format!("{number:.decimals$}")).to_owned()
}

/// Without zeros behind the point.
fn trim(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(number: f64, digits: usize, expected: &str) {
        assert_eq!(format_number(number, digits), expected);
    }

    #[test]
    fn prints_as_c_does() {
        check(0.0, 17, "0");
        check(-0.0, 17, "-0");
        check(3.0, 17, "3");
        check(0.1, 17, "0.10000000000000001");
        check(0.1, 14, "0.1");
        check(1e16, 17, "10000000000000000");
        check(1e17, 17, "1e+17");
        check(1.5e-5, 17, "1.5e-05");
        check(123_456.0, 3, "1.23e+05");
        check(999.9, 3, "1e+03");
        check(f64::NEG_INFINITY, 14, "-inf");
    }
}
