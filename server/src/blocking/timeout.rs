//! The time limits of blocking commands, with Redis's ways to refuse one.
//!
//! Owns their arithmetic: seconds with decimals are rounded up to whole milliseconds.

use crate::command::CommandError;
use crate::number::{LongDouble, parse_i64};

/// Milliseconds of a limit in milliseconds.
pub(crate) fn parse_timeout_ms(text: &[u8]) -> Result<u64, CommandError> {
    let ms = parse_i64(text)
        .ok_or_else(|| CommandError::other("ERR timeout is not an integer or out of range"))?;
    u64::try_from(ms).map_err(|_| is_negative())
}

/// Milliseconds of a limit in seconds; `unix_ms` is the present time.
pub(crate) fn parse_timeout_s(text: &[u8], unix_ms: u64) -> Result<u64, CommandError> {
    let seconds = LongDouble::parse(text)
        .ok_or_else(|| CommandError::other("ERR timeout is not a float or out of range"))?;
    let (negative, ms) = match seconds {
        LongDouble::Finite {
            negative,
            mantissa,
            exponent,
        } => (negative, thousandfold(mantissa, exponent, negative)),
        LongDouble::Infinite => (text.starts_with(b"-"), None),
    };
    match ms {
        Some(0) => Ok(0),
        Some(_) | None if negative => Err(is_negative()),
        Some(ms) if ms <= i64::MAX.unsigned_abs() - unix_ms => Ok(ms),
        Some(_) | None => Err(CommandError::other("ERR timeout is out of range")),
    }
}

fn is_negative() -> CommandError {
    CommandError::other("ERR timeout is negative")
}

/// A thousand times `mantissa * 2^exponent`, rounded as x87 rounds and then to the whole number
/// above it, or the one below its size where it is negative; nothing from 2^63 on.
fn thousandfold(mantissa: u64, exponent: i32, negative: bool) -> Option<u64> {
    if mantissa == 0 {
        return Some(0);
    }
    let product = u128::from(mantissa) * 1000;
    let excess = (u128::BITS - product.leading_zeros()).saturating_sub(u64::BITS);
    let half_below = (1_u128 << excess) >> 1;
    let is_odd = product >> excess & 1;
    let rounding = half_below.saturating_sub(1 - is_odd);
    let rounded = (product + rounding) >> excess;
    let exponent = exponent + excess.cast_signed();
    if exponent >= 0 {
        let is_small = exponent.unsigned_abs() < rounded.leading_zeros().saturating_sub(64);
        let whole = is_small.then(|| rounded << exponent)?;
        return u64::try_from(whole)
            .ok()
            .filter(|ms| i64::try_from(*ms).is_ok());
    }
    let shift = exponent.unsigned_abs();
    let whole = rounded.checked_shr(shift).unwrap_or(0);
    let has_rest = whole.checked_shl(shift).is_none_or(|back| back != rounded);
    let ms = whole + u128::from(has_rest && !negative);
    u64::try_from(ms)
        .ok()
        .filter(|ms| i64::try_from(*ms).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<u64, &str>) {
        let found = parse_timeout_s(text.as_bytes(), 1_000_000).map_err(|error| error.to_string());
        assert_eq!(
            found,
            expected.map_err(|text| format!("ERR timeout is {text}")),
            "{text}"
        );
    }

    #[test]
    fn seconds_become_milliseconds() {
        check("0", Ok(0));
        check("-0", Ok(0));
        check("1", Ok(1000));
        check("0.1", Ok(100));
        check("0.5", Ok(500));
        check("0.001", Ok(1));
        check("0.0000001", Ok(1));
        check("0.0011", Ok(2));
        check("12.3456", Ok(12_346));
        check("0x1", Ok(1000));
        check("1e-4000", Ok(1));
        check("4294967296.25", Ok(4_294_967_296_250));
        check("-0.0001", Ok(0));
        check("9223372036853000", Ok(9_223_372_036_853_000_000));
    }

    #[test]
    fn other_limits_are_refused() {
        for text in ["", "x", "1x", " 1", "nan", "1e5000"] {
            check(text, Err("not a float or out of range"));
        }
        for text in ["-1", "-0.01", "-1e300", "-inf"] {
            check(text, Err("negative"));
        }
        for text in [
            "9223372036854775",
            "9223372036854776",
            "1e17",
            "1e300",
            "inf",
        ] {
            check(text, Err("out of range"));
        }
        let text = parse_timeout_ms(b"1.5").unwrap_err().to_string();
        assert_eq!(text, "ERR timeout is not an integer or out of range");
        assert!(parse_timeout_ms(b"-1").is_err());
        assert_eq!(parse_timeout_ms(b"12").unwrap(), 12);
    }
}
