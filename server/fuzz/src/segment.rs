//! What surrounds the records of a segment: header, footer, summary.

use cellar_storage::Lsn;
use cellar_storage::format::{
    ENTRY_BYTES, EntryDetail, FOOTER_BYTES, Footer, FormatError, GenerationSeed, Identity,
    SEGMENT_HEADER_BYTES, SegmentHeader, SegmentState, StoreId, Stream, SummaryEntry, ValueType,
};
use cellar_storage::units::{CollectionId, DatabaseId, DeviceNumber, Generation, SegmentNumber};

use crate::input::Input;
use crate::{MUTATIONS, Target};

/// A segment's first block.
pub(crate) const HEADER: Target = Target {
    name: "segment_header",
    seeds: header_seeds,
    run: run_header,
    mutations: MUTATIONS,
};

/// A segment's last block.
pub(crate) const FOOTER: Target = Target {
    name: "footer",
    seeds: footer_seeds,
    run: run_footer,
    mutations: MUTATIONS,
};

/// The entries before it.
pub(crate) const SUMMARY: Target = Target {
    name: "summary",
    seeds: summary_seeds,
    run: run_summary,
    mutations: MUTATIONS,
};

const STORE: StoreId = StoreId::new([7; 16]);
const SEGMENT_BYTES: u32 = 1 << 20;
const BODY_END: u32 = 512 << 10;

/// As docs/format.md has it: magic, checksum, version, store, and then what differs.
const CRC_AT: usize = 8;
const VERSION_AT: usize = 12;
const FIELDS_AT: usize = 32;

/// Puts `fields` behind a beginning that is beyond doubt, into a structure as long as `pattern`.
pub(crate) fn sealed(pattern: &[u8], fields: &[u8]) -> Vec<u8> {
    let mut bytes = pattern.to_vec();
    let end = bytes.len().min(FIELDS_AT + fields.len());
    bytes[FIELDS_AT..end].copy_from_slice(&fields[..end - FIELDS_AT]);
    let crc = crc32c::crc32c(&bytes[VERSION_AT..]);
    bytes[CRC_AT..VERSION_AT].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// The fields of a structure, without the zeros at its end.
pub(crate) fn fields(structure: &[u8]) -> Vec<u8> {
    let fields = &structure[FIELDS_AT..];
    let end = fields
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    fields[..end].to_vec()
}

fn generation() -> Generation {
    Generation {
        epoch: 3,
        segment: SegmentNumber::new(5),
        opening_lsn: Lsn::new(1 << 20),
    }
}

fn header() -> SegmentHeader {
    SegmentHeader {
        store: STORE,
        device: DeviceNumber::new(1),
        generation: generation(),
        state: SegmentState::Open,
        stream: Stream::Hot,
        durable_lsn: Lsn::new(640),
        cut_lsn: None,
    }
}

fn header_seeds() -> Vec<Vec<u8>> {
    let freed = SegmentHeader {
        state: SegmentState::Free,
        stream: Stream::Cold,
        cut_lsn: Some(Lsn::new(1 << 21)),
        ..header()
    };
    [header(), freed]
        .map(|header| fields(&header.encode()))
        .to_vec()
}

/// What a header says comes back from its encoding, as foreign bytes and behind a good checksum.
fn run_header(bytes: &[u8]) {
    for bytes in [bytes.to_vec(), sealed(&header().encode(), bytes)] {
        if let Ok(header) = SegmentHeader::decode(&bytes, STORE) {
            assert_eq!(SegmentHeader::decode(&header.encode(), STORE), Ok(header));
        }
    }
}

fn footer() -> Footer {
    Footer {
        store: STORE,
        generation: generation(),
        stream: Stream::Hot,
        end_lsn: Lsn::new(2 << 20),
        durable_lsn: Lsn::new(640),
        entry_count: 2,
        entries_crc: 7,
        body_end: BODY_END,
        map_offset: None,
    }
}

fn footer_seeds() -> Vec<Vec<u8>> {
    let cold = Footer {
        stream: Stream::Cold,
        map_offset: Some(SEGMENT_HEADER_BYTES as u32),
        body_end: SEGMENT_HEADER_BYTES as u32 + 64,
        ..footer()
    };
    [footer(), cold]
        .map(|footer| fields(&footer.encode()))
        .to_vec()
}

/// What a footer says comes back from its encoding, and leads nobody out of its segment.
fn run_footer(bytes: &[u8]) {
    for bytes in [bytes.to_vec(), sealed(&footer().encode(), bytes)] {
        let Ok(footer) = Footer::decode(&bytes, STORE, SEGMENT_BYTES) else {
            continue;
        };
        assert_eq!(
            Footer::decode(&footer.encode(), STORE, SEGMENT_BYTES),
            Ok(footer)
        );
        let entries = footer.entries_extent(SEGMENT_BYTES);
        assert!(
            entries.offset >= u64::from(footer.body_end),
            "entries among the records"
        );
        let footer_offset = u64::from(SEGMENT_BYTES) - FOOTER_BYTES as u64;
        assert_eq!(
            entries.end(),
            Some(footer_offset),
            "entries end at the footer"
        );
        assert!(
            footer
                .map_offset
                .is_none_or(|offset| offset < footer.body_end)
        );
    }
}

fn summary_seeds() -> Vec<Vec<u8>> {
    let details = [
        EntryDetail::Put {
            value_type: ValueType::Hash,
            expiry_ms: Some(1_700_000_000_000),
            collection: Some(CollectionId::new(9)),
        },
        EntryDetail::Tombstone,
        EntryDetail::Page {
            collection: CollectionId::new(9),
            page_number: 4,
        },
        EntryDetail::Batch,
        EntryDetail::Map,
    ];
    // The last record's entry comes first.
    let mut offset = BODY_END;
    let entries = details.map(|detail| {
        offset -= 128;
        let entry = SummaryEntry {
            identity: Identity::new([3; 12]),
            database: DatabaseId::new(1),
            lsn: Lsn::new(640),
            offset,
            bytes: 128,
            detail,
        };
        entry.encode()
    });
    let mut seeds: Vec<Vec<u8>> = entries.iter().map(|entry| entry.to_vec()).collect();
    seeds.push(entries.concat());
    seeds
}

/// Entries that their footer vouches for decode one by one, lie in the body, and come back from
/// their encoding.
fn run_summary(bytes: &[u8]) {
    let whole = bytes.len() - bytes.len() % ENTRY_BYTES;
    let footer = Footer {
        entry_count: (whole / ENTRY_BYTES) as u32,
        entries_crc: crc32c::crc32c_append(
            GenerationSeed::new(STORE, generation()).get(),
            &bytes[..whole],
        ),
        ..footer()
    };
    let wrong = footer.verify_entries(bytes).map(Iterator::count);
    assert_eq!(
        wrong.is_ok(),
        whole == bytes.len(),
        "entries of another length"
    );
    let entries = footer
        .verify_entries(&bytes[..whole])
        .expect("the checksum was made right");
    for entry in entries {
        check_entry(entry);
    }
    let other = Footer {
        entries_crc: Input::new(bytes).u32(),
        ..footer
    };
    assert_eq!(
        other.verify_entries(&bytes[..whole]).is_ok(),
        other.entries_crc == footer.entries_crc
    );
}

fn check_entry(entry: Result<SummaryEntry, FormatError>) {
    let Ok(entry) = entry else { return };
    assert!(entry.offset as usize >= SEGMENT_HEADER_BYTES);
    assert!(
        entry.offset + entry.bytes <= BODY_END,
        "an entry beyond the body"
    );
    assert_eq!(SummaryEntry::decode(&entry.encode(), BODY_END), Ok(entry));
}
