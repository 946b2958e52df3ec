//! Exclusive access to the buckets of some identities.
//!
//! Owns what a writer may do. Must never step (split or merge) while a lock is held: that happens
//! when the guard is dropped. A thread holds at most one guard at a time.

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::bucket::{NODE_SLOTS, Nodes};
use crate::entry::Entry;
use crate::identity::Identity;
use crate::lock::{Opened, Patience};
use crate::table::{Index, IndexFull};

/// A locked bucket.
struct Held {
    block: u32,
    partition: u16,
    opened: Opened,
    /// An entry's bytes changed.
    changed: bool,
    /// An entry came or went.
    resized: bool,
}

/// What both guards share: the buckets held, and nodes that wait for an insert.
struct Holding<'a> {
    index: &'a Index,
    spares: Nodes,
    /// A lock is not handed to another thread, nor held across an await of a movable task.
    _not_send: PhantomData<*const ()>,
}

impl Holding<'_> {
    fn find(&self, held: &Held, id: Identity) -> Option<Entry> {
        let slot = self.index.chain(held.block).find_locked(id)?;
        Some(Entry::unpack(&slot.read()))
    }

    fn put(&mut self, held: &mut Held, id: Identity, entry: &Entry) -> Option<Entry> {
        let packed = entry.pack(id);
        let chain = self.index.chain(held.block);
        let replaced = chain.find_locked(id).map(|slot| {
            let replaced = Entry::unpack(&slot.read());
            slot.write(&packed);
            replaced
        });
        held.changed = true;
        if let Some(replaced) = &replaced {
            self.index.counters.subtract(held.partition, replaced);
        } else {
            chain.insert(&packed, &mut self.spares);
            held.resized = true;
            self.index.count_entry(held.partition, true);
        }
        self.index.counters.add(held.partition, entry);
        replaced
    }

    fn remove(&mut self, held: &mut Held, id: Identity) -> Option<Entry> {
        let chain = self.index.chain(held.block);
        let slot = chain.find_locked(id)?;
        let removed = Entry::unpack(&slot.read());
        // A node that this empties stays with the guard, so that room once obtained stays.
        chain.remove(slot, &mut self.spares);
        held.changed = true;
        held.resized = true;
        self.index.count_entry(held.partition, false);
        self.index.counters.subtract(held.partition, &removed);
        Some(removed)
    }

    fn unlock(&self, held: &Held) {
        let lock = self.index.lock_of(held.block);
        if held.changed {
            lock.unlock_changed(held.opened);
        } else {
            lock.unlock_unchanged(held.opened);
        }
    }
}

/// Exclusive access to one bucket, until dropped.
#[must_use]
pub struct BucketLock<'a> {
    holding: Holding<'a>,
    held: Held,
    id: Identity,
}

impl BucketLock<'_> {
    /// The entry of `id`, which lives in this bucket.
    pub fn find(&self, id: Identity) -> Option<Entry> {
        self.check(id);
        self.holding.find(&self.held, id)
    }

    /// Makes sure that one entry that is not there yet can be put.
    ///
    /// # Errors
    /// [`IndexFull`] when the index would pass its bound; nothing changed.
    pub fn ensure_room(&mut self, id: Identity) -> Result<(), IndexFull> {
        self.check(id);
        let index = self.holding.index;
        let chain = index.chain(self.held.block);
        if chain.room() > 0 || chain.find_locked(id).is_some() {
            return Ok(());
        }
        index.spare_nodes(&mut self.holding.spares, 1)
    }

    /// Inserts or replaces the entry of `id`; answers what it replaced. An insert needs
    /// `ensure_room` first.
    pub fn put(&mut self, id: Identity, entry: Entry) -> Option<Entry> {
        self.check(id);
        self.holding.put(&mut self.held, id, &entry)
    }

    /// Removes the entry of `id`; answers what it was.
    pub fn remove(&mut self, id: Identity) -> Option<Entry> {
        self.check(id);
        self.holding.remove(&mut self.held, id)
    }

    #[inline]
    fn check(&self, id: Identity) {
        let home = id == self.id || self.holding.index.is_home_of(id, self.held.block);
        assert!(home, "an identity lives in the bucket that is locked");
    }
}

impl Drop for BucketLock<'_> {
    fn drop(&mut self) {
        self.holding.unlock(&self.held);
        let index = self.holding.index;
        let freed = index.free_nodes(&mut self.holding.spares);
        if self.held.resized {
            index.step(self.held.partition, freed);
        }
    }
}

/// Exclusive access to the buckets of several identities, until dropped.
#[must_use]
pub struct BucketLocks<'a> {
    holding: Holding<'a>,
    /// Ascending by block.
    held: SmallVec<[Held; 4]>,
}

impl BucketLocks<'_> {
    /// The entry of `id`, which is one of those locked.
    pub fn find(&self, id: Identity) -> Option<Entry> {
        self.holding.find(&self.held[self.position(id)], id)
    }

    /// Makes sure that an entry of each of `ids` can be put, none of which is there yet. Each
    /// identity stands for one entry; several may share a bucket.
    ///
    /// # Errors
    /// [`IndexFull`] when the index would pass its bound; nothing changed.
    pub fn ensure_room(&mut self, ids: &[Identity]) -> Result<(), IndexFull> {
        let mut wanted: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.held.len());
        for id in ids {
            wanted[self.position(*id)] += 1;
        }
        let nodes = self.held.iter().zip(&wanted).map(|(held, wanted)| {
            let room = self.holding.index.chain(held.block).room();
            wanted.saturating_sub(room).div_ceil(NODE_SLOTS)
        });
        let nodes = nodes.sum();
        self.holding
            .index
            .spare_nodes(&mut self.holding.spares, nodes)
    }

    /// Inserts or replaces the entry of `id`; answers what it replaced. An insert needs
    /// `ensure_room` first.
    pub fn put(&mut self, id: Identity, entry: Entry) -> Option<Entry> {
        let position = self.position(id);
        self.holding.put(&mut self.held[position], id, &entry)
    }

    /// Removes the entry of `id`; answers what it was.
    pub fn remove(&mut self, id: Identity) -> Option<Entry> {
        let position = self.position(id);
        self.holding.remove(&mut self.held[position], id)
    }

    fn position(&self, id: Identity) -> usize {
        let block = self.holding.index.locate(id).block;
        let found = self.held.binary_search_by_key(&block, |held| held.block);
        found.expect("an identity lives in a bucket that is locked")
    }
}

impl Drop for BucketLocks<'_> {
    fn drop(&mut self) {
        for held in &self.held {
            self.holding.unlock(held);
        }
        let index = self.holding.index;
        let freed = index.free_nodes(&mut self.holding.spares);
        for held in self.held.iter().filter(|held| held.resized) {
            index.step(held.partition, freed);
        }
    }
}

impl Index {
    /// Locks the bucket of `id`. The calling thread holds no other guard of this index.
    pub fn lock(&self, id: Identity) -> BucketLock<'_> {
        let mut patience = Patience::default();
        loop {
            if let Some(held) = self.try_hold(id, self.locate(id).block) {
                return BucketLock {
                    holding: self.holding(),
                    held,
                    id,
                };
            }
            patience.turn();
        }
    }

    /// Locks the buckets of `ids`, each once, in the order of their addresses. The calling thread
    /// holds no other guard of this index.
    pub fn lock_many(&self, ids: &[Identity]) -> BucketLocks<'_> {
        loop {
            let mut order: SmallVec<[(u32, Identity); 8]> =
                ids.iter().map(|id| (self.locate(*id).block, *id)).collect();
            order.sort_unstable();
            let mut locks = BucketLocks {
                holding: self.holding(),
                held: SmallVec::new(),
            };
            if order
                .iter()
                .all(|(block, id)| self.hold_next(&mut locks, *block, *id))
            {
                return locks;
            }
            // A bucket split or merged meanwhile: `locks` lets go of all.
        }
    }

    /// Adds the bucket at `block`, home of `id`, to the locks held, all of which are at lower
    /// addresses; false where it is `id`'s home no more.
    fn hold_next(&self, locks: &mut BucketLocks<'_>, block: u32, id: Identity) -> bool {
        if locks.held.last().is_some_and(|last| last.block == block) {
            return self.is_home_of(id, block);
        }
        let mut patience = Patience::default();
        loop {
            if let Some(held) = self.try_hold(id, block) {
                locks.held.push(held);
                return true;
            }
            if !self.is_home_of(id, block) {
                return false;
            }
            patience.turn();
        }
    }

    fn try_hold(&self, id: Identity, block: u32) -> Option<Held> {
        // Both lines of the bucket at once.
        self.buckets.memory().prefetch(block);
        let lock = self.lock_of(block);
        let opened = lock.try_lock()?;
        if !self.is_home_of(id, block) {
            lock.unlock_unchanged(opened);
            return None;
        }
        let partition = id.partition();
        Some(Held {
            block,
            partition,
            opened,
            changed: false,
            resized: false,
        })
    }

    fn holding(&self) -> Holding<'_> {
        Holding {
            index: self,
            spares: Nodes::new(),
            _not_send: PhantomData,
        }
    }
}
