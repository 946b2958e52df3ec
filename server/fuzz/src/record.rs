//! Records: what the log is made of.

use cellar_storage::Lsn;
use cellar_storage::format::{
    GenerationSeed, HEAD_BYTES_MAX, Kind, Record, RecordDraft, RecordHead, RecordSeed, pad_head,
    reseal,
};
use cellar_storage::units::DatabaseId;

use crate::input::Input;
use crate::{MUTATIONS, Target};

/// A record at a place of a segment.
pub(crate) const RECORD: Target = Target {
    name: "record",
    seeds,
    run,
    mutations: MUTATIONS,
};

/// The places that records are made for, in bytes from the segment's start.
const PLACE: u32 = 4096;
const OTHER_PLACE: u32 = 8192;

/// As docs/format.md has them: the checksums and what they span, and the lengths.
const HEAD_BYTES: usize = 32;
const VALUE_BYTES_AT: usize = 16;
const KEY_BYTES_AT: usize = 20;
const FLAGS_AT: usize = 23;
const EXTENDED: u8 = 1;

/// The place's seed.
pub(crate) fn place() -> RecordSeed {
    seed().at(PLACE)
}

fn seed() -> GenerationSeed {
    GenerationSeed::restore(0x1234_5678)
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let drafts = [
        RecordDraft::new(Kind::Put, b"key", b"value"),
        RecordDraft::new(Kind::Put, b"", b"").expiry(Some(1_700_000_000_000)),
        RecordDraft::new(Kind::Put, b"root", &[7; 24])
            .database(DatabaseId::new(3))
            .paged(),
        RecordDraft::new(Kind::Tombstone, &[5; 12], b""),
        RecordDraft::new(Kind::Page, &[9; 12], &[1; 200]),
        RecordDraft::new(Kind::Batch, b"", &[0; 12]),
        RecordDraft::new(Kind::Map, b"", &[0; 68]),
    ];
    let mut seeds: Vec<Vec<u8>> = drafts
        .iter()
        .map(|draft| {
            let mut bytes = vec![0; draft.bytes() as usize];
            draft.encode_into(&mut bytes, Lsn::new(640), seed().at(PLACE));
            bytes
        })
        .collect();
    for bytes in [32, 64, 1 << 20] {
        let head = pad_head(bytes, Lsn::new(640), Lsn::new(320), seed().at(PLACE));
        seeds.push(head.as_slice().to_vec());
    }
    seeds
}

/// As it came, and with checksums that fit.
fn run(bytes: &[u8]) {
    check(bytes);
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    check(&sealed);
}

/// Makes both checksums right, as far as there are bytes for them.
pub(crate) fn seal(bytes: &mut [u8]) {
    if bytes.len() < HEAD_BYTES {
        return;
    }
    let is_extended = bytes[FLAGS_AT] & EXTENDED != 0;
    let head_bytes = if is_extended {
        HEAD_BYTES_MAX
    } else {
        HEAD_BYTES
    };
    let key_bytes = usize::from(Input::new(&bytes[KEY_BYTES_AT..]).u16());
    let value_bytes = Input::new(&bytes[VALUE_BYTES_AT..]).u32() as usize;
    let payload = bytes.get(head_bytes..head_bytes + key_bytes + value_bytes);
    let payload_crc = payload.map_or(0, crc32c::crc32c);
    bytes[4..8].copy_from_slice(&payload_crc.to_le_bytes());
    let place_seed = crc32c::crc32c_append(seed().get(), &PLACE.to_le_bytes());
    if let Some(sealed) = bytes.get(4..head_bytes) {
        let header_crc = crc32c::crc32c_append(place_seed, sealed);
        bytes[..4].copy_from_slice(&header_crc.to_le_bytes());
    }
}

/// A record that verifies is made again from its parts, byte by byte, and moves to another place
/// with the same content.
fn check(bytes: &[u8]) {
    let here = seed().at(PLACE);
    let Ok(head) = RecordHead::decode(bytes, here) else {
        assert!(
            Record::decode(bytes, here).is_err(),
            "a record needs its header"
        );
        return;
    };
    let Ok(record) = Record::decode(bytes, here) else {
        return;
    };
    assert_eq!(record.head, head);
    if head.kind == Kind::Pad {
        check_pad(&head);
    } else {
        check_draft(bytes, &record);
    }
    let mut moved = bytes.to_vec();
    reseal(&mut moved, here, seed().at(OTHER_PLACE)).expect("it verified");
    assert_eq!(
        Record::decode(&moved, seed().at(OTHER_PLACE)),
        Ok(record),
        "moved"
    );
}

fn check_pad(head: &RecordHead) {
    let Ok(bytes) = u32::try_from(head.bytes()) else {
        // No segment is that long.
        return;
    };
    let durable = head.durable_lsn().unwrap_or_default();
    let again = pad_head(bytes, head.lsn, durable, seed().at(PLACE));
    let again = RecordHead::decode(again.as_slice(), seed().at(PLACE)).expect("a pad");
    assert_eq!((again.lsn, again.bytes()), (head.lsn, head.bytes()));
    assert_eq!(again.durable_lsn().unwrap_or_default(), durable);
}

fn check_draft(bytes: &[u8], record: &Record<'_>) {
    let head = &record.head;
    let draft = RecordDraft::new(head.kind, record.key, record.value)
        .database(head.database)
        .typed(head.value_type, head.encoding);
    let draft = if head.kind == Kind::Put {
        let draft = draft.expiry(head.expiry_ms());
        if head.paged { draft.paged() } else { draft }
    } else {
        draft
    };
    assert_eq!(u64::from(draft.bytes()), head.bytes());
    let mut again = vec![0; draft.bytes() as usize];
    draft.encode_into(&mut again, head.lsn, seed().at(PLACE));
    let end = head.value_range().end;
    assert_eq!(again[..end], bytes[..end], "a record made again");
}
