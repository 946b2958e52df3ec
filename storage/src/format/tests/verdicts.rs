//! What decoders say of good bytes, of damaged ones, and of good ones in the wrong place.

use super::*;
use crate::format::batch::FOLLOWING_BYTES_MAX;
use crate::format::page::PAGES_MAX;
use crate::format::record::HEAD_BYTES_MAX;
use crate::options::VALUE_BYTES_MAX;
use crate::units::UNIT_BYTES;

/// Under Miri every bit would take hours.
const BIT_STEP: usize = if cfg!(miri) { 1_009 } else { 1 };

/// Checks that `decode` takes `bytes`, and not with any one bit of its first `sealed` bytes
/// flipped.
fn check_every_bit(bytes: &[u8], sealed: usize, decode: impl Fn(&[u8]) -> bool) {
    assert!(decode(bytes));
    let mut bytes = bytes.to_vec();
    for bit in (0..sealed * 8).step_by(BIT_STEP) {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(!decode(&bytes), "bit {bit} flipped");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn records_come_back() {
    let page_key = PageKey {
        collection: CollectionId::new(64),
        page_number: 9,
    }
    .encode();
    let longest = vec![7; RECORD_BYTES_MAX as usize - HEAD_BYTES_MAX - 3];
    let database = DatabaseMap::default().encode();
    let batch = BatchHeader {
        following_bytes: 64,
        record_count: 1,
    }
    .encode();
    let drafts = [
        put(),
        RecordDraft::new(Kind::Put, b"", b""),
        RecordDraft::new(Kind::Put, b"key", &longest).expiry(Some(0)),
        RecordDraft::new(Kind::Put, b"key", b"root")
            .paged()
            .typed(ValueType::Set, Encoding::Raw),
        RecordDraft::new(Kind::Tombstone, b"identity1234", b""),
        RecordDraft::new(Kind::Page, &page_key, b"page"),
        RecordDraft::new(Kind::Batch, b"", &batch),
        RecordDraft::new(Kind::Map, b"", &database),
    ];
    for draft in drafts {
        let bytes = encoded(&draft);
        let record = Record::decode(&bytes, seed()).unwrap();
        assert_eq!(record.head.kind, draft.kind());
        assert_eq!(record.head.lsn, Lsn::new(0x0100_0000));
        assert_eq!(record.head.bytes(), u64::from(draft.bytes()));
        assert!(draft.bytes() >= RECORD_BYTES_MIN && draft.bytes().is_multiple_of(UNIT_BYTES));
        assert_eq!(&bytes[record.head.key_range()], record.key);
        assert_eq!(&bytes[record.head.value_range()], record.value);
    }
    let bytes = encoded(&put());
    let Record { head, key, value } = Record::decode(&bytes, seed()).unwrap();
    assert_eq!(
        (key, value, head.expiry_ms()),
        (&b"key"[..], &b"value"[..], Some(1_700_000_000_123))
    );
    assert_eq!(
        (head.database.get(), head.value_type),
        (2, ValueType::String)
    );
    assert_eq!(
        (head.encoding, head.paged, head.durable_lsn()),
        (Encoding::Embstr, false, None)
    );
}

#[test]
fn pads_tell_their_length_and_the_durable_lsn() {
    for (bytes, durable) in [(32, None), (64, Some(96)), (8 << 20, Some(96))] {
        let pad = pad_head(bytes, Lsn::new(128), Lsn::new(96), seed());
        let head = RecordHead::decode(pad.as_slice(), seed()).unwrap();
        assert_eq!((head.kind, head.bytes()), (Kind::Pad, u64::from(bytes)));
        assert_eq!(
            (head.durable_lsn(), head.expiry_ms()),
            (durable.map(Lsn::new), None)
        );
        assert_eq!(Record::decode(pad.as_slice(), seed()).unwrap().value, b"");
    }
}

#[test]
fn every_flipped_bit_of_a_record_is_found() {
    let bytes = encoded(&put());
    let payload_end = HEAD_BYTES_MAX + 8;
    check_every_bit(&bytes, payload_end, |bytes| {
        Record::decode(bytes, seed()).is_ok()
    });
    let pad = pad_head(512, Lsn::new(0), Lsn::new(0), seed());
    check_every_bit(pad.as_slice(), 40, |bytes| {
        RecordHead::decode(bytes, seed()).is_ok()
    });
}

#[test]
fn a_record_verifies_only_in_its_place_and_generation() {
    let bytes = encoded(&put());
    let other = |change: fn(&mut Generation)| {
        let mut generation = generation();
        change(&mut generation);
        Record::decode(&bytes, GenerationSeed::new(STORE, generation).at(4096))
    };
    assert_eq!(other(|_| {}), Record::decode(&bytes, seed()));
    assert_eq!(
        other(|generation| generation.epoch += 1),
        Err(FormatError::Checksum)
    );
    assert_eq!(
        other(|generation| generation.segment = SegmentNumber::new(8)),
        Err(FormatError::Checksum)
    );
    assert_eq!(
        other(|generation| generation.opening_lsn = Lsn::new(0)),
        Err(FormatError::Checksum)
    );
    let foreign = GenerationSeed::new(StoreId::new([9; 16]), generation()).at(4096);
    assert_eq!(Record::decode(&bytes, foreign), Err(FormatError::Checksum));
    let elsewhere = GenerationSeed::new(STORE, generation()).at(4096 + 32);
    assert_eq!(
        Record::decode(&bytes, elsewhere),
        Err(FormatError::Checksum)
    );
}

#[test]
fn a_resealed_record_moved_and_nothing_else_changed() {
    let mut bytes = encoded(&put());
    let before = bytes.clone();
    let new_place = GenerationSeed::new(STORE, Generation::default()).at(8192);
    reseal(&mut bytes, seed(), new_place).unwrap();
    assert_eq!(Record::decode(&bytes, seed()), Err(FormatError::Checksum));
    let (moved, original) = (
        Record::decode(&bytes, new_place),
        Record::decode(&before, seed()),
    );
    assert_eq!(moved, original);
    assert_eq!(bytes[4..], before[4..]);
    assert_eq!(
        reseal(&mut bytes, seed(), new_place),
        Err(FormatError::Checksum)
    );
}

#[test]
fn a_record_cut_short_says_what_it_needs() {
    let bytes = encoded(&put());
    let check = |found: usize, needed| {
        let error = Record::decode(&bytes[..found], seed()).unwrap_err();
        assert_eq!(error, FormatError::Truncated { needed, found });
    };
    check(0, 32);
    check(31, 32);
    check(39, 40);
    check(47, 48);
    Record::decode(&bytes[..48], seed()).unwrap();
}

#[test]
#[should_panic(expected = "at most 64 KiB")]
fn a_record_that_would_be_too_long_is_never_made() {
    let value = vec![0; RECORD_BYTES_MAX as usize];
    let _ = RecordDraft::new(Kind::Put, b"", &value);
}

#[test]
fn lengths_are_what_records_take() {
    let check = |key, value, expiry, bytes| assert_eq!(record_bytes(key, value, expiry), bytes);
    check(0, 0, false, 64);
    check(16, 16, false, 64);
    check(16, 17, false, 96);
    check(16, 8, true, 64);
    check(16, 9, true, 96);
    check(usize::from(u16::MAX), 0, false, 65_568);
}

#[test]
fn segment_headers_come_back() {
    let free = SegmentHeader {
        state: SegmentState::Free,
        stream: Stream::Cold,
        ..header()
    };
    let cut = SegmentHeader {
        cut_lsn: Some(Lsn::new(96)),
        ..header()
    };
    for header in [header(), free, cut] {
        assert_eq!(SegmentHeader::decode(&header.encode(), STORE), Ok(header));
    }
    let decodes = |bytes: &[u8]| SegmentHeader::decode(bytes, STORE).is_ok();
    check_every_bit(&header().encode(), SEGMENT_HEADER_BYTES, decodes);
}

#[test]
fn foreign_headers_are_told_apart() {
    let check = |change: fn(&mut Vec<u8>), expected| {
        let mut bytes = header().encode().to_vec();
        change(&mut bytes);
        assert_eq!(SegmentHeader::decode(&bytes, STORE), Err(expected));
    };
    check(|bytes| bytes.fill(0), FormatError::Blank);
    check(|bytes| bytes[0] = b'x', FormatError::ForeignMagic);
    check(
        |bytes| as_version(bytes, 2),
        FormatError::NewerVersion { found: 2, known: 1 },
    );
    // A damaged number is not a later version.
    check(|bytes| bytes[12] = 2, FormatError::Checksum);
    check(|bytes| bytes[40] ^= 1, FormatError::Checksum);
    let truncated = FormatError::Truncated {
        needed: 4096,
        found: 4095,
    };
    check(|bytes| bytes.truncate(4095), truncated);
    let other = StoreId::new([9; 16]);
    assert_eq!(
        SegmentHeader::decode(&header().encode(), other),
        Err(FormatError::OtherStore)
    );
}

#[test]
fn summaries_come_back() {
    let collection = CollectionId::new(64);
    let plain = EntryDetail::Put {
        value_type: ValueType::String,
        expiry_ms: None,
        collection: None,
    };
    let details = [
        put_entry().detail,
        plain,
        EntryDetail::Tombstone,
        EntryDetail::Page {
            collection,
            page_number: PAGES_MAX - 1,
        },
        EntryDetail::Batch,
        EntryDetail::Map,
    ];
    let offsets = (4096..).step_by(96);
    let written: Vec<_> = details
        .iter()
        .zip(offsets)
        .map(|(&detail, offset)| SummaryEntry {
            offset,
            ..entry(detail)
        })
        .collect();
    // Entries grow down, so the last one comes first.
    let bytes: Vec<u8> = written
        .iter()
        .rev()
        .flat_map(SummaryEntry::encode)
        .collect();
    let footer = footer(&bytes);
    assert_eq!(
        Footer::decode(&footer.encode(), STORE, SEGMENT_BYTES),
        Ok(footer)
    );
    let extent = footer.entries_extent(SEGMENT_BYTES);
    assert_eq!(
        (extent.offset, extent.bytes as usize),
        (1_044_192, bytes.len())
    );
    assert_eq!(
        extent.offset,
        u64::from(entry_offset(SEGMENT_BYTES, details.len() as u32 - 1))
    );
    let entries: Result<Vec<_>, _> = footer.verify_entries(&bytes).unwrap().collect();
    let mut entries = entries.unwrap();
    entries.reverse();
    assert_eq!(entries, written);
    let verifies = |bytes: &[u8]| footer.verify_entries(bytes).is_ok();
    check_every_bit(&bytes, bytes.len(), verifies);
    check_every_bit(&footer.encode(), FOOTER_BYTES, |bytes| {
        Footer::decode(bytes, STORE, SEGMENT_BYTES).is_ok()
    });
}

#[test]
fn a_footer_that_does_not_fit_its_segment_is_refused() {
    let check = |change: fn(&mut Footer), field| {
        let mut footer = footer(&[]);
        change(&mut footer);
        let decoded = Footer::decode(&footer.encode(), STORE, SEGMENT_BYTES);
        assert_eq!(decoded, Err(FormatError::Malformed { field }));
    };
    check(|footer| footer.body_end = 4064, "body_end");
    check(|footer| footer.body_end = 8193, "body_end");
    check(
        |footer| footer.body_end = SEGMENT_BYTES - 4064,
        "entry_count",
    );
    check(
        |footer| footer.entry_count = (SEGMENT_BYTES - 12_288) / 48 + 1,
        "entry_count",
    );
    check(|footer| footer.entry_count = u32::MAX, "entry_count");
    check(|footer| footer.map_offset = Some(8192), "map_offset");
    check(|footer| footer.map_offset = Some(32), "map_offset");
}

#[test]
fn an_entry_outside_of_the_body_is_refused() {
    let check = |offset, bytes, expected: Option<&'static str>| {
        let entry = SummaryEntry {
            offset,
            bytes,
            ..put_entry()
        };
        let decoded = SummaryEntry::decode(&entry.encode(), 8192);
        assert_eq!(
            decoded.err(),
            expected.map(|field| FormatError::Malformed { field })
        );
    };
    check(4096, 4096, None);
    check(4096, 4128, Some("offset"));
    check(4064, 64, Some("offset"));
    check(4097, 64, Some("offset"));
    check(u32::MAX - 31, 64, Some("offset"));
    check(4096, 32, Some("units"));
}

#[test]
fn entries_that_overlap_or_are_in_disorder_are_refused() {
    let check = |offsets: [u32; 2], expected: bool| {
        // The last record's entry comes first.
        let bytes: Vec<u8> = offsets
            .iter()
            .rev()
            .flat_map(|&offset| {
                SummaryEntry {
                    offset,
                    ..put_entry()
                }
                .encode()
            })
            .collect();
        let entries = footer(&bytes).verify_entries(&bytes).map(Iterator::collect);
        let entries: Result<Vec<_>, _> = entries.unwrap();
        assert_eq!(entries.is_ok(), expected, "{offsets:?}");
    };
    check([4096, 4192], true);
    check([4096, 4160], false);
    check([4096, 4096], false);
    check([4192, 4096], false);
}

/// LSNs that no log has: beyond its end, and between two units.
const IMPOSSIBLE: [u64; 4] = [1, 1 << 63, u64::MAX - 31, u64::MAX - 1];

#[test]
fn impossible_lsns_are_refused_wherever_they_are_read() {
    let malformed = |field| Some(FormatError::Malformed { field });
    for lsn in IMPOSSIBLE.map(Lsn::new) {
        let opened = Generation {
            opening_lsn: lsn,
            ..generation()
        };
        let check = |header: SegmentHeader, field| {
            let decoded = SegmentHeader::decode(&header.encode(), STORE);
            assert_eq!(decoded.err(), malformed(field), "{lsn}");
        };
        let (generation, durable_lsn, cut_lsn) = (opened, lsn, Some(lsn));
        check(
            SegmentHeader {
                generation,
                ..header()
            },
            "opening_lsn",
        );
        check(
            SegmentHeader {
                durable_lsn,
                ..header()
            },
            "durable_lsn",
        );
        check(
            SegmentHeader {
                cut_lsn,
                ..header()
            },
            "cut_lsn",
        );
        let check = |footer: Footer, field| {
            let decoded = Footer::decode(&footer.encode(), STORE, SEGMENT_BYTES);
            assert_eq!(decoded.err(), malformed(field), "{lsn}");
        };
        let of = footer(&[]);
        check(Footer { generation, ..of }, "opening_lsn");
        check(Footer { end_lsn: lsn, ..of }, "end_lsn");
        check(Footer { durable_lsn, ..of }, "durable_lsn");
        let check = |superblock: Superblock, field| {
            let decoded = Superblock::decode(&superblock.encode());
            assert_eq!(decoded.err(), malformed(field), "{lsn}");
        };
        let (mut cut, mut start, mut map) = (superblock(), superblock(), superblock());
        (cut.cut_lsn, start.start_lsn, map.map_lsn) = (lsn, lsn, lsn);
        check(cut, "cut_lsn");
        check(start, "start_lsn");
        check(map, "map_lsn");
        let entry = SummaryEntry { lsn, ..put_entry() };
        let decoded = SummaryEntry::decode(&entry.encode(), 8192);
        assert_eq!(decoded.err(), malformed("lsn"));
        let mut bytes = vec![0; put().bytes() as usize];
        put().encode_into(&mut bytes, lsn, seed());
        let decoded = RecordHead::decode(&bytes, seed());
        assert_eq!(decoded.err(), malformed("lsn"));
        let pad = pad_head(64, Lsn::ZERO, lsn, seed());
        let decoded = RecordHead::decode(pad.as_slice(), seed());
        assert_eq!(decoded.err(), malformed("extension"));
    }
    // Where no log ends, a header says so with all ones.
    let no_cut = SegmentHeader::decode(&header().encode(), STORE).unwrap();
    assert_eq!(no_cut.cut_lsn, None);
}

#[test]
fn a_footer_does_not_reach_beyond_its_segment_in_the_log() {
    let check = |end: u64, is_possible| {
        let footer = Footer {
            end_lsn: Lsn::new(end),
            ..footer(&[])
        };
        let decoded = Footer::decode(&footer.encode(), STORE, SEGMENT_BYTES);
        assert_eq!(decoded.is_ok(), is_possible, "{end}");
    };
    let opening = generation().opening_lsn.get();
    check(opening, true);
    check(opening + u64::from(SEGMENT_BYTES), true);
    check(opening + u64::from(SEGMENT_BYTES) + 32, false);
    check(opening - 32, false);
}

#[test]
fn superblocks_come_back() {
    let one_device = Superblock {
        devices: vec![DeviceId::new([3; 16])],
        device: DeviceNumber::new(0),
        clean: false,
        ..superblock()
    };
    let many = Superblock {
        devices: vec![DeviceId::default(); DEVICES_MAX],
        ..superblock()
    };
    for superblock in [superblock(), one_device, many] {
        assert_eq!(Superblock::decode(&superblock.encode()), Ok(superblock));
    }
    check_every_bit(&superblock().encode(), SUPERBLOCK_BYTES, |bytes| {
        Superblock::decode(bytes).is_ok()
    });
    assert_eq!(superblock().offset(), RESERVED_BYTES / 2);
}

#[test]
fn a_superblock_that_leads_nowhere_is_refused() {
    let check = |change: fn(&mut Superblock), field| {
        let mut superblock = superblock();
        change(&mut superblock);
        let decoded = Superblock::decode(&superblock.encode());
        assert_eq!(decoded, Err(FormatError::Malformed { field }));
    };
    check(|superblock| superblock.block_bytes = 1000, "block_bytes");
    check(|superblock| superblock.block_bytes = 8192, "block_bytes");
    check(|superblock| superblock.segment_bytes = 0, "segment_bytes");
    check(
        |superblock| superblock.segment_bytes = 5000,
        "segment_bytes",
    );
    check(
        |superblock| superblock.device = DeviceNumber::new(2),
        "device",
    );
    check(|superblock| superblock.segment_count = 0, "segment_count");
    check(|superblock| superblock.epoch = EPOCH_MAX + 1, "epoch");
    check(
        |superblock| superblock.sequence = SEQUENCE_MAX + 1,
        "sequence",
    );
}

#[test]
fn the_right_copy_of_the_superblock_is_chosen() {
    let older = superblock().encode();
    let newer = Superblock {
        sequence: 6,
        ..superblock()
    }
    .encode();
    let damaged = |of: &[u8; SUPERBLOCK_BYTES]| {
        let mut bytes = *of;
        bytes[50] ^= 1;
        bytes
    };
    let mut later_version = newer;
    as_version(&mut later_version, 9);
    let (blank, foreign) = ([0; SUPERBLOCK_BYTES], [1; SUPERBLOCK_BYTES]);
    let check = |first: &[u8], second: &[u8], expected: Result<u64, FormatError>| {
        for copies in [[first, second], [second, first]] {
            assert_eq!(
                Superblock::choose(copies).map(|chosen| chosen.sequence),
                expected
            );
        }
    };
    let version = FormatError::NewerVersion {
        found: 9,
        known: FORMAT_VERSION,
    };
    check(&older, &newer, Ok(6));
    check(&older, &damaged(&newer), Ok(5));
    check(&damaged(&older), &newer, Ok(6));
    check(&older, &blank, Ok(5));
    let mut misread = newer;
    misread[12] = 9;
    check(&older, &misread, Ok(5));
    check(&older, &later_version, Err(version));
    check(&blank, &later_version, Err(version));
    check(
        &damaged(&older),
        &damaged(&newer),
        Err(FormatError::Checksum),
    );
    check(&blank, &damaged(&newer), Err(FormatError::Checksum));
    check(&blank, &foreign, Err(FormatError::ForeignMagic));
    check(&blank, &blank, Err(FormatError::Blank));
}

#[test]
fn database_maps_come_back_and_never_reuse_an_id() {
    let mut map = DatabaseMap::default();
    map.renew(3);
    map.swap(3, 4);
    assert_eq!((map.id(3).get(), map.id(4).get()), (4, 16));
    assert_eq!(
        (
            map.number(DatabaseId::new(16)),
            map.number(DatabaseId::new(3))
        ),
        (Some(4), None)
    );
    assert_eq!(DatabaseMap::decode(&map.encode()), Ok(map));
    let mut twice = map.encode();
    twice[4..8].copy_from_slice(&1_u32.to_le_bytes());
    assert!(DatabaseMap::decode(&twice).is_err());
    let mut unborn = map.encode();
    unborn[4..8].copy_from_slice(&17_u32.to_le_bytes());
    assert!(DatabaseMap::decode(&unborn).is_err());
    // Its next flushes would come to the end of all ids.
    let mut spent = map.encode();
    spent[..4].copy_from_slice(&(u32::MAX - 16).to_le_bytes());
    let next_id = FormatError::Malformed { field: "next_id" };
    assert_eq!(DatabaseMap::decode(&spent), Err(next_id));
}

#[test]
fn fixed_payloads_come_back() {
    let collection = CollectionId::new(64);
    let page = PageKey {
        collection,
        page_number: 5,
    };
    assert_eq!(PageKey::decode(&page.encode()), Ok(page));
    let root = RootValue {
        collection,
        value_bytes: 1,
        page_bytes: 1,
    };
    assert_eq!(RootValue::decode(&root.encode()), Ok(root));
    let no_pages = RootValue {
        page_bytes: 0,
        ..root
    };
    let malformed = |field| Some(FormatError::Malformed { field });
    assert_eq!(
        RootValue::decode(&no_pages.encode()).err(),
        malformed("page_bytes")
    );
    let check = |value_bytes, page_bytes, expected: Option<&'static str>| {
        let root = RootValue {
            value_bytes,
            page_bytes,
            ..root
        };
        let decoded = RootValue::decode(&root.encode());
        assert_eq!(decoded.err(), expected.and_then(malformed), "{root:?}");
    };
    check(VALUE_BYTES_MAX, 512, None);
    check(VALUE_BYTES_MAX, 511, Some("value_bytes"));
    check(VALUE_BYTES_MAX + 1, 512, Some("value_bytes"));
    check(u64::MAX, 1, Some("value_bytes"));
    check(1, RECORD_BYTES_MAX + 1, Some("page_bytes"));
    let far = PageKey {
        page_number: PAGES_MAX,
        ..page
    };
    assert_eq!(
        PageKey::decode(&far.encode()).err(),
        malformed("page_number")
    );
    let batch = BatchHeader {
        following_bytes: 64,
        record_count: 2,
    };
    assert_eq!(BatchHeader::decode(&batch.encode()), Ok(batch));
    for following_bytes in [65, FOLLOWING_BYTES_MAX + 32, u64::MAX - 31] {
        let batch = BatchHeader {
            following_bytes,
            ..batch
        };
        assert_eq!(
            BatchHeader::decode(&batch.encode()).err(),
            malformed("following_bytes")
        );
    }
}
