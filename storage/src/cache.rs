//! The value cache: records in DRAM, under a budget, by place and life.
//!
//! What is at a place in one life of a segment never changes, so nothing has to be invalidated:
//! what was overwritten gives its room back, no more. The policy is S3-FIFO-like, resistant to
//! scans (crate `quick_cache`).

use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, Weighter};

use crate::read::{CompactRecord, StoredRecord};
use crate::units::{Location, Lsn};

/// A place in one life of its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    pub(crate) at: Location,
    pub(crate) opening: Lsn,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<CacheKey, CompactRecord> for ByBytes {
    fn weight(&self, _: &CacheKey, record: &CompactRecord) -> u64 {
        record.weight()
    }
}

/// The records that are kept in DRAM.
pub(crate) struct ValueCache {
    cache: Cache<CacheKey, CompactRecord, ByBytes, DefaultHashBuilder>,
}

/// For the cache's first sizing: values of the size that the store is made for.
const RECORD_BYTES_TYPICAL: u64 = 2 << 10;

impl ValueCache {
    /// A cache of at most `bytes_max` bytes, its own overhead included.
    pub(crate) fn new(bytes_max: u64) -> Self {
        let items = usize::try_from(bytes_max / RECORD_BYTES_TYPICAL).expect("fits a machine");
        Self {
            cache: Cache::with_weighter(items.max(1), bytes_max, ByBytes),
        }
    }

    pub(crate) fn get(&self, key: CacheKey) -> Option<StoredRecord> {
        let record = self.cache.get(&key)?;
        record.note_read();
        Some(StoredRecord::of_compact(record))
    }

    /// Keeps a copy of the record in memory of its own, if the policy wants it.
    pub(crate) fn insert(&self, key: CacheKey, record: &StoredRecord) {
        if self.cache.capacity() > 0 {
            self.cache.insert(key, record.compact());
        }
    }

    /// Nothing leads to a record any more: it gives its room back. Whether it had been read.
    pub(crate) fn forget(&self, key: CacheKey) -> bool {
        let record = self.cache.remove(&key);
        record.is_some_and(|(_, record)| record.was_read())
    }

    /// Keeps a record that takes the place of one that was read.
    pub(crate) fn follow(&self, key: CacheKey, record: CompactRecord) {
        self.cache.insert(key, record);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.cache.weight()
    }

    pub(crate) fn bytes_max(&self) -> u64 {
        self.cache.capacity()
    }

    pub(crate) fn set_bytes_max(&self, bytes_max: u64) {
        if self.cache.capacity() != bytes_max {
            self.cache.set_capacity(bytes_max);
        }
    }

    pub(crate) fn item_count(&self) -> usize {
        self.cache.len()
    }
}
