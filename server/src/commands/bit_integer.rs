//! Integers of 1 to 64 bits, as BITFIELD keeps them.
//!
//! Owns their types, their overflow, and their place among bytes. Pure.

use super::string_value::integer;
use crate::command::CommandError;

/// A type such as `i16` or `u8`. `u64` does not exist, because replies are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IntegerType {
    is_signed: bool,
    bits: u32,
}

/// What happens to a number that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overflow {
    /// Its low bits are kept.
    Wrap,
    /// The nearest number that fits is taken.
    Saturate,
    /// Nothing is written.
    Fail,
}

impl Overflow {
    pub(super) fn parse(name: &[u8]) -> Result<Self, CommandError> {
        match name.to_ascii_lowercase().as_slice() {
            b"wrap" => Ok(Self::Wrap),
            b"sat" => Ok(Self::Saturate),
            b"fail" => Ok(Self::Fail),
            _ => Err(CommandError::other("ERR Invalid OVERFLOW type specified")),
        }
    }
}

impl IntegerType {
    pub(super) fn parse(name: &[u8]) -> Result<Self, CommandError> {
        let (is_signed, bits_max) = match name.first() {
            Some(b'i') => (true, 64),
            Some(b'u') => (false, 63),
            _ => return Err(invalid_type()),
        };
        match integer(&name[1..])
            .ok()
            .and_then(|bits| u32::try_from(bits).ok())
        {
            Some(bits) if (1..=bits_max).contains(&bits) => Ok(Self { is_signed, bits }),
            _ => Err(invalid_type()),
        }
    }

    pub(super) fn bits(self) -> u64 {
        u64::from(self.bits)
    }

    /// What the lowest bits of `raw` mean.
    pub(super) fn decode(self, raw: u64) -> i64 {
        let unused = 64 - self.bits;
        if self.is_signed {
            (raw << unused).cast_signed() >> unused
        } else {
            (raw << unused >> unused).cast_signed()
        }
    }

    /// What SET writes for its argument. To an unsigned type a negative number is a very large one.
    pub(super) fn set(self, value: i64, overflow: Overflow) -> Option<i64> {
        let value = if self.is_signed {
            i128::from(value)
        } else {
            i128::from(value.cast_unsigned())
        };
        self.fit(value, overflow)
    }

    /// What INCRBY makes of the old number.
    pub(super) fn add(self, old: i64, increment: i64, overflow: Overflow) -> Option<i64> {
        self.fit(i128::from(old) + i128::from(increment), overflow)
    }

    fn fit(self, value: i128, overflow: Overflow) -> Option<i64> {
        let (min, max) = if self.is_signed {
            (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)
        } else {
            (0, (1 << self.bits) - 1)
        };
        if (min..=max).contains(&value) {
            return Some(value as i64);
        }
        match overflow {
            Overflow::Wrap => Some(self.decode(value.cast_unsigned() as u64)),
            Overflow::Saturate => Some(value.clamp(min, max) as i64),
            Overflow::Fail => None,
        }
    }
}

fn invalid_type() -> CommandError {
    CommandError::other(
        "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but \
         i64 is.",
    )
}

/// The `bits` bits from bit `offset` of a 16-byte window on; the window is a number, highest byte
/// first.
pub(super) fn get(window: u128, offset: u32, bits: u64) -> u64 {
    (window << offset >> (128 - bits)) as u64
}

/// The window with those bits replaced by the lowest ones of `raw`.
pub(super) fn put(window: u128, offset: u32, bits: u64, raw: u64) -> u128 {
    let mask = u128::MAX << (128 - bits) >> offset;
    let raw = u128::from(raw) << (128 - bits) >> offset;
    window & !mask | raw
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer_type(name: &str) -> IntegerType {
        IntegerType::parse(name.as_bytes()).unwrap()
    }

    #[test]
    fn types_have_bounds() {
        for name in ["i1", "i64", "u1", "u63"] {
            assert!(IntegerType::parse(name.as_bytes()).is_ok(), "{name}");
        }
        for name in [
            "",
            "i",
            "u64",
            "i65",
            "i0",
            "x8",
            "i-1",
            "I8",
            "u08",
            "u99999999999",
        ] {
            assert!(IntegerType::parse(name.as_bytes()).is_err(), "{name}");
        }
    }

    #[track_caller]
    fn check(name: &str, (old, increment): (i64, i64), expected: [Option<i64>; 3]) {
        let found = [Overflow::Wrap, Overflow::Saturate, Overflow::Fail]
            .map(|overflow| integer_type(name).add(old, increment, overflow));
        assert_eq!(found, expected, "{name} {old} + {increment}");
    }

    #[test]
    fn overflow_wraps_saturates_or_fails() {
        check("i8", (127, 1), [Some(-128), Some(127), None]);
        check("i8", (-128, -1), [Some(127), Some(-128), None]);
        check("i8", (100, 27), [Some(127); 3]);
        check("u8", (255, 1), [Some(0), Some(255), None]);
        check("u8", (0, -1), [Some(255), Some(0), None]);
        check("u2", (3, 6), [Some(1), Some(3), None]);
        check("i64", (i64::MAX, 1), [Some(i64::MIN), Some(i64::MAX), None]);
        check("i64", (i64::MIN, i64::MIN), [Some(0), Some(i64::MIN), None]);
        check(
            "u63",
            (i64::MAX, i64::MAX),
            [Some(i64::MAX - 1), Some(i64::MAX), None],
        );
        check("i1", (0, 1), [Some(-1), Some(0), None]);
    }

    #[test]
    fn set_fits_its_argument() {
        let set = |name, value, overflow| integer_type(name).set(value, overflow);
        assert_eq!(set("u8", -1, Overflow::Wrap), Some(255));
        assert_eq!(set("u8", -1, Overflow::Saturate), Some(255));
        assert_eq!(set("u8", 256, Overflow::Fail), None);
        assert_eq!(set("i8", 200, Overflow::Wrap), Some(-56));
        assert_eq!(set("i8", i64::MIN, Overflow::Saturate), Some(-128));
        assert_eq!(set("i64", i64::MIN, Overflow::Fail), Some(i64::MIN));
    }

    #[test]
    fn windows_give_back_what_was_put() {
        for bits in 1..=64 {
            for offset in 0..=64 {
                let raw = 0xdead_beef_0bad_f00d & (u64::MAX >> (64 - bits));
                for window in [0, u128::MAX] {
                    let changed = put(window, offset, bits, raw);
                    assert_eq!(get(changed, offset, bits), raw);
                    let back = put(changed, offset, bits, window as u64);
                    assert_eq!(back, window, "bits beside the field changed");
                }
            }
        }
    }

    #[test]
    fn signs_extend() {
        assert_eq!(integer_type("i4").decode(0b1111), -1);
        assert_eq!(integer_type("u4").decode(0b1111), 15);
        assert_eq!(integer_type("i64").decode(u64::MAX), -1);
    }
}
