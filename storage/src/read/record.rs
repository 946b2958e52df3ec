//! A record in memory: its bytes, and where its parts are in them.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::expiry::Moment;
use crate::format::{Encoding, RecordHead, ValueType};

/// A record whose checksum was verified, or which never left memory.
#[derive(Clone, Debug)]
pub(crate) struct StoredRecord {
    held: Held,
    head: RecordHead,
}

/// What holds a record's bytes.
#[derive(Clone, Debug)]
enum Held {
    /// The buffer that it was read into or copied to.
    Buffer(Bytes),
    /// Memory of its own, its count of users just before its header: one cache line for both.
    Compact(CompactRecord),
}

/// The bytes of a verified record, and no others.
pub(crate) type CompactRecord = Arc<[u8]>;

impl StoredRecord {
    /// `bytes` begin with the record that `head` was decoded from, and hold it whole.
    pub(crate) fn new(bytes: Bytes, head: RecordHead) -> Self {
        assert!(bytes.len() >= record_len(&head), "a record is held whole");
        Self {
            held: Held::Buffer(bytes),
            head,
        }
    }

    /// The record that [`Self::compact`] made these bytes of.
    pub(crate) fn of_compact(bytes: CompactRecord) -> Self {
        let head = RecordHead::decode_verified(&bytes).expect("it was decoded before");
        Self {
            held: Held::Compact(bytes),
            head,
        }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.head.paged
    }

    pub(crate) fn value_type(&self) -> ValueType {
        self.head.value_type
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.head.encoding
    }

    pub(crate) fn expiry_ms(&self) -> Option<u64> {
        self.head.expiry_ms()
    }

    fn bytes(&self) -> &[u8] {
        match &self.held {
            Held::Buffer(bytes) => bytes,
            Held::Compact(bytes) => bytes,
        }
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.bytes()[self.head.key_range()]
    }

    pub(crate) fn value(&self) -> &[u8] {
        &self.bytes()[self.head.value_range()]
    }

    /// A part of the value, without a copy. Panics when it does not lie within.
    pub(crate) fn share(&self, part: Range<usize>) -> Bytes {
        let value = self.head.value_range();
        assert!(part.end <= value.len(), "a part of the value");
        let range = value.start + part.start..value.start + part.end;
        match &self.held {
            Held::Buffer(bytes) => bytes.slice(range),
            Held::Compact(bytes) => Bytes::from_owner(Arc::clone(bytes)).slice(range),
        }
    }

    /// The record alone in memory of its own, for the cache: the buffer that it was read into is
    /// larger and goes back to its list.
    pub(crate) fn compact(&self) -> CompactRecord {
        match &self.held {
            Held::Buffer(bytes) => Arc::from(&bytes[..record_len(&self.head)]),
            Held::Compact(bytes) => Arc::clone(bytes),
        }
    }

    /// Whether the deadline has passed.
    pub(crate) fn is_expired(&self, now: &Moment<'_>) -> bool {
        self.head
            .expiry_ms()
            .is_some_and(|deadline| deadline <= now.unix_ms())
    }
}

/// DRAM held by a compact record of so many bytes in the cache, for its budget.
pub(crate) fn compact_weight(bytes: usize) -> u64 {
    /// What the cache adds to an item, as measured for `quick_cache`.
    const ITEM_BYTES: u64 = 84;
    /// The counts before the record.
    const COUNT_BYTES: u64 = 2 * size_of::<usize>() as u64;
    ITEM_BYTES + allocated_bytes(COUNT_BYTES + bytes as u64)
}

/// What the allocator takes for `bytes`: it has four size classes a doubling.
fn allocated_bytes(bytes: u64) -> u64 {
    const CLASSES_PER_DOUBLING: u64 = 4;
    let below = 1 << bytes.max(8).ilog2();
    bytes.next_multiple_of((below / CLASSES_PER_DOUBLING).max(8))
}

/// A record's padded length, as lengths of slices are counted.
pub(crate) fn record_len(head: &RecordHead) -> usize {
    usize::try_from(head.bytes()).expect("a record is bounded")
}
