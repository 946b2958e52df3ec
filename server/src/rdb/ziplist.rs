//! Ziplists, which Redis wrote before listpacks: elements one behind another, each behind the
//! length of the one before it.
//!
//! ```text
//! ziplist := bytes of all (4), place of the last element (4), elements (2), element*, 0xff
//! element := length of the one before (1, or 0xfe and 4), head, text of a string
//! ```
//!
//! | head | what it is |
//! |---|---|
//! | `00nnnnnn` | a string of up to 63 bytes |
//! | `01nnnnnn`, 1 byte | a string of up to 16,383 bytes |
//! | `10......`, 4 bytes big-endian | a longer string |
//! | `0xc0`, `0xd0`, `0xe0`, `0xf0`, `0xfe` | a number of 16, 32, 64, 24, 8 bits |
//! | `0xf1` to `0xfd` | a number from 0 to 12 |
//!
//! Owns reading them. The lengths before elements are passed over, not believed.

use bytes::Bytes;

use super::BadFormat;
use super::blob::{Blob, END};
use super::input::text_of;

/// Bytes before the first element.
const HEADER_BYTES: usize = 10;

/// The length of the element before, where it takes four more bytes.
const LONG_LENGTH: u8 = 0xfe;
/// The elements that are left of a ziplist.
pub(super) struct Ziplist(Blob);

impl Ziplist {
    pub(super) fn open(blob: Bytes) -> Result<Self, BadFormat> {
        Blob::open(blob, HEADER_BYTES).map(Self)
    }

    /// The next element; nothing in the end.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, BadFormat> {
        if self.0.is_empty() {
            return Ok(None);
        }
        match self.0.fixed::<1>()?[0] {
            END => return Err(BadFormat),
            LONG_LENGTH => drop(self.0.fixed::<4>()?),
            _ => {}
        }
        let first = self.0.fixed::<1>()?[0];
        let number = match first {
            0..0x40 => return self.0.string(u64::from(first)).map(Some),
            0x40..0x80 => {
                let low = u64::from(self.0.fixed::<1>()?[0]);
                return self.0.string(u64::from(first & 0x3f) << 8 | low).map(Some);
            }
            0x80..0xc0 => {
                let length = u32::from_be_bytes(self.0.fixed()?);
                return self.0.string(length.into()).map(Some);
            }
            0xc0 => i16::from_le_bytes(self.0.fixed()?).into(),
            0xd0 => i32::from_le_bytes(self.0.fixed()?).into(),
            0xe0 => i64::from_le_bytes(self.0.fixed()?),
            0xf0 => {
                let [a, b, c] = self.0.fixed()?;
                i64::from(i32::from_le_bytes([0, a, b, c]) >> 8)
            }
            0xfe => i8::from_le_bytes(self.0.fixed()?).into(),
            0xf1..=0xfd => i64::from(first & 0x0f) - 1,
            0xc1..0xd0 | 0xd1..0xe0 | 0xe1..0xf0 | 0xff => return Err(BadFormat),
        };
        Ok(Some(text_of(number)))
    }
}
