//! SHA-1, by which scripts are named. FIPS 180-4, section 6.1.
//!
//! Owns nothing. Must never protect anything: it names texts that clients may see anyway.

#![expect(
    clippy::many_single_char_names,
    reason = "the letters are the standard's"
)]

use std::fmt::Write;

const BLOCK_BYTES: usize = 64;
const START: [u32; 5] = [
    0x6745_2301,
    0xefcd_ab89,
    0x98ba_dcfe,
    0x1032_5476,
    0xc3d2_e1f0,
];

/// The name of a script: the SHA-1 of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sha1([u8; 20]);

impl Sha1 {
    /// The SHA-1 of a text.
    pub fn of(text: &[u8]) -> Self {
        let mut state = START;
        let blocks = text.chunks_exact(BLOCK_BYTES);
        let rest = blocks.remainder();
        for block in blocks {
            add(&mut state, block);
        }
        let mut tail = Vec::with_capacity(2 * BLOCK_BYTES);
        tail.extend_from_slice(rest);
        tail.push(0x80);
        while tail.len() % BLOCK_BYTES != BLOCK_BYTES - 8 {
            tail.push(0);
        }
        tail.extend_from_slice(&(text.len() as u64 * 8).to_be_bytes());
        for block in tail.chunks_exact(BLOCK_BYTES) {
            add(&mut state, block);
        }
        let mut name = [0; 20];
        for (place, word) in name.chunks_exact_mut(4).zip(state) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        Self(name)
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

fn add(state: &mut [u32; 5], block: &[u8]) {
    let mut words = [0u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for at in 16..80 {
        let mixed = words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16];
        words[at] = mixed.rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (at, word) in words.iter().enumerate() {
        let (chosen, constant) = match at {
            0..20 => (b & c | !b & d, 0x5a82_7999),
            20..40 => (b ^ c ^ d, 0x6ed9_eba1),
            40..60 => (b & c | b & d | c & d, 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6),
        };
        let next = a
            .rotate_left(5)
            .wrapping_add(chosen)
            .wrapping_add(e)
            .wrapping_add(constant)
            .wrapping_add(*word);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
    }
    for (place, value) in state.iter_mut().zip([a, b, c, d, e]) {
        *place = place.wrapping_add(value);
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
