//! `docs/format.md` against the code: its tables are the layouts, its constants the constants.

use super::*;
use crate::format::field::Field;
use crate::format::{
    batch, class, collection_root, database_map, footer, page, record, segment, summary, superblock,
};
use crate::units::UNIT_BYTES;

const DOCUMENT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/format.md"));

/// The cells of the table under `heading`, without its two head lines.
fn table(heading: &str) -> Vec<Vec<&'static str>> {
    let start = DOCUMENT.find(&format!("# {heading}\n"));
    let section = &DOCUMENT[start.unwrap_or_else(|| panic!("no heading {heading}"))..];
    let lines = section
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with('#'));
    let rows = lines.filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

fn check_layout(heading: &str, layout: &[Field]) {
    let documented: Vec<String> = table(heading)
        .iter()
        .map(|row| format!("{} {} {}", row[0], row[1], row[2]))
        .collect();
    let coded: Vec<String> = layout
        .iter()
        .map(|field| format!("{} {} `{}`", field.offset, field.bytes, field.name))
        .collect();
    assert_eq!(documented, coded, "{heading}");
}

#[test]
fn tables_are_the_layouts() {
    check_layout("Record header", record::LAYOUT);
    check_layout("Page key", page::PAGE_KEY_LAYOUT);
    check_layout("Root", page::ROOT_LAYOUT);
    check_layout("Collection root", collection_root::COLLECTION_ROOT_LAYOUT);
    check_layout("Batch header", batch::BATCH_LAYOUT);
    check_layout("Database map", database_map::MAP_LAYOUT);
    check_layout("Segment header", segment::SEGMENT_LAYOUT);
    check_layout("Summary entry", summary::ENTRY_LAYOUT);
    check_layout("Footer", footer::FOOTER_LAYOUT);
    check_layout("Superblock", superblock::SUPERBLOCK_LAYOUT);
}

#[test]
fn numbers_are_the_constants() {
    let coded: [(&str, u64); 14] = [
        ("format version", u64::from(FORMAT_VERSION)),
        ("unit", u64::from(UNIT_BYTES)),
        ("shortest record", u64::from(RECORD_BYTES_MIN)),
        ("longest record", u64::from(RECORD_BYTES_MAX)),
        ("length classes", u64::from(class::CLASS_COUNT)),
        ("segment header", SEGMENT_HEADER_BYTES as u64),
        ("summary entry", ENTRY_BYTES as u64),
        ("footer", FOOTER_BYTES as u64),
        ("reserved area", RESERVED_BYTES),
        ("superblock", SUPERBLOCK_BYTES as u64),
        ("first superblock copy at", SUPERBLOCK_OFFSETS[0]),
        ("second superblock copy at", SUPERBLOCK_OFFSETS[1]),
        ("devices of a store, at most", DEVICES_MAX as u64),
        ("databases", DATABASE_COUNT as u64),
    ];
    let documented: Vec<(String, u64)> = table("Numbers")
        .iter()
        .map(|row| (row[0].to_owned(), row[1].replace(',', "").parse().unwrap()))
        .collect();
    assert_eq!(
        documented,
        coded.map(|(name, number)| (name.to_owned(), number))
    );
}

#[test]
fn stored_numbers_are_the_codes() {
    let row = |code: u8, name: &str| format!("{code} {name}");
    let documented = |heading: &str| -> Vec<String> {
        table(heading)
            .iter()
            .map(|row| format!("{} {}", row[0], row[1]))
            .collect()
    };
    let kinds = [
        Kind::Put,
        Kind::Tombstone,
        Kind::Page,
        Kind::Pad,
        Kind::Batch,
        Kind::Map,
    ];
    let coded: Vec<_> = kinds
        .map(|kind| row(kind.code(), &format!("{kind:?}")))
        .into();
    assert_eq!(documented("Kinds"), coded);
    let types = (0..7).map(|code| row(code, &format!("{:?}", ValueType::decode(code).unwrap())));
    assert_eq!(documented("Value types"), types.collect::<Vec<_>>());
    let encodings =
        (0..10).map(|code| row(code, &format!("{:?}", Encoding::decode(code).unwrap())));
    assert_eq!(documented("Encodings"), encodings.collect::<Vec<_>>());
}
