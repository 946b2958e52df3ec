//! Reading lengths and strings.
//!
//! | first byte | what follows |
//! |---|---|
//! | `00nnnnnn` | a length of 6 bits |
//! | `01nnnnnn` | a length of 14 bits, the rest in one byte |
//! | `10000000` | a length of 32 bits, big-endian |
//! | `10000001` | a length of 64 bits, big-endian |
//! | `11000000` to `11000010` | in a string's place, a number of 1, 2 or 4 bytes, little-endian |
//! | `11000011` | in a string's place, a packed one: its length, its length unpacked, LZF |
//!
//! Owns that no length is believed before so many bytes were there.

use bytes::Bytes;

use super::{BadFormat, lzf};

/// What is left of a payload.
pub struct Input {
    rest: Bytes,
    /// Bytes that may still be made of packed strings.
    unpacked_left: u64,
}

enum Length {
    Plain(u64),
    /// A string in this special form.
    Form(u8),
}

const FORM: u8 = 0xc0;

impl Input {
    /// Reads `rest`. All packed strings together may have `unpacked_max` bytes.
    pub fn new(rest: Bytes, unpacked_max: u64) -> Self {
        Self {
            rest,
            unpacked_left: unpacked_max,
        }
    }

    /// Whether all was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next bytes.
    pub(super) fn take(&mut self, count: u64) -> Result<Bytes, BadFormat> {
        let count = usize::try_from(count).map_err(|_| BadFormat)?;
        if count > self.rest.len() {
            return Err(BadFormat);
        }
        Ok(self.rest.split_to(count))
    }

    /// The next bytes, of a number.
    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[u8; N], BadFormat> {
        let bytes = self.take(N as u64)?;
        bytes[..].try_into().map_err(|_| BadFormat)
    }

    /// The next byte.
    pub fn byte(&mut self) -> Result<u8, BadFormat> {
        Ok(self.fixed::<1>()?[0])
    }

    /// A length, or another number without a sign.
    pub(super) fn length(&mut self) -> Result<u64, BadFormat> {
        match self.length_or_form()? {
            Length::Plain(length) => Ok(length),
            Length::Form(_) => Err(BadFormat),
        }
    }

    fn length_or_form(&mut self) -> Result<Length, BadFormat> {
        let first = self.byte()?;
        let low = u64::from(first & 0x3f);
        Ok(Length::Plain(match first {
            0..0x40 => low,
            0x40..0x80 => low << 8 | u64::from(self.byte()?),
            0x80 => u32::from_be_bytes(self.fixed()?).into(),
            0x81 => u64::from_be_bytes(self.fixed()?),
            0x82..FORM => return Err(BadFormat),
            FORM.. => return Ok(Length::Form(first - FORM)),
        }))
    }

    /// A string; a number is its text. A plain one is shared with the payload.
    pub async fn string(&mut self) -> Result<Bytes, BadFormat> {
        match self.length_or_form()? {
            Length::Plain(length) => self.take(length),
            Length::Form(0) => Ok(text_of(i64::from(i8::from_le_bytes(self.fixed()?)))),
            Length::Form(1) => Ok(text_of(i64::from(i16::from_le_bytes(self.fixed()?)))),
            Length::Form(2) => Ok(text_of(i64::from(i32::from_le_bytes(self.fixed()?)))),
            Length::Form(3) => {
                let (packed, len) = (self.length()?, self.length()?);
                let packed = self.take(packed)?;
                self.unpacked_left = self.unpacked_left.checked_sub(len).ok_or(BadFormat)?;
                Ok(lzf::unpack(&packed, len).await?.into())
            }
            Length::Form(_) => Err(BadFormat),
        }
    }
}

/// A number as Redis prints it.
pub(super) fn text_of(number: i64) -> Bytes {
    Bytes::copy_from_slice(itoa::Buffer::new().format(number).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(bytes: &'static [u8], expected: Result<&[u8], BadFormat>) {
        let mut input = Input::new(Bytes::from_static(bytes), 100);
        let found = input.string().await;
        assert_eq!(found.as_deref().map_err(|error| *error), expected);
        assert!(expected.is_err() || input.is_empty());
    }

    #[tokio::test]
    async fn strings_have_many_forms() {
        check(b"\x03abc", Ok(b"abc")).await;
        check(b"\x40\x03abc", Ok(b"abc")).await;
        check(b"\x80\0\0\0\x03abc", Ok(b"abc")).await;
        check(b"\x81\0\0\0\0\0\0\0\x03abc", Ok(b"abc")).await;
        check(b"\xc0\xff", Ok(b"-1")).await;
        check(b"\xc1\x00\x80", Ok(b"-32768")).await;
        check(b"\xc2\xff\xff\xff\x7f", Ok(b"2147483647")).await;
        check(b"\xc3\x06\x0c\x01ab\xe0\x01\x01", Ok(b"abababababab")).await;
    }

    #[tokio::test]
    async fn what_is_cut_or_too_much_is_refused() {
        for bytes in [
            &b""[..],
            b"\x04abc",
            b"\x81\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x82",
            b"\xc4",
            b"\xc3\x06\xff",
            b"\xc3\x06\x40\xc8\x01ab\xff\x01\x01",
        ] {
            check(bytes, Err(BadFormat)).await;
        }
    }
}
