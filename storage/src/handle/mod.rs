//! A worker's handle on the store: everything that the server calls.
//!
//! `read` and `write` are the operations on keys, `collections` those on pages of values that are
//! no strings, `keyspace` those on many keys or on databases,
//! `durability` what concerns the log. A handle stays on its worker's thread; clones are cheap.

mod collections;
mod durability;
mod keyspace;
mod modify;
mod read;
mod write;

use std::rc::Rc;
use std::sync::Arc;

use cellar_index::Identity;

use crate::clock::Clock;
use crate::database::{Db, DbRef};
use crate::lock::StripeLocks;
use crate::options::DATABASE_COUNT_MAX;
use crate::store::Store;
use crate::worker::Worker;

/// One worker's access to the store.
#[derive(Clone)]
pub struct Handle(Rc<Worker>);

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
        Self(worker)
    }

    pub(crate) fn worker(&self) -> &Rc<Worker> {
        &self.0
    }

    /// The store that the handle belongs to.
    pub fn store(&self) -> &Arc<Store> {
        self.0.store()
    }

    /// The clock that the store and the commands share.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.0.store().clock()
    }

    /// A pseudo-random number, from the seed that the store was opened with.
    pub fn random_u64(&self) -> u64 {
        self.0.random_u64()
    }

    fn identity(&self, locks: &KeyLocks, db: Db, key: &[u8]) -> Identity {
        self.0.identify(locks.database(db), key)
    }
}
