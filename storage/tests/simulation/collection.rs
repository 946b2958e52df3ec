//! Operations on collections in pages: some of their pages written anew, in one batch with their
//! root, and pages that are written ahead of it.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use cellar_storage::{Clock, INLINE_BYTES_MAX, KeyLocks, Root, Snapshot, WriteBatch};

use crate::blind::Existence;
use crate::client::Client;
use crate::model::{Key, Shown, ensure};
use crate::scene::Failure;
use crate::value::{Pages, Value, Version, page_bytes, root_of, whole};

/// Pages that are written anew at once, at most.
const REWRITTEN_MAX: u64 = 4;
/// Numbers behind the last page that a new one may have.
const NUMBERS_BEHIND: u64 = 3;
/// Collections do not grow beyond this page.
const NUMBER_MAX: u32 = 30;
/// Keys that are tried for one with a collection.
const KEY_TRIES: u64 = 6;
/// Pages of a portion that is written ahead, at most.
const PORTION_MAX: u64 = 4;
/// Of so many collections that are written ahead one never gets its root.
const GIVEN_UP_ONE_IN: u64 = 6;

/// A collection as it was read under its key's lock.
pub(crate) struct Found {
    root: Root,
    version: Version,
    pages: Pages,
}

impl Found {
    /// What a snapshot holds, if that is a collection in pages.
    pub(crate) fn of(snapshot: &Snapshot, version: Version) -> Option<Self> {
        let (root, Value::Paged(pages)) = (snapshot.root()?.clone(), &version.value) else {
            return None;
        };
        let pages = Rc::clone(pages);
        Some(Self {
            root,
            version,
            pages,
        })
    }
}

impl Client {
    /// A key of its own, if possible one that holds a collection in pages.
    pub(crate) fn collection_key(&mut self) -> Key {
        let mut key = self.own_key();
        for _ in 0..KEY_TRIES {
            let held = self.held(self.shown(), &key);
            if held.is_some_and(|version| matches!(version.value, Value::Paged(_))) {
                break;
            }
            key = self.own_key();
        }
        key
    }

    /// Writes some pages of a collection of its own anew, and adds others.
    pub(crate) async fn rewrite_pages(&mut self) -> Result<(), Failure> {
        let key = self.collection_key();
        let shown = self.shown();
        let locks = self.lock(&[&key]).await?;
        let Some(found) = self.found(&locks, shown, &key).await? else {
            return Ok(());
        };
        let (version, batch, unread) = self.rewritten(&key, found, true).await?;
        self.handle.commit_locked(&locks, batch).await?;
        let bound = &self.scene.unread_bytes;
        bound.set(bound.get() - unread);
        self.committed(shown, vec![(key.0, key.1, Some(version))])
            .await
    }

    /// The batch that changes some pages of a collection whose key's lock is held, what it then
    /// holds, and the bytes of pages that were written before.
    pub(crate) async fn rewritten(
        &mut self,
        key: &Key,
        found: Found,
        may_write_ahead: bool,
    ) -> Result<(Version, WriteBatch, u64), Failure> {
        let mut changed = self.changed_pages(&found.pages);
        let mut pages = (*found.pages).clone();
        pages.extend(changed.clone());
        let (root, pages) = (found.root, Rc::new(pages));
        let mut unread = 0;
        if may_write_ahead && self.random.below(3) == 0 {
            // Nothing leads to pages behind the root's count.
            let ahead: Vec<_> = changed.split_off(&root.page_count).into_iter().collect();
            unread = ahead.iter().map(|(_, page)| page_bytes(page.len())).sum();
            let bound = &self.scene.unread_bytes;
            bound.set(bound.get() + unread);
            self.handle
                .write_unpublished(root.collection, ahead)
                .await?;
        }
        let mut batch = WriteBatch::new();
        for (number, page) in changed {
            batch.page(root.collection, number, page);
        }
        let value = root_of((root.collection, root.page_count), &pages);
        batch.put(key.0, key.1.clone(), value, found.version.expiry_ms);
        self.scene.tally.borrow_mut().rewritten_collections += 1;
        let version = Version {
            value: Value::Paged(pages),
            ..found.version
        };
        Ok((version, batch, unread))
    }

    /// Reads a collection under its key's lock: it is what it has to be, whole, and has no page
    /// that its root does not name.
    async fn found(
        &self,
        locks: &KeyLocks,
        shown: Shown,
        key: &Key,
    ) -> Result<Option<Found>, Failure> {
        let start_ms = self.scene.now_ms();
        let snapshot = self.handle.get_locked(locks, key.0, &key.1).await?;
        let held = self.held(shown, key);
        let Some(snapshot) = snapshot else {
            self.check_existence(shown, key, start_ms, false)?;
            return Ok(None);
        };
        let version = whole(&snapshot).await?;
        let is_sure = self.locked_existence(shown, key, start_ms) != Existence::Unsure;
        ensure(!is_sure || held.as_ref() == Some(&version), || {
            format!("{key:?} shows {version:?} under its lock, held: {held:?}")
        })?;
        let Some(found) = Found::of(&snapshot, version) else {
            return Ok(None);
        };
        let is_tidy = is_sure && self.scene.unread_bytes.get() == 0;
        let gaps = 0..found.root.page_count;
        let mut gaps = gaps.filter(|number| !found.pages.contains_key(number));
        let stray = gaps.find(|number| is_tidy && snapshot.find_page(*number).is_some());
        ensure(stray.is_none(), || {
            format!("{key:?} has a page {stray:?} that its root does not name")
        })?;
        Ok(Some(found))
    }

    /// Fresh contents for some pages, old and new; some are emptied.
    fn changed_pages(&mut self, pages: &Pages) -> BTreeMap<u32, Bytes> {
        let end = pages.last_key_value().map_or(0, |(last, _)| last + 1);
        let mean = pages.values().map(Bytes::len).sum::<usize>() / pages.len().max(1);
        let mut changed = BTreeMap::new();
        for _ in 0..=self.random.below(REWRITTEN_MAX) {
            let number = self.random.below(u64::from(end) + NUMBERS_BEHIND) as u32;
            let len = match self.random.below(8) {
                0 => 0,
                1 => self.scene.plan.sizes.draw(&mut self.random),
                _ => mean,
            };
            let page = self.scene.value(len.min(INLINE_BYTES_MAX));
            changed.insert(number.min(NUMBER_MAX), Bytes::from(page));
        }
        changed
    }

    /// Sets a key of its own to a collection whose pages are written before its root, in portions;
    /// now and then it is given up before.
    pub(crate) async fn write_ahead(&mut self) -> Result<(), Failure> {
        let key = self.own_key();
        let len = self.scene.plan.sizes.draw(&mut self.random);
        let (pages, expiry_ms) = (self.pages(len), self.deadline());
        let mut new = self.handle.new_collection();
        let mut rest = pages.iter().map(|(number, page)| (*number, page.clone()));
        loop {
            let count = 1 + self.random.below(PORTION_MAX);
            let portion: Vec<_> = rest.by_ref().take(count as usize).collect();
            if portion.is_empty() {
                break;
            }
            self.handle.write_ahead(&mut new, portion).await?;
            if self.random.flip() {
                let us = self.random.below(self.scene.plan.pause_us_max);
                self.scene.clock.sleep(us).await;
            }
            if self.random.below(GIVEN_UP_ONE_IN * PORTION_MAX) == 0 {
                return Ok(());
            }
        }
        let shown = self.shown();
        let mut batch = WriteBatch::new();
        batch.put(
            key.0,
            key.1.clone(),
            root_of((new.id(), 0), &pages),
            expiry_ms,
        );
        batch.publish(new);
        self.handle.commit(batch).await?;
        let version = Version {
            value: Value::Paged(pages),
            expiry_ms,
        };
        self.committed(shown, vec![(key.0, key.1, Some(version))])
            .await
    }
}
