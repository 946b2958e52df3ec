//! What the index holds and what it takes: keys per database, bytes per purpose.
//!
//! Owns the numbers that DBSIZE and INFO show. Must never leave a byte out.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::bucket::{BUCKET_WORDS, NODE_WORDS, NODES_RESERVED_ORDER};
use crate::counters::Counters;
use crate::entry::DATABASE_END;
use crate::table::Index;

/// Memory of the index, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexBytes {
    /// All of it: the sum of `buckets`, `overflow`, `directory` and `free`.
    pub total: u64,
    /// Part of `total` for which huge pages were asked.
    pub huge_page_backed: u64,
    /// Buckets in the table.
    pub buckets: u64,
    /// Overflow nodes in the table, or held by a writer.
    pub overflow: u64,
    /// Regions' headers, directories, counters and the allocators' own tables.
    pub directory: u64,
    /// Taken from the system, not in use.
    pub free: u64,
}

/// What the arenas' memory is used for.
#[derive(Default)]
pub(crate) struct Usage {
    pub(crate) buckets: AtomicU64,
    pub(crate) directory_nodes: AtomicU64,
}

impl Index {
    /// Keys of the database with handle `database`; pages are not counted.
    pub fn count(&self, database: u8) -> u64 {
        assert!(database < DATABASE_END, "a database handle fits its 5 bits");
        self.counters.keys(database)
    }

    /// Keys of the database with handle `database` that have an expiry.
    pub fn count_expiring(&self, database: u8) -> u64 {
        assert!(database < DATABASE_END, "a database handle fits its 5 bits");
        self.counters.expiring(database)
    }

    /// Keys of all databases; pages are not counted.
    pub fn len(&self) -> u64 {
        self.counters.all_keys()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the index takes of the memory, all slack included.
    pub fn bytes(&self) -> IndexBytes {
        let (buckets, nodes) = (self.buckets.bytes(), self.nodes.bytes());
        let count =
            |counter: &AtomicU64, bytes: usize| counter.load(Ordering::Relaxed) * bytes as u64;
        let bucket_bytes = count(&self.usage.buckets, BUCKET_WORDS * 4);
        let directory_nodes = count(&self.usage.directory_nodes, NODE_WORDS * 4);
        // Nodes are the directory's, or overflow, or the few that are never handed out.
        let reserved = ((NODE_WORDS * 4) << NODES_RESERVED_ORDER) as u64;
        let overflow = nodes.allocated.saturating_sub(directory_nodes + reserved);
        let directory = directory_nodes
            + reserved
            + buckets.bookkeeping
            + nodes.bookkeeping
            + self.fixed_bytes();
        let total = buckets.backed + nodes.backed + self.fixed_bytes();
        IndexBytes {
            total,
            huge_page_backed: buckets.huge + nodes.huge,
            buckets: bucket_bytes,
            overflow,
            directory,
            free: total.saturating_sub(bucket_bytes + overflow + directory),
        }
    }

    /// Counts an entry that came (or went) in `partition`, whose bucket the caller holds.
    pub(crate) fn count_entry(&self, partition: u16, came: bool) {
        let entries = &self.region(partition).entries;
        if came {
            entries.fetch_add(1, Ordering::Relaxed);
        } else {
            entries.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Headers and counters.
    pub(crate) fn fixed_bytes(&self) -> u64 {
        size_of_val(&*self.regions) as u64 + Counters::BYTES
    }
}
