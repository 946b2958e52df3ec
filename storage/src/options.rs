//! What a store is opened with.

use std::sync::Arc;

use crate::evict::EvictionPolicy;
use crate::recovery::Progress;

/// When a write counts as acknowledged, in Redis's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum AppendFsync {
    /// The reply leaves after the record is durable.
    Always = 0,
    /// Acknowledged in DRAM, durable within a second.
    #[default]
    Everysec = 1,
    /// Acknowledged in DRAM, durable when it suits the store: within some seconds.
    No = 2,
}

impl AppendFsync {
    pub(crate) fn from_u8(raw: u8) -> Self {
        match raw {
            0 => Self::Always,
            1 => Self::Everysec,
            2 => Self::No,
            other => unreachable!("durability level {other} was never stored"),
        }
    }
}

/// The bounds of a store and its shape in this process.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Worker threads that will attach.
    pub worker_count: usize,
    /// Segment size of a store that is created, in bytes: a power of two. An existing store keeps
    /// the one it was created with.
    pub segment_bytes: u32,
    /// The durability level at start.
    pub appendfsync: AppendFsync,
    /// Bound on index, cache, buffers and clients in bytes; 0: none.
    pub memory_bytes_max: u64,
    /// Bound on the value cache in bytes.
    pub value_cache_bytes: u64,
    /// Threads that load the index when the store is opened; 1: that of the caller. No more are
    /// made than serve later, so that a start takes what the store may take.
    pub recovery_threads: usize,
    /// What happens at start when devices or memory are full.
    pub eviction_policy: EvictionPolicy,
    /// Bytes of the devices that the scrub reads in a second.
    pub scrub_bytes_per_s: u64,
    /// Where opening tells how far it is.
    pub progress: Arc<Progress>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            worker_count: 1,
            segment_bytes: SEGMENT_BYTES_DEFAULT,
            appendfsync: AppendFsync::default(),
            memory_bytes_max: 0,
            value_cache_bytes: 256 << 20,
            recovery_threads: 1,
            eviction_policy: EvictionPolicy::default(),
            scrub_bytes_per_s: SCRUB_BYTES_PER_S_DEFAULT,
            progress: Arc::default(),
        }
    }
}

/// 8 MiB: a summary of 2 KB records is one read of 190 KiB, and a cleaner's turn stays short.
pub const SEGMENT_BYTES_DEFAULT: u32 = 8 << 20;
/// A batch of pages and a record of 64 KiB fit several times.
pub const SEGMENT_BYTES_MIN: u32 = 1 << 20;
/// Offsets in a segment and summary slots stay within their bits.
pub const SEGMENT_BYTES_MAX: u32 = 64 << 20;
/// 32 MiB in a second: a terabyte in nine hours, and a hundredth of what a drive gives.
pub const SCRUB_BYTES_PER_S_DEFAULT: u64 = 32 << 20;
/// Databases that a client can select.
pub const DATABASE_COUNT_MAX: usize = crate::format::DATABASE_COUNT;
/// Longest key: it shares a record of 64 KiB with its value.
pub const KEY_BYTES_MAX: usize = 16 << 10;
/// Longest value, Redis's bound.
pub const VALUE_BYTES_MAX: u64 = 512 << 20;
/// Longer values are kept as pages; shorter ones are one record.
pub const INLINE_BYTES_MAX: usize = 32 << 10;
/// Longest detail in the root of a collection: it shares a record of 64 KiB with its key, and every
/// change of the collection rewrites it.
pub const ROOT_DETAIL_BYTES_MAX: usize = 8 << 10;
/// Bytes of a page of a large value: one changed byte rewrites this much.
pub(crate) const PAGE_BYTES: u32 = 16 << 10;
