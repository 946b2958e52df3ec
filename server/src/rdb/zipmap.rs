//! Zipmaps, in which Redis kept small hashes before version 2.6.
//!
//! ```text
//! zipmap := pairs (1), pair*, 0xff
//! pair   := length, field, length, unused bytes (1), value, unused bytes
//! length := one byte below 0xfe, or 0xfe and 4 bytes
//! ```
//!
//! Owns reading them.

use bytes::{Buf, Bytes};

use super::BadFormat;

const LONG_LENGTH: u8 = 0xfe;
const END: u8 = 0xff;

/// The fields and values that are left of a zipmap.
pub(super) struct Zipmap {
    rest: Bytes,
    is_value_next: bool,
}

impl Zipmap {
    pub(super) fn open(mut blob: Bytes) -> Result<Self, BadFormat> {
        // an empty one is its count and its end
        if blob.len() < 2 || blob.last() != Some(&END) {
            return Err(BadFormat);
        }
        blob.truncate(blob.len() - 1);
        blob.advance(1);
        Ok(Self {
            rest: blob,
            is_value_next: false,
        })
    }

    /// The next field or value; nothing in the end.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, BadFormat> {
        if self.rest.is_empty() && !self.is_value_next {
            return Ok(None);
        }
        let length = match self.byte()? {
            END => return Err(BadFormat),
            LONG_LENGTH => {
                let length = *self.rest.first_chunk().ok_or(BadFormat)?;
                self.rest.advance(size_of::<u32>());
                u32::from_le_bytes(length) as usize
            }
            length => usize::from(length),
        };
        let unused = if self.is_value_next {
            usize::from(self.byte()?)
        } else {
            0
        };
        if self.rest.len() < length || self.rest.len() - length < unused {
            return Err(BadFormat);
        }
        let item = self.rest.split_to(length);
        self.rest.advance(unused);
        self.is_value_next = !self.is_value_next;
        Ok(Some(item))
    }

    fn byte(&mut self) -> Result<u8, BadFormat> {
        let byte = *self.rest.first().ok_or(BadFormat)?;
        self.rest.advance(1);
        Ok(byte)
    }
}
