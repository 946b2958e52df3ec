//! The format, held still: fixed bytes that every version must produce and read, foreign bytes that
//! no decoder may trip over, and the documentation's tables against the code's.

mod documentation;
mod foreign;
mod golden;
mod verdicts;

use super::*;
use crate::units::{CollectionId, DatabaseId, DeviceNumber, Generation, Lsn, SegmentNumber};

pub(super) const STORE: StoreId = StoreId::new(*b"0123456789abcdef");
pub(super) const SEGMENT_BYTES: u32 = 1 << 20;

pub(super) fn generation() -> Generation {
    Generation {
        epoch: 3,
        segment: SegmentNumber::new(7),
        opening_lsn: Lsn::new(0x0100_0000),
    }
}

pub(super) fn seed() -> RecordSeed {
    GenerationSeed::new(STORE, generation()).at(4096)
}

pub(super) fn encoded(draft: &RecordDraft<'_>) -> Vec<u8> {
    let mut bytes = vec![0xee; draft.bytes() as usize];
    draft.encode_into(&mut bytes, Lsn::new(0x0100_0000), seed());
    bytes
}

pub(super) fn put<'a>() -> RecordDraft<'a> {
    RecordDraft::new(Kind::Put, b"key", b"value")
        .database(DatabaseId::new(2))
        .typed(ValueType::String, Encoding::Embstr)
        .expiry(Some(1_700_000_000_123))
}

pub(super) fn header() -> SegmentHeader {
    SegmentHeader {
        store: STORE,
        device: DeviceNumber::new(1),
        generation: generation(),
        state: SegmentState::Open,
        stream: Stream::Hot,
        durable_lsn: Lsn::new(0x00ff_0000),
        cut_lsn: None,
    }
}

pub(super) fn entry(detail: EntryDetail) -> SummaryEntry {
    SummaryEntry {
        identity: Identity::new(*b"identity1234"),
        database: DatabaseId::new(2),
        lsn: Lsn::new(0x0100_0000),
        offset: 4096,
        bytes: 96,
        detail,
    }
}

pub(super) fn put_entry() -> SummaryEntry {
    entry(EntryDetail::Put {
        value_type: ValueType::Hash,
        expiry_ms: Some(1_700_000_000_123),
        collection: Some(CollectionId::new(64)),
    })
}

pub(super) fn footer(entries: &[u8]) -> Footer {
    Footer {
        store: STORE,
        generation: generation(),
        stream: Stream::Cold,
        end_lsn: Lsn::new(0x0108_0000),
        durable_lsn: Lsn::new(0x00ff_0000),
        entry_count: (entries.len() / ENTRY_BYTES) as u32,
        entries_crc: crc32c::crc32c_append(GenerationSeed::new(STORE, generation()).get(), entries),
        body_end: 8192,
        map_offset: Some(4192),
    }
}

pub(super) fn superblock() -> Superblock {
    Superblock {
        store: STORE,
        hash_seed: *b"fedcba9876543210",
        sequence: 5,
        epoch: 3,
        cut_lsn: Lsn::new(0x00ff_ffe0),
        start_lsn: Lsn::new(0x0100_0000),
        block_bytes: 512,
        segment_bytes: 8 << 20,
        segment_count: 1000,
        device: DeviceNumber::new(1),
        devices: vec![DeviceId::new([1; 16]), DeviceId::new([2; 16])],
        clean: true,
        databases: DatabaseMap::default(),
        map_lsn: Lsn::ZERO,
    }
}

/// A structure as a program of another version would have sealed it.
pub(super) fn as_version(bytes: &mut [u8], version: u8) {
    bytes[12] = version;
    let crc = crc32c::crc32c(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
}
