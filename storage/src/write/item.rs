//! Items: writes with their bytes in the form in which they go to the log.

use bytes::Bytes;
use cellar_index::Identity;

use crate::database::DbRef;
use crate::error::StoreError;
use crate::format::page::PAGES_MAX;
use crate::format::{CollectionRoot, Kind, RecordDraft, RootValue};
use crate::options::{INLINE_BYTES_MAX, KEY_BYTES_MAX, ROOT_DETAIL_BYTES_MAX, VALUE_BYTES_MAX};
use crate::paged::Collection;
use crate::value::{Encoding, ValueType};
use crate::worker::Worker;
use crate::write::{Effect, Prepared};

/// What a key's record says.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    value: Bytes,
    value_type: ValueType,
    encoding: Encoding,
    /// The collection whose root the value is.
    root: Option<Collection>,
}

impl Content {
    /// Bytes that the record holds beside its key.
    pub(crate) fn len(&self) -> usize {
        self.value.len()
    }

    /// A value that fits a record.
    pub(crate) fn inline(value: Bytes, value_type: ValueType, encoding: Encoding) -> Self {
        Self {
            value,
            value_type,
            encoding,
            root: None,
        }
    }

    /// The string whose pages `root` names.
    pub(crate) fn string(root: &RootValue) -> Self {
        Self {
            value: Bytes::copy_from_slice(&root.encode()),
            value_type: ValueType::String,
            encoding: Encoding::Raw,
            root: Some(Collection::of(root)),
        }
    }

    /// The value of another type whose pages `root` names.
    pub(crate) fn collection(
        root: &CollectionRoot,
        value_type: ValueType,
        encoding: Encoding,
    ) -> Self {
        Self {
            value: root.encode(),
            value_type,
            encoding,
            root: Some(Collection::of_root(root)),
        }
    }
}

/// What an item does to its key.
enum Body {
    Put(Content),
    Remove { identity: [u8; Identity::BYTES] },
}

/// A write that owns its bytes.
pub(crate) struct Item {
    identity: Identity,
    database: DbRef,
    key: Bytes,
    expiry_ms: Option<u64>,
    body: Body,
}

impl Item {
    /// Sets a key.
    pub(crate) fn put(
        worker: &Worker,
        (database, key): (DbRef, Bytes),
        content: Content,
        expiry_ms: Option<u64>,
    ) -> Self {
        let identity = worker.identify(database, &key);
        Self {
            identity,
            database,
            key,
            expiry_ms,
            body: Body::Put(content),
        }
    }

    /// Removes a key.
    pub(crate) fn remove(worker: &Worker, (database, key): (DbRef, Bytes)) -> Self {
        let identity = worker.identify(database, &key);
        let body = Body::Remove {
            identity: identity.to_bytes(),
        };
        Self {
            identity,
            database,
            key,
            expiry_ms: None,
            body,
        }
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// Ready for the commit: with its payload's checksum.
    pub(crate) fn prepare(&self) -> Prepared<'_> {
        let (id, expiry_ms) = (self.database.id, self.expiry_ms);
        let (draft, effect) = match &self.body {
            Body::Put(content) => {
                let draft = RecordDraft::new(Kind::Put, &self.key, &content.value)
                    .database(id)
                    .typed(content.value_type, content.encoding)
                    .expiry(expiry_ms);
                let effect = Effect::Put {
                    value_type: content.value_type,
                    expiry_ms,
                    root: content.root,
                };
                let draft = match content.root {
                    Some(_) => draft.paged(),
                    None => draft,
                };
                (draft, effect)
            }
            Body::Remove { identity } => (
                RecordDraft::new(Kind::Tombstone, identity, &[]).database(id),
                Effect::Remove { only_at: None },
            ),
        };
        Prepared {
            identity: self.identity,
            database: Some(self.database),
            draft,
            effect,
        }
    }
}

/// Refuses keys that no record can hold.
pub(crate) fn check_key(key: &[u8]) -> Result<(), StoreError> {
    if key.len() > KEY_BYTES_MAX {
        return Err(StoreError::KeyTooLong {
            bytes: key.len(),
            bytes_max: KEY_BYTES_MAX,
        });
    }
    Ok(())
}

/// Refuses values beyond Redis's bound.
pub(crate) fn check_value(bytes: u64) -> Result<(), StoreError> {
    if bytes > VALUE_BYTES_MAX {
        return Err(StoreError::ValueTooLong {
            bytes,
            bytes_max: VALUE_BYTES_MAX,
        });
    }
    Ok(())
}

/// Refuses values that no record of a key holds.
pub(crate) fn check_inline(bytes: usize) -> Result<(), StoreError> {
    check_bytes(bytes, INLINE_BYTES_MAX)
}

/// Refuses details that do not fit a root.
pub(crate) fn check_detail(bytes: usize) -> Result<(), StoreError> {
    check_bytes(bytes, ROOT_DETAIL_BYTES_MAX)
}

/// Refuses pages that no record holds, or that lie beyond all pages of a collection.
pub(crate) fn check_page(page_number: u32, bytes: usize) -> Result<(), StoreError> {
    if page_number >= PAGES_MAX {
        return Err(StoreError::TooManyPages {
            page_count_max: PAGES_MAX,
        });
    }
    check_bytes(bytes, INLINE_BYTES_MAX)
}

fn check_bytes(bytes: usize, bytes_max: usize) -> Result<(), StoreError> {
    if bytes > bytes_max {
        let (bytes, bytes_max) = (bytes as u64, bytes_max as u64);
        return Err(StoreError::ValueTooLong { bytes, bytes_max });
    }
    Ok(())
}
