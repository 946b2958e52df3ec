//! Keys that changed and whose readers are not told yet.
//!
//! Owns the queue between the store's watchers, which must not wait, and those who tell: the
//! command that made the change, once it is over, or a coroutine. A key stands in it once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bytes::Bytes;
use cellar_storage::{Db, KeyChange, KeyWatcher};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::actor;

/// What waits to be told.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Watched keys, and whose doing it was.
    pub(super) keys: Vec<(Db, Bytes, Option<u64>)>,
    /// Names of changed keys, whoever has read them, and whose doing the last change was.
    pub(super) names: BTreeMap<Bytes, Option<u64>>,
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Changes {
    is_any: AtomicBool,
    waiting: Mutex<Taken>,
    filled: Notify,
}

impl Changes {
    /// Whether something waits.
    pub(super) fn is_any(&self) -> bool {
        self.is_any.load(Relaxed)
    }

    /// Adds the name of a key that changed.
    pub(super) fn push_name(&self, key: &[u8], actor: Option<u64>) {
        let mut waiting = self.waiting.lock();
        if let Some(known) = waiting.names.get_mut(key) {
            *known = actor;
            return;
        }
        waiting.names.insert(Bytes::copy_from_slice(key), actor);
        self.note_filled();
    }

    fn push_key(&self, db: Db, key: Bytes, actor: Option<u64>) {
        self.waiting.lock().keys.push((db, key, actor));
        self.note_filled();
    }

    fn note_filled(&self) {
        if !self.is_any.swap(true, Relaxed) {
            self.filled.notify_one();
        }
    }

    /// Takes what waits.
    pub(super) fn take(&self) -> Taken {
        let mut waiting = self.waiting.lock();
        self.is_any.store(false, Relaxed);
        std::mem::take(&mut *waiting)
    }

    /// Waits until something waits.
    pub(super) async fn wait(&self) {
        self.filled.notified().await;
    }
}

/// Watches one key for the table.
pub(super) struct Watcher {
    changes: Arc<Changes>,
    db: Db,
    key: Bytes,
    /// One change is enough: the key is forgotten with it.
    is_told: AtomicBool,
}

impl Watcher {
    pub(super) fn new(changes: &Arc<Changes>, db: Db, key: Bytes) -> Self {
        Self {
            changes: Arc::clone(changes),
            db,
            key,
            is_told: AtomicBool::new(false),
        }
    }
}

impl KeyWatcher for Watcher {
    fn key_changed(&self, _: KeyChange) {
        if !self.is_told.swap(true, Relaxed) {
            self.changes
                .push_key(self.db, self.key.clone(), actor::present());
        }
    }
}
