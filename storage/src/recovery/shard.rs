//! A shard of what the store holds: the entries of some of the index's partitions, as the replay
//! goes on. Owns what each kind of record does to them; must never do I/O, nor know of the others.

use std::collections::HashMap;
use std::sync::Arc;

use cellar_index::{Entry, Identity, Index, VALUE_TYPE_PAGE};

use crate::database::PAGE_HANDLE;
use crate::error::OpenError;
use crate::expiry::entry_seconds;
use crate::format::{DatabaseMap, EntryDetail, SummaryEntry, class_of, live_bytes};
use crate::place;
use crate::recovery::media::Media;
use crate::segment::{SegmentTable, shadow_bytes};
use crate::units::{CollectionId, Location, SegmentNumber};

/// Entries whose buckets are asked for before the first is put: the misses then overlap.
const PREFETCH_COUNT: usize = 32;

/// An entry on its way to its shard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) identity: Identity,
    pub(super) segment: SegmentNumber,
    pub(super) entry: SummaryEntry,
}

/// Bytes of one segment's records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    pub(super) live: i64,
    pub(super) shadow: i64,
}

/// One shard. The index is all shards'; each puts entries into partitions of its own.
pub(super) struct Shard {
    index: Arc<Index>,
    segments: Arc<SegmentTable>,
    map: DatabaseMap,
    segment_bytes: u32,
    now_s: u32,
    /// What this shard's entries add to each segment: of one alone it can be negative only for a
    /// moment, as records come in the order of their doing.
    pub(super) weights: Vec<Weight>,
    pub(super) roots: HashMap<Identity, CollectionId>,
    /// The highest page number of each collection, of the pages that this shard met.
    pub(super) pages: HashMap<CollectionId, u32>,
}

impl Shard {
    /// Records are judged by `map`. How many bytes die by their deadlines is counted in the
    /// segments' table at once.
    pub(super) fn new(index: Arc<Index>, media: &Media<'_>, map: DatabaseMap) -> Self {
        Self {
            index,
            segments: Arc::clone(&media.segments),
            map,
            segment_bytes: media.segment_bytes,
            now_s: media.now_s,
            weights: vec![Weight::default(); media.segments.count() as usize],
            roots: HashMap::new(),
            pages: HashMap::new(),
        }
    }

    /// Does what some records did, in their order.
    pub(super) fn apply_all(&mut self, steps: &[Step]) -> Result<(), OpenError> {
        for some in steps.chunks(PREFETCH_COUNT) {
            for step in some {
                self.index.prefetch(step.identity);
            }
            some.iter().try_for_each(|step| self.apply(step))?;
        }
        Ok(())
    }

    /// Takes over what another shard holds.
    pub(super) fn absorb(&mut self, other: Self) {
        for (weight, more) in self.weights.iter_mut().zip(other.weights) {
            weight.live += more.live;
            weight.shadow += more.shadow;
        }
        self.roots.extend(other.roots);
        for (collection, highest) in other.pages {
            self.note_page(collection, highest);
        }
    }

    /// Does what a record did. Records of one identity come in the order of their doing.
    fn apply(&mut self, step: &Step) -> Result<(), OpenError> {
        match step.entry.detail {
            EntryDetail::Put {
                value_type,
                expiry_ms,
                collection,
            } => {
                // A database that no map shows is dead, and all that it held (design rule 13).
                let Some(number) = self.map.number(step.entry.database) else {
                    return Ok(());
                };
                let target = Target {
                    value_type: value_type.code(),
                    database: u8::try_from(number).expect("sixteen"),
                    expiry_s: entry_seconds(expiry_ms),
                };
                self.put(step, &target, collection)
            }
            EntryDetail::Page {
                collection,
                page_number,
            } => {
                self.note_page(collection, page_number);
                self.put(step, &Target::PAGE, None)
            }
            EntryDetail::Tombstone => {
                let removed = self.index.lock(step.identity).remove(step.identity);
                self.forget(step.identity, removed);
                self.weights[step.segment.get() as usize].shadow += shadow_bytes(step.entry.bytes);
                Ok(())
            }
            EntryDetail::Map | EntryDetail::Batch => Ok(()),
        }
    }

    fn note_page(&mut self, collection: CollectionId, page_number: u32) {
        let highest = self.pages.entry(collection).or_default();
        *highest = page_number.max(*highest);
    }

    fn put(
        &mut self,
        step: &Step,
        target: &Target,
        collection: Option<CollectionId>,
    ) -> Result<(), OpenError> {
        let (id, segment) = (step.identity, step.segment);
        let at = Location::new(segment, step.entry.offset, self.segment_bytes);
        let at = at.expect("an entry's place is checked, and creation keeps segments in reach");
        let length_class = class_of(step.entry.bytes);
        let new = Entry {
            location: place::field(at, collection.is_some()),
            length_class,
            value_type: target.value_type,
            database: target.database,
            referenced: false,
            expiry_s: target.expiry_s,
        };
        let mut lock = self.index.lock(id);
        lock.ensure_room(id).map_err(|_| OpenError::NoMemory)?;
        let replaced = lock.put(id, new);
        drop(lock);
        self.weigh(segment, &new, i64::from(live_bytes(length_class)));
        self.forget(id, replaced);
        if let Some(collection) = collection {
            self.roots.insert(id, collection);
        }
        Ok(())
    }

    /// An entry went: its record is dead, and its root's collection has lost its root.
    fn forget(&mut self, id: Identity, entry: Option<Entry>) {
        let Some(entry) = entry else { return };
        let (segment, _) = place::of(&entry).split(self.segment_bytes);
        self.weigh(segment, &entry, -i64::from(live_bytes(entry.length_class)));
        if place::is_root(&entry) {
            self.roots.remove(&id);
        }
    }

    fn weigh(&mut self, segment: SegmentNumber, entry: &Entry, bytes: i64) {
        self.weights[segment.get() as usize].live += bytes;
        if entry.expiry_s != 0 {
            let weight = (bytes, self.now_s);
            self.segments.add_expiring(segment, entry.expiry_s, weight);
        }
    }
}

/// What an entry says beside its place.
struct Target {
    value_type: u8,
    database: u8,
    expiry_s: u32,
}

impl Target {
    const PAGE: Self = Self {
        value_type: VALUE_TYPE_PAGE,
        database: PAGE_HANDLE,
        expiry_s: 0,
    };
}
