//! The root of a collection: the record that bears its key. Owns the layout of what the store
//! itself needs of it; the detail behind that is for whoever owns the type, and is opaque here.

use bytes::{BufMut, Bytes, BytesMut};

use super::error::FormatError;
use super::field::{Field, is_dense};
use super::page::{PAGES_MAX, RootValue};
use super::value::ValueType;
use crate::units::CollectionId;

/// The fixed part of a collection's root, in bytes.
pub const COLLECTION_ROOT_BYTES: usize = 16;

const COLLECTION: Field = Field::new("collection", 0, 8);
const PAGE_COUNT: Field = Field::new("page_count", 8, 4);
const RESERVED: Field = Field::new("reserved", 12, 4);

/// A collection's root, field by field; its detail follows.
pub const COLLECTION_ROOT_LAYOUT: &[Field] = &[COLLECTION, PAGE_COUNT, RESERVED];

const _: () = assert!(is_dense(COLLECTION_ROOT_LAYOUT, COLLECTION_ROOT_BYTES));

/// The value of a paged record that is no string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionRoot {
    /// Whose pages hold the value.
    pub collection: CollectionId,
    /// Pages 0 to this, exclusively, may exist; at most [`PAGES_MAX`].
    pub page_count: u32,
    /// What the value's type keeps in its root.
    pub detail: Bytes,
}

impl CollectionRoot {
    /// Its bytes.
    pub fn encode(&self) -> Bytes {
        let mut fixed = [0; COLLECTION_ROOT_BYTES];
        COLLECTION.put_u64(&mut fixed, self.collection.get());
        PAGE_COUNT.put_u32(&mut fixed, self.page_count);
        let mut bytes = BytesMut::with_capacity(COLLECTION_ROOT_BYTES + self.detail.len());
        bytes.put_slice(&fixed);
        bytes.put_slice(&self.detail);
        bytes.freeze()
    }

    /// What such bytes mean; the detail shares them.
    pub fn decode(bytes: &Bytes) -> Result<Self, FormatError> {
        let (collection, page_count) = decode_fixed(bytes)?;
        Ok(Self {
            collection,
            page_count,
            detail: bytes.slice(COLLECTION_ROOT_BYTES..),
        })
    }
}

fn decode_fixed(bytes: &[u8]) -> Result<(CollectionId, u32), FormatError> {
    if bytes.len() < COLLECTION_ROOT_BYTES {
        return Err(FormatError::Truncated {
            needed: COLLECTION_ROOT_BYTES,
            found: bytes.len(),
        });
    }
    let page_count = PAGE_COUNT.get_u32(bytes);
    if page_count > PAGES_MAX {
        return Err(PAGE_COUNT.malformed());
    }
    if RESERVED.get_u32(bytes) != 0 {
        return Err(RESERVED.malformed());
    }
    Ok((CollectionId::new(COLLECTION.get_u64(bytes)), page_count))
}

/// The collection that the root of a value of this type names.
pub fn collection_of(value_type: ValueType, root: &[u8]) -> Result<CollectionId, FormatError> {
    match value_type {
        ValueType::String => Ok(RootValue::decode(root)?.collection),
        ValueType::List
        | ValueType::Set
        | ValueType::SortedSet
        | ValueType::Hash
        | ValueType::Stream
        | ValueType::TimedHash => Ok(decode_fixed(root)?.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_comes_back_and_a_wrong_one_is_refused() {
        let root = CollectionRoot {
            collection: CollectionId::new(7),
            page_count: PAGES_MAX,
            detail: Bytes::from_static(b"detail"),
        };
        let bytes = root.encode();
        assert_eq!(CollectionRoot::decode(&bytes), Ok(root));
        assert_eq!(
            collection_of(ValueType::Set, &bytes),
            Ok(CollectionId::new(7))
        );
        let short = bytes.slice(..COLLECTION_ROOT_BYTES - 1);
        assert!(CollectionRoot::decode(&short).is_err());
        for (place, field) in [(11, "page_count"), (12, "reserved")] {
            let mut wrong = bytes.to_vec();
            wrong[place] = 2;
            let found = CollectionRoot::decode(&Bytes::from(wrong));
            assert_eq!(found, Err(FormatError::Malformed { field }));
        }
    }
}
