//! The same random requests to Cellar and to a stock `redis-server`, replies compared byte by byte.
//!
//! Runs where a `redis-server` of version 7 is on the PATH and says so where it is not. The seed is
//! printed; `SEED=` replays it.
//!
//! Known differences, which the requests leave out:
//!
//! - `OBJECT REFCOUNT` is 1 here for small integers as well, which Redis shares.
//! - `OBJECT IDLETIME` is refused here: the time of a key's last use is not kept.
//! - A key has at most 16 KiB here.
//! - Redis 7.0 has no `listpack` encoding for sets: no set is small enough for it here.
//! - `OBJECT HELP` describes our subcommands.
//! - `BITFIELD ... OVERFLOW SAT SET` of a number near -2^63 to a narrow signed type gives the
//!   smallest number here; Redis, whose check overflows, gives the largest.

#[path = "../socket/mod.rs"]
mod socket;

mod fields;
mod lists;
mod payloads;
mod pools;
mod random;
mod redis;
mod requests;
mod sorted_sets;
mod streams;
mod templates;

use std::io;

use random::Random;
use redis::Redis;
use requests::{Request, Strictness, questions, sequence};
use socket::{Cellar, Client, Reply, encode, shorten};

/// Sequences of one run, each from an empty keyspace.
const SEQUENCES: usize = 250;

/// Requests of one sequence, sent as one pipeline.
const REQUESTS: usize = 120;

/// How far two times of expiry may lie apart: the time that a sequence may take on a slow machine.
const TIME_TOLERANCE_MS: i64 = 20_000;

#[test]
fn answers_as_redis_does() {
    differ("all", SEQUENCES, |random| {
        let mut sequence = sequence(random, REQUESTS);
        sequence.extend(questions());
        sequence.extend(sorted_sets::questions());
        sequence
    });
}

/// Streams by themselves: their ids rise, so that few requests among many others do little.
#[test]
fn streams_answer_as_redis_does() {
    differ("streams", SEQUENCES, |random| {
        let requests = (0..REQUESTS).map(|_| streams::request(random));
        requests.chain(streams::questions()).collect()
    });
}

/// Sends so many random sequences to both servers, each into an empty keyspace.
fn differ(name: &str, count: usize, mut sequence: impl FnMut(&mut Random) -> Vec<Request>) {
    let Some(redis) = Redis::start() else {
        report("skipped: no redis-server 7 on the PATH");
        return;
    };
    let cellar = Cellar::start();
    let seed = seed();
    report(&format!("{name}: SEED={seed}"));
    let mut clients = [redis.connect(), cellar.connect()];
    let mut random = Random::new(seed);
    for index in 0..count {
        let protocol = if index % 2 == 0 { "2" } else { "3" };
        let sequence = sequence(&mut random);
        for client in &mut clients {
            reset(client, protocol).expect("the server answers");
        }
        compare(&mut clients, &sequence, index);
    }
}

fn reset(client: &mut Client, protocol: &str) -> io::Result<()> {
    client.call(&["FLUSHALL"])?;
    client.call(&["HELLO", protocol])?;
    client.call(&["SELECT", "0"])?;
    // small bounds, so that short sequences pass them
    for (parameter, bound) in [
        ("hash-max-listpack-entries", "5"),
        ("hash-max-listpack-value", "20"),
        ("set-max-intset-entries", "6"),
        ("set-max-listpack-entries", "0"),
        ("zset-max-listpack-entries", "6"),
        ("stream-node-max-entries", "3"),
    ] {
        client.call(&["CONFIG", "SET", parameter, bound])?;
    }
    Ok(())
}

/// True: both hold the same in the end.
fn compare([redis, cellar]: &mut [Client; 2], sequence: &[Request], index: usize) -> bool {
    let expected = run(redis, sequence);
    let found = run(cellar, sequence);
    for (at, request) in sequence.iter().enumerate() {
        let (expected, found) = (&expected[at], &found[at]);
        if is_beyond_key_bound(found) {
            // A key that Redis takes: from here on the two hold different things.
            return false;
        }
        if !is_same(request.strictness, expected, found) {
            let history: Vec<String> = sequence[..at].iter().map(show).collect();
            panic!(
                "sequence {index}, after\n{}\n{}\nredis:  {expected}\ncellar: {found}",
                history.join("\n"),
                show(request),
            );
        }
    }
    true
}

/// A known difference: a key of more than 16 KiB is refused.
fn is_beyond_key_bound(found: &Reply) -> bool {
    match found {
        Reply::Line(b'-', text) => text.starts_with(b"ERR key of "),
        Reply::Many(_, Some(elements)) => elements.iter().any(is_beyond_key_bound),
        _ => false,
    }
}

fn run(client: &mut Client, sequence: &[Request]) -> Vec<Reply> {
    let requests = sequence.iter().map(|request| encode(&request.arguments));
    let requests = requests.collect::<Vec<_>>().concat();
    let replies = client.pipeline(&requests, sequence.len());
    replies.expect("the server answers")
}

fn show(request: &Request) -> String {
    let words = request.arguments.iter().map(|argument| shorten(argument));
    words.collect::<Vec<_>>().join(" ")
}

fn is_same(strictness: Strictness, expected: &Reply, found: &Reply) -> bool {
    match strictness {
        Strictness::Exact => expected == found,
        Strictness::AnyOrder => sorted(expected) == sorted(found),
        Strictness::Step => match (step(expected), step(found)) {
            // neither has to tell all keys unless it has reached the end
            (Some((b"0", all)), Some((cursor, some))) => {
                some.iter().all(|key| all.contains(key))
                    && (cursor != b"0" || some.len() == all.len())
            }
            (Some((_, some)), Some((b"0", all))) => some.iter().all(|key| all.contains(key)),
            (Some(_), Some(_)) => true,
            _ => expected == found,
        },
        Strictness::NearInTime => is_near(expected, found),
    }
}

/// Whether replies are the same but for numbers, which may differ by some time.
fn is_near(expected: &Reply, found: &Reply) -> bool {
    if let (Some(expected), Some(found)) = (number(expected), number(found))
        && expected >= 0
        && found >= 0
    {
        return expected.abs_diff(found) <= TIME_TOLERANCE_MS.unsigned_abs();
    }
    match (expected, found) {
        (Reply::Many(b'*', Some(expected)), Reply::Many(b'*', Some(found))) => {
            let mut pairs = expected.iter().zip(found);
            expected.len() == found.len() && pairs.all(|(a, b)| is_near(a, b))
        }
        _ => expected == found,
    }
}

fn sorted(reply: &Reply) -> Reply {
    match reply {
        Reply::Many(kind, Some(elements)) => {
            let mut elements: Vec<Reply> = elements.iter().map(sorted).collect();
            elements.sort();
            Reply::Many(*kind, Some(elements))
        }
        other => other.clone(),
    }
}

/// The cursor and the keys of SCAN's reply.
fn step(reply: &Reply) -> Option<(&[u8], &[Reply])> {
    let Reply::Many(b'*', Some(parts)) = reply else {
        return None;
    };
    match &parts[..] {
        [
            Reply::Bulk(b'$', Some(cursor)),
            Reply::Many(b'*', Some(keys)),
        ] => Some((cursor, keys)),
        _ => None,
    }
}

fn number(reply: &Reply) -> Option<i64> {
    match reply {
        Reply::Line(b':', digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
        _ => None,
    }
}

fn seed() -> u64 {
    match std::env::var("SEED") {
        Ok(seed) => seed.parse().expect("SEED is a number"),
        Err(_) => std::time::UNIX_EPOCH
            .elapsed()
            .expect("the clock is set")
            .as_nanos() as u64,
    }
}

#[expect(
    clippy::print_stderr,
    reason = "the seed must reach whoever replays it"
)]
fn report(line: &str) {
    eprintln!("differential: {line}");
}
