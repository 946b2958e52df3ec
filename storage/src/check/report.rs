//! What a check found. Owns the figures and the verdict over them; must never print.

use crate::damage::Damage;

/// What a store holds, and what of it is damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The store's id, in hexadecimal digits.
    pub store: String,
    /// Starts of the store so far.
    pub epoch: u32,
    /// It was closed in order.
    pub was_clean: bool,
    /// Where the log ends.
    pub end_lsn: u64,
    /// Its devices, in their order.
    pub devices: Vec<DeviceReport>,
    /// Bytes of a segment.
    pub segment_bytes: u64,
    /// Segments that hold nothing.
    pub segments_unused: u64,
    /// Segments with what clients wrote.
    pub segments_hot: u64,
    /// Segments with what the cleaner moved.
    pub segments_cold: u64,
    /// Segments that lost their headers.
    pub segments_lost: u64,
    /// Bytes read and verified.
    pub bytes: u64,
    /// Keys of all databases.
    pub keys: u64,
    /// Records that verify.
    pub records: u64,
    /// Of these, those that somebody can ask for.
    pub live_records: u64,
    /// What these take, counted anew from the records.
    pub live_bytes: u64,
    /// Segments whose live bytes are not what the store counts.
    pub miscounted_segments: u64,
    /// Removals on record.
    pub tombstones: u64,
    /// Pages of large values, dead ones too.
    pub pages: u64,
    /// Batches of several records.
    pub batches: u64,
    /// Collections of pages that belong to no key; the next start removes them.
    pub orphan_collections: u64,
    /// Large values.
    pub large_values: u64,
    /// Large values with pages that are missing.
    pub broken_values: u64,
    /// Keys in segments that lost their headers: they answer with errors.
    pub keys_out_of_reach: u64,
    /// Damaged places.
    pub damaged: u64,
    /// Of these the last ones, in the order in which they were met.
    pub damage: Vec<Damage>,
}

/// One device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceReport {
    /// Its name: the path.
    pub name: String,
    /// Its capacity.
    pub bytes: u64,
    /// Segments that it has room for.
    pub segments: u64,
}

impl Report {
    /// Nothing is damaged or missing.
    pub fn is_clean(&self) -> bool {
        self.damaged == 0 && self.broken_values == 0 && self.miscounted_segments == 0
    }
}

/// How far a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckProgress {
    /// Segments that were read whole.
    pub segments_done: u64,
    /// Of so many.
    pub segments_total: u64,
}
