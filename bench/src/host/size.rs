//! Sizes as people write them: 512mb is 512 times 2^20 bytes, 512m is 512 times 10^6, as in Redis.

use crate::error::BenchError;

/// Bytes of a text such as `1gb`, `64k` or `4096`.
pub(crate) fn parse(text: &str) -> Result<u64, BenchError> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return Err(refused(&text)),
    };
    let number: u64 = number.parse().map_err(|_| refused(&text))?;
    number.checked_mul(factor).ok_or_else(|| refused(&text))
}

fn refused(text: &str) -> BenchError {
    BenchError::Arguments(format!("{text:?} is no size; write it as 512mb or 1gb"))
}

/// Whole mebibytes, at least one: the unit of several servers' settings.
pub(crate) fn mebibytes(bytes: u64) -> u64 {
    (bytes >> 20).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_rediss_units() {
        let check = |text, expected: Option<u64>| assert_eq!(parse(text).ok(), expected, "{text}");
        check("4096", Some(4096));
        check("1k", Some(1000));
        check("64KB", Some(65536));
        check("2gb", Some(2 << 30));
        check("gb", None);
        check("1 tb", None);
        check("-1", None);
        check("99999999999gb", None);
    }
}
