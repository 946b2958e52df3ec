//! How many bytes a list would take in Redis, and what Redis would call it: a `listpack` up to
//! `list-max-listpack-size`, a `quicklist` beyond.
//!
//! Owns that arithmetic, nothing of how a list lies here.

use crate::number::parse_i64;

/// Bytes of a listpack without elements: its length, its count, its end mark.
pub(super) const EMPTY_BYTES: u64 = 7;

/// Bytes of the smallest element.
pub(super) const ENTRY_BYTES_MIN: u64 = 2;

/// Bytes of a listpack whose bound is a count of elements, all the same.
const SAFETY_BYTES: u64 = 8192;

/// The bounds that the parameter's negative values stand for, from -1 on.
const LEVEL_BYTES: [u64; 5] = [4096, 8192, 16_384, 32_768, 65_536];

/// Elements of an integer's text at most; longer ones are no integers.
const INTEGER_BYTES_MAX: usize = 20;

/// Up to where a list is a listpack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListpackLimit {
    /// So many bytes.
    Bytes(u64),
    /// So many elements.
    Elements(u64),
}

impl ListpackLimit {
    /// The meaning of `list-max-listpack-size`.
    pub(crate) fn of(parameter: i64) -> Self {
        if parameter >= 0 {
            return Self::Elements(parameter.unsigned_abs().max(1));
        }
        let level = usize::try_from(parameter.unsigned_abs() - 1).unwrap_or(usize::MAX);
        Self::Bytes(LEVEL_BYTES[level.min(LEVEL_BYTES.len() - 1)])
    }

    /// Bytes beyond which no listpack reaches.
    pub(super) fn bytes_max(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Elements(_) => SAFETY_BYTES,
        }
    }

    /// Whether a listpack may grow to this.
    pub(super) fn admits(self, bytes: u64, count: u64) -> bool {
        match self {
            Self::Bytes(bytes_max) => bytes <= bytes_max,
            Self::Elements(count_max) => bytes <= SAFETY_BYTES && count <= count_max,
        }
    }

    /// Whether a quicklist that shrank to this becomes a listpack again: at half of the bound, so
    /// that a list at the bound does not change back and forth.
    pub(super) fn takes_back(self, bytes: u64, count: u64) -> bool {
        match self {
            Self::Bytes(bytes_max) => bytes <= bytes_max / 2,
            // one node of a quicklist, which is what a listpack is made from, has this bound
            Self::Elements(count_max) => bytes <= SAFETY_BYTES && count <= count_max / 2,
        }
    }
}

/// Bytes that an element takes in a listpack.
pub(super) fn entry_bytes(item: &[u8]) -> u64 {
    let body = integer_bytes(item).unwrap_or_else(|| {
        let len = item.len() as u64;
        len + match len {
            0..64 => 1,
            64..4096 => 2,
            _ => 5,
        }
    });
    body + match body {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    }
}

/// Bytes of an integer's encoding, if the element is one.
fn integer_bytes(item: &[u8]) -> Option<u64> {
    if item.len() > INTEGER_BYTES_MAX {
        return None;
    }
    Some(match parse_i64(item)? {
        0..=127 => 1,
        -4096..=4095 => 2,
        -32_768..=32_767 => 3,
        -8_388_608..=8_388_607 => 4,
        -2_147_483_648..=2_147_483_647 => 5,
        _ => 9,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_means_bytes_or_elements() {
        let of = ListpackLimit::of;
        assert_eq!(of(-2), ListpackLimit::Bytes(8192));
        assert_eq!(of(-9), ListpackLimit::Bytes(65_536));
        assert_eq!(of(i64::MIN), ListpackLimit::Bytes(65_536));
        assert_eq!(of(0), ListpackLimit::Elements(1));
        assert_eq!(of(128), ListpackLimit::Elements(128));
        assert!(of(-2).admits(8192, 9999) && !of(-2).admits(8193, 1));
        assert!(of(-2).takes_back(4096, 9999) && !of(-2).takes_back(4097, 1));
        assert!(of(4).admits(8192, 4) && !of(4).admits(8193, 1) && !of(4).admits(10, 5));
        assert!(of(4).takes_back(10, 2) && !of(4).takes_back(10, 3));
    }

    #[test]
    fn elements_take_what_redis_gives_them() {
        for (item, expected) in [
            ("", 2),
            ("a", 3),
            ("0", 2),
            ("127", 2),
            ("128", 3),
            ("-1", 3),
            ("4096", 4),
            ("-4097", 4),
            ("32768", 5),
            ("8388608", 6),
            ("2147483648", 10),
            ("9223372036854775808", 21),
            ("007", 5),
        ] {
            assert_eq!(entry_bytes(item.as_bytes()), expected, "{item}");
        }
        assert_eq!(entry_bytes(&[b'x'; 63]), 65);
        assert_eq!(entry_bytes(&[b'x'; 64]), 67);
        assert_eq!(entry_bytes(&[b'x'; 125]), 128);
        assert_eq!(entry_bytes(&[b'x'; 126]), 130);
        assert_eq!(entry_bytes(&[b'x'; 4095]), 4099);
        assert_eq!(entry_bytes(&[b'x'; 4096]), 4103);
        assert_eq!(entry_bytes(&vec![b'x'; 20_000]), 20_008);
    }
}
