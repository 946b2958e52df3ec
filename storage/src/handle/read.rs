//! Reading one key.

use cellar_index::Identity;

use crate::database::Db;
use crate::error::StoreError;
use crate::format::{CollectionRoot, RootValue};
use crate::handle::{Handle, KeyLocks};
use crate::lock::{Mode, StripeLocks};
use crate::paged::{CollectionPages, PagedValue};
use crate::read::StoredRecord;
use crate::value::{Lookup, Peek, Snapshot, ValueType};
use crate::write::check_value;

impl Handle {
    /// Looks a key up without waiting; a device read that it needs is submitted.
    pub fn lookup(&self, db: Db, key: &[u8]) -> Lookup {
        let database = self.database(db);
        if let Some(overlay) = &self.overlay
            && !overlay.leaves_alone(self.worker.identify(database, key))
        {
            // The form that waits sees what is pending, and takes the lock.
            return Lookup::Locked;
        }
        self.worker.lookup(database, key)
    }

    /// Asks for the index entries of keys that will be looked up soon, without waiting for them:
    /// the lookups then find them in the processor's cache. Of some hundred keys at a time at most.
    pub fn prefetch<'k>(&self, db: Db, keys: impl Iterator<Item = &'k [u8]>) {
        let store = self.store();
        let database = store.databases().resolve(db);
        for key in keys {
            store.index().prefetch(self.worker.identify(database, key));
        }
    }

    /// Looks several keys up at one moment, without waiting, as [`Handle::lookup`] does one.
    pub fn lookup_many(&self, db: Db, keys: &[&[u8]]) -> Vec<Lookup> {
        if self.overlay.is_some() {
            return keys.iter().map(|_| Lookup::Locked).collect();
        }
        self.worker.lookup_many(db, keys)
    }

    /// Reads a key. `None`: it does not exist.
    pub async fn get(&self, db: Db, key: &[u8]) -> Result<Option<Snapshot>, StoreError> {
        match self.lookup(db, key) {
            Lookup::Absent => Ok(None),
            Lookup::Ready(snapshot) => Ok(Some(snapshot)),
            Lookup::Pending(read) => read.await,
            Lookup::Locked => {
                let identity = self.identify(db, key);
                if self.overlay.is_some() {
                    return self.read_under(identity, key, None).await;
                }
                let hold = self.store().locks().acquire([identity], Mode::Shared).await;
                self.read_under(identity, key, Some(hold)).await
            }
        }
    }

    /// Reads a key that `locks` covers.
    pub async fn get_locked(
        &self,
        locks: &KeyLocks,
        db: Db,
        key: &[u8],
    ) -> Result<Option<Snapshot>, StoreError> {
        self.read_under(self.identity(locks, db, key), key, None)
            .await
    }

    /// Reads a key whose stripe is held, by `hold` or by the caller.
    async fn read_under(
        &self,
        identity: Identity,
        key: &[u8],
        hold: Option<StripeLocks>,
    ) -> Result<Option<Snapshot>, StoreError> {
        let Some(record) = self.read_noted(identity).await? else {
            return Ok(None);
        };
        if record.key() != key || record.is_expired(&self.store().moment()) {
            return Ok(None);
        }
        self.snapshot(record, hold).map(Some)
    }

    /// Reads the record of an identity, which is a use of its key.
    async fn read_noted(&self, identity: Identity) -> Result<Option<StoredRecord>, StoreError> {
        if self.overlay.is_some() {
            return self.record(identity).await;
        }
        let found = self.worker.read_record(identity).await?;
        self.worker
            .note_use(identity, found.as_ref().map(|(entry, _)| entry));
        Ok(found.map(|(_, record)| record))
    }

    /// Reads the record of an identity, expired or not.
    async fn record(&self, identity: Identity) -> Result<Option<StoredRecord>, StoreError> {
        self.cover(identity)?;
        self.view().read(identity).await
    }

    fn snapshot(
        &self,
        record: StoredRecord,
        hold: Option<StripeLocks>,
    ) -> Result<Snapshot, StoreError> {
        if !record.is_root() {
            return Ok(Snapshot::inline_of(record));
        }
        if record.value_type() != ValueType::String {
            let bytes = record.share(0..record.value().len());
            let root = CollectionRoot::decode(&bytes).map_err(StoreError::Format)?;
            let pages = CollectionPages::new(self.view(), root, hold);
            return Ok(Snapshot::collection(record, pages));
        }
        let root = RootValue::decode(record.value()).map_err(StoreError::Format)?;
        check_value(root.value_bytes)?;
        let pages = PagedValue::new(self.view(), root, hold);
        Ok(Snapshot::paged(record, pages))
    }

    /// Whether a key exists and what it holds, from the index alone where that can tell.
    pub fn try_peek(&self, db: Db, key: &[u8]) -> Peek {
        if self.overlay.is_some() {
            return Peek::Unsure;
        }
        self.worker.try_peek(db, key)
    }

    /// Whether a key exists and what it holds.
    pub async fn peek(&self, db: Db, key: &[u8]) -> Result<Option<ValueType>, StoreError> {
        match self.try_peek(db, key) {
            Peek::Absent => Ok(None),
            Peek::Present(value_type) => Ok(Some(value_type)),
            Peek::Unsure => {
                let Some(record) = self.record(self.identify(db, key)).await? else {
                    return Ok(None);
                };
                let is_there = record.key() == key && !record.is_expired(&self.store().moment());
                Ok(is_there.then(|| record.value_type()))
            }
        }
    }

    /// The key's deadline in milliseconds since the Unix epoch: `None` when it does not exist,
    /// `Some(None)` when it has none. Consults the record only if there is a deadline.
    pub async fn deadline(&self, db: Db, key: &[u8]) -> Result<Option<Option<u64>>, StoreError> {
        let identity = self.identify(db, key);
        if self.overlay.is_none() {
            let Some(entry) = self.store().index().lookup(identity) else {
                return Ok(None);
            };
            if entry.expiry_s == 0 {
                return Ok(Some(None));
            }
        }
        let Some(record) = self.record(identity).await? else {
            return Ok(None);
        };
        let is_there = record.key() == key && !record.is_expired(&self.store().moment());
        Ok(is_there.then(|| record.expiry_ms()))
    }

    /// About how often a key was used of late, from 0 to 15, as far as a policy has had uses
    /// counted. Asking is no use.
    pub fn use_count(&self, db: Db, key: &[u8]) -> u64 {
        let identity = self.identify(db, key);
        self.store().eviction().count(identity)
    }

    /// Counts as a use of the key for whoever chooses keys to evict.
    pub fn touch(&self, db: Db, key: &[u8]) {
        let identity = self.identify(db, key);
        let found = self.store().index().lookup(identity);
        self.worker.note_use(identity, found.as_ref());
    }
}
