//! An index entry: what a caller sees of it, and its 160 packed bits.
//!
//! Owns the packing. Must never know what a location means: to the index it is a number.
//!
//! | word | bits | holds |
//! |---|---|---|
//! | 0 | 0-31 | tag bits 0-31 (the bucket's number comes from these) |
//! | 1 | 0-31 | tag bits 32-63 |
//! | 2 | 0-7 | tag bits 64-71 |
//! | 2 | 8-12 | database handle |
//! | 2 | 13-15 | value type |
//! | 2 | 16-22 | length class |
//! | 2 | 23 | referenced |
//! | 2 | 24-31 | location bits 32-39 |
//! | 3 | 0-31 | location bits 0-31 |
//! | 4 | 0-31 | expiry in seconds, 0 = none |

use crate::identity::{Identity, TAG_BITS};

/// 32-bit words of a packed entry.
pub(crate) const ENTRY_WORDS: usize = 5;
/// Bytes of a packed entry.
pub const ENTRY_BYTES: usize = ENTRY_WORDS * 4;

const DATABASE_BITS: u32 = 5;
const TYPE_BITS: u32 = 3;
const CLASS_BITS: u32 = 7;
const LOCATION_BITS: u32 = 40;
const EXPIRY_BITS: u32 = 32;

const _: () = assert!(
    TAG_BITS + DATABASE_BITS + TYPE_BITS + CLASS_BITS + 1 + LOCATION_BITS + EXPIRY_BITS
        == ENTRY_WORDS as u32 * 32
);

const DATABASE_SHIFT: u32 = 8;
const TYPE_SHIFT: u32 = DATABASE_SHIFT + DATABASE_BITS;
const CLASS_SHIFT: u32 = TYPE_SHIFT + TYPE_BITS;
const REFERENCED_SHIFT: u32 = CLASS_SHIFT + CLASS_BITS;
const LOCATION_SHIFT: u32 = REFERENCED_SHIFT + 1;

/// The word that holds everything but most of the tag, the location and the expiry.
pub(crate) const MIXED_WORD: usize = 2;
/// The referenced bit within [`MIXED_WORD`].
pub(crate) const REFERENCED: u32 = 1 << REFERENCED_SHIFT;

/// Locations are below this.
pub const LOCATION_END: u64 = 1 << LOCATION_BITS;
/// Length classes are below this.
pub const LENGTH_CLASS_END: u8 = 1 << CLASS_BITS;
/// Database handles are below this.
pub const DATABASE_END: u8 = 1 << DATABASE_BITS;
/// The value type of a collection's page, which is not a key.
pub const VALUE_TYPE_PAGE: u8 = (1 << TYPE_BITS) - 1;

/// What the index holds of one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Where the record is; opaque here, below [`LOCATION_END`].
    pub location: u64,
    /// How long the record is; opaque here, below [`LENGTH_CLASS_END`].
    pub length_class: u8,
    /// Type of the value; [`VALUE_TYPE_PAGE`] marks a page, which is not counted as a key.
    pub value_type: u8,
    /// Handle of the database, below [`DATABASE_END`].
    pub database: u8,
    /// Read since this bit was last cleared; for eviction.
    pub referenced: bool,
    /// Deadline in seconds, rounded up; 0 = none.
    pub expiry_s: u32,
}

/// An entry as the table stores it.
pub(crate) type Packed = [u32; ENTRY_WORDS];

impl Entry {
    /// Whether this is a key that expires (a page's deadline is its root's affair).
    pub(crate) fn is_key(&self) -> bool {
        self.value_type != VALUE_TYPE_PAGE
    }

    pub(crate) fn pack(&self, id: Identity) -> Packed {
        assert!(self.location < LOCATION_END, "a location fits its 40 bits");
        assert!(
            self.length_class < LENGTH_CLASS_END,
            "a length class fits its 7 bits"
        );
        assert!(
            self.value_type <= VALUE_TYPE_PAGE,
            "a value type fits its 3 bits"
        );
        assert!(
            self.database < DATABASE_END,
            "a database handle fits its 5 bits"
        );
        let mixed = id.top()
            | u32::from(self.database) << DATABASE_SHIFT
            | u32::from(self.value_type) << TYPE_SHIFT
            | u32::from(self.length_class) << CLASS_SHIFT
            | u32::from(self.referenced) << REFERENCED_SHIFT
            | ((self.location >> 32) as u32) << LOCATION_SHIFT;
        [
            id.low(),
            id.middle(),
            mixed,
            self.location as u32,
            self.expiry_s,
        ]
    }

    #[inline]
    pub(crate) fn unpack(packed: &Packed) -> Self {
        let mixed = packed[MIXED_WORD];
        Self {
            location: u64::from(mixed >> LOCATION_SHIFT) << 32 | u64::from(packed[3]),
            length_class: (mixed >> CLASS_SHIFT) as u8 & (LENGTH_CLASS_END - 1),
            value_type: (mixed >> TYPE_SHIFT) as u8 & VALUE_TYPE_PAGE,
            database: (mixed >> DATABASE_SHIFT) as u8 & (DATABASE_END - 1),
            referenced: mixed & REFERENCED != 0,
            expiry_s: packed[4],
        }
    }
}

/// The identity of the entry `packed`, found in `partition`.
pub(crate) fn identity_of(partition: u16, packed: &Packed) -> Identity {
    Identity::from_tag(partition, packed[0], packed[1], packed[MIXED_WORD])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hasher;

    fn check(entry: Entry) {
        let id = Hasher::new([7; 16]).key(1, b"key");
        let packed = entry.pack(id);
        assert_eq!(Entry::unpack(&packed), entry);
        assert_eq!(identity_of(id.partition(), &packed), id);
    }

    const ZERO: Entry = Entry {
        location: 0,
        length_class: 0,
        value_type: 0,
        database: 0,
        referenced: false,
        expiry_s: 0,
    };

    #[test]
    fn each_field_keeps_its_bits_to_itself() {
        check(ZERO);
        check(Entry {
            location: LOCATION_END - 1,
            ..ZERO
        });
        check(Entry {
            location: 0x12_3456_789a,
            ..ZERO
        });
        check(Entry {
            length_class: LENGTH_CLASS_END - 1,
            ..ZERO
        });
        check(Entry {
            value_type: VALUE_TYPE_PAGE,
            ..ZERO
        });
        check(Entry {
            database: DATABASE_END - 1,
            ..ZERO
        });
        check(Entry {
            referenced: true,
            ..ZERO
        });
        check(Entry {
            expiry_s: u32::MAX,
            ..ZERO
        });
    }

    #[test]
    #[should_panic(expected = "40 bits")]
    fn a_location_too_large_is_refused() {
        Entry {
            location: LOCATION_END,
            ..ZERO
        }
        .pack(Hasher::new([7; 16]).key(1, b"key"));
    }
}
