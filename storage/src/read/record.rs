//! A record in memory: its bytes, and where its parts are in them.

use bytes::Bytes;

use crate::format::{Encoding, RecordHead, ValueType};

/// A record whose checksum was verified, or which never left memory.
#[derive(Clone, Debug)]
pub(crate) struct StoredRecord {
    bytes: Bytes,
    head: RecordHead,
}

impl StoredRecord {
    /// `bytes` begin with the record that `head` was decoded from, and hold it whole.
    pub(crate) fn new(bytes: Bytes, head: RecordHead) -> Self {
        assert!(bytes.len() >= record_len(&head), "a record is held whole");
        Self { bytes, head }
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

    pub(crate) fn key(&self) -> &[u8] {
        &self.bytes[self.head.key_range()]
    }

    /// The value's bytes, without a copy.
    pub(crate) fn value(&self) -> Bytes {
        self.bytes.slice(self.head.value_range())
    }

    pub(crate) fn value_slice(&self) -> &[u8] {
        &self.bytes[self.head.value_range()]
    }

    /// The record alone in memory of its own, for the cache: the buffer that it was read into is
    /// larger and goes back to its list.
    pub(crate) fn compact(&self) -> Self {
        let bytes = Bytes::copy_from_slice(&self.bytes[..record_len(&self.head)]);
        Self {
            bytes,
            head: self.head,
        }
    }

    /// DRAM held by a compact record, for the cache's budget.
    pub(crate) fn weight(&self) -> u64 {
        /// What the cache adds to an item, as measured for `quick_cache`, and the two headers of
        /// shared bytes.
        const OVERHEAD_BYTES: u64 = 84 + 48;
        allocated_bytes(self.bytes.len() as u64) + OVERHEAD_BYTES
    }

    /// Whether the deadline has passed.
    pub(crate) fn is_expired(&self, now_ms: u64) -> bool {
        self.head
            .expiry_ms()
            .is_some_and(|deadline| deadline <= now_ms)
    }
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
