//! What is left of records that do not verify.

use std::borrow::Cow;

use cellar_storage::format::{HEAD_BYTES_MAX, Kind, Record, Remains};

use crate::Target;
use crate::input::Input;
use crate::record;

/// Which bit is flipped, and a record.
pub(crate) const REMAINS: Target = Target {
    name: "remains",
    seeds,
    run,
    mutations: 1_000,
};

/// Bytes in which a flipped bit of a key is looked for.
const SEARCH_BYTES_MAX: usize = 4 << 20;

fn seeds() -> Vec<Vec<u8>> {
    let bits: [u16; 4] = [3, 190, 260, 333];
    record::seeds()
        .iter()
        .zip(bits.iter().cycle())
        .map(|(record, bit)| [&bit.to_le_bytes(), &record[..]].concat())
        .collect()
}

/// As it came; behind checksums that fit; and with one bit of that flipped.
fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let bit = usize::from(input.u16());
    let mut bytes = input.rest().to_vec();
    check_parts(&bytes);
    record::seal(&mut bytes);
    check_parts(&bytes);
    let whole = bytes.clone();
    let Ok(record) = Record::decode(&whole, record::place()) else {
        return;
    };
    let Some(byte) = bytes.get_mut(bit / 8) else {
        return;
    };
    *byte ^= 1 << (bit % 8);
    check_parts(&bytes);
    check_flipped(&bytes, bit, &record);
}

/// What is read lies within the bytes, and is the record itself where that verifies.
fn check_parts(bytes: &[u8]) {
    let remains = Remains::read(bytes, record::place());
    if let Some(remains) = &remains {
        let (key, value) = (remains.head.key_range(), remains.head.value_range());
        assert_ne!(remains.head.kind, Kind::Pad, "a pad holds nothing");
        assert_eq!(remains.key.len(), key.len());
        assert_eq!(Some(remains.value), bytes.get(value));
    }
    let Ok(record) = Record::decode(bytes, record::place()) else {
        return;
    };
    let expected = (record.head.kind != Kind::Pad).then_some(Remains {
        head: record.head,
        key: Cow::Borrowed(record.key),
        value: record.value,
        is_head_sure: true,
    });
    assert_eq!(remains, expected, "a record that verifies");
}

/// One flipped bit of a header or of a key of bounded length costs nothing.
fn check_flipped(bytes: &[u8], bit: usize, record: &Record<'_>) {
    let head = &record.head;
    let (key, value) = (head.key_range(), head.value_range());
    let is_searched = key.len() * 8 * (value.end - key.start) <= SEARCH_BYTES_MAX;
    let is_told = bit / 8 < key.start || key.contains(&(bit / 8)) && is_searched;
    // A header of 40 bytes is looked for in as many.
    if head.kind == Kind::Pad || !is_told || bytes.len() < HEAD_BYTES_MAX {
        return;
    }
    let remains = Remains::read(bytes, record::place()).expect("it can be told");
    assert!(remains.is_head_sure);
    assert_eq!((&remains.head, &*remains.key), (head, record.key));
}
