//! Client-side caching: clients are told when what they have read may have changed.
//!
//! ```text
//!  a read of a tracking client --> Table: key -> clients, a watch of the store for each key
//!  the store: the key changes  --> Changes --> drained: Table, Prefixes --> the inboxes of clients
//!  a command or the store names a key that changed --> Changes (broadcasting mode)
//! ```
//!
//! A key is watched before it is read, so no change is missed; what is told waits in the client's
//! inbox and follows the reply. Owns who has read what. Costs a command one load while nobody
//! tracks. Must never call the store from a watcher.

pub mod actor;
mod changes;
mod options;
mod prefixes;
mod table;
mod tracker;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use cellar_storage::{Db, Handle};
use dashmap::DashMap;

use crate::client::{Client, ClientFlag, Delivery};

use changes::Changes;
use prefixes::Prefixes;
use table::Table;

pub use options::{Mode, TrackingOptions, TrackingWords};
pub use tracker::Tracker;

/// Keys given up at once: some hundred microseconds.
const SHRINK_COUNT_MAX: usize = 256;

/// What the server knows of all tracking clients.
#[derive(Default)]
pub struct Tracking {
    trackers: DashMap<u64, Arc<Tracker>>,
    tracker_count: AtomicUsize,
    table: Table,
    prefixes: Prefixes,
    changes: Arc<Changes>,
}

impl Tracking {
    /// Whether any client tracks.
    pub fn is_any(&self) -> bool {
        self.client_count() != 0
    }

    /// Whether any client wants to know of all keys, by prefix.
    pub fn is_broadcasting(&self) -> bool {
        self.prefixes.is_any()
    }

    /// Begins to track for a client, or changes how.
    pub fn begin(&self, client: &Arc<Client>, options: TrackingOptions) -> Arc<Tracker> {
        let prefixes = options.prefixes.clone();
        let mode = options.mode;
        let tracker = Arc::new(Tracker::new(Arc::clone(client), options));
        let before = self.trackers.insert(client.id(), Arc::clone(&tracker));
        if before.is_none() {
            self.tracker_count.fetch_add(1, Relaxed);
        }
        if mode == Mode::Broadcast {
            self.prefixes.add(client.id(), prefixes);
        }
        client.flags().set(ClientFlag::Tracking, true);
        client.flags().set(ClientFlag::BrokenRedirect, false);
        let is_broadcast = mode == Mode::Broadcast;
        client.flags().set(ClientFlag::Broadcast, is_broadcast);
        client.note_redirect(Some(tracker.options().redirect));
        tracker
    }

    /// Ends it. What the client has read is forgotten as it changes.
    pub fn end(&self, client: &Client) {
        if self.trackers.remove(&client.id()).is_none() {
            return;
        }
        self.prefixes.remove(client.id());
        self.tracker_count.fetch_sub(1, Relaxed);
        for flag in [
            ClientFlag::Tracking,
            ClientFlag::BrokenRedirect,
            ClientFlag::Broadcast,
        ] {
            client.flags().set(flag, false);
        }
        client.note_redirect(None);
    }

    /// Remembers that a client is about to read a key. `count_max` bounds the keys remembered, 0
    /// for no bound: beyond it others are given up, which their readers are told.
    pub fn remember(
        &self,
        (store, db, key): (&Handle, Db, &[u8]),
        id: u64,
        count_max: usize,
        delivery: &mut Delivery<'_>,
    ) {
        self.table.remember((store, db, key), id, &self.changes);
        self.shrink(count_max, Some((db, key)), delivery);
    }

    /// Gives keys up beyond so many, 0 for no bound, which their readers are told; not the `spared`
    /// one. Of very many it gives up some: the next call goes on.
    pub fn shrink(
        &self,
        count_max: usize,
        spared: Option<(Db, &[u8])>,
        delivery: &mut Delivery<'_>,
    ) {
        let excess = self.table.key_count().saturating_sub(count_max);
        if count_max == 0 {
            return;
        }
        for _ in 0..excess.min(SHRINK_COUNT_MAX) {
            let Some((db, other)) = self.table.choose(spared) else {
                return;
            };
            self.invalidate((db, &other), None, delivery);
        }
    }

    /// Notes a key that changed, for those who want to know of all keys. `actor`: the client whose
    /// command that was.
    pub fn note_change(&self, key: &[u8], actor: Option<u64>) {
        self.changes.push_name(key, actor);
    }

    /// Whether changes wait to be told.
    pub fn has_changes(&self) -> bool {
        self.changes.is_any()
    }

    /// Tells the changes that wait.
    pub fn tell_changes(&self, delivery: &mut Delivery<'_>) {
        let taken = self.changes.take();
        for (db, key, actor) in taken.keys {
            self.invalidate((db, &key), actor, delivery);
        }
        if taken.names.is_empty() {
            return;
        }
        self.prefixes.tell(&taken.names, |id, keys| {
            if let Some(tracker) = self.tracker(id) {
                tracker.tell(Some(keys), delivery);
            }
        });
    }

    /// Waits until something changed outside of a command.
    pub async fn wait_changes(&self) {
        self.changes.wait().await;
    }

    /// A key may have changed: its readers are told, and forgotten.
    fn invalidate(&self, (db, key): (Db, &[u8]), actor: Option<u64>, delivery: &mut Delivery<'_>) {
        for id in self.table.forget(db, key) {
            let Some(tracker) = self.tracker(id) else {
                continue;
            };
            if tracker.mode() != Mode::Broadcast {
                tracker.tell(Some(&[(key, actor)]), delivery);
            }
        }
    }

    /// All keys of a database may have changed: every tracking client is told to forget all.
    pub fn tell_flushed(&self, delivery: &mut Delivery<'_>) {
        if !self.is_any() {
            return;
        }
        self.forget_keys();
        for tracker in &self.trackers {
            tracker.tell(None, delivery);
        }
    }

    /// Forgets what clients have read; whoever calls this tells them afterwards.
    pub fn forget_keys(&self) {
        if self.is_any() {
            self.table.clear();
        }
    }

    fn tracker(&self, id: u64) -> Option<Arc<Tracker>> {
        self.trackers.get(&id).map(|tracker| Arc::clone(&tracker))
    }

    /// Clients that track.
    pub fn client_count(&self) -> usize {
        self.tracker_count.load(Relaxed)
    }

    /// Keys that are remembered.
    pub fn key_count(&self) -> usize {
        self.table.key_count()
    }

    /// Pairs of a key and a client that are remembered.
    pub fn item_count(&self) -> usize {
        self.table.item_count()
    }

    /// Prefixes that somebody wants to know all keys of.
    pub fn prefix_count(&self) -> usize {
        self.prefixes.count()
    }

    /// Bytes of DRAM that remembered keys take.
    pub fn memory_bytes(&self) -> u64 {
        self.table.memory_bytes()
    }
}
