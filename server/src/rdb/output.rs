//! Writing lengths and strings.
//!
//! Owns which of the forms of [`input`](super::input) are written: numbers of up to 32 bits as
//! such, all else plain.

use super::kind;
use crate::number::parse_i64;

/// Bytes of the longest text of a 32-bit number.
const NUMBER_TEXT_MAX: usize = 11;

/// The largest lengths of one and of two bytes.
const LENGTH_6_BITS: u64 = 0x3f;
const LENGTH_14_BITS: u64 = 0x3fff;

/// A value that is being written.
#[derive(Default)]
pub struct Output(Vec<u8>);

impl Output {
    /// A string.
    pub fn of_string() -> Self {
        Self(vec![kind::STRING])
    }

    /// A list of so many elements.
    pub fn of_list(count: u64) -> Self {
        Self::of_many(kind::LIST, count)
    }

    /// A set of so many members.
    pub fn of_set(count: u64) -> Self {
        Self::of_many(kind::SET, count)
    }

    /// A hash of so many fields.
    pub fn of_hash(count: u64) -> Self {
        Self::of_many(kind::HASH, count)
    }

    /// A sorted set of so many elements.
    pub fn of_sorted_set(count: u64) -> Self {
        Self::of_many(kind::SORTED_SET_2, count)
    }

    fn of_many(kind: u8, count: u64) -> Self {
        let mut output = Self(vec![kind]);
        output.length(count);
        output
    }

    /// Bytes that were written.
    pub fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    /// What was written, for [`seal`](super::seal).
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    fn length(&mut self, length: u64) {
        match (length, u32::try_from(length)) {
            (0..=LENGTH_6_BITS, _) => self.0.push(length as u8),
            (..=LENGTH_14_BITS, _) => {
                let both = (length as u16) | 0x4000;
                self.0.extend_from_slice(&both.to_be_bytes());
            }
            (_, Ok(length)) => {
                self.0.push(0x80);
                self.0.extend_from_slice(&length.to_be_bytes());
            }
            (_, Err(_)) => {
                self.0.push(0x81);
                self.0.extend_from_slice(&length.to_be_bytes());
            }
        }
    }

    /// A string.
    pub fn string(&mut self, string: &[u8]) {
        if string.len() <= NUMBER_TEXT_MAX
            && let Some(number) = parse_i64(string)
            && self.number(number)
        {
            return;
        }
        self.begin_string(string.len() as u64);
        self.part(string);
    }

    /// The head of a string whose bytes follow as [parts](Self::part).
    pub fn begin_string(&mut self, bytes: u64) {
        self.length(bytes);
    }

    /// A part of a string that was begun.
    pub fn part(&mut self, part: &[u8]) {
        self.0.extend_from_slice(part);
    }

    fn number(&mut self, number: i64) -> bool {
        if let Ok(number) = i8::try_from(number) {
            self.0.push(0xc0);
            self.0.extend_from_slice(&number.to_le_bytes());
        } else if let Ok(number) = i16::try_from(number) {
            self.0.push(0xc1);
            self.0.extend_from_slice(&number.to_le_bytes());
        } else if let Ok(number) = i32::try_from(number) {
            self.0.push(0xc2);
            self.0.extend_from_slice(&number.to_le_bytes());
        } else {
            return false;
        }
        true
    }

    /// A score of a sorted set.
    pub fn score(&mut self, score: f64) {
        self.0.extend_from_slice(&score.to_le_bytes());
    }
}
