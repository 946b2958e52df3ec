//! Libraries as the bytes of FUNCTION DUMP, which Redis reads too and which the file holds.
//!
//! | part | bytes |
//! |---|---|
//! | for each library: 0xf5 | 1 |
//! | its text's length, as Redis's dumps encode lengths | 1, 2, 5 or 9 |
//! | its text | |
//! | the version of the dump, little-endian | 2 |
//! | CRC-64 of all before, little-endian | 8 |
//!
//! Owns the reading of foreign bytes: each is checked. Texts that Redis has compressed are read,
//! none is written.

use super::Catalog;

const LIBRARY: u8 = 0xf5;
/// What Redis 7.2 writes; older ones are read.
const VERSION: u16 = 11;
const FOOTER_BYTES: usize = 10;
/// Bytes of one text at most.
const TEXT_BYTES_MAX: usize = 512 * 1024 * 1024;
/// The polynomial of Jones, its bits reversed.
const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;

/// The bytes of all libraries.
pub(crate) fn encode(catalog: &Catalog) -> Vec<u8> {
    let mut payload = Vec::new();
    for library in catalog.libraries() {
        payload.push(LIBRARY);
        put_length(&mut payload, library.text.len());
        payload.extend_from_slice(&library.text);
    }
    payload.extend_from_slice(&VERSION.to_le_bytes());
    let sum = crc64(&payload);
    payload.extend_from_slice(&sum.to_le_bytes());
    payload
}

fn put_length(payload: &mut Vec<u8>, length: usize) {
    match length {
        0..0x40 => payload.push(length as u8),
        0x40..0x4000 => payload.extend_from_slice(&(0x4000 | length as u16).to_be_bytes()),
        _ => {
            payload.push(0x80);
            payload.extend_from_slice(&(length as u32).to_be_bytes());
        }
    }
}

/// The texts in a payload; nothing where it is none.
pub(crate) fn decode(payload: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (body, footer) = payload.split_at_checked(payload.len().checked_sub(FOOTER_BYTES)?)?;
    let version = u16::from_le_bytes([footer[0], footer[1]]);
    let sum = u64::from_le_bytes(footer[2..].try_into().ok()?);
    if version > VERSION || sum != crc64(&payload[..payload.len() - 8]) {
        return None;
    }
    let mut texts = Vec::new();
    let mut rest = body;
    while let Some((kind, after)) = rest.split_first() {
        if *kind != LIBRARY {
            return None;
        }
        rest = after;
        texts.push(take_text(&mut rest)?);
    }
    Some(texts)
}

fn take_text(rest: &mut &[u8]) -> Option<Vec<u8>> {
    match take_length(rest)? {
        Length::Plain(length) => take(rest, length).map(<[u8]>::to_vec),
        Length::Compressed => {
            let (Length::Plain(packed), Length::Plain(length)) =
                (take_length(rest)?, take_length(rest)?)
            else {
                return None;
            };
            unpack(take(rest, packed)?, length)
        }
    }
}

enum Length {
    Plain(usize),
    Compressed,
}

fn take_length(rest: &mut &[u8]) -> Option<Length> {
    let first = take(rest, 1)?[0];
    let length = match first {
        0..0x40 => usize::from(first),
        0x40..0x80 => usize::from(first & 0x3f) << 8 | usize::from(take(rest, 1)?[0]),
        0x80 => u32::from_be_bytes(take(rest, 4)?.try_into().ok()?) as usize,
        0x81 => usize::try_from(u64::from_be_bytes(take(rest, 8)?.try_into().ok()?)).ok()?,
        0xc3 => return Some(Length::Compressed),
        _ => return None,
    };
    (length <= TEXT_BYTES_MAX).then_some(Length::Plain(length))
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

/// Unpacks LZF: runs of plain bytes, and copies of what came before.
fn unpack(mut packed: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut plain: Vec<u8> = Vec::new();
    while let Some(first) = take(&mut packed, 1).map(|bytes| usize::from(bytes[0])) {
        if first < 32 {
            plain.extend_from_slice(take(&mut packed, first + 1)?);
        } else {
            let mut count = first >> 5;
            if count == 7 {
                count += usize::from(take(&mut packed, 1)?[0]);
            }
            let back = (first & 0x1f) << 8 | usize::from(take(&mut packed, 1)?[0]);
            let start = plain.len().checked_sub(back + 1)?;
            for at in start..start + count + 2 {
                plain.push(plain[at]);
            }
        }
        if plain.len() > length {
            return None;
        }
    }
    (plain.len() == length).then_some(plain)
}

fn crc64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ u64::from(*byte), |sum, _| {
            sum >> 1 ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripting::functions::Library;

    /// What Redis 7.0.15 dumps of two libraries, the second one compressed.
    const OF_REDIS: &[u8] =
        b"\xf5@B#!lua name=a\nredis.register_function(\"f\", function() return \
        1 end)\xf5\xc3@x@\x86\x1f#!lua name=c\nredis.register_func\x04tion{\xc0\x08\x00_`'\r\"g\", \
        callback=\xc0\x1b\x08() return \x06@E@ \x08(\"set\",\"a \x03\x1cb\") end, \
        flags={\"no-writes\"}}\n\x00*_U\xd2\xd5\xd3\xb2\x9e";

    #[test]
    fn the_sum_is_redis_own() {
        assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }

    #[test]
    fn reads_what_redis_dumps() {
        let texts = decode(OF_REDIS).unwrap();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].starts_with(b"#!lua name=a\n") && texts[0].ends_with(b"1 end)"));
        let expected = b"redis.call(\"set\",\"a\",\"b\") end, flags={\"no-writes\"}}";
        assert!(texts[1].ends_with(expected));
    }

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        let mut catalog = Catalog::default();
        for (name, length) in [("a", 10), ("b", 100), ("c", 20_000)] {
            let text = "x".repeat(length).into();
            let library = Library::new(name.to_owned(), text, Vec::new());
            catalog.add(library, false).unwrap();
        }
        let payload = encode(&catalog);
        let texts = decode(&payload).unwrap();
        assert_eq!(
            texts.iter().map(Vec::len).collect::<Vec<_>>(),
            [10, 100, 20_000]
        );
        for at in [0, 5, 50, payload.len() - 1] {
            let mut damaged = payload.clone();
            damaged[at] ^= 1;
            assert!(decode(&damaged).is_none());
            assert!(decode(&payload[..at]).is_none());
        }
    }

    #[test]
    fn no_bytes_make_the_unpacking_fail_otherwise_than_by_answer() {
        let mut state = 1u32;
        for _ in 0..20_000 {
            let packed: Vec<u8> = (0..40)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                })
                .collect();
            assert!(unpack(&packed, 64).is_none_or(|plain| plain.len() == 64));
        }
    }
}
