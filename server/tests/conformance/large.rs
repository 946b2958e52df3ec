//! Values of many pages: ranges of them are read and rewritten.

use crate::script::Script;
use crate::socket::Reply;

/// Bytes of the large value: several pieces of each kind, and no whole number of them.
const LEN: usize = 5 * 1024 * 1024 + 4097;

#[test]
fn ranges_of_a_large_value() {
    let mut script = Script::start();
    let mut expected: Vec<u8> = (0..LEN).map(|i| (i * 31 + i / 251) as u8).collect();
    let set = script.call(&[b"SET", b"large", &expected]);
    assert_eq!(set, Reply::Line(b'+', b"OK".to_vec()));
    check(&mut script, &expected);

    expected[1_000_000..1_000_005].copy_from_slice(b"Redis");
    integer(
        &mut script,
        &[b"SETRANGE", b"large", b"1000000", b"Redis"],
        LEN,
    );
    expected.extend_from_slice(b"tail");
    integer(&mut script, &[b"APPEND", b"large", b"tail"], LEN + 4);
    expected[3_000_000] |= 0x80;
    script.call(&[b"SETBIT", b"large", b"24000000", b"1"]);
    expected[8..16].copy_from_slice(&(-2i64).to_be_bytes());
    expected[4_000_000] = 7;
    script.call(&[
        b"BITFIELD",
        b"large",
        b"SET",
        b"i64",
        b"64",
        b"-2",
        b"SET",
        b"u8",
        b"32000000",
        b"7",
    ]);
    check(&mut script, &expected);

    integer(&mut script, &[b"COPY", b"large", b"copy"], 1);
    integer(
        &mut script,
        &[b"BITOP", b"NOT", b"large", b"copy"],
        expected.len(),
    );
    let inverted: Vec<u8> = expected.iter().map(|byte| !byte).collect();
    check(&mut script, &inverted);
    integer(
        &mut script,
        &[b"BITOP", b"XOR", b"large", b"large", b"copy"],
        expected.len(),
    );
    integer(
        &mut script,
        &[b"BITPOS", b"large", b"0", b"0"],
        expected.len() * 8,
    );
    integer(&mut script, &[b"BITCOUNT", b"large"], expected.len() * 8);
    assert_eq!(
        script.call(&[b"GETDEL", b"copy"]),
        Reply::Bulk(b'$', Some(expected))
    );
    integer(&mut script, &[b"EXISTS", b"copy"], 0);
}

/// Compares the value, its length, ranges of it and its bits.
#[track_caller]
fn check(script: &mut Script, expected: &[u8]) {
    let bulk = |bytes: &[u8]| Reply::Bulk(b'$', Some(bytes.to_vec()));
    assert_eq!(script.call(&[b"GET", b"large"]), bulk(expected));
    integer(script, &[b"STRLEN", b"large"], expected.len());
    let range = script.call(&[b"GETRANGE", b"large", b"262000", b"-262001"]);
    assert_eq!(range, bulk(&expected[262_000..expected.len() - 262_000]));
    let ones = |bytes: &[u8]| bytes.iter().map(|byte| byte.count_ones() as usize).sum();
    integer(script, &[b"BITCOUNT", b"large"], ones(expected));
    integer(
        script,
        &[b"BITCOUNT", b"large", b"100", b"2999999"],
        ones(&expected[100..3_000_000]),
    );
    let bit = expected[3_000_000] >> 7;
    integer(
        script,
        &[b"GETBIT", b"large", b"24000000"],
        usize::from(bit),
    );
}

#[track_caller]
fn integer(script: &mut Script, request: &[&[u8]], expected: usize) {
    assert_eq!(
        script.call(request),
        Reply::Line(b':', expected.to_string().into_bytes())
    );
}

#[test]
fn a_string_grows_from_its_end() {
    let mut script = Script::start();
    // 40 MB of zeros with one bit at the end
    let offset = b"319999999";
    integer(&mut script, &[b"SETBIT", b"sparse", offset, b"1"], 0);
    integer(&mut script, &[b"STRLEN", b"sparse"], 40_000_000);
    integer(&mut script, &[b"BITCOUNT", b"sparse", b"-1000", b"-1"], 1);
    integer(
        &mut script,
        &[b"BITPOS", b"sparse", b"1", b"39000000"],
        319_999_999,
    );
    integer(&mut script, &[b"APPEND", b"sparse", b"x"], 40_000_001);
    integer(&mut script, &[b"DEL", b"sparse"], 1);
}
