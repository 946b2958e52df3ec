//! What a value holds, so that a read can tell every byte of it: its key, its version, and a body
//! that follows from both.
//!
//! ```text
//!   bytes 0..8   key's number, little endian
//!   bytes 8..16  version, little endian
//!   from 16      a window of the pool of random bytes, each word xored with a mask
//!                (where the window begins, and the mask: a hash of key and version)
//! ```
//!
//! The mask makes two values differ in every word, even where their windows meet, so that nothing
//! that compresses or deduplicates finds a repetition. Making or checking a value costs what
//! copying it does. Values below 16 bytes have no room for the head; their body follows from the
//! key alone.
//!
//! Owns the layout. Must never keep a value: the same key and version give the same bytes for ever.

use std::ops::RangeInclusive;

use super::random::{Random, mix};

/// Bytes of the head: key and version.
pub(crate) const HEAD_BYTES: usize = 16;
/// Bytes of a value at most: far above what the suites store; the pool is as long.
pub(crate) const VALUE_BYTES_MAX: usize = 1 << 20;

/// Where a window of the pool may begin: in 64 KiB, which stay in a core's second-level cache.
const WINDOW_STARTS: u64 = 8192;
const WORD_BYTES: usize = size_of::<u64>();
const POOL_BYTES: usize = VALUE_BYTES_MAX + WINDOW_STARTS as usize * WORD_BYTES;
/// Any number will do; another one makes another content.
const POOL_SEED: u64 = 0x0063_656c_6c61_7221;

/// Makes and checks values whose sizes lie in a range.
#[derive(Debug)]
pub(crate) struct Content {
    pool: Vec<u8>,
    bytes_min: usize,
    sizes: u64,
}

/// What follows from key and version.
struct Shape {
    bytes: usize,
    window: usize,
    mask: u64,
}

impl Content {
    /// Sizes are drawn evenly from `value_bytes`, whose end is at most `VALUE_BYTES_MAX`, and which
    /// lies on one side of `HEAD_BYTES`.
    pub(crate) fn new(value_bytes: &RangeInclusive<usize>) -> Self {
        let mut random = Random::new(POOL_SEED);
        let words = (0..POOL_BYTES / WORD_BYTES).flat_map(|_| random.next_u64().to_le_bytes());
        Self {
            pool: words.collect(),
            bytes_min: *value_bytes.start(),
            sizes: (value_bytes.end() - value_bytes.start()) as u64 + 1,
        }
    }

    fn has_head(&self) -> bool {
        self.bytes_min >= HEAD_BYTES
    }

    fn shape(&self, key: u64, version: u64) -> Shape {
        let hash = mix(mix(key ^ POOL_SEED) ^ version);
        let start = (hash % WINDOW_STARTS) as usize * WORD_BYTES;
        let size = ((u128::from(mix(hash)) * u128::from(self.sizes)) >> 64) as usize;
        Shape {
            bytes: self.bytes_min + size,
            window: start,
            mask: mix(hash ^ POOL_SEED),
        }
    }

    fn version_kept(&self, version: u64) -> u64 {
        if self.has_head() { version } else { 0 }
    }

    /// Bytes of the value of `key` at `version`.
    pub(crate) fn bytes(&self, key: u64, version: u64) -> usize {
        self.shape(key, self.version_kept(version)).bytes
    }

    /// Appends the value of `key` at `version`.
    pub(crate) fn write(&self, key: u64, version: u64, out: &mut Vec<u8>) {
        let version = self.version_kept(version);
        let Shape {
            bytes,
            window,
            mask,
        } = self.shape(key, version);
        let start = out.len();
        out.extend_from_slice(&self.pool[window..window + bytes]);
        let value = &mut out[start..];
        let (words, rest) = value.as_chunks_mut::<WORD_BYTES>();
        for word in words {
            *word = (u64::from_le_bytes(*word) ^ mask).to_le_bytes();
        }
        for (byte, mask) in rest.iter_mut().zip(mask.to_le_bytes()) {
            *byte ^= mask;
        }
        if self.has_head() {
            value[..WORD_BYTES].copy_from_slice(&key.to_le_bytes());
            value[WORD_BYTES..HEAD_BYTES].copy_from_slice(&version.to_le_bytes());
        }
    }

    /// Whether `value` is, to the last byte, one that was written for `key`.
    pub(crate) fn is_of(&self, key: u64, value: &[u8]) -> bool {
        let mut version = 0;
        let mut checked = 0;
        if self.has_head() {
            let Some((head, _)) = value.split_first_chunk::<HEAD_BYTES>() else {
                return false;
            };
            let (found_key, found_version) = head.split_at(WORD_BYTES);
            if found_key != key.to_le_bytes() {
                return false;
            }
            version = u64::from_le_bytes(found_version.try_into().expect("half of the head"));
            checked = HEAD_BYTES;
        }
        let Shape {
            bytes,
            window,
            mask,
        } = self.shape(key, version);
        bytes == value.len()
            && is_masked(
                &value[checked..],
                &self.pool[window + checked..window + bytes],
                mask,
            )
    }
}

/// Whether `found` is `plain` xored with the mask, word by word. Both are as long.
fn is_masked(found: &[u8], plain: &[u8], mask: u64) -> bool {
    let (found_words, found_rest) = found.as_chunks::<WORD_BYTES>();
    let (plain_words, plain_rest) = plain.as_chunks::<WORD_BYTES>();
    let mut difference = 0;
    for (found, plain) in found_words.iter().zip(plain_words) {
        difference |= u64::from_le_bytes(*found) ^ u64::from_le_bytes(*plain) ^ mask;
    }
    let mut rest = found_rest.iter().zip(plain_rest).zip(mask.to_le_bytes());
    difference == 0 && rest.all(|((found, plain), mask)| *found == plain ^ mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(content: &Content, key: u64, version: u64) -> Vec<u8> {
        let mut value = Vec::new();
        content.write(key, version, &mut value);
        value
    }

    #[test]
    fn a_value_is_told_from_every_other() {
        let content = Content::new(&(16..=300));
        for key in 0..200 {
            let mut found = value(&content, key, key * 3);
            assert_eq!(found.len(), content.bytes(key, key * 3));
            assert!(content.is_of(key, &found));
            assert!(!content.is_of(key + 1, &found));
            let last = found.len() - 1;
            for at in [0, 8, 15, last / 2, last] {
                found[at] ^= 0x10;
                assert!(!content.is_of(key, &found), "byte {at} of {last}");
                found[at] ^= 0x10;
            }
            assert!(!content.is_of(key, &found[..last]));
            found.push(0);
            assert!(!content.is_of(key, &found));
        }
        assert!(!content.is_of(1, b""));
    }

    #[test]
    fn half_of_one_version_and_half_of_another_is_no_value() {
        let content = Content::new(&(1000..=1000));
        let mut mixed = value(&content, 5, 1);
        mixed[500..].copy_from_slice(&value(&content, 5, 2)[500..]);
        assert!(!content.is_of(5, &mixed));
    }

    #[test]
    fn values_without_room_for_a_head_follow_from_their_key() {
        let content = Content::new(&(3..=3));
        assert_eq!(value(&content, 1, 1), value(&content, 1, 2));
        assert!(content.is_of(1, &value(&content, 1, 9)));
        assert!(!content.is_of(2, &value(&content, 1, 9)));
    }

    #[test]
    fn sizes_are_spread_over_the_range() {
        let content = Content::new(&(1000..=4000));
        let sizes: Vec<usize> = (0..10_000).map(|key| content.bytes(key, 1)).collect();
        let mean = sizes.iter().sum::<usize>() / sizes.len();
        assert!((2450..2550).contains(&mean), "{mean}");
        assert!(*sizes.iter().min().unwrap() < 1010 && *sizes.iter().max().unwrap() > 3990);
        assert!(sizes.iter().all(|size| (1000..=4000).contains(size)));
    }

    #[test]
    fn bytes_are_spread_evenly_and_do_not_repeat_across_values() {
        let content = Content::new(&(4000..=4000));
        let all: Vec<u8> = (0..500).flat_map(|key| value(&content, key, 1)).collect();
        let mut counts = [0_u32; 256];
        for byte in &all {
            counts[usize::from(*byte)] += 1;
        }
        // 2,000,000 bytes: 7812 of each on average, plus the zeros of 500 heads.
        assert!(counts[1..].iter().all(|count| (7300..8800).contains(count)));
        let mut words: Vec<&[u8]> = all
            .chunks_exact(8)
            .enumerate()
            .filter(|(index, _)| index % 500 > 1)
            .map(|(_, word)| word)
            .collect();
        words.sort_unstable();
        let repeated = words.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert_eq!(repeated, 0);
    }
}
