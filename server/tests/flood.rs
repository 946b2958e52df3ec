//! A read beside a flood of writes: a GET that needs the device is answered soon although hundreds
//! of connections keep every worker busy with pipelined SETs, so that no worker ever sleeps.
//!
//! Owns the bound on that wait. It is far above what is measured (tens of milliseconds) and below
//! what a read takes that is only submitted when a worker sleeps (seconds, or for ever).

#[path = "socket/mod.rs"]
mod socket;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use socket::{Cellar, Client, Reply};

const CONNECTIONS: usize = 200;
const PIPELINE: usize = 16;
const VALUE_BYTES: usize = 1000;
/// Keys whose values are on the device alone by the time they are read.
const COLD_KEYS: usize = 100;
/// Bytes of other values that push them out of the write buffers, which hold four segments of 8
/// MiB.
const FLOOD_BYTES_FIRST: u64 = 64 << 20;
const GET_WAIT_MAX: Duration = Duration::from_secs(2);

fn set(key: &str) -> Vec<u8> {
    socket::encode(&[b"SET".as_slice(), key.as_bytes(), &[b'v'; VALUE_BYTES]])
}

/// Keeps one connection full of SETs until told to stop.
fn flood(client: &mut Client, connection: usize, stop: &AtomicBool, written: &AtomicU64) {
    let requests: Vec<u8> = (0..PIPELINE)
        .flat_map(|index| set(&format!("flood:{connection}:{index}")))
        .collect();
    while !stop.load(Ordering::Relaxed) {
        let replies = client
            .pipeline(&requests, PIPELINE)
            .expect("the server answers");
        assert!(
            replies
                .iter()
                .all(|reply| *reply == Reply::Line(b'+', b"OK".to_vec()))
        );
        written.fetch_add(requests.len() as u64, Ordering::Relaxed);
    }
}

/// A number of INFO.
fn info(client: &mut Client, field: &str) -> u64 {
    let Reply::Bulk(_, Some(text)) = client.call(&["INFO", "everything"]).expect("an answer")
    else {
        panic!("INFO answers with a text");
    };
    let text = String::from_utf8(text).expect("INFO is text");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{field}:")));
    line.and_then(|value| value.parse().ok())
        .expect("the field is there")
}

#[test]
fn a_get_from_the_device_is_answered_under_a_flood_of_sets() {
    let cellar = Cellar::start();
    let mut reader = cellar.connect();
    for key in 0..COLD_KEYS {
        reader
            .call(&["SET", &format!("cold:{key}"), &"c".repeat(VALUE_BYTES)])
            .expect("an answer");
    }
    let (stop, written) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let threads: Vec<_> = (0..CONNECTIONS)
        .map(|connection| {
            let (stop, written) = (Arc::clone(&stop), Arc::clone(&written));
            let mut client = cellar.connect();
            std::thread::spawn(move || flood(&mut client, connection, &stop, &written))
        })
        .collect();
    while written.load(Ordering::Relaxed) < FLOOD_BYTES_FIRST {
        std::thread::yield_now();
    }
    let reads_before = info(&mut reader, "device_reads");
    let mut waits: Vec<Duration> = Vec::new();
    for key in 0..COLD_KEYS {
        let started = Instant::now();
        let reply = reader
            .call(&["GET", &format!("cold:{key}")])
            .expect("an answer");
        waits.push(started.elapsed());
        assert_eq!(reply, Reply::Bulk(b'$', Some(vec![b'c'; VALUE_BYTES])));
    }
    let reads = info(&mut reader, "device_reads") - reads_before;
    stop.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().expect("no flood fails");
    }
    waits.sort_unstable();
    println!(
        "median {:?}, longest {:?}",
        waits[COLD_KEYS / 2],
        waits[COLD_KEYS - 1]
    );
    assert!(
        reads >= COLD_KEYS as u64 / 2,
        "only {reads} reads came from the device"
    );
    assert!(
        waits[COLD_KEYS - 1] < GET_WAIT_MAX,
        "a GET took {:?}",
        waits[COLD_KEYS - 1]
    );
}
