//! Fixed bytes. A store that a released version wrote opens for ever, so these never change.

use super::*;

// Made by an independent program from the tables of `docs/format.md`, never from this code.

const PUT: &str = "\
    2403483a448900e80000000100000000050000000300010102000000000200007b68e5cf8b0100006b657976\
    616c7565";

const TOMBSTONE: &str = "\
    d1bb4fa3a7670ced0000000100000000000000000c00020000000000000000006964656e7469747931323334";

const PAD: &str = "\
    ecea33cf000000000000000100000000e00100000000040100000000000000000000ff";

const SHORT_PAD: &str = "\
    46707cb400000000000000010000000000000000000004";

const PAGE_KEY: &str = "\
    400000000000000005";

const ROOT: &str = "\
    4000000000000000a086010000000000e00f";

const BATCH: &str = "\
    c00000000000000003";

const MAP: &str = "\
    1100000010000000020000000100000003000000040000000500000006000000070000000800000009000000\
    0a0000000b0000000c0000000d0000000e0000000f";

const SEGMENT: &str = "\
    434c4c525345474dc3461663010000003031323334353637383961626364656600000001000000000000ff00\
    00000000ffffffffffffffff030000000700000001000101";

const ENTRY: &str = "\
    6964656e746974793132333402000000000000010000000040000000000000007b68e5cf8b01000000100000\
    03001403";

const FOOTER: &str = "\
    434c4c5253554d4d4e8aeb640100000030313233343536373839616263646566000000010000000000000801\
    000000000000ff0000000000030000000700000001000000540490b5002000006010000002";

const SUPERBLOCK: &str = "\
    434c4c52535550524a1ed24d0100000030313233343536373839616263646566666564636261393837363534\
    333231300500000000000000e0ffff00000000000000000100000000030000000002000000008000e8030000\
    0100020001000000100000000000000001000000020000000300000004000000050000000600000007000000\
    08000000090000000a0000000b0000000c0000000d0000000e0000000f000000000000000000000000000000\
    0000000000000000000000000000000001010101010101010101010101010101020202020202020202020202\
    02020202";

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

/// The first bytes of a structure, up to where only zeros follow.
fn check_golden(bytes: &[u8], expected: &str) {
    let shown = expected.len() / 2;
    assert_eq!(hex(&bytes[..shown]), expected);
    assert!(bytes[shown..].iter().all(|&byte| byte == 0));
}

#[test]
fn golden_records() {
    check_golden(&encoded(&put()), PUT);
    check_golden(
        &encoded(&RecordDraft::new(Kind::Tombstone, b"identity1234", b"")),
        TOMBSTONE,
    );
    let pad = pad_head(512, Lsn::new(0x0100_0000), Lsn::new(0x00ff_0000), seed());
    check_golden(pad.as_slice(), PAD);
    let short_pad = pad_head(32, Lsn::new(0x0100_0000), Lsn::new(0x00ff_0000), seed());
    check_golden(short_pad.as_slice(), SHORT_PAD);
}

#[test]
fn golden_payloads() {
    let page = PageKey {
        collection: CollectionId::new(64),
        page_number: 5,
    };
    check_golden(&page.encode(), PAGE_KEY);
    let root = RootValue {
        collection: CollectionId::new(64),
        value_bytes: 100_000,
        page_bytes: 4064,
    };
    check_golden(&root.encode(), ROOT);
    let batch = BatchHeader {
        following_bytes: 192,
        record_count: 3,
    };
    check_golden(&batch.encode(), BATCH);
    let mut map = DatabaseMap::default();
    map.renew(0);
    map.swap(1, 2);
    check_golden(&map.encode(), MAP);
}

#[test]
fn golden_segment() {
    check_golden(&header().encode(), SEGMENT);
    check_golden(&put_entry().encode(), ENTRY);
    check_golden(&footer(&put_entry().encode()).encode(), FOOTER);
}

#[test]
fn golden_superblock() {
    check_golden(&superblock().encode(), SUPERBLOCK);
}
