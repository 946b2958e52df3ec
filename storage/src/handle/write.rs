//! Writing keys, blindly or under locks.

use std::collections::HashSet;

use bytes::Bytes;

use crate::database::{Db, DbRef};
use crate::error::StoreError;
use crate::format::{Kind, RecordDraft, RootValue};
use crate::handle::collections::page_content;
use crate::handle::{Handle, KeyLocks};
use crate::lock::{Mode, StripeLocks};
use crate::options::{DATABASE_COUNT_MAX, INLINE_BYTES_MAX, PAGE_BYTES};
use crate::paged::{NewCollection, PageSource};
use crate::value::{Encoding, TypedValue, ValueBody, ValueType};
use crate::write::{
    Attempt, Content, Effect, Item, Outcome, Prepared, Refused, Terms, Write, WriteBatch,
    check_detail, check_inline, check_key, check_value, keep_rooted,
};

/// Keys that one commit of a command that only removes takes: their buckets are locked together.
const REMOVALS_PER_COMMIT: usize = 256;

/// Of several writes to one key only the last one counts.
fn keep_last_writes(items: &mut Vec<Item>) {
    if items.len() < 2 {
        return;
    }
    let mut seen = HashSet::with_capacity(items.len());
    items.reverse();
    items.retain(|item| seen.insert(item.identity()));
    items.reverse();
}

/// What the record of a value says.
fn typed_content(value: TypedValue) -> Result<Content, StoreError> {
    match value.body {
        ValueBody::Inline(bytes) => {
            check_inline(bytes.len())?;
            Ok(Content::inline(bytes, value.value_type, value.encoding))
        }
        ValueBody::Root(root) => {
            check_detail(root.detail.len())?;
            Ok(Content::collection(&root, value.value_type, value.encoding))
        }
    }
}

impl Handle {
    /// Sets a string without waiting, if it fits a record and nothing is in the way.
    pub fn try_set(
        &self,
        db: Db,
        key: &[u8],
        value: &[u8],
        encoding: Encoding,
        expiry_ms: Option<u64>,
    ) -> Attempt {
        if let Err(error) = check_key(key) {
            return Attempt::Failed(error);
        }
        if value.len() > INLINE_BYTES_MAX || self.overlay.is_some() {
            return Attempt::Blocked;
        }
        let database = self.database(db);
        let write = Prepared {
            identity: self.worker.identify(database, key),
            database: Some(database),
            draft: RecordDraft::new(Kind::Put, key, value)
                .database(database.id)
                .typed(ValueType::String, encoding)
                .expiry(expiry_ms),
            effect: Effect::Put {
                value_type: ValueType::String,
                expiry_ms,
                root: None,
            },
        };
        match self.worker.try_commit(&[write], Terms::default()) {
            Ok(_) => {
                self.count_user_bytes(key.len() + value.len());
                Attempt::Done
            }
            Err(Refused::Failed(error)) => Attempt::Failed(error),
            Err(Refused::Locked | Refused::NoRoom | Refused::Short(_) | Refused::Unsure { .. }) => {
                Attempt::Blocked
            }
        }
    }

    fn count_user_bytes(&self, bytes: usize) {
        self.store().counters().user_bytes_written.add(bytes as u64);
    }

    /// Commits a batch: all of it or nothing, for readers and after a crash. Waits for the locks of
    /// its keys that others hold.
    pub async fn commit(&self, batch: WriteBatch) -> Result<Outcome, StoreError> {
        let databases = self.databases();
        self.commit_resolved(batch, &databases, Terms::default())
            .await
    }

    /// Commits a batch whose keys `locks` covers.
    pub async fn commit_locked(
        &self,
        locks: &KeyLocks,
        batch: WriteBatch,
    ) -> Result<Outcome, StoreError> {
        let terms = Terms {
            held: Some(&locks.stripes),
            ..Terms::default()
        };
        self.commit_resolved(batch, &locks.databases, terms).await
    }

    async fn commit_resolved(
        &self,
        batch: WriteBatch,
        databases: &[DbRef; DATABASE_COUNT_MAX],
        terms: Terms<'_>,
    ) -> Result<Outcome, StoreError> {
        let mut items = Vec::with_capacity(batch.writes.len());
        let mut pages = Vec::new();
        let mut new = batch.new;
        let is_removal = batch
            .writes
            .iter()
            .all(|write| matches!(write, Write::Remove { .. }));
        for write in batch.writes {
            if let Write::Page {
                collection,
                page_number,
                content,
            } = write
            {
                self.count_user_bytes(content.len());
                pages.push(page_content(collection, page_number, content)?);
            } else {
                items.push(self.item(write, databases, &mut new).await?);
            }
        }
        keep_last_writes(&mut items);
        let terms = Terms {
            condition: batch.condition,
            ..terms
        };
        let outcome = if is_removal && items.len() > REMOVALS_PER_COMMIT {
            self.remove_in_steps(&items, terms).await
        } else {
            let pages = pages.iter().map(|page| page.prepare(&self.worker));
            let mut writes: Vec<_> = pages.chain(items.iter().map(Item::prepare)).collect();
            keep_rooted(&mut writes);
            self.write(&writes, terms).await
        };
        self.settle(new);
        outcome
    }

    /// Removes many keys, some at a time: removals have no bound, and hold up nobody. It waits
    /// before its first step, so that a caller who drops what has to wait has done nothing yet.
    async fn remove_in_steps(
        &self,
        items: &[Item],
        terms: Terms<'_>,
    ) -> Result<Outcome, StoreError> {
        let mut total = Outcome {
            applied: true,
            ..Outcome::default()
        };
        for step in items.chunks(REMOVALS_PER_COMMIT) {
            tokio::task::yield_now().await;
            let outcome = self.write_items(step, terms).await?;
            total.removed += outcome.removed;
            total.written += outcome.written;
        }
        Ok(total)
    }

    /// Turns a write of a key into its item; the pages of a long string are written on the way.
    async fn item(
        &self,
        write: Write,
        databases: &[DbRef; DATABASE_COUNT_MAX],
        new: &mut Vec<NewCollection>,
    ) -> Result<Item, StoreError> {
        let database = |db: Db| databases[usize::from(db.0)];
        match write {
            Write::Remove { db, key } => Ok(Item::remove(&self.worker, (database(db), key))),
            Write::Set {
                db,
                key,
                value,
                encoding,
                expiry_ms,
            } => {
                check_key(&key)?;
                self.count_user_bytes(key.len() + value.len());
                let content = self.string_content(value, encoding, new).await?;
                Ok(Item::put(
                    &self.worker,
                    (database(db), key),
                    content,
                    expiry_ms,
                ))
            }
            Write::Put {
                db,
                key,
                value,
                expiry_ms,
            } => {
                check_key(&key)?;
                let content = typed_content(value)?;
                self.count_user_bytes(key.len() + content.len());
                Ok(Item::put(
                    &self.worker,
                    (database(db), key),
                    content,
                    expiry_ms,
                ))
            }
            Write::Page { .. } => unreachable!("pages are no writes of keys"),
        }
    }

    async fn string_content(
        &self,
        value: Bytes,
        encoding: Encoding,
        new: &mut Vec<NewCollection>,
    ) -> Result<Content, StoreError> {
        let len = value.len() as u64;
        check_value(len)?;
        if value.len() <= INLINE_BYTES_MAX {
            return Ok(Content::inline(value, ValueType::String, encoding));
        }
        let source = PageSource {
            base: None,
            offset: 0,
            data: &value,
            len,
        };
        Ok(Content::string(&self.write_pages(&source, new).await?))
    }

    /// Writes a value's pages; the root that will name them.
    pub(super) async fn write_pages(
        &self,
        source: &PageSource<'_>,
        fresh: &mut Vec<NewCollection>,
    ) -> Result<RootValue, StoreError> {
        let pages = self.worker.write_collection(source).await?;
        let root = RootValue {
            collection: pages.collection.id,
            value_bytes: source.len,
            page_bytes: PAGE_BYTES,
        };
        fresh.push(pages);
        Ok(root)
    }

    /// Takes exclusive locks of keys, all in one fixed order.
    pub async fn lock(&self, keys: &[(Db, &[u8])]) -> KeyLocks {
        self.acquire(keys, Mode::Exclusive).await
    }

    pub(super) async fn acquire(&self, keys: &[(Db, &[u8])], mode: Mode) -> KeyLocks {
        let databases = self.databases();
        let identities = keys
            .iter()
            .map(|(db, key)| self.worker.identify(databases[usize::from(db.0)], key));
        let table = self.store().locks();
        let stripes = match &self.overlay {
            Some(overlay) => {
                // What cannot be had is noted: whoever reads or writes under these locks is told.
                let _ = overlay.cover(self.store(), identities);
                StripeLocks::none(table, mode)
            }
            None => table.acquire(identities, mode).await,
        };
        KeyLocks { stripes, databases }
    }

    /// Takes the exclusive lock of a key if nobody is in the way.
    pub fn try_lock(&self, db: Db, key: &[u8]) -> Option<KeyLocks> {
        let databases = self.databases();
        let identity = self.worker.identify(databases[usize::from(db.0)], key);
        let table = self.store().locks();
        let stripes = match &self.overlay {
            Some(overlay) => {
                overlay.cover(self.store(), [identity]).ok()?;
                StripeLocks::none(table, Mode::Exclusive)
            }
            None => table.try_acquire([identity], Mode::Exclusive)?,
        };
        Some(KeyLocks { stripes, databases })
    }

    /// Sets a string under its lock without waiting, if it fits a record.
    pub fn try_set_locked(
        &self,
        locks: &KeyLocks,
        (db, key): (Db, &[u8]),
        (value, encoding): (&[u8], Encoding),
        expiry_ms: Option<u64>,
    ) -> Attempt {
        let key = Bytes::copy_from_slice(key);
        let is_long = value.len() > INLINE_BYTES_MAX;
        if is_long || self.overlay.is_some() || check_key(&key).is_err() {
            return Attempt::Blocked;
        }
        let bytes = key.len() + value.len();
        let value = Bytes::copy_from_slice(value);
        let content = Content::inline(value, ValueType::String, encoding);
        let item = Item::put(&self.worker, (locks.database(db), key), content, expiry_ms);
        let terms = Terms {
            held: Some(&locks.stripes),
            ..Terms::default()
        };
        match self.worker.try_commit(&[item.prepare()], terms) {
            Ok(_) => {
                self.count_user_bytes(bytes);
                Attempt::Done
            }
            Err(Refused::Failed(error)) => Attempt::Failed(error),
            Err(Refused::Locked | Refused::NoRoom | Refused::Short(_) | Refused::Unsure { .. }) => {
                Attempt::Blocked
            }
        }
    }
}
