//! A record in memory: its bytes, and where its parts are in them.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use triomphe::ThinArc;

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

/// The bytes of a verified record, and no others, behind what is known of their use.
#[derive(Clone, Debug)]
pub(crate) struct CompactRecord(ThinArc<Use, u8>);

/// What is known of the use of a record in the cache.
#[derive(Debug, Default)]
struct Use {
    was_read: AtomicBool,
}

impl CompactRecord {
    /// A copy of a record's bytes.
    pub(crate) fn copy_of(record: &[u8]) -> Self {
        Self(ThinArc::from_header_and_slice(Use::default(), record))
    }

    fn bytes(&self) -> &[u8] {
        &self.0.slice
    }

    /// Notes that it was found in the cache.
    pub(crate) fn note_read(&self) {
        self.0.header.header.was_read.store(true, Ordering::Relaxed);
    }

    /// Whether it was found in the cache, ever.
    pub(crate) fn was_read(&self) -> bool {
        self.0.header.header.was_read.load(Ordering::Relaxed)
    }

    /// DRAM that it takes in the cache, for the cache's budget.
    pub(crate) fn weight(&self) -> u64 {
        /// What the cache adds to an item, as measured for `quick_cache`.
        const ITEM_BYTES: u64 = 84;
        /// The count of users, the length, and the use, before the record.
        const HEAD_BYTES: u64 = 3 * size_of::<usize>() as u64;
        ITEM_BYTES + allocated_bytes(HEAD_BYTES + self.bytes().len() as u64)
    }
}

impl AsRef<[u8]> for CompactRecord {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

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
        let head = RecordHead::decode_verified(bytes.bytes()).expect("it was decoded before");
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

    /// The record, padding included.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.held {
            Held::Buffer(bytes) => bytes,
            Held::Compact(record) => record.bytes(),
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
            Held::Compact(record) => Bytes::from_owner(record.clone()).slice(range),
        }
    }

    /// The record alone in memory of its own, for the cache: the buffer that it was read into is
    /// larger and goes back to its list.
    pub(crate) fn compact(&self) -> CompactRecord {
        match &self.held {
            Held::Buffer(bytes) => CompactRecord::copy_of(&bytes[..record_len(&self.head)]),
            Held::Compact(record) => record.clone(),
        }
    }

    /// Whether the deadline has passed.
    pub(crate) fn is_expired(&self, now: &Moment<'_>) -> bool {
        self.head
            .expiry_ms()
            .is_some_and(|deadline| deadline <= now.unix_ms())
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
