//! What all workers share: one value, behind one `Arc`.
//!
//! Owns the limits that commands obey and what several workers count. Everything in it is atomic
//! or behind a short lock. Must never be locked across an await.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Databases at most: the store numbers them 0..16.
pub const DATABASE_COUNT_MAX: u8 = 16;

/// Bytes of one argument at most, unless `proto-max-bulk-len` says otherwise.
pub const BULK_BYTES_MAX_DEFAULT: u64 = 512 * 1024 * 1024;

/// What all workers share.
#[derive(Debug)]
pub struct Shared {
    database_count: u8,
    bulk_bytes_max: AtomicU64,
    keyspace_hits: AtomicU64,
    keyspace_misses: AtomicU64,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            database_count: DATABASE_COUNT_MAX,
            bulk_bytes_max: AtomicU64::new(BULK_BYTES_MAX_DEFAULT),
            keyspace_hits: AtomicU64::new(0),
            keyspace_misses: AtomicU64::new(0),
        }
    }
}

impl Shared {
    /// How many databases SELECT offers.
    pub fn database_count(&self) -> u8 {
        self.database_count
    }

    /// Bytes of one argument and of one string value at most (`proto-max-bulk-len`).
    pub fn bulk_bytes_max(&self) -> u64 {
        self.bulk_bytes_max.load(Relaxed)
    }

    pub(crate) fn count_lookup(&self, found: bool) {
        let counter = if found {
            &self.keyspace_hits
        } else {
            &self.keyspace_misses
        };
        counter.fetch_add(1, Relaxed);
    }
}
