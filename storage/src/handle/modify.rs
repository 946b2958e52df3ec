//! Changing a key under its lock: ranges, deadlines, names.

use bytes::Bytes;

use crate::database::Db;
use crate::error::StoreError;
use crate::format::RootValue;
use crate::handle::{Handle, KeyLocks};
use crate::options::{INLINE_BYTES_MAX, PAGE_BYTES};
use crate::paged::{Collection, PageSource};
use crate::value::{Encoding, Snapshot};
use crate::write::{Item, Mark, Terms, check_key, check_value};

/// Pages that one batch rewrites; a change of more of them writes the value anew, so that batches
/// stay small: 1 MiB.
const PATCH_PAGES_MAX: usize = 64;

impl Handle {
    /// Overwrites `data` at `offset` of a string and keeps its deadline; an absent key is the empty
    /// string, a gap is filled with zeros. Of a large value only the pages touched and the root are
    /// rewritten. Returns the new length in bytes.
    pub async fn write_range(
        &self,
        locks: &KeyLocks,
        db: Db,
        key: &[u8],
        offset: u64,
        data: &[u8],
    ) -> Result<u64, StoreError> {
        check_key(key)?;
        let base = self.get_locked(locks, db, key).await?;
        let end = offset.saturating_add(data.len() as u64);
        let len = end.max(base.as_ref().map_or(0, Snapshot::len));
        check_value(len)?;
        let source = PageSource {
            base: base.as_ref(),
            offset,
            data,
            len,
        };
        if len <= INLINE_BYTES_MAX as u64 {
            let value = source.content(0..len).await?;
            let target = (locks.database(db), Bytes::copy_from_slice(key));
            let expiry_ms = base.as_ref().and_then(Snapshot::expiry_ms);
            let item = Item::inline(&self.0, target, (value, Encoding::Raw), expiry_ms);
            self.commit_under(locks, &[item], Mark::Growth).await?;
        } else {
            self.write_range_paged(locks, (db, key), &source).await?;
        }
        self.store()
            .counters()
            .user_bytes_written
            .add(data.len() as u64);
        Ok(len)
    }

    async fn write_range_paged(
        &self,
        locks: &KeyLocks,
        (db, key): (Db, &[u8]),
        source: &PageSource<'_>,
    ) -> Result<(), StoreError> {
        let target = (locks.database(db), Bytes::copy_from_slice(key));
        let expiry_ms = source.base.and_then(Snapshot::expiry_ms);
        let changed = source.changed_pages();
        match source.base.and_then(Snapshot::root) {
            Some(root)
                if root.page_bytes == PAGE_BYTES && changed.len() <= self.patch_pages_max() =>
            {
                let root = RootValue {
                    value_bytes: source.len,
                    ..root
                };
                let collection = Collection::of(&root);
                let pages = self.0.page_contents(collection, source, changed).await?;
                let item = Item::root(&self.0, target, root, expiry_ms);
                let mut writes: Vec<_> = pages.iter().map(|page| page.prepare(&self.0)).collect();
                writes.push(item.prepare());
                let terms = Terms {
                    held: Some(&locks.stripes),
                    ..Terms::default()
                };
                self.0.commit_prepared(&writes, terms).await?;
            }
            Some(_) | None => {
                let mut fresh = Vec::new();
                let root = self.write_pages(source, &mut fresh).await?;
                let item = Item::root(&self.0, target, root, expiry_ms);
                self.commit_under(locks, &[item], Mark::Growth).await?;
                drop(fresh);
            }
        }
        Ok(())
    }

    /// Pages that a patch may rewrite: a batch has room for them and the root.
    fn patch_pages_max(&self) -> usize {
        let bytes = self.store().batch_bytes_max() / 2;
        let pages = usize::try_from(bytes / u64::from(PAGE_BYTES)).expect("half a segment");
        pages.min(PATCH_PAGES_MAX)
    }

    async fn commit_under(
        &self,
        locks: &KeyLocks,
        items: &[Item],
        mark: Mark,
    ) -> Result<(), StoreError> {
        let terms = Terms {
            held: Some(&locks.stripes),
            mark,
            ..Terms::default()
        };
        self.0.commit_items(items, terms).await.map(|_| ())
    }

    /// Sets or clears a key's deadline. False: the key does not exist.
    pub async fn set_expiry(
        &self,
        locks: &KeyLocks,
        db: Db,
        key: &[u8],
        expiry_ms: Option<u64>,
    ) -> Result<bool, StoreError> {
        let Some(snapshot) = self.get_locked(locks, db, key).await? else {
            return Ok(false);
        };
        let item = self.same_value(locks, &snapshot, (db, key), expiry_ms);
        self.commit_under(locks, &[item], Mark::Change).await?;
        Ok(true)
    }

    /// Moves a value with its deadline to another key, over what that held. False: `from` does not
    /// exist.
    pub async fn rename(
        &self,
        locks: &KeyLocks,
        from: (Db, &[u8]),
        to: (Db, &[u8]),
    ) -> Result<bool, StoreError> {
        check_key(to.1)?;
        let Some(snapshot) = self.get_locked(locks, from.0, from.1).await? else {
            return Ok(false);
        };
        let put = self.same_value(locks, &snapshot, to, snapshot.expiry_ms());
        let source = (locks.database(from.0), Bytes::copy_from_slice(from.1));
        let remove = Item::remove(&self.0, source);
        if put.identity() == remove.identity() {
            return Ok(true);
        }
        self.commit_under(locks, &[put, remove], Mark::Change)
            .await?;
        Ok(true)
    }

    /// Copies a value of any size with its deadline to another key, over what that held. False:
    /// `from` does not exist.
    pub async fn copy(
        &self,
        locks: &KeyLocks,
        from: (Db, &[u8]),
        to: (Db, &[u8]),
    ) -> Result<bool, StoreError> {
        check_key(to.1)?;
        let Some(snapshot) = self.get_locked(locks, from.0, from.1).await? else {
            return Ok(false);
        };
        let mut fresh = Vec::new();
        let item = if snapshot.inline().is_some() {
            self.same_value(locks, &snapshot, to, snapshot.expiry_ms())
        } else {
            let len = snapshot.len();
            let source = PageSource {
                base: Some(&snapshot),
                offset: 0,
                data: &[],
                len,
            };
            let root = self.write_pages(&source, &mut fresh).await?;
            let target = (locks.database(to.0), Bytes::copy_from_slice(to.1));
            Item::root(&self.0, target, root, snapshot.expiry_ms())
        };
        self.commit_under(locks, &[item], Mark::Growth).await?;
        drop(fresh);
        Ok(true)
    }

    /// The value of a snapshot under a key, its pages being those that it has.
    fn same_value(
        &self,
        locks: &KeyLocks,
        snapshot: &Snapshot,
        (db, key): (Db, &[u8]),
        expiry_ms: Option<u64>,
    ) -> Item {
        let target = (locks.database(db), Bytes::copy_from_slice(key));
        match (snapshot.root(), snapshot.share(0..snapshot.len())) {
            (Some(root), _) => Item::root(&self.0, target, root, expiry_ms),
            (None, inline) => {
                let value = inline.unwrap_or_default();
                Item::inline(&self.0, target, (value, snapshot.encoding()), expiry_ms)
            }
        }
    }
}
