//! From a changed value to the batch that writes it: the same for all types.
//!
//! Owns that a value without elements is no key.

use bytes::Bytes;
use cellar_storage::{
    Db, Encoding, Handle, StoreError, TypedValue, ValueBody, ValueType, WriteBatch,
};

use super::pages::Pages;

/// The key that gets a value, and what is known of the value beside its elements.
pub(crate) struct Target<'k> {
    pub(crate) db: Db,
    pub(crate) key: &'k Bytes,
    pub(crate) value_type: ValueType,
    pub(crate) encoding: Encoding,
    pub(crate) expiry_ms: Option<u64>,
}

/// Where the elements of a value are.
pub(crate) enum Parts {
    /// There are none.
    Nothing,
    /// In the key's record: these bytes.
    Compact(Bytes),
    /// In these pages, to which the root leads by what it keeps behind their header.
    Paged {
        pages: Box<Pages>,
        structure: Vec<u8>,
    },
}

/// Adds to `batch` what gives the key these elements. Without any the key is removed.
pub(crate) async fn put(
    store: &Handle,
    batch: &mut WriteBatch,
    target: Target<'_>,
    parts: Parts,
) -> Result<(), StoreError> {
    let body = match parts {
        Parts::Nothing => {
            batch.remove(target.db, target.key.clone());
            return Ok(());
        }
        Parts::Compact(bytes) => ValueBody::Inline(bytes),
        Parts::Paged { pages, structure } => {
            ValueBody::Root(pages.into_root(batch, store, &structure).await?)
        }
    };
    let value = TypedValue {
        value_type: target.value_type,
        encoding: target.encoding,
        body,
    };
    batch.put(target.db, target.key.clone(), value, target.expiry_ms);
    Ok(())
}
