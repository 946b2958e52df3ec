//! Which client has read which key since it was last told of it.
//!
//! Owns the watches of those keys. A key is forgotten with its first change; ids of clients that
//! are gone go then too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use cellar_storage::{Db, Handle, KeyWatcher, Watch};
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use smallvec::SmallVec;

use super::changes::{Changes, Watcher};

/// Databases that there are at most: each has its own map, so that a key is found by its name.
const DATABASE_COUNT: usize = 16;
/// Bytes that a key takes beside its name: its entry, its watch, and the store's entry.
const KEY_BYTES: u64 = 320;

/// Readers of one key: mostly one.
type Readers = SmallVec<[u64; 2]>;

/// One key.
struct Tracked {
    readers: Readers,
    /// Dropped with the key, outside of the map's locks: it takes a lock of the store.
    watch: Watch,
}

/// All keys.
#[derive(Default)]
pub(super) struct Table {
    keys: [DashMap<Bytes, Tracked>; DATABASE_COUNT],
    key_count: AtomicUsize,
    item_count: AtomicUsize,
    name_bytes: AtomicU64,
}

impl Table {
    /// Remembers that a client reads a key, from before it does.
    pub(super) fn remember(
        &self,
        (store, db, key): (&Handle, Db, &[u8]),
        id: u64,
        changes: &Arc<Changes>,
    ) {
        let keys = &self.keys[usize::from(db.0)];
        if let Some(mut tracked) = keys.get_mut(key) {
            self.add_reader(&mut tracked.readers, id);
            return;
        }
        match keys.entry(Bytes::copy_from_slice(key)) {
            Entry::Occupied(mut tracked) => self.add_reader(&mut tracked.get_mut().readers, id),
            Entry::Vacant(place) => {
                let name = place.key().clone();
                let watcher: Arc<dyn KeyWatcher> = Arc::new(Watcher::new(changes, db, name));
                let watch = store.watch(db, key, &watcher);
                let mut readers = Readers::new();
                self.add_reader(&mut readers, id);
                place.insert(Tracked { readers, watch });
                self.key_count.fetch_add(1, Relaxed);
                self.name_bytes.fetch_add(key.len() as u64, Relaxed);
            }
        }
    }

    fn add_reader(&self, readers: &mut Readers, id: u64) {
        if !readers.contains(&id) {
            readers.push(id);
            self.item_count.fetch_add(1, Relaxed);
        }
    }

    /// Forgets a key: who has read it.
    pub(super) fn forget(&self, db: Db, key: &[u8]) -> Readers {
        let Some((name, tracked)) = self.keys[usize::from(db.0)].remove(key) else {
            return Readers::new();
        };
        let Tracked { readers, watch } = tracked;
        drop(watch);
        self.key_count.fetch_sub(1, Relaxed);
        self.item_count.fetch_sub(readers.len(), Relaxed);
        self.name_bytes.fetch_sub(name.len() as u64, Relaxed);
        readers
    }

    /// Forgets all keys.
    pub(super) fn clear(&self) {
        for (number, keys) in (0..).zip(&self.keys) {
            let names: Vec<Bytes> = keys.iter().map(|tracked| tracked.key().clone()).collect();
            for name in names {
                self.forget(Db(number), &name);
            }
        }
    }

    /// A key to give up, any but the spared one.
    pub(super) fn choose(&self, spared: Option<(Db, &[u8])>) -> Option<(Db, Bytes)> {
        (0..).map(Db).zip(&self.keys).find_map(|(other_db, keys)| {
            let is_other = |name: &Bytes| spared != Some((other_db, &name[..]));
            let mut names = keys.iter().map(|tracked| tracked.key().clone());
            names.find(is_other).map(|name| (other_db, name))
        })
    }

    /// Keys that are remembered.
    pub(super) fn key_count(&self) -> usize {
        self.key_count.load(Relaxed)
    }

    /// Pairs of a key and a reader.
    pub(super) fn item_count(&self) -> usize {
        self.item_count.load(Relaxed)
    }

    /// Bytes of DRAM that the keys take.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.name_bytes.load(Relaxed) + self.key_count() as u64 * KEY_BYTES
    }
}
