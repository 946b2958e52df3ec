//! A worker's handle on the store: everything that the server calls.
//!
//! `read` and `write` are the operations on keys, `collections` those on pages of values that are
//! no strings, `keyspace` those on many keys or on databases, `transaction` several of them as one,
//! `durability` what concerns the log. A handle stays on its worker's thread; clones are cheap.

mod collections;
mod durability;
mod keyspace;
mod modify;
mod read;
mod transaction;
mod write;

use std::rc::Rc;
use std::sync::Arc;

use cellar_index::Identity;

use crate::clock::Clock;
use crate::database::{Db, DbRef};
use crate::error::StoreError;
use crate::lock::StripeLocks;
use crate::options::DATABASE_COUNT_MAX;
use crate::overlay::Overlay;
use crate::paged::NewCollection;
use crate::read::View;
use crate::store::Store;
use crate::worker::Worker;
use crate::write::{Item, Outcome, Prepared, Terms};

pub use transaction::Transaction;

/// One worker's access to the store.
#[derive(Clone)]
pub struct Handle {
    worker: Rc<Worker>,
    /// The transaction whose writes it sees and collects.
    overlay: Option<Rc<Overlay>>,
}

/// Locks of keys, given back when dropped. What they cover was resolved when they were
/// taken: a database that is flushed meanwhile stays the one that it was.
pub struct KeyLocks {
    stripes: StripeLocks,
    databases: [DbRef; DATABASE_COUNT_MAX],
}

impl KeyLocks {
    fn database(&self, db: Db) -> DbRef {
        self.databases[usize::from(db.0)]
    }
}

impl Handle {
    pub(crate) fn new(worker: Rc<Worker>) -> Self {
        Self {
            worker,
            overlay: None,
        }
    }

    pub(crate) fn worker(&self) -> &Rc<Worker> {
        &self.worker
    }

    /// The store that the handle belongs to.
    pub fn store(&self) -> &Arc<Store> {
        self.worker.store()
    }

    /// The clock that the store and the commands share.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.worker.store().clock()
    }

    /// A pseudo-random number, from the seed that the store was opened with.
    pub fn random_u64(&self) -> u64 {
        self.worker.random_u64()
    }

    /// What this handle reads, its transaction's own writes first.
    fn view(&self) -> View {
        View::new(&self.worker, self.overlay.as_ref())
    }

    /// What a database number means now, or to the transaction.
    fn database(&self, db: Db) -> DbRef {
        match &self.overlay {
            Some(overlay) => overlay.database(db),
            None => self.store().databases().resolve(db),
        }
    }

    /// What all database numbers mean.
    fn databases(&self) -> [DbRef; DATABASE_COUNT_MAX] {
        match &self.overlay {
            Some(overlay) => overlay.databases(),
            None => self.store().databases().resolve_all(),
        }
    }

    fn identify(&self, db: Db, key: &[u8]) -> Identity {
        self.worker.identify(self.database(db), key)
    }

    /// A transaction holds the locks of all keys that it reads.
    fn cover(&self, identity: Identity) -> Result<(), StoreError> {
        match &self.overlay {
            Some(overlay) => overlay.cover(self.store(), [identity]),
            None => Ok(()),
        }
    }

    /// Commits writes, or collects them for the transaction.
    async fn write(
        &self,
        writes: &[Prepared<'_>],
        terms: Terms<'_>,
    ) -> Result<Outcome, StoreError> {
        match &self.overlay {
            Some(overlay) => overlay.add(&self.worker, writes, terms).await,
            None => self.worker.commit_prepared(writes, terms).await,
        }
    }

    async fn write_items(&self, items: &[Item], terms: Terms<'_>) -> Result<Outcome, StoreError> {
        let writes: Vec<_> = items.iter().map(Item::prepare).collect();
        self.write(&writes, terms).await
    }

    /// A write that publishes new collections has ended: pages whose root was not published are
    /// swept from here on, or when the transaction has ended.
    fn settle(&self, new: Vec<NewCollection>) {
        if let Some(overlay) = &self.overlay {
            overlay.keep(new);
        }
    }

    fn identity(&self, locks: &KeyLocks, db: Db, key: &[u8]) -> Identity {
        self.worker.identify(locks.database(db), key)
    }
}
