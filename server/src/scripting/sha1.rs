//! SHA-1, by which scripts are named.
//!
//! Owns how a name is read and printed. Must never protect anything: it names texts that clients
//! may see anyway.

use std::fmt::Write;

/// The name of a script: the SHA-1 of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sha1([u8; 20]);

impl Sha1 {
    /// The SHA-1 of a text.
    pub fn of(text: &[u8]) -> Self {
        Self(sha1_smol::Sha1::from(text).digest().bytes())
    }

    /// Reads its 40 hexadecimal digits, in whatever case.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut name = [0; 20];
        if text.len() != 2 * name.len() {
            return None;
        }
        for (place, pair) in name.iter_mut().zip(text.chunks_exact(2)) {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            *place = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Some(Self(name))
    }

    /// Its 40 hexadecimal digits, in lower case.
    pub fn to_hex(self) -> String {
        let mut text = String::with_capacity(40);
        for byte in self.0 {
            write!(text, "{byte:02x}").expect("a string takes everything");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], expected: &str) {
        let name = Sha1::of(text);
        assert_eq!(name.to_hex(), expected);
        assert_eq!(Sha1::parse(expected.to_uppercase().as_bytes()), Some(name));
    }

    #[test]
    fn agrees_with_the_standard() {
        check(b"", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        check(b"abc", "a9993e364706816aba3e25717850c26c9cd0d89d");
        let text = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        check(text, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
        let million = "a".repeat(1_000_000);
        check(
            million.as_bytes(),
            "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
        );
    }

    #[test]
    fn what_is_no_name_is_none() {
        assert_eq!(Sha1::parse(b"abc"), None);
        assert_eq!(Sha1::parse(&[b'g'; 40]), None);
    }
}
