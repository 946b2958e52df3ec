//! The registry of collections: which root each belongs to, and which wait for the sweeper.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cellar_index::Identity;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::format::{CollectionRoot, EPOCH_MAX, RootValue};
use crate::units::CollectionId;

/// A collection of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collection {
    /// Never reused: the store's epoch above, a count below.
    pub(crate) id: CollectionId,
    /// Pages 0 to this, exclusively, may exist.
    pub(crate) page_count: u32,
}

impl Collection {
    /// The collection that the root of a type other than string names.
    pub(crate) fn of_root(root: &CollectionRoot) -> Self {
        Self {
            id: root.collection,
            page_count: root.page_count,
        }
    }

    /// The collection that a string's root names.
    pub(crate) fn of(root: &RootValue) -> Self {
        let page_count = u32::try_from(root.page_count());
        Self {
            id: root.collection,
            page_count: page_count.expect("a root that was read has a bounded number of pages"),
        }
    }
}

/// Bits of a collection id that count within one start of the store: a thousand million million.
const SEQUENCE_BITS: u32 = 40;
const _: () = assert!(EPOCH_MAX.ilog2() + SEQUENCE_BITS < u64::BITS);

/// A collection whose pages are to be swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Abandoned {
    pub(crate) collection: Collection,
    /// The key that it belonged to: whoever still reads it holds that key's lock.
    pub(crate) root: Option<Identity>,
}

#[derive(Default)]
struct Registry {
    by_root: HashMap<Identity, Collection>,
    sweep: VecDeque<Abandoned>,
    /// Collections that are being written and that no root names yet.
    rootless: HashSet<CollectionId>,
}

/// All collections of a store.
pub(crate) struct Collections {
    registry: Mutex<Registry>,
    next_id: AtomicU64,
    sweep_wanted: Notify,
}

impl Collections {
    pub(crate) fn new(epoch: u32) -> Self {
        Self {
            registry: Mutex::default(),
            next_id: AtomicU64::new(u64::from(epoch) << SEQUENCE_BITS),
            sweep_wanted: Notify::new(),
        }
    }

    pub(crate) fn new_id(&self) -> CollectionId {
        CollectionId::new(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Recovery found a live root.
    pub(crate) fn register(&self, root: Identity, collection: Collection) {
        self.registry.lock().by_root.insert(root, collection);
    }

    /// The pages of a collection that lost its root, or never got one, are to be swept.
    pub(crate) fn abandon(&self, collection: Collection) {
        self.registry.lock().sweep.push_back(Abandoned {
            collection,
            root: None,
        });
        self.sweep_wanted.notify_one();
    }

    /// A key's entry changed under its bucket lock. `was_root`: the old entry was one; `root`: the
    /// new entry's collection. `kept`: collections that a root of the same batch bears on.
    pub(crate) fn root_changed(
        &self,
        key: Identity,
        was_root: bool,
        root: Option<Collection>,
        kept: &[Collection],
    ) {
        if !was_root && root.is_none() {
            return;
        }
        let mut registry = self.registry.lock();
        let before = match root {
            Some(collection) => {
                registry.rootless.remove(&collection.id);
                registry.by_root.insert(key, collection)
            }
            None => registry.by_root.remove(&key),
        };
        let lives_on = |id: CollectionId| kept.iter().any(|collection| collection.id == id);
        if let Some(collection) = before.filter(|before| !lives_on(before.id)) {
            registry.sweep.push_back(Abandoned {
                collection,
                root: Some(key),
            });
            drop(registry);
            self.sweep_wanted.notify_one();
        }
    }

    pub(crate) fn take_sweep(&self) -> Option<Abandoned> {
        self.registry.lock().sweep.pop_front()
    }

    /// The collection of a key with a large value.
    pub(crate) fn of_root(&self, root: Identity) -> Option<Collection> {
        self.registry.lock().by_root.get(&root).copied()
    }

    /// The key whose large value has its pages in a collection: a search through all of them.
    pub(crate) fn root_of(&self, id: CollectionId) -> Option<Identity> {
        let registry = self.registry.lock();
        let mut roots = registry.by_root.iter();
        roots.find_map(|(root, collection)| (collection.id == id).then_some(*root))
    }

    /// Collections whose pages wait to be swept.
    pub(crate) fn abandoned_count(&self) -> u64 {
        self.registry.lock().sweep.len() as u64
    }

    /// Woken when there is something to sweep.
    pub(crate) fn sweep_wanted(&self) -> &Notify {
        &self.sweep_wanted
    }

    /// Bytes of the registry, about.
    pub(crate) fn bytes(&self) -> u64 {
        let registry = self.registry.lock();
        let entry_bytes = size_of::<Identity>() + size_of::<Collection>() + 1;
        let bytes = registry.by_root.capacity() * entry_bytes
            + registry.sweep.capacity() * size_of::<Abandoned>();
        bytes as u64
    }
}

/// A collection that is being written: its pages are swept when this is dropped and no root was
/// published.
pub struct NewCollection {
    collections: Arc<Collections>,
    pub(crate) collection: Collection,
}

impl NewCollection {
    pub(crate) fn new(collections: &Arc<Collections>, page_count: u32) -> Self {
        let collection = Collection {
            id: collections.new_id(),
            page_count,
        };
        collections.registry.lock().rootless.insert(collection.id);
        Self {
            collections: Arc::clone(collections),
            collection,
        }
    }

    /// Its id, never used before.
    pub fn id(&self) -> CollectionId {
        self.collection.id
    }

    /// Page `page_number` is about to be written.
    pub(crate) fn note_page(&mut self, page_number: u32) {
        let page_count = &mut self.collection.page_count;
        *page_count = (*page_count).max(page_number + 1);
    }
}

impl std::fmt::Debug for NewCollection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("NewCollection")
            .field(&self.id())
            .finish()
    }
}

impl Drop for NewCollection {
    fn drop(&mut self) {
        if self
            .collections
            .registry
            .lock()
            .rootless
            .remove(&self.collection.id)
        {
            self.collections.abandon(self.collection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &[u8]) -> Identity {
        cellar_index::Hasher::new([1; 16]).key(0, name)
    }

    #[test]
    fn a_displaced_collection_is_swept_unless_a_root_bears_it_on() {
        let collections = Collections::new(1);
        let first = Collection {
            id: collections.new_id(),
            page_count: 3,
        };
        collections.root_changed(key(b"a"), false, Some(first), &[first]);
        let longer = Collection {
            page_count: 4,
            ..first
        };
        collections.root_changed(key(b"a"), true, Some(longer), &[longer]);
        assert_eq!(collections.take_sweep(), None);
        collections.root_changed(key(b"b"), false, Some(longer), &[longer]);
        collections.root_changed(key(b"a"), true, None, &[longer]);
        assert_eq!(collections.take_sweep(), None);
        collections.root_changed(key(b"b"), true, None, &[]);
        let abandoned = Abandoned {
            collection: longer,
            root: Some(key(b"b")),
        };
        assert_eq!(collections.take_sweep(), Some(abandoned));
    }

    #[test]
    fn a_collection_without_a_root_is_swept() {
        let collections = Arc::new(Collections::new(1));
        let fresh = NewCollection::new(&collections, 2);
        let collection = fresh.collection;
        drop(fresh);
        assert_eq!(
            collections.take_sweep(),
            Some(Abandoned {
                collection,
                root: None
            })
        );
        let fresh = NewCollection::new(&collections, 2);
        collections.root_changed(
            key(b"a"),
            false,
            Some(fresh.collection),
            &[fresh.collection],
        );
        drop(fresh);
        assert_eq!(collections.take_sweep(), None);
    }
}
