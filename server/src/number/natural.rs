//! Whole numbers of any size, as far as reading and printing decimal floats needs them.
//!
//! Owns schoolbook arithmetic on 32-bit limbs. The numbers here have at most a few thousand digits.

use std::fmt::Write;

/// The largest power of ten below 2^32, and its exponent.
const CHUNK: u32 = 1_000_000_000;
const CHUNK_DIGITS: usize = 9;

/// A whole number from 0 up; limbs from the lowest to the highest, the highest never 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Natural(Vec<u32>);

impl Natural {
    /// The number that ASCII decimal digits spell.
    pub(super) fn from_digits(digits: impl Iterator<Item = u8>) -> Self {
        let mut number = Self(Vec::new());
        let (mut chunk, mut scale) = (0, 1);
        for digit in digits {
            chunk = chunk * 10 + u32::from(digit - b'0');
            scale *= 10;
            if scale == CHUNK {
                number.multiply_add(scale, chunk);
                (chunk, scale) = (0, 1);
            }
        }
        number.multiply_add(scale, chunk);
        number
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Position of the highest set bit plus one.
    pub(super) fn bit_count(&self) -> usize {
        match self.0.last() {
            Some(top) => self.0.len() * 32 - top.leading_zeros() as usize,
            None => 0,
        }
    }

    /// `self * factor + addend`
    fn multiply_add(&mut self, factor: u32, addend: u32) {
        let mut carry = u64::from(addend);
        for limb in &mut self.0 {
            carry += u64::from(*limb) * u64::from(factor);
            *limb = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    /// Multiplies by 10^`power`.
    pub(super) fn multiply_power_of_ten(&mut self, power: usize) {
        for _ in 0..power / CHUNK_DIGITS {
            self.multiply_add(CHUNK, 0);
        }
        self.multiply_add(10u32.pow((power % CHUNK_DIGITS) as u32), 0);
    }

    /// Multiplies by 2^`count`.
    pub(super) fn shift_left(&mut self, count: usize) {
        if self.is_zero() {
            return;
        }
        // a factor below 2^32 at a time keeps this the only place that carries
        self.multiply_add(1 << (count % 32), 0);
        self.0.splice(0..0, std::iter::repeat_n(0, count / 32));
    }

    fn halve(&mut self) {
        let mut carry = 0;
        for limb in self.0.iter_mut().rev() {
            let low = *limb & 1;
            *limb = *limb >> 1 | carry << 31;
            carry = low;
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn is_at_least(&self, other: &Self) -> bool {
        if self.0.len() != other.0.len() {
            return self.0.len() > other.0.len();
        }
        self.0.iter().rev().ge(other.0.iter().rev())
    }

    /// Subtracts a number that is not larger.
    fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (index, limb) in self.0.iter_mut().enumerate() {
            let (less, under) = limb.overflowing_sub(other.0.get(index).copied().unwrap_or(0));
            let (less, under_again) = less.overflowing_sub(u32::from(borrow));
            *limb = less;
            borrow = under || under_again;
        }
        assert!(!borrow, "subtracted a larger number");
        self.trim();
    }

    /// The quotient's lowest 128 bits and whether a rest is left. The caller scales so that the
    /// quotient fits.
    pub(super) fn divide(mut self, mut divisor: Self) -> (u128, bool) {
        let steps = (self.bit_count() + 1).saturating_sub(divisor.bit_count());
        divisor.shift_left(steps);
        let mut quotient: u128 = 0;
        for _ in 0..=steps {
            quotient <<= 1;
            if self.is_at_least(&divisor) {
                self.subtract(&divisor);
                quotient |= 1;
            }
            divisor.halve();
        }
        (quotient, !self.is_zero())
    }

    /// The highest 96 bits, how far they were shifted down, and whether a lower bit is set.
    pub(super) fn top(&self) -> (u128, usize, bool) {
        let low_count = self.0.len().saturating_sub(3);
        let top = self.0[low_count..]
            .iter()
            .rev()
            .fold(0, |top, limb| top << 32 | u128::from(*limb));
        let rest = self.0[..low_count].iter().any(|limb| *limb != 0);
        (top, low_count * 32, rest)
    }

    /// Decimal digits, `0` for nothing.
    pub(super) fn to_decimal(&self) -> String {
        let mut number = self.clone();
        let mut chunks = Vec::new();
        while !number.is_zero() {
            let mut rest = 0;
            for limb in number.0.iter_mut().rev() {
                let value = rest << 32 | u64::from(*limb);
                *limb = (value / u64::from(CHUNK)) as u32;
                rest = value % u64::from(CHUNK);
            }
            number.trim();
            chunks.push(rest);
        }
        let mut text = chunks.pop().unwrap_or(0).to_string();
        for chunk in chunks.iter().rev() {
            write!(text, "{chunk:09}").expect("a string takes all text");
        }
        text
    }
}

impl From<u64> for Natural {
    fn from(value: u64) -> Self {
        let mut number = Self(vec![value as u32, (value >> 32) as u32]);
        number.trim();
        number
    }
}

#[cfg(test)]
mod tests {
    use super::Natural;

    fn natural(digits: &str) -> Natural {
        Natural::from_digits(digits.bytes())
    }

    #[test]
    fn prints_what_it_read() {
        for digits in [
            "0",
            "9",
            "1000000000",
            "340282366920938463463374607431768211456",
        ] {
            assert_eq!(natural(digits).to_decimal(), digits);
        }
        assert_eq!(natural("000123").to_decimal(), "123");
    }

    #[test]
    fn scales() {
        let mut number = natural("7");
        number.multiply_power_of_ten(20);
        assert_eq!(number.to_decimal(), format!("7{}", "0".repeat(20)));
        let mut number = natural("3");
        number.shift_left(100);
        assert_eq!(number.to_decimal(), (3u128 << 100).to_string());
        assert_eq!(number.bit_count(), 102);
    }

    #[test]
    fn divides_with_rest() {
        for (dividend, divisor) in [(10, 5), (11, 5), (4, 5), (u128::MAX >> 1, 3), (0, 7)] {
            let (quotient, rest) =
                natural(&dividend.to_string()).divide(natural(&u128::to_string(&divisor)));
            assert_eq!(quotient, dividend / divisor, "{dividend} / {divisor}");
            assert_eq!(rest, dividend % divisor != 0, "{dividend} / {divisor}");
        }
    }
}
