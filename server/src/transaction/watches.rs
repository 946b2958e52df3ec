//! WATCH: keys of which a client wants to know whether anybody changed them.
//!
//! A watch is broken when its key was written or removed, and when the key is there now and was not
//! then, or the other way round. The store tells of writes and removals, expiry and eviction
//! included. What it does not tell of is found out at EXEC, under the keys' locks: a deadline that
//! has passed while nobody looked, and a key that came with another database behind the same
//! number. A key whose deadline had passed before WATCH was not there then: its removal breaks
//! nothing.
//!
//! Owns the client's mark that a watch is broken.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bytes::Bytes;
use cellar_storage::{Db, Handle, KeyChange, KeyWatcher, StoreError, Watch};

use crate::client::{Client, ClientFlag};

/// Bytes that a watched key takes here and in the store, its name left out, which both keep.
const WATCHED_BYTES: usize = 256;

/// The keys that one client watches.
#[derive(Default)]
pub(crate) struct Watches {
    keys: HashMap<(Db, Bytes), Watched>,
    key_bytes: usize,
}

struct Watched {
    state: Arc<KeyState>,
    /// Ends with this.
    _watch: Watch,
}

/// What the store's threads share with the client's own.
struct KeyState {
    client: Arc<Client>,
    /// Whether the key was there when the watch began; false until that is known.
    was_present: AtomicBool,
}

impl KeyWatcher for KeyState {
    fn key_changed(&self, change: KeyChange) {
        let is_broken = match change {
            KeyChange::Written => true,
            KeyChange::Removed | KeyChange::Moved { existed: true } => {
                self.was_present.load(Relaxed)
            }
            KeyChange::Moved { existed: false } => false,
        };
        if is_broken {
            self.client.flags().set(ClientFlag::WatchBroken, true);
        }
    }
}

impl Watches {
    /// Watches a key from now on; true where whether it is there has to be said by
    /// [`Self::note_present`].
    pub(crate) fn add(
        &mut self,
        store: &Handle,
        (db, key): (Db, &Bytes),
        of: &Arc<Client>,
    ) -> bool {
        // a slice would keep the whole read buffer in memory
        let key = Bytes::copy_from_slice(key);
        if self.keys.contains_key(&(db, key.clone())) {
            return false;
        }
        let state = Arc::new(KeyState {
            client: Arc::clone(of),
            was_present: AtomicBool::new(false),
        });
        let watcher: Arc<dyn KeyWatcher> = Arc::<KeyState>::clone(&state);
        let watch = store.watch(db, &key, &watcher);
        self.key_bytes += 2 * key.len();
        self.keys.insert(
            (db, key),
            Watched {
                state,
                _watch: watch,
            },
        );
        true
    }

    /// Notes that a key was there when its watch began.
    pub(crate) fn note_present(&self, db: Db, key: &Bytes) {
        if let Some(watched) = self.keys.get(&(db, key.clone())) {
            watched.state.was_present.store(true, Relaxed);
        }
    }

    /// The keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (Db, &[u8])> {
        self.keys.keys().map(|(db, key)| (*db, &key[..]))
    }

    /// Whether one of the keys is there and was not, or the other way round. The caller has them
    /// locked.
    pub(crate) async fn has_changed(&self, store: &Handle) -> Result<bool, StoreError> {
        for ((db, key), watched) in &self.keys {
            let is_present = store.peek(*db, key).await?.is_some();
            if is_present != watched.state.was_present.load(Relaxed) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Bytes that they take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.keys.len() * WATCHED_BYTES + self.key_bytes
    }
}
