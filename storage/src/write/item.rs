//! Items: writes with their bytes in the form in which they go to the log.

use std::rc::Rc;

use bytes::Bytes;
use cellar_index::Identity;

use crate::database::DbRef;
use crate::error::StoreError;
use crate::format::page::ROOT_BYTES;
use crate::format::{Kind, RecordDraft, RootValue};
use crate::options::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::paged::Collection;
use crate::value::{Encoding, ValueType};
use crate::worker::Worker;
use crate::write::{Effect, Prepared};

/// What an item does to its key.
enum Body {
    Inline {
        value: Bytes,
        encoding: Encoding,
    },
    Root {
        value: [u8; ROOT_BYTES],
        collection: Collection,
    },
    Remove {
        identity: [u8; Identity::BYTES],
    },
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
    /// Sets a key to a value that fits a record.
    pub(crate) fn inline(
        worker: &Worker,
        (database, key): (DbRef, Bytes),
        (value, encoding): (Bytes, Encoding),
        expiry_ms: Option<u64>,
    ) -> Self {
        let identity = worker.identify(database, &key);
        Self {
            identity,
            database,
            key,
            expiry_ms,
            body: Body::Inline { value, encoding },
        }
    }

    /// Sets a key to the value whose pages `root` names.
    pub(crate) fn root(
        worker: &Worker,
        (database, key): (DbRef, Bytes),
        root: RootValue,
        expiry_ms: Option<u64>,
    ) -> Self {
        let identity = worker.identify(database, &key);
        let collection = Collection::of(&root);
        let body = Body::Root {
            value: root.encode(),
            collection,
        };
        Self {
            identity,
            database,
            key,
            expiry_ms,
            body,
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
        let put = |value, encoding| {
            let draft = RecordDraft::new(Kind::Put, &self.key, value).database(id);
            draft.typed(ValueType::String, encoding).expiry(expiry_ms)
        };
        let (draft, effect) = match &self.body {
            Body::Inline { value, encoding } => (
                put(value, *encoding),
                Effect::Put {
                    value_type: ValueType::String,
                    expiry_ms,
                    root: None,
                },
            ),
            Body::Root { value, collection } => (
                put(value, Encoding::Raw).paged(),
                Effect::Put {
                    value_type: ValueType::String,
                    expiry_ms,
                    root: Some(*collection),
                },
            ),
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

impl Worker {
    /// Commits items together.
    pub(crate) async fn commit_items(
        self: &Rc<Self>,
        items: &[Item],
        terms: crate::write::Terms<'_>,
    ) -> Result<crate::write::Outcome, StoreError> {
        let writes: Vec<_> = items.iter().map(Item::prepare).collect();
        self.commit_prepared(&writes, terms).await
    }
}
