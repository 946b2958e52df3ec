//! Listpacks: elements one behind another, each with its length behind it.
//!
//! ```text
//! listpack := bytes of all (4), elements (2), element*, 0xff
//! element  := head, text of a string, length of both in 1 to 5 bytes
//! ```
//!
//! | head | what it is |
//! |---|---|
//! | `0nnnnnnn` | a number of 7 bits without sign |
//! | `10nnnnnn` | a string of up to 63 bytes |
//! | `110nnnnn`, 1 byte | a number of 13 bits |
//! | `1110nnnn`, 1 byte | a string of up to 4,095 bytes |
//! | `0xf0`, 4 bytes | a longer string |
//! | `0xf1`, `0xf2`, `0xf3`, `0xf4` | a number of 16, 24, 32, 64 bits |
//!
//! Owns reading them. The lengths behind elements are passed over, not believed.

use bytes::Bytes;

use super::BadFormat;
use super::blob::Blob;
use super::input::text_of;

/// Bytes before the first element.
const HEADER_BYTES: usize = 6;

/// The elements that are left of a listpack.
pub(super) struct Listpack(Blob);

impl Listpack {
    pub(super) fn open(blob: Bytes) -> Result<Self, BadFormat> {
        Blob::open(blob, HEADER_BYTES).map(Self)
    }

    /// The next element; nothing in the end.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, BadFormat> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let before = self.0.len();
        let element = self.element()?;
        let bytes = before - self.0.len();
        let behind = length_bytes(bytes);
        self.0.string(behind as u64)?;
        Ok(Some(element))
    }

    fn element(&mut self) -> Result<Bytes, BadFormat> {
        let first = self.0.fixed::<1>()?[0];
        let number = match first {
            0..0x80 => i64::from(first),
            0x80..0xc0 => return self.0.string(u64::from(first & 0x3f)),
            0xc0..0xe0 => {
                let number = i64::from(first & 0x1f) << 8 | i64::from(self.0.fixed::<1>()?[0]);
                if number < 1 << 12 {
                    number
                } else {
                    number - (1 << 13)
                }
            }
            0xe0..0xf0 => {
                let low = u64::from(self.0.fixed::<1>()?[0]);
                return self.0.string(u64::from(first & 0x0f) << 8 | low);
            }
            0xf0 => {
                let length = u32::from_le_bytes(self.0.fixed()?);
                return self.0.string(length.into());
            }
            0xf1 => i16::from_le_bytes(self.0.fixed()?).into(),
            0xf2 => {
                let [a, b, c] = self.0.fixed()?;
                i64::from(i32::from_le_bytes([0, a, b, c]) >> 8)
            }
            0xf3 => i32::from_le_bytes(self.0.fixed()?).into(),
            0xf4 => i64::from_le_bytes(self.0.fixed()?),
            0xf5.. => return Err(BadFormat),
        };
        Ok(text_of(number))
    }
}

/// Bytes of the length behind an element of so many bytes.
fn length_bytes(bytes: usize) -> usize {
    match bytes {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    }
}
