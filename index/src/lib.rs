//! The DRAM hash table of Cellar: from a key's identity to where its record is.
//!
//! ```text
//!  key --Hasher--> Identity = 14 bits partition + 72 bits tag
//!
//!  partitions[16 384]      directory             buckets (128 B)        overflow (64 B)
//!  +------------------+    +--------------+      +-----------------+    +-----------------+
//!  | state, entries   |    | 16 chunk     |      | lock + sequence |    | link, 3 entries |--> ..
//!  | tier 0 -----------+-> | numbers -------+--> | link -------------+> +-----------------+
//!  | tier 1 ..        |    +--------------+      | 6 entries       |
//!  +------------------+                          +-----------------+
//! ```
//!
//! One [`Index`] is shared by all threads. Readers take no lock and write nothing: they check a
//! bucket's sequence number before and after (`table.rs`). Writers hold the bucket's lock through
//! a guard (`guard.rs`); when the guard is dropped, the partition may gain or lose one bucket
//! (`growth.rs`). The memory comes from two arenas (`arena.rs`) over reserved addresses
//! (`memory.rs`, the crate's only unsafe code). `docs/index.md` has the arithmetic.
//!
//! Owns hashing, entries, buckets, growth, cursors and the accounting of its memory. Must never do
//! I/O, await, or know what a record looks like.

mod accounting;
mod arena;
mod bucket;
mod budget;
mod compaction;
mod counters;
mod entry;
mod growth;
mod guard;
mod identity;
mod lock;
#[cfg_attr(loom, path = "memory_loom.rs")]
mod memory;
mod piece;
mod region;
mod scan;
#[cfg(not(loom))]
mod sync;
#[cfg(loom)]
#[path = "sync_loom.rs"]
pub mod sync;
mod table;

#[cfg(all(test, loom))]
mod loom_tests;

pub use accounting::IndexBytes;
pub use entry::{
    DATABASE_END, ENTRY_BYTES, Entry, LENGTH_CLASS_END, LOCATION_END, VALUE_TYPE_PAGE,
};
pub use guard::{BucketLock, BucketLocks};
pub use identity::{Hasher, IDENTITY_BITS, Identity, PARTITION_BITS, PARTITION_COUNT, TAG_BITS};
pub use table::{Index, IndexFull};
