//! What a dict keeps outside its pages, in the root of its collection: 32 bytes.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | seed of the hash |
//! | 8 | 8 | entries |
//! | 16 | 8 | bytes of all entries in their pages |
//! | 24 | 4 | buckets, at least 1 |
//! | 28 | 4 | version of the format, 1 |
//!
//! Owns the arithmetic of linear hashing: which bucket a hash belongs to, and how the buckets
//! follow each other when the table grows.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::collections::Malformed;

/// The version of the format.
const VERSION: u32 = 1;

/// Buckets at most: bucket `i` is page `2 * i`, and page numbers have 32 bits.
const BUCKET_COUNT_MAX: u32 = 1 << 31;

/// Everything about a dict that is not in its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Keys the hash.
    pub(super) seed: u64,
    /// Entries.
    pub(super) count: u64,
    /// Bytes of all entries in their pages.
    pub(super) bytes: u64,
    buckets: u32,
}

impl Header {
    /// Bytes of the stored form.
    pub(super) const BYTES: usize = 32;

    /// A dict of empty buckets.
    pub(super) fn new(seed: u64, buckets: u32) -> Self {
        Self {
            seed,
            count: 0,
            bytes: 0,
            buckets: buckets.clamp(1, BUCKET_COUNT_MAX),
        }
    }

    /// The stored form.
    pub(super) fn encode(self) -> [u8; Self::BYTES] {
        let mut stored = [0; Self::BYTES];
        stored[..8].copy_from_slice(&self.seed.to_le_bytes());
        stored[8..16].copy_from_slice(&self.count.to_le_bytes());
        stored[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        stored[24..28].copy_from_slice(&self.buckets.to_le_bytes());
        stored[28..].copy_from_slice(&VERSION.to_le_bytes());
        stored
    }

    /// What was stored.
    pub(super) fn decode(stored: &[u8]) -> Result<Self, Malformed> {
        let (words, []) = stored.as_chunks::<8>() else {
            return Err(Malformed("the header of a hash table"));
        };
        let [seed, count, bytes, last] = words else {
            return Err(Malformed("the header of a hash table"));
        };
        let last = u64::from_le_bytes(*last);
        let (buckets, version) = (last as u32, (last >> 32) as u32);
        if version != VERSION || buckets == 0 || buckets > BUCKET_COUNT_MAX {
            return Err(Malformed("the version or size of a hash table"));
        }
        Ok(Self {
            seed: u64::from_le_bytes(*seed),
            count: u64::from_le_bytes(*count),
            bytes: u64::from_le_bytes(*bytes),
            buckets,
        })
    }

    /// How many buckets there are.
    pub(super) fn buckets(self) -> u32 {
        self.buckets
    }

    /// SipHash-1-3 of a key: a client that does not know the seed cannot fill one bucket.
    pub(super) fn hash(self, key: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.seed, !self.seed);
        hasher.write(key);
        hasher.finish()
    }

    /// How many of a hash's low bits tell the bucket where all buckets of this round are split.
    fn level(self) -> u32 {
        self.buckets.ilog2()
    }

    /// The bucket of a hash.
    pub(super) fn bucket_of(self, hash: u64) -> u32 {
        let (level, hash) = (self.level(), hash as u32);
        // of 2^level buckets the first `buckets - 2^level` are split: those take one bit more
        let wide = hash & (u32::MAX >> (31 - level));
        if wide < self.buckets {
            wide
        } else {
            wide & !(1 << level)
        }
    }

    /// How many of the low bits all hashes in a bucket have in common.
    pub(super) fn bits_of(self, bucket: u32) -> u32 {
        let level = self.level();
        let split = self.buckets - (1 << level);
        let is_split = bucket & !(1 << level) < split;
        level + u32::from(is_split)
    }

    /// Adds a bucket: which one is to be divided, and the new one that takes a part of it.
    pub(super) fn split(&mut self) -> Option<(u32, u32)> {
        if self.buckets == BUCKET_COUNT_MAX {
            return None;
        }
        let new = self.buckets;
        let divided = new - (1 << self.level());
        self.buckets += 1;
        Some((divided, new))
    }

    /// Takes the last bucket away: which one takes its entries, and the one that goes.
    pub(super) fn merge(&mut self) -> Option<(u32, u32)> {
        if self.buckets == 1 {
            return None;
        }
        self.buckets -= 1;
        let gone = self.buckets;
        Some((gone - (1 << self.level()), gone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_is_frozen() {
        let mut header = Header::new(0x0102_0304_0506_0708, 5);
        (header.count, header.bytes) = (9, 0x1234);
        let stored = header.encode();
        let expected = [
            8, 7, 6, 5, 4, 3, 2, 1, 9, 0, 0, 0, 0, 0, 0, 0, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 5, 0, 0,
            0, 1, 0, 0, 0,
        ];
        assert_eq!(stored, expected);
        assert_eq!(Header::decode(&stored), Ok(header));
        // the hash is part of the format: it says in which page a key lies
        assert_eq!(header.hash(b"key"), 16_732_316_511_068_159_754);
    }

    #[test]
    fn damaged_headers_are_refused() {
        let stored = Header::new(1, 1).encode();
        assert!(Header::decode(&stored[..31]).is_err());
        assert!(Header::decode(&[0; 40]).is_err());
        for (at, byte) in [(24, 0), (28, 2), (27, 0xff)] {
            let mut stored = stored;
            stored[at] = byte;
            assert!(Header::decode(&stored).is_err(), "{at}");
        }
    }

    #[test]
    fn growing_moves_hashes_only_to_the_new_bucket_and_shrinking_undoes_it() {
        let mut header = Header::new(1, 1);
        let hashes: Vec<u64> = (0..500_u32)
            .map(|n| header.hash(&n.to_le_bytes()))
            .collect();
        for _ in 0..200 {
            let before = header;
            let (divided, new) = header.split().unwrap();
            for hash in &hashes {
                let (old, now) = (before.bucket_of(*hash), header.bucket_of(*hash));
                assert!(now == old || old == divided && now == new);
                let mask = (1_u64 << header.bits_of(now)) - 1;
                assert_eq!(u64::from(now), hash & mask);
            }
            let mut back = header;
            assert_eq!(back.merge(), Some((divided, new)));
            assert_eq!(back, before);
        }
        assert_eq!(Header::new(1, 1).merge(), None);
    }
}
