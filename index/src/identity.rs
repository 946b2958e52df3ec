//! The 86-bit identity that stands for a key in the index, and the keyed hash that makes it.
//!
//! Owns the split of the hash into partition and tag, and the identity's stored form. Must never
//! let a key and a collection's page share a hash input.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};

/// Bits of an identity that choose its partition. Fewer under Miri and loom: each partition begins
/// with a bucket, and 16,384 of them take Miri minutes.
pub const PARTITION_BITS: u32 = if cfg!(loom) {
    1
} else if cfg!(miri) {
    4
} else {
    14
};
/// Partitions of the index: as many as Redis has hash slots.
pub const PARTITION_COUNT: u32 = 1 << PARTITION_BITS;
/// Bits of an identity that its entry stores.
pub const TAG_BITS: u32 = 72;
/// Bits that tell two keys apart; `docs/index.md` has the arithmetic.
pub const IDENTITY_BITS: u32 = PARTITION_BITS + TAG_BITS;

const _: () = assert!(IDENTITY_BITS >= 86 || cfg!(any(miri, loom)));

/// Where the partition begins in `Identity::high`, above the tag's topmost 8 bits.
const PARTITION_SHIFT: u32 = 8;
const HIGH_BITS: u32 = PARTITION_SHIFT + PARTITION_BITS;

const _: () = assert!(HIGH_BITS + 64 == IDENTITY_BITS);

/// What the index knows of a key: its partition and its tag.
///
/// Two keys with one identity would be taken for each other, so the record's full key is always
/// compared after a read. The order is by partition first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Identity {
    /// Partition, then the tag's topmost 8 bits.
    high: u32,
    /// Tag bits 32 to 63.
    middle: u32,
    /// Tag bits 0 to 31: linear hashing takes its bucket from these.
    low: u32,
}

impl Identity {
    /// Bytes of an identity at rest.
    pub const BYTES: usize = 12;

    /// The partition, below [`PARTITION_COUNT`].
    #[inline]
    pub fn partition(&self) -> u16 {
        (self.high >> PARTITION_SHIFT) as u16
    }

    /// The same tag in another partition: for stores whose partitions are hash slots, which come
    /// from the key's `{tag}` and not from this hash.
    ///
    /// Keys of one slot are then told apart by the tag's 72 bits alone.
    #[must_use]
    pub fn in_partition(self, partition: u16) -> Self {
        assert!(
            u32::from(partition) < PARTITION_COUNT,
            "a partition fits its 14 bits"
        );
        Self {
            high: u32::from(partition) << PARTITION_SHIFT | self.top(),
            ..self
        }
    }

    /// The stored form: 96 bits, little-endian, the 10 highest bits zero.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0..4].copy_from_slice(&self.low.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.middle.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.high.to_le_bytes());
        bytes
    }

    /// Reads the stored form back; `None` where a bit that must be zero is set.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<4>();
        let high = u32::from_le_bytes(words[2]);
        (high >> HIGH_BITS == 0).then(|| Self {
            high,
            middle: u32::from_le_bytes(words[1]),
            low: u32::from_le_bytes(words[0]),
        })
    }

    /// Puts an identity together again from what the table holds of it.
    #[inline]
    pub(crate) fn from_tag(partition: u16, low: u32, middle: u32, top: u32) -> Self {
        Self {
            high: u32::from(partition) << PARTITION_SHIFT | (top & 0xff),
            middle,
            low,
        }
    }

    #[inline]
    pub(crate) fn low(self) -> u32 {
        self.low
    }

    #[inline]
    pub(crate) fn middle(self) -> u32 {
        self.middle
    }

    /// The tag's topmost 8 bits.
    #[inline]
    pub(crate) fn top(self) -> u32 {
        self.high & 0xff
    }
}

/// The input's first word carries one of these in its upper half, so that no key's input is ever
/// a page's.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Domain {
    Key = 0,
    Page = 1,
}

/// Makes identities: SipHash-1-3 with 128 bits of result, keyed by the store's own seed.
///
/// A pseudo-random function, not a seeded checksum: here a collision that a client can provoke
/// would take one key for another.
#[derive(Clone, Debug)]
pub struct Hasher {
    keyed: SipHasher13,
}

impl Hasher {
    /// `seed` is random, made once per store and kept in its superblock.
    pub fn new(seed: [u8; 16]) -> Self {
        Self {
            keyed: SipHasher13::new_with_key(&seed),
        }
    }

    /// The identity of `key` in the internal database `database`.
    #[inline]
    pub fn key(&self, database: u32, key: &[u8]) -> Identity {
        let mut state = self.start(Domain::Key, database);
        state.write(key);
        Self::finish(&state)
    }

    /// The identity of page number `page` of the collection `collection`.
    #[inline]
    pub fn page(&self, collection: u64, page: u32) -> Identity {
        let mut state = self.start(Domain::Page, page);
        state.write(&collection.to_le_bytes());
        Self::finish(&state)
    }

    #[inline]
    fn start(&self, domain: Domain, number: u32) -> SipHasher13 {
        let word = u64::from(domain as u32) << 32 | u64::from(number);
        let mut state = self.keyed;
        state.write(&word.to_le_bytes());
        state
    }

    #[inline]
    fn finish(state: &SipHasher13) -> Identity {
        let hash = state.finish128();
        Identity {
            high: hash.h2 as u32 & ((1 << HIGH_BITS) - 1),
            middle: (hash.h1 >> 32) as u32,
            low: hash.h1 as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hasher() -> Hasher {
        Hasher::new(*b"0123456789abcdef")
    }

    #[test]
    fn stored_form_round_trips() {
        for number in 0..100_u32 {
            let id = hasher().key(number, b"key");
            assert_eq!(Identity::from_bytes(id.to_bytes()), Some(id));
            assert!(u32::from(id.partition()) < PARTITION_COUNT);
            let rebuilt = Identity::from_tag(id.partition(), id.low(), id.middle(), id.top());
            assert_eq!(rebuilt, id);
        }
    }

    #[test]
    fn stored_form_refuses_bits_beyond_86() {
        let mut bytes = [0xff; Identity::BYTES];
        assert_eq!(Identity::from_bytes(bytes), None);
        bytes[11] = 0;
        assert_eq!(Identity::from_bytes(bytes), None);
        let high = (1_u32 << HIGH_BITS) - 1;
        bytes[8..].copy_from_slice(&high.to_le_bytes());
        let partition = Identity::from_bytes(bytes).unwrap().partition();
        assert_eq!(u32::from(partition), PARTITION_COUNT - 1);
    }

    #[test]
    fn a_page_is_not_the_key_with_the_same_bytes() {
        let collection = 77_u64;
        assert_ne!(
            hasher().page(collection, 5),
            hasher().key(5, &collection.to_le_bytes())
        );
    }

    #[test]
    fn database_collection_page_and_seed_all_count() {
        let id = hasher().key(1, b"key");
        assert_ne!(id, hasher().key(2, b"key"));
        assert_ne!(id, hasher().key(1, b"kez"));
        assert_ne!(id, Hasher::new([0; 16]).key(1, b"key"));
        assert_ne!(hasher().page(1, 2), hasher().page(2, 2));
        assert_ne!(hasher().page(1, 2), hasher().page(1, 3));
    }

    /// Logs hold identities: these must never change.
    #[test]
    fn identities_are_frozen() {
        let check = |id: Identity, expected: u128| {
            let mut bytes = [0; 16];
            bytes[..Identity::BYTES].copy_from_slice(&id.to_bytes());
            let expected = expected & ((1 << IDENTITY_BITS) - 1);
            assert_eq!(u128::from_le_bytes(bytes), expected);
        };
        check(hasher().key(0, b""), 0x0002_0cc4_479f_f9bf_2344_eb7b);
        check(
            hasher().key(7, b"user:1000"),
            0x002d_8310_89df_1d13_0fef_8e1b,
        );
        check(hasher().page(1 << 40, 9), 0x0025_461b_d814_7944_859d_b03f);
    }
}
