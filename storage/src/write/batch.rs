//! Batches: the writes that a caller wants to happen together.

use bytes::Bytes;

use crate::database::Db;
use crate::paged::NewCollection;
use crate::units::CollectionId;
use crate::value::{Encoding, TypedValue};

/// What must hold for a batch to be written at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Condition {
    #[default]
    None,
    /// Every key that is set must be absent.
    Absent,
    /// Every key that is set must be present.
    Present,
}

/// One write of a batch.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Set {
        db: Db,
        key: Bytes,
        value: Bytes,
        encoding: Encoding,
        expiry_ms: Option<u64>,
    },
    Put {
        db: Db,
        key: Bytes,
        value: TypedValue,
        expiry_ms: Option<u64>,
    },
    Page {
        collection: CollectionId,
        page_number: u32,
        content: Bytes,
    },
    Remove {
        db: Db,
        key: Bytes,
    },
}

/// Writes that belong together: readers see all or none, and so does a recovery.
#[derive(Debug, Default)]
pub struct WriteBatch {
    pub(crate) writes: Vec<Write>,
    /// Collections that the batch publishes: nobody may sweep them before.
    pub(crate) new: Vec<NewCollection>,
    pub(crate) condition: Condition,
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a string, with its expiry or none. Of several writes to one key the last one counts.
    pub fn set(
        &mut self,
        db: Db,
        key: impl Into<Bytes>,
        value: impl Into<Bytes>,
        encoding: Encoding,
        expiry_ms: Option<u64>,
    ) -> &mut Self {
        let (key, value) = (key.into(), value.into());
        self.writes.push(Write::Set {
            db,
            key,
            value,
            encoding,
            expiry_ms,
        });
        self
    }

    /// Sets a key to a value of any type, with its expiry or none.
    pub fn put(
        &mut self,
        db: Db,
        key: impl Into<Bytes>,
        value: TypedValue,
        expiry_ms: Option<u64>,
    ) -> &mut Self {
        self.writes.push(Write::Put {
            db,
            key: key.into(),
            value,
            expiry_ms,
        });
        self
    }

    /// Writes a page, at most once in a batch, of at most
    /// [`INLINE_BYTES_MAX`](crate::INLINE_BYTES_MAX) bytes. The batch holds the collection's root,
    /// whose `page_count` is above the page's number.
    pub fn page(
        &mut self,
        collection: CollectionId,
        page_number: u32,
        content: Bytes,
    ) -> &mut Self {
        self.writes.push(Write::Page {
            collection,
            page_number,
            content,
        });
        self
    }

    /// The batch holds the root of a new collection.
    pub fn publish(&mut self, new: NewCollection) -> &mut Self {
        self.new.push(new);
        self
    }

    /// Removes a key, if it exists.
    pub fn remove(&mut self, db: Db, key: impl Into<Bytes>) -> &mut Self {
        self.writes.push(Write::Remove {
            db,
            key: key.into(),
        });
        self
    }

    /// Writes only if no key that is set exists.
    pub fn only_if_absent(&mut self) -> &mut Self {
        self.condition = Condition::Absent;
        self
    }

    /// Writes only if every key that is set exists.
    pub fn only_if_present(&mut self) -> &mut Self {
        self.condition = Condition::Present;
        self
    }
}

/// What a commit came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// False: the condition did not hold, and nothing was written.
    pub applied: bool,
    /// How many keys existed and were removed.
    pub removed: u64,
    /// How many records were written, tombstones included.
    pub written: u64,
}

/// What an attempt that does not wait came to.
#[derive(Clone, Debug)]
pub enum Attempt {
    /// Written.
    Done,
    /// A key lock or room is in the way: the async form waits for it.
    Blocked,
    /// It cannot be written.
    Failed(crate::error::StoreError),
}
