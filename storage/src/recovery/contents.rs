//! What the store holds, when all is loaded: the index, the roots and pages of collections, the
//! live bytes of segments. Must never do I/O.

use std::collections::HashSet;
use std::sync::Arc;

use cellar_index::{Hasher, Identity, Index};

use crate::format::DatabaseMap;
use crate::paged::Collection;
use crate::recovery::shard::Shard;
use crate::segment::SegmentTable;
use crate::units::{CollectionId, Lsn, SegmentNumber};

/// Pages that are looked for before the executor gets a turn: about 50 us.
const PAGES_PER_TURN: u32 = 256;

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

/// The contents, when all is loaded.
pub(super) struct Contents {
    index: Arc<Index>,
    shard: Shard,
    pub(super) record_count: u64,
}

impl Contents {
    pub(super) fn new(index: Arc<Index>, shard: Shard, record_count: u64) -> Self {
        Self {
            index,
            shard,
            record_count,
        }
    }

    /// Enters the bytes of all segments into their table.
    pub(super) fn weigh(&self, segments: &SegmentTable) {
        for (segment, weight) in segments.numbers().zip(&self.shard.weights) {
            segments.add_live(segment, weight.live);
            segments.add_shadow(segment, weight.shadow);
        }
    }

    /// The live roots with their collections.
    pub(super) fn live_roots(&self) -> Vec<(Identity, Collection)> {
        let pages = &self.shard.pages;
        let collection = |id: &CollectionId| Collection {
            id: *id,
            page_count: pages.get(id).map_or(0, |highest| highest.saturating_add(1)),
        };
        let roots = self.shard.roots.iter();
        roots.map(|(root, id)| (*root, collection(id))).collect()
    }

    /// Collections that have pages and no root.
    pub(super) async fn orphans(&self, hasher: &Hasher) -> Vec<Collection> {
        let rooted: HashSet<CollectionId> = self.shard.roots.values().copied().collect();
        let unrooted = |(id, _): &(&CollectionId, &u32)| !rooted.contains(id);
        let mut orphans = Vec::new();
        for (id, highest) in self.shard.pages.iter().filter(unrooted) {
            if self.has_page(hasher, *id, *highest).await {
                orphans.push(Collection {
                    id: *id,
                    page_count: highest.saturating_add(1),
                });
            }
        }
        orphans
    }

    async fn has_page(&self, hasher: &Hasher, id: CollectionId, highest: u32) -> bool {
        for number in 0..=highest {
            if number % PAGES_PER_TURN == 0 {
                tokio::task::yield_now().await;
            }
            if self.index.lookup(hasher.page(id.get(), number)).is_some() {
                return true;
            }
        }
        false
    }

    /// The index; nothing else holds it any more.
    pub(super) fn into_index(self) -> Index {
        drop(self.shard);
        Arc::into_inner(self.index).expect("the shards are gone")
    }
}
