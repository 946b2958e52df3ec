//! Payloads that Redis made, and what is written.

use std::fmt::Write;

use bytes::Bytes;

use super::*;

/// What a payload's elements are, as text.
async fn show(payload: &[u8]) -> Result<String, BadFormat> {
    let body = open(&Bytes::copy_from_slice(payload))
        .await
        .expect("a footer");
    show_body(body).await
}

async fn show_body(body: Bytes) -> Result<String, BadFormat> {
    let object = read(Input::new(body, 1 << 20)).await?;
    let (kind, mut items) = match object {
        Object::String(value) => return Ok(format!("string {}", value.escape_ascii())),
        Object::List(items) => ("list", items),
        Object::Set(kind, items) => {
            let kind = match kind {
                SetKind::Table(_) => "set",
                SetKind::Intset => "intset",
                SetKind::Listpack => "listpack",
            };
            (kind, items)
        }
        Object::Hash(items) => ("hash", items),
        Object::SortedSet(mut items) => {
            let mut text = "sorted set".to_owned();
            while let Some(member) = items.next().await? {
                let score = items.score().await?;
                write!(text, " {}={score}", member.escape_ascii()).expect("a String takes all");
            }
            return Ok(text);
        }
    };
    let mut text = kind.to_owned();
    while let Some(item) = items.next().await? {
        write!(text, " {}", item.escape_ascii()).expect("a String takes all");
    }
    Ok(text)
}

async fn check(payload: &[u8], expected: &str) {
    assert_eq!(show(payload).await.as_deref(), Ok(expected));
}

/// Payloads of Redis 7.0.15; those that end in `\x0c\0` and a sum, of Redis 8.2.3.
#[tokio::test]
async fn payloads_of_redis_are_read() {
    let abc = "abc".repeat(20);
    let (x, z) = ("x".repeat(70), "z".repeat(70));
    for (payload, expected) in [
        (
            &b"\0\xc1\x7f\xff\n\0\x17`\x82(T\x80\x84\x80"[..],
            "string -129",
        ),
        (b"\0\x05hello\n\0cr\xdfve4 \n", "string hello"),
        (
            b"\0\xc3\x0b<\x03abca\xe0-\x02\x01bc\n\0o`)\xe4\xaf\xd7d\xac",
            &format!("string {abc}"),
        ),
        (
            b"\x12\x01\x02\xc3*@j\x1bj\0\0\0\x07\0\x81a\x02\x01\x01\xdf\xfb\x02\xc1,\x02\xf2p\x11\
            \x01\x04\xf4\0\xf2\x05*\x01 \x1a\x03\x09\xe0Fx\xe0<\0\x01H\xff\n\0[M\x88\x17\x93\x80\
            \x1f\x01",
            &format!("list a 1 -5 300 70000 5000000000 {x}"),
        ),
        (
            b"\x0b\x14\x04\0\0\0\x03\0\0\0\xfd\xff\xff\xff\x01\0\0\0p\x11\x01\0\n\0{\x8dM\xdd\xaf\
            \"\x86\xd7",
            "intset -3 1 70000",
        ),
        (
            b"\x0b\xc3\x10\x18\x04\x08\0\0\0\x02 \x03\0\xff\xe0\x04\0\x01\xff\x7f\n\0\xfe\x81*.\
            \xb2\xe8\xb3\xc7",
            "intset -1 9223372036854775807",
        ),
        (
            b"\x02\x03\x01b\x01c\xc0\x01\n\0+\x12\xd2\x03\x10\xfa\xca\xb4",
            "set b c 1",
        ),
        (
            b"\x14\x0f\x0f\0\0\0\x03\0\x01\x01\x81b\x02\x81c\x02\xff\x0c\0@\xdf\xd9e.\x85\x19\xe5",
            "listpack 1 b c",
        ),
        (
            b"\x11\x1d\x1d\0\0\0\x06\0\x81b\x02\x84-inf\x05\x81a\x02\x01\x01\x81c\x02\x832.5\x04\
            \xff\n\0'J:\x9d\xf6\xf0\x95}",
            "sorted set b=-inf a=1 c=2.5",
        ),
        (
            b"\x05\x03\x01b\0\0\0\0\0\0\xf0\x7f\x01c\0\0\0\0\0\0\x04@\x01a\0\0\0\0\0\0\xf0?\n\0X\
            \xfe\xda\x8aC0(\xdd",
            "sorted set b=inf c=2.5 a=1",
        ),
        (
            b"\x04\x03\x04long\xc3\x09@F\x01zz\xe09\0\x01zz\x01n\xc0\x0c\x01f\x01v\n\0-\0\xd1\xb2k\
            \xd7y\xbc",
            &format!("hash long {z} n 12 f v"),
        ),
        (
            b"\x10\x1d\x1d\0\0\0\x06\0\x81f\x02\x81v\x02\x81n\x02\xf1\xc0\xe0\x03\x81m\x02\xf3\xc0\
            \xabv\xff\x05\xff\n\0\xf1|\xb9\x14UH\x96j",
            "hash f v n -8000 m -9000000",
        ),
    ] {
        check(payload, expected).await;
    }
}

async fn check_body(body: &'static [u8], expected: &str) {
    let found = show_body(Bytes::from_static(body)).await;
    assert_eq!(found.as_deref(), Ok(expected), "{}", body.escape_ascii());
}

#[tokio::test]
async fn encodings_of_older_versions_are_read() {
    check_body(b"\x01\x02\x01a\xc0\x05", "list a 5").await;
    check_body(
        b"\x03\x03\x01a\x032.5\x01b\xff\x01c\xfe",
        "sorted set a=2.5 b=-inf c=inf",
    )
    .await;
    check_body(
        b"\x09\x10\x02\x01f\x02\0vv\x03abc\x01\x01x.\xff",
        "hash f vv abc x",
    )
    .await;
    // every head of a ziplist's elements
    check_body(
        b"\x0a\x32\x32\0\0\0\0\0\0\0\x08\0\
          \0\x02ab\x04\x40\x01c\x04\x80\0\0\0\x01d\x07\xc0\x2c\x01\x04\xd0\x70\x11\x01\0\
          \xfe\x06\0\0\0\xfe\xfb\x07\xf1\x02\xf0\xff\xff\x7f\xff",
        "list ab c d 300 70000 -5 0 8388607",
    )
    .await;
    check_body(
        b"\x0d\x10\x10\0\0\0\0\0\0\0\x02\0\0\x01f\x03\xf2\xff".as_slice(),
        "hash f 1",
    )
    .await;
    check_body(
        b"\x0c\x13\x13\0\0\0\0\0\0\0\x02\0\0\x01m\x03\x031.5\xff".as_slice(),
        "sorted set m=1.5",
    )
    .await;
    check_body(
        b"\x0e\x02\x0e\x0e\0\0\0\0\0\0\0\x01\0\0\x01a\xff\x0e\x0e\0\0\0\0\0\0\0\x01\0\0\x01b\xff",
        "list a b",
    )
    .await;
}

#[tokio::test]
async fn what_is_cut_anywhere_is_refused() {
    for body in [
        &b"\x04\x02\x01f\x01v\x01g\x01w"[..],
        b"\x05\x01\x01m\0\0\0\0\0\0\xf0\x3f",
        b"\x12\x02\x02\x0a\x0a\0\0\0\x01\0\x81a\x02\xff\x01\x01b",
        b"\x09\x10\x02\x01f\x02\0vv\x03abc\x01\x01x.\xff",
    ] {
        let body = Bytes::from_static(body);
        assert!(show_body(body.clone()).await.is_ok());
        for at in 0..body.len() {
            let cut = show_body(body.slice(..at)).await;
            assert_eq!(cut, Err(BadFormat), "{at}: {}", body.escape_ascii());
        }
    }
    for body in [
        &b"\x05\x01\x01m\0\0\0\0\0\0\xf8\x7f"[..],
        b"\x03\x01\x01m\xfd",
        b"\x06",
        b"\x12\x01\x03\0",
    ] {
        assert_eq!(show_body(Bytes::from_static(body)).await, Err(BadFormat));
    }
}

async fn check_written(output: Output, bytes: &[u8], shown: &str) {
    let body = Bytes::from(output.finish());
    assert_eq!(body, bytes);
    assert_eq!(show_body(body).await.as_deref(), Ok(shown));
}

#[tokio::test]
async fn what_is_written_is_frozen_and_read_again() {
    let mut string = Output::of_string();
    string.string(b"-129");
    check_written(string, b"\0\xc1\x7f\xff", "string -129").await;
    let mut list = Output::of_list(6);
    for item in ["", "7", "-32768", "2147483647", "2147483648", "007"] {
        list.string(item.as_bytes());
    }
    let bytes = b"\x01\x06\0\xc0\x07\xc1\0\x80\xc2\xff\xff\xff\x7f\x0a2147483648\x03007";
    check_written(list, bytes, "list  7 -32768 2147483647 2147483648 007").await;
    let mut hash = Output::of_hash(1);
    hash.string(b"f");
    hash.string(&[b'v'; 64]);
    let bytes = [&b"\x04\x01\x01f\x40\x40"[..], &[b'v'; 64]].concat();
    check_written(hash, &bytes, &format!("hash f {}", "v".repeat(64))).await;
    let mut set = Output::of_sorted_set(1);
    set.string(b"m");
    set.score(1.5);
    let bytes = b"\x05\x01\x01m\0\0\0\0\0\0\xf8\x3f";
    check_written(set, bytes, "sorted set m=1.5").await;
    let mut long = Output::of_string();
    long.begin_string(20_000);
    long.part(&vec![b'x'; 20_000]);
    let bytes = [&b"\0\x80\0\0\x4e\x20"[..], &vec![b'x'; 20_000]].concat();
    check_written(long, &bytes, &format!("string {}", "x".repeat(20_000))).await;
}
