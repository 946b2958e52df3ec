//! Collections: their ids, and pages that are written before their root.

use std::sync::Arc;

use bytes::Bytes;

use crate::database::Db;
use crate::error::StoreError;
use crate::format::PageKey;
use crate::handle::{Handle, KeyLocks};
use crate::lock::Mode;
use crate::paged::{NewCollection, PageContent};
use crate::units::CollectionId;
use crate::watch::{KeyWatcher, Watch};
use crate::write::{Terms, check_page};

/// Pages of one commit ahead of a root: of the usual length as much as a flush unit, and of the
/// longest half of the smallest segment.
const PAGES_PER_COMMIT: usize = 16;

impl Handle {
    /// Takes shared locks of keys, all in one fixed order: nobody changes them meanwhile.
    pub async fn lock_shared(&self, keys: &[(Db, &[u8])]) -> KeyLocks {
        self.acquire(keys, Mode::Shared).await
    }

    /// Tells `watcher` of every change of a key from now on, until the watch is dropped. A watch
    /// whose database was flushed or exchanged has told so and sees nothing any more.
    pub fn watch(&self, db: Db, key: &[u8], watcher: &Arc<dyn KeyWatcher>) -> Watch {
        let store = self.store();
        loop {
            let database = store.databases().resolve(db);
            let identity = self.worker().identify(database, key);
            let added = (identity, key);
            let watch = store
                .watches()
                .add((db, database), added, Arc::clone(watcher));
            // A flush just before may not have seen the watch.
            if store.databases().resolve(db) == database {
                return watch;
            }
        }
    }

    /// A collection without pages, whose root is published by a batch that was told so
    /// (`WriteBatch::publish`).
    pub fn new_collection(&self) -> NewCollection {
        NewCollection::new(self.store().collections(), 0)
    }

    /// Writes pages of a new collection before its root, where one batch cannot hold them. They
    /// are swept if the root is never published.
    pub async fn write_ahead(
        &self,
        new: &mut NewCollection,
        pages: Vec<(u32, Bytes)>,
    ) -> Result<(), StoreError> {
        for (page_number, _) in &pages {
            new.note_page(*page_number);
        }
        self.write_unpublished(new.id(), pages).await
    }

    /// Writes pages of a collection to which no page leads that its root leads to, under its key's
    /// lock. They stay, unread, if the batch that would lead to them is never written.
    pub async fn write_unpublished(
        &self,
        collection: CollectionId,
        pages: Vec<(u32, Bytes)>,
    ) -> Result<(), StoreError> {
        let mut contents = Vec::with_capacity(pages.len());
        for (page_number, content) in pages {
            contents.push(page_content(collection, page_number, content)?);
        }
        for step in contents.chunks(PAGES_PER_COMMIT) {
            tokio::task::yield_now().await;
            let writes: Vec<_> = step
                .iter()
                .map(|page| page.prepare(self.worker()))
                .collect();
            self.worker()
                .commit_prepared(&writes, Terms::default())
                .await?;
        }
        Ok(())
    }
}

/// A page, ready to be written.
pub(super) fn page_content(
    collection: CollectionId,
    page_number: u32,
    content: Bytes,
) -> Result<PageContent, StoreError> {
    check_page(page_number, content.len())?;
    let key = PageKey {
        collection,
        page_number,
    };
    Ok(PageContent::new(key, content))
}
