//! Values, as clients write them and as the store shows them. Owns their comparison; knows nothing
//! of when anything was written.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use bytes::Bytes;
use cellar_storage::format::collection_root::COLLECTION_ROOT_BYTES;
use cellar_storage::format::page::{PAGE_KEY_BYTES, ROOT_BYTES};
use cellar_storage::format::{class_of, live_bytes, record_bytes};
use cellar_storage::{
    CollectionId, Encoding, Handle, INLINE_BYTES_MAX, Root, Snapshot, StoreError, TypedValue,
    ValueBody, ValueType, WriteBatch,
};

use crate::model::Key;

/// Bytes of a page of a large string: fixed by the format's first version.
const STRING_PAGE_BYTES: usize = 16 << 10;

/// The pages of a collection by their numbers, which its root names one by one.
pub(crate) type Pages = Rc<BTreeMap<u32, Bytes>>;

/// What a key holds, as clients mean it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// A string, in its key's record or in pages.
    Text(Bytes),
    /// A set that lies in its key's record.
    Packed(Bytes),
    /// A hash that lies in pages.
    Paged(Pages),
}

impl Value {
    /// Whether it lies in records of its own.
    pub(crate) fn is_paged(&self) -> bool {
        match self {
            Self::Text(bytes) => bytes.len() > INLINE_BYTES_MAX,
            Self::Packed(_) => false,
            Self::Paged(_) => true,
        }
    }

    /// The string that it is, if it is one.
    pub(crate) fn text(&self) -> Option<&Bytes> {
        match self {
            Self::Text(bytes) => Some(bytes),
            Self::Packed(_) | Self::Paged(_) => None,
        }
    }

    /// The bytes that its records take of segments, rounded up as the store rounds them.
    fn stored_bytes(&self, key_bytes: usize, has_expiry: bool) -> u64 {
        let head = |bytes| rounded(record_bytes(key_bytes, bytes, has_expiry));
        match self {
            Self::Text(bytes) if self.is_paged() => {
                let pages = bytes
                    .chunks(STRING_PAGE_BYTES)
                    .map(|page| page_bytes(page.len()));
                head(ROOT_BYTES) + pages.sum::<u64>()
            }
            Self::Text(bytes) | Self::Packed(bytes) => head(bytes.len()),
            Self::Paged(pages) => {
                let stored = pages.values().map(|page| page_bytes(page.len()));
                head(COLLECTION_ROOT_BYTES + pages.len()) + stored.sum::<u64>()
            }
        }
    }
}

/// What a page takes of its segment.
pub(crate) fn page_bytes(bytes: usize) -> u64 {
    rounded(record_bytes(PAGE_KEY_BYTES, bytes, false))
}

/// What a record takes of its segment.
pub(crate) fn rounded(bytes: u64) -> u64 {
    u64::from(live_bytes(class_of(bytes as u32)))
}

/// A key's value, with its deadline.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) value: Value,
    pub(crate) expiry_ms: Option<u64>,
}

impl Version {
    pub(crate) fn is_visible(&self, now_ms: u64) -> bool {
        self.expiry_ms.is_none_or(|deadline| deadline > now_ms)
    }

    /// The bytes that it takes of segments.
    pub(crate) fn stored_bytes(&self, key: &[u8]) -> u64 {
        self.value.stored_bytes(key.len(), self.expiry_ms.is_some())
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = |bytes: &Bytes| bytes.slice(..bytes.len().min(8));
        match &self.value {
            Value::Text(bytes) => write!(formatter, "{} bytes {:02x?}", bytes.len(), head(bytes)),
            Value::Packed(bytes) => write!(formatter, "{} in a set", bytes.len()),
            Value::Paged(pages) => {
                let pages = pages.iter().map(|(number, page)| (number, head(page)));
                write!(formatter, "pages {:02x?}", pages.collect::<Vec<_>>())
            }
        }?;
        self.expiry_ms
            .map_or(Ok(()), |deadline| write!(formatter, " until {deadline}"))
    }
}

/// What a key holds, expired or not.
pub(crate) type Held = Option<Version>;

/// Whether `found` can be what a key that holds `held` shows at some time within `ms`.
pub(crate) fn shows(held: Option<&Version>, found: Option<&Version>, ms: (u64, u64)) -> bool {
    match found {
        None => held.is_none_or(|version| !version.is_visible(ms.1)),
        Some(_) => held == found && held.is_some_and(|version| version.is_visible(ms.0)),
    }
}

/// Adds the set of a version to a batch, its pages with it.
pub(crate) fn put(handle: &Handle, batch: &mut WriteBatch, key: &Key, version: &Version) {
    let (db, name, expiry_ms) = (key.0, key.1.clone(), version.expiry_ms);
    match &version.value {
        Value::Text(bytes) => {
            batch.set(db, name, bytes.clone(), Encoding::Raw, expiry_ms);
        }
        Value::Packed(bytes) => {
            let packed = TypedValue {
                value_type: ValueType::Set,
                encoding: Encoding::Listpack,
                body: ValueBody::Inline(bytes.clone()),
            };
            batch.put(db, name, packed, expiry_ms);
        }
        Value::Paged(pages) => {
            let new = handle.new_collection();
            for (number, page) in &**pages {
                batch.page(new.id(), *number, page.clone());
            }
            batch.put(db, name, root_of((new.id(), 0), pages), expiry_ms);
            batch.publish(new);
        }
    }
}

/// The root of a collection of at least so many pages: its detail is their numbers.
pub(crate) fn root_of((id, page_count): (CollectionId, u32), pages: &Pages) -> TypedValue {
    let number = |number: &u32| u8::try_from(*number).expect("collections have few pages");
    let end = pages.last_key_value().map_or(0, |(last, _)| last + 1);
    TypedValue {
        value_type: ValueType::Hash,
        encoding: Encoding::Hashtable,
        body: ValueBody::Root(Root {
            collection: id,
            page_count: page_count.max(end),
            detail: pages.keys().map(number).collect(),
        }),
    }
}

/// The numbers of a collection's pages.
pub(crate) fn page_numbers(root: &Root) -> Vec<u32> {
    root.detail
        .iter()
        .map(|number| u32::from(*number))
        .collect()
}

/// All that a snapshot holds.
pub(crate) async fn whole(snapshot: &Snapshot) -> Result<Version, StoreError> {
    let value = match (snapshot.root(), snapshot.value_type()) {
        (Some(root), _) => {
            let numbers = page_numbers(root);
            let reads: Vec<_> = numbers.iter().map(|n| snapshot.read_page(*n)).collect();
            let mut pages = BTreeMap::new();
            for (number, read) in numbers.into_iter().zip(reads) {
                pages.insert(number, read.await?);
            }
            Value::Paged(Rc::new(pages))
        }
        (None, ValueType::String) => Value::Text(snapshot.read(0..snapshot.len()).await?),
        (None, _) => Value::Packed(snapshot.read(0..snapshot.len()).await?),
    };
    Ok(Version {
        value,
        expiry_ms: snapshot.expiry_ms(),
    })
}

/// Finds and pins all that a snapshot holds, and lets its key's lock go.
pub(crate) async fn pin_whole(snapshot: &mut Snapshot) -> Result<(), StoreError> {
    if snapshot.root().is_none() {
        return snapshot.pin(0..snapshot.len()).await;
    }
    snapshot.pin_pages().await;
    Ok(())
}
