//! Changing a key under its lock: ranges, deadlines, names.

use bytes::Bytes;

use crate::database::Db;
use crate::error::StoreError;
use crate::format::RootValue;
use crate::handle::{Handle, KeyLocks};
use crate::options::{INLINE_BYTES_MAX, PAGE_BYTES};
use crate::paged::{Collection, NewCollection, PageSource};
use crate::value::{Encoding, Root, Snapshot, ValueType};
use crate::write::{Content, Item, Mark, Terms, check_key, check_value};

/// Pages that one batch rewrites; a change of more of them writes the value anew, so that batches
/// stay small: 1 MiB.
const PATCH_PAGES_MAX: usize = 64;
/// Pages that a copy reads at once.
const PAGES_PER_COPY: usize = 32;

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
            let content = Content::inline(value, ValueType::String, Encoding::Raw);
            let item = Item::put(&self.worker, target, content, expiry_ms);
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
        match source.base.and_then(Snapshot::string_root) {
            Some(root)
                if root.page_bytes == PAGE_BYTES && changed.len() <= self.patch_pages_max() =>
            {
                let root = RootValue {
                    value_bytes: source.len,
                    ..root
                };
                let collection = Collection::of(&root);
                let pages = self
                    .worker
                    .page_contents(collection, source, changed)
                    .await?;
                let item = Item::put(&self.worker, target, Content::string(&root), expiry_ms);
                let mut writes: Vec<_> = pages
                    .iter()
                    .map(|page| page.prepare(&self.worker))
                    .collect();
                writes.push(item.prepare());
                let terms = Terms {
                    held: Some(&locks.stripes),
                    ..Terms::default()
                };
                self.write(&writes, terms).await?;
            }
            Some(_) | None => {
                let mut fresh = Vec::new();
                let root = self.write_pages(source, &mut fresh).await?;
                let item = Item::put(&self.worker, target, Content::string(&root), expiry_ms);
                self.commit_under(locks, &[item], Mark::Growth).await?;
                self.settle(fresh);
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
        self.write_items(items, terms).await.map(|_| ())
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
        let remove = Item::remove(&self.worker, source);
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
        let content = if let Some(root) = snapshot.root() {
            let root = self.copy_pages(&snapshot, root, &mut fresh).await?;
            Content::collection(&root, snapshot.value_type(), snapshot.encoding())
        } else if snapshot.inline().is_some() {
            same_content(&snapshot)
        } else {
            let source = PageSource {
                base: Some(&snapshot),
                offset: 0,
                data: &[],
                len: snapshot.len(),
            };
            Content::string(&self.write_pages(&source, &mut fresh).await?)
        };
        let target = (locks.database(to.0), Bytes::copy_from_slice(to.1));
        let item = Item::put(&self.worker, target, content, snapshot.expiry_ms());
        self.commit_under(locks, &[item], Mark::Growth).await?;
        self.settle(fresh);
        Ok(true)
    }

    /// Copies all pages of a collection to a new one: its root.
    async fn copy_pages(
        &self,
        snapshot: &Snapshot,
        root: &Root,
        fresh: &mut Vec<NewCollection>,
    ) -> Result<Root, StoreError> {
        let mut copy = self.new_collection();
        for first in (0..root.page_count).step_by(PAGES_PER_COPY) {
            let end = root
                .page_count
                .min(first.saturating_add(PAGES_PER_COPY as u32));
            let reads: Vec<_> = (first..end)
                .filter_map(|number| Some((number, snapshot.find_page(number)?)))
                .collect();
            let mut pages = Vec::with_capacity(reads.len());
            for (number, read) in reads {
                pages.push((number, read.await?));
            }
            self.write_ahead(&mut copy, pages).await?;
        }
        let id = copy.id();
        fresh.push(copy);
        Ok(Root {
            collection: id,
            ..root.clone()
        })
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
        Item::put(&self.worker, target, same_content(snapshot), expiry_ms)
    }
}

/// What a snapshot's record says, its pages being those that it has.
fn same_content(snapshot: &Snapshot) -> Content {
    if let Some(root) = snapshot.root() {
        return Content::collection(root, snapshot.value_type(), snapshot.encoding());
    }
    if let Some(root) = snapshot.string_root() {
        return Content::string(&root);
    }
    let value = snapshot.share(0..snapshot.len()).unwrap_or_default();
    Content::inline(value, snapshot.value_type(), snapshot.encoding())
}
