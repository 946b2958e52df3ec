//! Watches: whoever wants to know when a key changes.
//!
//! A change is a write or a removal by anybody, expiry and eviction included, and whatever makes
//! the key's database another one; moving a record is none. Watchers are told under the key's
//! bucket lock, so that what they are told of has just happened and nothing came in between.
//!
//! Owns who watches what. Must cost a write nothing but one load while nobody watches.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cellar_index::Identity;
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::database::{Db, DbRef};

/// What happened to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyChange {
    /// It was given a value or a deadline.
    Written,
    /// It was removed, or it expired or was evicted.
    Removed,
    /// Its database was flushed or exchanged: the watch sees nothing any more. `existed`: the key
    /// existed before or exists now.
    Moved {
        /// Whether that meant anything for the key.
        existed: bool,
    },
}

/// Somebody who wants to know of a key's changes.
pub trait KeyWatcher: Send + Sync {
    /// The key has changed. Called from any thread, under locks of the store: it may set flags,
    /// queue and wake, and must never wait or call the store.
    fn key_changed(&self, change: KeyChange);
}

/// Locks among which the watched keys are spread.
const SHARD_COUNT: usize = 64;

struct Watched {
    number: u64,
    db: Db,
    database: DbRef,
    key: Box<[u8]>,
    watcher: Arc<dyn KeyWatcher>,
}

type Shard = HashMap<Identity, SmallVec<[Watched; 1]>, RandomState>;

/// All watches of a store.
pub(crate) struct Watches {
    count: AtomicU64,
    next_number: AtomicU64,
    shards: [Mutex<Shard>; SHARD_COUNT],
}

impl Watches {
    pub(crate) fn new() -> Self {
        Self {
            count: AtomicU64::new(0),
            next_number: AtomicU64::new(0),
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }

    fn shard(&self, identity: Identity) -> &Mutex<Shard> {
        &self.shards[usize::from(identity.partition()) % SHARD_COUNT]
    }

    /// Begins to tell `watcher` of the changes of a key.
    pub(crate) fn add(
        self: &Arc<Self>,
        (db, database): (Db, DbRef),
        (identity, key): (Identity, &[u8]),
        watcher: Arc<dyn KeyWatcher>,
    ) -> Watch {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let added = Watched {
            number,
            db,
            database,
            key: key.into(),
            watcher,
        };
        self.count.fetch_add(1, Ordering::SeqCst);
        let mut shard = self.shard(identity).lock();
        shard.entry(identity).or_default().push(added);
        drop(shard);
        Watch {
            watches: Arc::clone(self),
            identity,
            number,
        }
    }

    fn remove(&self, identity: Identity, number: u64) {
        let mut shard = self.shard(identity).lock();
        if let Some(watched) = shard.get_mut(&identity) {
            watched.retain(|watched| watched.number != number);
            if watched.is_empty() {
                shard.remove(&identity);
            }
        }
        drop(shard);
        self.count.fetch_sub(1, Ordering::SeqCst);
    }

    /// A key has changed, and its bucket lock is still held.
    pub(crate) fn tell(&self, identity: Identity, change: KeyChange) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        if let Some(watched) = self.shard(identity).lock().get(&identity) {
            for watched in watched {
                watched.watcher.key_changed(change);
            }
        }
    }

    /// Tells the watchers of keys whose database numbers mean another database now. `exists` says
    /// whether a database has a key.
    pub(crate) async fn tell_moved(
        &self,
        resolve: impl Fn(Db) -> DbRef,
        exists: impl Fn(DbRef, &[u8]) -> bool,
    ) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        for shard in &self.shards {
            for watched in shard.lock().values().flatten() {
                let database = resolve(watched.db);
                if database != watched.database {
                    let existed =
                        exists(watched.database, &watched.key) || exists(database, &watched.key);
                    watched.watcher.key_changed(KeyChange::Moved { existed });
                }
            }
            tokio::task::yield_now().await;
        }
    }
}

/// One key watched for one watcher, until this is dropped.
pub struct Watch {
    watches: Arc<Watches>,
    identity: Identity,
    number: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watches.remove(self.identity, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::DatabaseId;

    #[derive(Default)]
    struct Noted(Mutex<Vec<KeyChange>>);

    impl KeyWatcher for Noted {
        fn key_changed(&self, change: KeyChange) {
            self.0.lock().push(change);
        }
    }

    fn database(id: u32) -> DbRef {
        DbRef {
            id: DatabaseId::new(id),
            handle: 0,
        }
    }

    #[tokio::test]
    async fn watchers_hear_of_their_keys_only_and_only_while_they_watch() {
        let watches = Arc::new(Watches::new());
        let hasher = cellar_index::Hasher::new([1; 16]);
        let (a, b) = (hasher.key(0, b"a"), hasher.key(0, b"b"));
        let noted = Arc::new(Noted::default());
        let place = (Db(0), database(0));
        let watch = watches.add(place, (a, b"a"), noted.clone());
        let other = watches.add(place, (a, b"a"), Arc::new(Noted::default()));
        watches.tell(a, KeyChange::Written);
        watches.tell(b, KeyChange::Written);
        watches.tell(a, KeyChange::Removed);
        watches.tell_moved(|_| database(1), |_, _| true).await;
        drop(watch);
        watches.tell(a, KeyChange::Written);
        let moved = KeyChange::Moved { existed: true };
        assert_eq!(
            *noted.0.lock(),
            [KeyChange::Written, KeyChange::Removed, moved]
        );
        drop(other);
        assert_eq!(watches.count.load(Ordering::SeqCst), 0);
        assert!(watches.shards.iter().all(|shard| shard.lock().is_empty()));
    }
}
