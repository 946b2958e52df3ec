//! Values as a reader sees them.

use std::ops::Range;

use bytes::Bytes;

use crate::error::StoreError;
use crate::format::{CollectionRoot, RootValue};
use crate::paged::{CollectionPages, PageRead, PagedValue};
use crate::read::StoredRecord;

pub use crate::format::{Encoding, ValueType};

/// What one key held at the moment it was looked up. Later writes do not change it.
pub struct Snapshot(Body);

enum Body {
    /// The key's record holds the value.
    Inline(StoredRecord),
    /// The key's record is the root of these pages.
    Paged {
        root: StoredRecord,
        pages: PagedValue,
    },
    /// The key's record is the root of a collection that is no string.
    Collection {
        root: StoredRecord,
        pages: CollectionPages,
    },
}

/// Why a value has no pages to read.
const NO_COLLECTION: &str = "pages are read of collections in pages only";

/// The root of a value that lies in the pages of a collection.
pub type Root = CollectionRoot;

impl Snapshot {
    /// The value of a key's record that holds it whole.
    pub(crate) fn inline_of(record: StoredRecord) -> Self {
        Self(Body::Inline(record))
    }

    /// The value whose pages a root record names.
    pub(crate) fn paged(root: StoredRecord, pages: PagedValue) -> Self {
        Self(Body::Paged { root, pages })
    }

    /// The value of a collection's root.
    pub(crate) fn collection(root: StoredRecord, pages: CollectionPages) -> Self {
        Self(Body::Collection { root, pages })
    }

    fn record(&self) -> &StoredRecord {
        match &self.0 {
            Body::Inline(record)
            | Body::Paged { root: record, .. }
            | Body::Collection { root: record, .. } => record,
        }
    }

    /// What kind of value it is.
    pub fn value_type(&self) -> ValueType {
        self.record().value_type()
    }

    /// How it is held.
    pub fn encoding(&self) -> Encoding {
        match &self.0 {
            Body::Inline(record) | Body::Collection { root: record, .. } => record.encoding(),
            Body::Paged { .. } => Encoding::Raw,
        }
    }

    /// When the key expires, in milliseconds since the Unix epoch.
    pub fn expiry_ms(&self) -> Option<u64> {
        self.record().expiry_ms()
    }

    /// The whole value's length in bytes; of a collection in pages, its root's.
    pub fn len(&self) -> u64 {
        match &self.0 {
            Body::Inline(record) | Body::Collection { root: record, .. } => {
                record.value().len() as u64
            }
            Body::Paged { pages, .. } => pages.len(),
        }
    }

    /// Whether the value is the empty string.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole value, where it is in memory: all strings of up to 32 KiB are, and collections
    /// that were written as one record.
    pub fn inline(&self) -> Option<&[u8]> {
        match &self.0 {
            Body::Inline(record) => Some(record.value()),
            Body::Paged { .. } | Body::Collection { .. } => None,
        }
    }

    /// A range of a value that is in memory, clipped to the value, without a copy of it.
    pub fn share(&self, range: Range<u64>) -> Option<Bytes> {
        match &self.0 {
            Body::Inline(record) => {
                let len = record.value().len();
                let index = |at: u64| usize::try_from(at).map_or(len, |at| at.min(len));
                let end = index(range.end);
                Some(record.share(index(range.start).min(end)..end))
            }
            Body::Paged { .. } | Body::Collection { .. } => None,
        }
    }

    /// Reads a range of a string, clipped to it, of the size that the caller wants in memory. A
    /// collection in pages is read by `read_page`.
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        let end = range.end.min(self.len());
        let range = range.start.min(end)..end;
        match &self.0 {
            Body::Inline(_) => Ok(self.share(range).expect("it is in memory")),
            Body::Paged { pages, .. } => pages.read(range).await,
            Body::Collection { .. } => Ok(Bytes::new()),
        }
    }

    /// Finds and pins every page of a range, and lets the key's lock go: from here on the snapshot
    /// can be kept while a client takes its time. To be called before a large value is sent, and
    /// before the same command writes its key. Without effect on values in memory.
    pub async fn pin(&mut self, range: Range<u64>) -> Result<(), StoreError> {
        match &mut self.0 {
            Body::Inline(_) | Body::Collection { .. } => Ok(()),
            Body::Paged { pages, .. } => pages.pin(range).await,
        }
    }

    /// The root of a string in pages.
    pub(crate) fn string_root(&self) -> Option<RootValue> {
        match &self.0 {
            Body::Inline(_) | Body::Collection { .. } => None,
            Body::Paged { pages, .. } => Some(pages.root()),
        }
    }

    /// The root of a collection in pages; none of a string or of a value that is one record.
    pub fn root(&self) -> Option<&Root> {
        match &self.0 {
            Body::Inline(_) | Body::Paged { .. } => None,
            Body::Collection { pages, .. } => Some(pages.root()),
        }
    }

    /// Begins to read a page of a collection in pages: its device read is under way when this
    /// returns. Panics when the value is none.
    pub fn read_page(&self, page_number: u32) -> PageRead {
        self.pages().read(page_number)
    }

    /// Begins to read a page that may not be there: `None`. Panics as [`Snapshot::read_page`].
    pub fn find_page(&self, page_number: u32) -> Option<PageRead> {
        self.pages().find(page_number)
    }

    /// Finds and pins all pages of a collection, and lets the key's lock go: from here on the
    /// snapshot can be kept while a client takes its time. Without effect on other values.
    pub async fn pin_pages(&mut self) {
        match &mut self.0 {
            Body::Collection { pages, .. } => pages.pin().await,
            Body::Inline(_) | Body::Paged { .. } => {}
        }
    }

    fn pages(&self) -> &CollectionPages {
        match &self.0 {
            Body::Collection { pages, .. } => pages,
            Body::Inline(_) | Body::Paged { .. } => panic!("{NO_COLLECTION}"),
        }
    }
}

/// What a lookup that does not wait came to. The lookup is the linearization point: later writes,
/// of this connection or any other, do not change what the read answers.
pub enum Lookup {
    /// The key does not exist.
    Absent,
    /// Its value was in memory.
    Ready(Snapshot),
    /// A device read is needed, and is under way.
    Pending(crate::read::Read),
    /// A key lock has to be waited for: `Handle::get` does it.
    Locked,
}

/// What the index alone says about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peek {
    /// It does not exist.
    Absent,
    /// It exists and holds such a value.
    Present(ValueType),
    /// Its deadline lies in this very second: the record decides (`Handle::peek`).
    Unsure,
}

/// A value with its type, as it is written.
#[derive(Clone, Debug)]
pub struct TypedValue {
    /// Its type.
    pub value_type: ValueType,
    /// What OBJECT ENCODING says of it.
    pub encoding: Encoding,
    /// Where it is.
    pub body: ValueBody,
}

/// Where a value is.
#[derive(Clone, Debug)]
pub enum ValueBody {
    /// In the key's record: at most [`INLINE_BYTES_MAX`](crate::INLINE_BYTES_MAX) bytes.
    Inline(Bytes),
    /// In the pages of a collection. The root's detail takes at most
    /// [`ROOT_DETAIL_BYTES_MAX`](crate::ROOT_DETAIL_BYTES_MAX) bytes.
    Root(Root),
}
