//! What the store holds, as the replay goes on: the index, the roots and pages of collections, the
//! live bytes of segments. Owns what each kind of record does to them; must never do I/O.

use std::collections::{HashMap, HashSet};

use cellar_index::{Entry, Hasher, Identity, Index, VALUE_TYPE_PAGE};

use crate::damage::Part;
use crate::database::PAGE_HANDLE;
use crate::error::OpenError;
use crate::expiry::entry_seconds;
use crate::format::{DatabaseMap, EntryDetail, SummaryEntry, class_of, live_bytes};
use crate::paged::Collection;
use crate::place;
use crate::recovery::media::Media;
use crate::segment::shadow_bytes;
use crate::units::{CollectionId, Location, Lsn, SegmentNumber};

/// A database map, and where it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownMap {
    pub(super) map: DatabaseMap,
    /// Its record's LSN; just below the epoch's first one for a superblock's.
    pub(super) lsn: Lsn,
}

/// Where the record of a later map lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapPlace {
    pub(super) lsn: Lsn,
    pub(super) segment: SegmentNumber,
    pub(super) offset: u32,
}

/// Bytes of one segment's records.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    live: i64,
    shadow: i64,
}

/// The contents so far.
pub(super) struct Contents<'a> {
    pub(super) media: &'a Media<'a>,
    known: KnownMap,
    pub(super) index: Index,
    weights: Vec<Weight>,
    roots: HashMap<Identity, CollectionId>,
    /// The highest page number of each collection.
    pages: HashMap<CollectionId, u32>,
    /// A map that is later than the one that records are judged by.
    pub(super) later_map: Option<MapPlace>,
    pub(super) record_count: u64,
}

impl<'a> Contents<'a> {
    pub(super) fn new(media: &'a Media<'a>, known: KnownMap) -> Result<Self, OpenError> {
        Ok(Self {
            media,
            known,
            // Recovery ignores maxmemory (design rule 15).
            index: Index::new(0).map_err(|_| OpenError::NoMemory)?,
            weights: vec![Weight::default(); media.segments.count() as usize],
            roots: HashMap::new(),
            pages: HashMap::new(),
            later_map: None,
            record_count: 0,
        })
    }

    /// Asks for the memory that [`Contents::apply`] will need.
    pub(super) fn prefetch(&self, entry: &SummaryEntry) {
        if let Some(id) = Identity::from_bytes(*entry.identity.get()) {
            self.index.prefetch(id);
        }
    }

    /// Does what a record did. Records come in the order of their doing.
    pub(super) fn apply(
        &mut self,
        segment: SegmentNumber,
        entry: &SummaryEntry,
    ) -> Result<(), OpenError> {
        self.record_count += 1;
        let Some(id) = Identity::from_bytes(*entry.identity.get()) else {
            let what = "an identity is impossible";
            self.media
                .report(segment, (Part::Summary, entry.offset), what);
            return Ok(());
        };
        match entry.detail {
            EntryDetail::Put {
                value_type,
                expiry_ms,
                collection,
            } => {
                // A database that no map shows is dead, and all that it held (design rule 13).
                let Some(number) = self.known.map.number(entry.database) else {
                    return Ok(());
                };
                let target = Target {
                    value_type: value_type.code(),
                    database: u8::try_from(number).expect("sixteen"),
                    expiry_s: entry_seconds(expiry_ms),
                };
                self.put(id, segment, entry, (target, collection))
            }
            EntryDetail::Page {
                collection,
                page_number,
            } => {
                let highest = self.pages.entry(collection).or_default();
                *highest = page_number.max(*highest);
                self.put(id, segment, entry, (Target::PAGE, None))
            }
            EntryDetail::Tombstone => {
                self.remove(id, segment, entry.bytes);
                Ok(())
            }
            EntryDetail::Map => {
                self.note_map(segment, entry);
                Ok(())
            }
            EntryDetail::Batch => Ok(()),
        }
    }

    fn remove(&mut self, id: Identity, segment: SegmentNumber, bytes: u32) {
        let removed = self.index.lock(id).remove(id);
        self.forget(id, removed);
        self.weights[segment.get() as usize].shadow += shadow_bytes(bytes);
    }

    fn put(
        &mut self,
        id: Identity,
        segment: SegmentNumber,
        entry: &SummaryEntry,
        (target, collection): (Target, Option<CollectionId>),
    ) -> Result<(), OpenError> {
        let at = Location::new(segment, entry.offset, self.media.segment_bytes);
        let at = at.expect("an entry's place is checked, and creation keeps segments in reach");
        let length_class = class_of(entry.bytes);
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
        self.weights[segment.get() as usize].live += i64::from(live_bytes(length_class));
        self.forget(id, replaced);
        if let Some(collection) = collection {
            self.roots.insert(id, collection);
        }
        Ok(())
    }

    /// An entry went: its record is dead, and its root's collection has lost its root.
    fn forget(&mut self, id: Identity, entry: Option<Entry>) {
        let Some(entry) = entry else { return };
        let (segment, _) = place::of(&entry).split(self.media.segment_bytes);
        self.weights[segment.get() as usize].live -= i64::from(live_bytes(entry.length_class));
        if place::is_root(&entry) {
            self.roots.remove(&id);
        }
    }

    fn note_map(&mut self, segment: SegmentNumber, entry: &SummaryEntry) {
        let newest = self.later_map.map_or(self.known.lsn, |later| later.lsn);
        if entry.lsn > newest {
            let place = MapPlace {
                lsn: entry.lsn,
                segment,
                offset: entry.offset,
            };
            self.later_map = Some(place);
        }
    }

    /// Enters the bytes of all segments into their table.
    pub(super) fn weigh(&self) {
        let segments = &self.media.segments;
        for (segment, weight) in segments.numbers().zip(&self.weights) {
            segments.add_live(segment, weight.live);
            segments.add_shadow(segment, weight.shadow);
        }
    }

    /// The live roots with their collections.
    pub(super) fn live_roots(&self) -> Vec<(Identity, Collection)> {
        let collection = |id: &CollectionId| Collection {
            id: *id,
            page_count: self
                .pages
                .get(id)
                .map_or(0, |highest| highest.saturating_add(1)),
        };
        self.roots
            .iter()
            .map(|(root, id)| (*root, collection(id)))
            .collect()
    }

    /// Collections that have pages and no root.
    pub(super) async fn orphans(&self, hasher: &Hasher) -> Vec<Collection> {
        let rooted: HashSet<CollectionId> = self.roots.values().copied().collect();
        let mut orphans = Vec::new();
        for (id, highest) in self.pages.iter().filter(|(id, _)| !rooted.contains(id)) {
            let is_there = |number| self.index.lookup(hasher.page(id.get(), number));
            if (0..=*highest).any(|number| is_there(number).is_some()) {
                orphans.push(Collection {
                    id: *id,
                    page_count: highest.saturating_add(1),
                });
            }
            tokio::task::yield_now().await;
        }
        orphans
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
