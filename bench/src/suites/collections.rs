//! `collections`: redis-benchmark with the commands of hashes, lists, sets and sorted sets.
//!
//! Each command is asked once first: a server that does not know it has a row with its error.

use super::sampling::Place;
use super::session::{Memory, Session};
use crate::drivers::redis_benchmark;
use crate::error::BenchError;
use crate::peers::{Address, Peer, Running};
use redis_benchmark::{Plan, Test};

const CONNECTIONS: u32 = 50;
const PIPELINE: u32 = 16;
/// Collections; as many fields or members are spread over them as there are requests.
const KEY_COUNT: u64 = 1000;
const REQUESTS: u64 = 200_000;
const REQUESTS_QUICK: u64 = 2000;
const MEMORY_BYTES: u64 = 4 << 30;
const STORE_BYTES: u64 = 8 << 30;

/// Columns in an order in which each finds what the ones before it wrote.
const COLUMNS: [(&str, &[&str]); 12] = [
    (
        "HSET",
        &[
            "HSET",
            "hash:__rand_int__",
            "field:__rand_int__",
            "value:__rand_int__",
        ],
    ),
    ("HGET", &["HGET", "hash:__rand_int__", "field:__rand_int__"]),
    ("HGETALL", &["HGETALL", "hash:__rand_int__"]),
    (
        "LPUSH",
        &["LPUSH", "list:__rand_int__", "value:__rand_int__"],
    ),
    ("LRANGE 0 99", &["LRANGE", "list:__rand_int__", "0", "99"]),
    ("RPOP", &["RPOP", "list:__rand_int__"]),
    ("SADD", &["SADD", "set:__rand_int__", "member:__rand_int__"]),
    (
        "SISMEMBER",
        &["SISMEMBER", "set:__rand_int__", "member:__rand_int__"],
    ),
    (
        "ZADD",
        &[
            "ZADD",
            "zset:__rand_int__",
            "__rand_int__",
            "member:__rand_int__",
        ],
    ),
    ("ZRANGE 0 9", &["ZRANGE", "zset:__rand_int__", "0", "9"]),
    (
        "ZSCORE",
        &["ZSCORE", "zset:__rand_int__", "member:__rand_int__"],
    ),
    ("INCR", &["INCR", "counter:__rand_int__"]),
];

pub(super) fn run(session: &mut Session) -> Result<(), BenchError> {
    let memory = Memory::Budget(session.options().memory_bytes(MEMORY_BYTES)?);
    session.arrange(session.layout(), memory)?;
    session.rounds(|session, peer, round| measure(session, peer, round, memory))
}

fn measure(
    session: &mut Session,
    peer: Peer,
    round: u32,
    memory: Memory,
) -> Result<(), BenchError> {
    let key_count = session.options().key_count(KEY_COUNT, KEY_COUNT);
    let requests = if session.options().quick {
        REQUESTS_QUICK
    } else {
        REQUESTS
    };
    let mut server = session.start(peer, &session.need(memory, (STORE_BYTES, key_count)))?;
    let table = format!("collections, {}", session.layout().name());
    for (column, words) in COLUMNS {
        let place = Place {
            table: &table,
            column,
            round,
        };
        session.measure_with(&mut server, &place, |server, drive| {
            ask_once(server, words)?;
            let plan = plan(server.address(), words, requests, key_count);
            Ok((redis_benchmark::run(&plan, drive)?, Vec::new()))
        })?;
    }
    server.stop();
    Ok(())
}

fn plan<'a>(address: &'a Address, words: &[&str], requests: u64, key_count: u64) -> Plan<'a> {
    Plan {
        address,
        connections: CONNECTIONS,
        pipeline: PIPELINE,
        requests,
        key_count,
        value_bytes: 0,
        test: Test::Command(words.iter().map(|word| (*word).to_owned()).collect()),
    }
}

/// An error reply to the command is why it cannot be measured.
fn ask_once(server: &Running, words: &[&str]) -> Result<(), BenchError> {
    let words: Vec<String> = words
        .iter()
        .map(|word| word.replace("__rand_int__", "0"))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    server.client()?.ask(&words).map(|_| ())
}
