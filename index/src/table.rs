//! The table: finding a bucket, reading entries without a lock.
//!
//! Owns the arenas and the regions. Must never write to shared memory on a lookup.

use std::io;

use crate::accounting::Usage;
use crate::arena::Arena;
use crate::bucket::{BUCKET_WORDS, Chain, Found, LOCK, NODE_WORDS, NODES_RESERVED_ORDER, Slot};
use crate::budget::Budget;
use crate::counters::Counters;
use crate::entry::{Entry, Packed, REFERENCED};
use crate::identity::Identity;
use crate::lock::{Lock, Opened, Patience};
use crate::region::{Place, Region, Shape, State, TierSlot};
use crate::sync::{AtomicU32, Ordering, fence};

/// The DRAM hash table from identity to [`Entry`], shared by all threads.
pub struct Index {
    pub(crate) regions: Box<[Region]>,
    pub(crate) shape: Shape,
    pub(crate) buckets: Arena<BUCKET_WORDS>,
    pub(crate) nodes: Arena<NODE_WORDS>,
    pub(crate) counters: Counters,
    pub(crate) budget: Budget,
    pub(crate) usage: Usage,
}

/// The index cannot grow: its bound, or the address space reserved for it, is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the index has no room left (bound: {bytes_max} bytes, 0 = none)")]
pub struct IndexFull {
    /// The bound in force.
    pub bytes_max: u64,
}

/// A bucket found by a reader, together with the state of the region that it was found by.
#[derive(Clone, Copy)]
pub(crate) struct Located<'a> {
    region: &'a Region,
    pub(crate) state: State,
    /// The bucket's block in the arena.
    pub(crate) block: u32,
}

impl Located<'_> {
    /// Whether no bucket of the region came or went since.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        fence(Ordering::Acquire);
        self.region.state.load(Ordering::Relaxed) == self.state.word()
    }
}

impl Index {
    /// An empty index that takes at most `bytes_max` bytes (0 = no bound), its beginnings apart,
    /// for partitions that fill evenly, as those do that come from the hash.
    ///
    /// # Errors
    /// The system grants not even a small range of addresses.
    pub fn new(bytes_max: u64) -> io::Result<Self> {
        Self::with_shape(bytes_max, Shape::EVEN)
    }

    /// The same for partitions of any size, up to one that holds everything, as hash slots may.
    /// Costs some 200 bytes a partition and a longer way to the bucket.
    ///
    /// # Errors
    /// As [`Index::new`].
    pub fn new_for_uneven(bytes_max: u64) -> io::Result<Self> {
        Self::with_shape(bytes_max, Shape::ANY)
    }

    fn with_shape(bytes_max: u64, shape: Shape) -> io::Result<Self> {
        let index = Self {
            regions: (0..shape.regions()).map(|_| Region::new()).collect(),
            shape,
            buckets: Arena::new()?,
            nodes: Arena::new()?,
            counters: Counters::new(),
            budget: Budget::new(0),
            usage: Usage::default(),
        };
        index.budget.charge(index.fixed_bytes());
        index
            .make_first_buckets()
            .map_err(|_| io::ErrorKind::OutOfMemory)?;
        index.budget.set_bytes_max(bytes_max);
        Ok(index)
    }

    fn make_first_buckets(&self) -> Result<(), IndexFull> {
        self.nodes
            .allocate(NODES_RESERVED_ORDER, &self.budget)
            .ok_or_else(|| self.full())?;
        for region in &self.regions {
            self.found(region)?;
        }
        Ok(())
    }

    /// Changes the bound (0 = none). Nothing that is there is given up.
    pub fn set_bytes_max(&self, bytes_max: u64) {
        self.budget.set_bytes_max(bytes_max);
    }

    /// The bound in force, in bytes; 0 = none.
    pub fn bytes_max(&self) -> u64 {
        self.budget.bytes_max()
    }

    /// The entry of `id`. Waits while a writer holds its bucket; writes nothing.
    #[inline]
    pub fn lookup(&self, id: Identity) -> Option<Entry> {
        self.read(id, |packed, _| Some(Entry::unpack(packed)))
    }

    /// The entry of `id`, with whatever it points to pinned.
    ///
    /// Calls `pin` with an entry that was in the table a moment ago, then makes sure that it still
    /// is: if not, calls `unpin` with the same entry and starts over. The caller keeps the pin of
    /// the entry that is returned.
    ///
    /// Correct against a thread that changes or removes the entry (or learns that another thread
    /// did), then executes `fence(SeqCst)`, then looks for pins: either that thread sees the pin,
    /// or this one sees the change.
    pub fn lookup_pinned(
        &self,
        id: Identity,
        mut pin: impl FnMut(&Entry),
        mut unpin: impl FnMut(&Entry),
    ) -> Option<Entry> {
        self.read(id, |packed, is_valid| {
            let entry = Entry::unpack(packed);
            pin(&entry);
            // The pin before the validation, in the one order of all sequentially consistent
            // fences.
            fence(Ordering::SeqCst);
            if is_valid() {
                return Some(entry);
            }
            unpin(&entry);
            None
        })
    }

    /// Finds `id` and calls `take` with its words, validated, and a way to validate them again;
    /// starts over as long as `take` answers `None`.
    #[inline]
    fn read(
        &self,
        id: Identity,
        mut take: impl FnMut(&Packed, &dyn Fn() -> bool) -> Option<Entry>,
    ) -> Option<Entry> {
        let mut patience = Patience::default();
        loop {
            let located = self.locate(id);
            // Both lines of the bucket at once.
            self.buckets.memory().prefetch(located.block);
            if let Some((chain, lock, opened)) = self.begin_read(&located) {
                let is_valid = || lock.is_unchanged(opened) && located.is_current();
                let found = chain.find(id, || lock.is_unchanged(opened));
                let packed = match &found {
                    Found::Yes(slot) => Some(slot.read()),
                    Found::No | Found::Changed => None,
                };
                if !matches!(found, Found::Changed) && is_valid() {
                    match packed {
                        None => return None,
                        Some(packed) => {
                            if let Some(entry) = take(&packed, &is_valid) {
                                return Some(entry);
                            }
                        }
                    }
                }
            }
            patience.turn();
        }
    }

    /// Sets the referenced bit of `id`'s entry, unless its bucket is busy just now.
    pub fn mark_referenced(&self, id: Identity) {
        self.set_referenced(id, true);
    }

    /// Clears the referenced bit of `id`'s entry, unless its bucket is busy just now.
    pub fn clear_referenced(&self, id: Identity) {
        self.set_referenced(id, false);
    }

    fn set_referenced(&self, id: Identity, referenced: bool) {
        if self
            .lookup(id)
            .is_none_or(|entry| entry.referenced == referenced)
        {
            return;
        }
        let located = self.locate(id);
        let lock = self.lock_of(located.block);
        let Some(opened) = lock.try_lock() else {
            return;
        };
        if self.is_home_of(id, located.block)
            && let Some(slot) = self.chain(located.block).find_locked(id)
        {
            Self::write_referenced(slot, referenced);
        }
        lock.unlock_unchanged(opened);
    }

    fn write_referenced(slot: Slot<'_>, referenced: bool) {
        let mixed = slot.mixed().load(Ordering::Relaxed);
        let mixed = if referenced {
            mixed | REFERENCED
        } else {
            mixed & !REFERENCED
        };
        slot.mixed().store(mixed, Ordering::Relaxed);
    }

    /// Asks for the cache lines of `id`'s bucket, without waiting for them.
    #[inline]
    pub fn prefetch(&self, id: Identity) {
        self.buckets.memory().prefetch(self.locate(id).block);
    }

    /// Asks for the first overflow node of `id`'s bucket, if it has one: the second pass over a
    /// batch, when `prefetch` of the first pass has brought the buckets.
    #[inline]
    pub fn prefetch_overflow(&self, id: Identity) {
        let located = self.locate(id);
        if let Some((chain, lock, opened)) = self.begin_read(&located) {
            chain.prefetch_overflow(|| lock.is_unchanged(opened));
        }
    }

    /// Begins a read of a located bucket; `None` while a writer holds it.
    #[inline]
    pub(crate) fn begin_read(
        &self,
        located: &Located<'_>,
    ) -> Option<(Chain<'_>, Lock<'_>, Opened)> {
        let lock = self.lock_of(located.block);
        let opened = lock.begin_read()?;
        Some((self.chain(located.block), lock, opened))
    }

    #[inline]
    pub(crate) fn chain(&self, block: u32) -> Chain<'_> {
        Chain::new(self.buckets.memory().block(block), self.nodes.memory())
    }

    #[inline]
    pub(crate) fn lock_of(&self, block: u32) -> Lock<'_> {
        Lock(&self.buckets.memory().block(block)[LOCK])
    }

    #[inline]
    pub(crate) fn region(&self, partition: u16) -> &Region {
        &self.regions[self.shape.region_of(partition)]
    }

    /// The bucket where `id` lives, or just lived: the block was one of the table's at some moment
    /// during the call.
    #[inline]
    pub(crate) fn locate(&self, id: Identity) -> Located<'_> {
        self.locate_low(id.partition(), id.low())
    }

    /// The same for the tags of `partition` whose low word is `low`.
    #[inline]
    pub(crate) fn locate_low(&self, partition: u16, low: u32) -> Located<'_> {
        let region = self.region(partition);
        let number = self.shape.number_of(partition, low);
        loop {
            let state = State::from_word(region.state.load(Ordering::Acquire));
            let place = Place::of(state.bucket_of(number), self.shape);
            let chunk = self.chunk_word(region, place).load(Ordering::Relaxed);
            // A tier that was given up holds other things by now. Who reads those must also see
            // the state that they came after: the arena's release fences pair with this one.
            let located = Located {
                region,
                state,
                block: chunk.wrapping_add(place.offset),
            };
            if located.is_current() {
                return located;
            }
        }
    }

    /// The word that names `place`'s chunk.
    #[inline]
    pub(crate) fn chunk_word(&self, region: &Region, place: Place) -> &AtomicU32 {
        let (node, word) = place.chunk_slot();
        &self
            .nodes
            .memory()
            .block(self.tier_of(region, place) + node)[word]
    }

    /// The first node of `place`'s tier.
    #[inline]
    pub(crate) fn tier_of(&self, region: &Region, place: Place) -> u32 {
        match place.tier_slot() {
            TierSlot::Inline(tier) => region.tiers[tier].load(Ordering::Relaxed),
            TierSlot::Beyond(tier) => {
                // A state with such a tier was seen, so its node was stored.
                let beyond = region.beyond.load(Ordering::Relaxed);
                self.nodes.memory().block(beyond)[tier].load(Ordering::Relaxed)
            }
        }
    }

    /// Whether `id` belongs into the bucket at `block`, whose lock the caller holds.
    #[inline]
    pub(crate) fn is_home_of(&self, id: Identity, block: u32) -> bool {
        self.locate(id).block == block
    }
}
