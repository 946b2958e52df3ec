//! Values in the encoding of Redis's dumps, as RESTORE gets them from anybody.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use cellar_server::rdb::{BadFormat, Input, Items, Object, Output, open, read, seal};

use crate::{MUTATIONS, Target};

/// A value without its footer, so that what lies behind the checksum is reached.
pub(crate) const VALUE: Target = Target {
    name: "value",
    seeds,
    run,
    mutations: 4 * MUTATIONS,
};

/// Bytes that packed strings may become: far more than an input has.
const UNPACKED_MAX: u64 = 1 << 20;

/// Elements that an input of one byte can be: a zero is a string, and a node without elements.
const ELEMENTS_PER_BYTE: u64 = 1;

fn seeds() -> Vec<Vec<u8>> {
    let seeds: &[&[u8]] = &[
        b"\0\xc3\x0b<\x03abca\xe0-\x02\x01bc",
        b"\x01\x02\x01a\xc0\x05",
        b"\x02\x03\x01b\x01c\xc0\x01",
        b"\x03\x03\x01a\x032.5\x01b\xff\x01c\xfe",
        b"\x04\x02\x01n\xc0\x0c\x01f\x01v",
        b"\x05\x01\x01m\0\0\0\0\0\0\xf0\x3f",
        b"\x09\x10\x02\x01f\x02\0vv\x03abc\x01\x01x.\xff",
        b"\x0a\x0e\x0e\0\0\0\0\0\0\0\x01\0\0\x01a\xff",
        b"\x0b\x14\x04\0\0\0\x03\0\0\0\xfd\xff\xff\xff\x01\0\0\0p\x11\x01\0",
        b"\x0c\x13\x13\0\0\0\0\0\0\0\x02\0\0\x01m\x03\x031.5\xff",
        b"\x0e\x01\x0e\x0e\0\0\0\0\0\0\0\x01\0\0\x01a\xff",
        b"\x10\x1d\x1d\0\0\0\x06\0\x81f\x02\x81v\x02\x81n\x02\xf1\xc0\xe0\x03\x81m\x02\xf3\xc0\
          \xabv\xff\x05\xff",
        b"\x11\x1d\x1d\0\0\0\x06\0\x81b\x02\x84-inf\x05\x81a\x02\x01\x01\x81c\x02\x832.5\x04\xff",
        b"\x12\x02\x02\x0a\x0a\0\0\0\x01\0\x81a\x02\xff\x01\x01b",
        b"\x14\x0f\x0f\0\0\0\x03\0\x01\x01\x81b\x02\x81c\x02\xff",
    ];
    seeds.iter().map(|seed| seed.to_vec()).collect()
}

/// Reading ends in so many elements as there are bytes at most, and what was read of a string, a
/// list, a set or a hash is read again where it is written.
fn run(bytes: &[u8]) {
    let body = Bytes::copy_from_slice(bytes);
    let _ = finish(elements(body.clone()));
    let payload = finish(seal(bytes.to_vec()));
    assert_eq!(finish(open(&payload)), Some(body.clone()));
    let _ = finish(open(&body));
}

async fn elements(body: Bytes) -> Result<(), BadFormat> {
    let elements_max = (body.len() as u64 * ELEMENTS_PER_BYTE).max(UNPACKED_MAX);
    match read(Input::new(body, UNPACKED_MAX)).await? {
        Object::String(value) => {
            let mut output = Output::of_string();
            output.string(&value);
            let again = read(Input::new(output.finish().into(), 0)).await;
            assert!(matches!(again, Ok(Object::String(again)) if again == value));
        }
        Object::List(items) | Object::Set(_, items) | Object::Hash(items) => {
            let all = collect(items, elements_max).await?;
            let mut output = Output::of_list(all.len() as u64);
            for item in &all {
                output.string(item);
            }
            let Ok(Object::List(again)) = read(Input::new(output.finish().into(), 0)).await else {
                panic!("what was written is a list");
            };
            assert_eq!(collect(again, elements_max).await, Ok(all));
        }
        Object::SortedSet(mut items) => {
            while items.next().await?.is_some() {
                assert!(!items.score().await?.is_nan());
            }
        }
    }
    Ok(())
}

async fn collect(mut items: Items, elements_max: u64) -> Result<Vec<Bytes>, BadFormat> {
    let mut all = Vec::new();
    while let Some(item) = items.next().await? {
        all.push(item);
        assert!(all.len() as u64 <= elements_max);
    }
    Ok(all)
}

/// Runs what waits for nothing but its turn.
fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}
