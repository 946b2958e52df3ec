//! Values that lie in pages: the key of a page, and the root that stands in for the value. Owns
//! both layouts; how pages are used is for those who write them.

use super::error::FormatError;
use super::field::{Field, is_dense};
use super::record::RECORD_BYTES_MAX;
use crate::options::VALUE_BYTES_MAX;
use crate::units::CollectionId;

/// Pages of a collection at most: 64 GiB in pages of 4 KiB. Whoever looks for pages by their
/// numbers comes to an end.
pub const PAGES_MAX: u32 = 1 << 24;

/// Pages of a string at most: the longest one in pages of 512 bytes.
pub const STRING_PAGES_MAX: u32 = 1 << 20;
const _: () = assert!(STRING_PAGES_MAX <= PAGES_MAX);

/// A page's key, in bytes.
pub const PAGE_KEY_BYTES: usize = 12;

const KEY_COLLECTION: Field = Field::new("collection", 0, 8);
const KEY_PAGE_NUMBER: Field = Field::new("page_number", 8, 4);

/// A page's key, field by field.
pub const PAGE_KEY_LAYOUT: &[Field] = &[KEY_COLLECTION, KEY_PAGE_NUMBER];

const _: () = assert!(is_dense(PAGE_KEY_LAYOUT, PAGE_KEY_BYTES));

/// Under which key a page is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageKey {
    /// Its collection.
    pub collection: CollectionId,
    /// Its number within.
    pub page_number: u32,
}

impl PageKey {
    /// The key's bytes.
    pub fn encode(&self) -> [u8; PAGE_KEY_BYTES] {
        let mut bytes = [0; PAGE_KEY_BYTES];
        KEY_COLLECTION.put_u64(&mut bytes, self.collection.get());
        KEY_PAGE_NUMBER.put_u32(&mut bytes, self.page_number);
        bytes
    }

    /// What such bytes mean.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        expect_length(bytes, PAGE_KEY_BYTES)?;
        let page_number = KEY_PAGE_NUMBER.get_u32(bytes);
        if page_number >= PAGES_MAX {
            return Err(KEY_PAGE_NUMBER.malformed());
        }
        Ok(Self {
            collection: CollectionId::new(KEY_COLLECTION.get_u64(bytes)),
            page_number,
        })
    }
}

/// A root, in bytes.
pub const ROOT_BYTES: usize = 24;

const COLLECTION: Field = Field::new("collection", 0, 8);
const VALUE_BYTES: Field = Field::new("value_bytes", 8, 8);
const PAGE_BYTES: Field = Field::new("page_bytes", 16, 4);
const RESERVED: Field = Field::new("reserved", 20, 4);

/// A root, field by field.
pub const ROOT_LAYOUT: &[Field] = &[COLLECTION, VALUE_BYTES, PAGE_BYTES, RESERVED];

const _: () = assert!(is_dense(ROOT_LAYOUT, ROOT_BYTES));

/// The value of a paged string's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootValue {
    /// Whose pages hold the value.
    pub collection: CollectionId,
    /// Length of the whole value in bytes.
    pub value_bytes: u64,
    /// Bytes of the value in each page but the last; at least 1, and no more than a record has.
    pub page_bytes: u32,
}

impl RootValue {
    /// Its bytes.
    pub fn encode(&self) -> [u8; ROOT_BYTES] {
        let mut bytes = [0; ROOT_BYTES];
        COLLECTION.put_u64(&mut bytes, self.collection.get());
        VALUE_BYTES.put_u64(&mut bytes, self.value_bytes);
        PAGE_BYTES.put_u32(&mut bytes, self.page_bytes);
        bytes
    }

    /// What such bytes mean.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        expect_length(bytes, ROOT_BYTES)?;
        let root = Self {
            collection: CollectionId::new(COLLECTION.get_u64(bytes)),
            value_bytes: VALUE_BYTES.get_u64(bytes),
            page_bytes: PAGE_BYTES.get_u32(bytes),
        };
        if !(1..=RECORD_BYTES_MAX).contains(&root.page_bytes) {
            return Err(PAGE_BYTES.malformed());
        }
        let is_possible = root.value_bytes <= VALUE_BYTES_MAX;
        if !is_possible || root.page_count() > u64::from(STRING_PAGES_MAX) {
            return Err(VALUE_BYTES.malformed());
        }
        if RESERVED.get_u32(bytes) != 0 {
            return Err(RESERVED.malformed());
        }
        Ok(root)
    }

    /// Pages that the value has: at most [`STRING_PAGES_MAX`] of a root that was read.
    pub fn page_count(&self) -> u64 {
        self.value_bytes.div_ceil(u64::from(self.page_bytes))
    }
}

/// Fixed structures inside records have exactly their length.
pub(super) fn expect_length(bytes: &[u8], needed: usize) -> Result<(), FormatError> {
    if bytes.len() == needed {
        Ok(())
    } else {
        Err(FormatError::Truncated {
            needed,
            found: bytes.len(),
        })
    }
}
