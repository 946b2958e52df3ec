//! Random requests: a template per command, filled from pools of edge values.
//!
//! Owns which commands are compared and how strictly.

use super::pools::{
    BITFIELD_INTEGERS, DATABASES, ELEMENTS, FLOATS, HASH_KEYS, INTEGER_TYPES, INTEGERS, KEYS,
    LARGE_KEYS, LARGE_OFFSETS, OFFSETS, PATTERNS, SET_KEYS, VALUES, options,
};
use super::random::Random;
use super::sorted_sets;

/// How replies are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// All bytes.
    Exact,
    /// All bytes, elements of arrays in any order: the keyspace has no common order.
    AnyOrder,
    /// A step of SCAN from 0: how far one step goes is up to each server.
    Step,
    /// Numbers may differ by what two clocks and the time between two requests make of them.
    NearInTime,
}

pub(crate) struct Request {
    pub(crate) arguments: Vec<Vec<u8>>,
    pub(crate) strictness: Strictness,
}

/// Templates. `K` is a key, `B` a key of large values, `V` a value, `I` a number, `O` an offset,
/// `F` a float, `D` a database, `P` a pattern, `W` an integer type of BITFIELD, `*` some more keys,
/// `H` a hash, `S` a set, `E` an element, `+` some more elements, `%` some more fields with values,
/// `?x` options from pool `x`; else a word as it is.
const EXACT: &[&str] = &[
    "DEL K",
    "DEL K *",
    "UNLINK K *",
    "EXISTS K *",
    "TOUCH K *",
    "TYPE K",
    "RENAME K K",
    "RENAMENX K K",
    "COPY K K ?copy",
    "MOVE K D",
    "EXPIRE K ?time ?presence",
    "PEXPIRE K ?bigtime ?presence",
    "EXPIREAT K ?past ?expire",
    "PEXPIREAT K ?future ?expire",
    "PERSIST K",
    "OBJECT ENCODING K",
    "OBJECT FREQ K",
    "OBJECT ?word K",
    "OBJECT ENCODING",
    "OBJECT ENCODING K K",
    "SET K V",
    "SET K V",
    "SET B",
    "PSETEX K 100000",
    "EXPIRE K",
    "PEXPIRE K 100000 FOO",
    "GETRANGE B I",
    "BITCOUNT B I",
    "BITFIELD B GET W",
    "SET K V ?set",
    "SET K V ?set",
    "GET K",
    "GETDEL K",
    "GETEX K ?getex",
    "GETSET K V",
    "SETNX K V",
    "SETEX K ?time V",
    "PSETEX K ?bigtime V",
    "MGET K *",
    "MSET K V K V",
    "MSET K V K",
    "MSETNX K V K V",
    "APPEND K V",
    "STRLEN K",
    "GETRANGE K I I",
    "SUBSTR K I I",
    "SETRANGE K O V",
    "INCR K",
    "DECR K",
    "INCRBY K I",
    "DECRBY K I",
    "INCRBYFLOAT K F",
    "INCRBYFLOAT K F",
    "LCS K K",
    "LCS K K ?lcs",
    "SETBIT K O ?bit",
    "GETBIT K O",
    "BITCOUNT K",
    "BITCOUNT K I I",
    "BITCOUNT K I I ?unit",
    "BITPOS K ?bit",
    "BITPOS K ?bit I",
    "BITPOS K ?bit I I",
    "BITPOS K ?bit I I ?unit",
    "BITOP ?bitop K K",
    "BITOP ?bitop K K K",
    "BITFIELD K GET W O",
    "BITFIELD K SET W O I",
    "BITFIELD K OVERFLOW ?overflow INCRBY W O I GET W O",
    "BITFIELD K INCRBY W O I OVERFLOW ?overflow SET W O I INCRBY W O I",
    "BITFIELD_RO K GET W O GET W O",
    "BITFIELD_RO K SET W O I",
    "SELECT D",
    "SET B V",
    "APPEND B V",
    "SETRANGE B O V",
    "GETRANGE B I I",
    "SETBIT B O ?bit",
    "GETBIT B O",
    "BITCOUNT B I I ?unit",
    "BITPOS B ?bit I I ?unit",
    "BITPOS B ?bit I",
    "BITOP ?bitop B B",
    "BITOP ?bitop B B K",
    "BITFIELD B GET W O SET W O I INCRBY W O I",
    "GET B",
    "STRLEN B",
    "MGET K B K",
    "SET B V ?set",
    "GETDEL B",
    "COPY B B REPLACE",
    "NOSUCHCOMMAND x",
];

/// Of hashes and sets.
const ELEMENTS_EXACT: &[&str] = &[
    "HSET H E V %",
    "HSET H E V %",
    "HSET H E V E",
    "HSET H E I",
    "HMSET H E V %",
    "HSETNX H E V",
    "HGET H E",
    "HMGET H E +",
    "HLEN H",
    "HSTRLEN H E",
    "HEXISTS H E",
    "HDEL H E +",
    "HDEL H E",
    "HINCRBY H E I",
    "HINCRBY H f I",
    "HINCRBYFLOAT H E F",
    "HINCRBYFLOAT H f F",
    "HRANDFIELD H ?many foo",
    "OBJECT ENCODING H",
    "OBJECT ENCODING S",
    "SADD S E +",
    "SADD S E +",
    "SADD S I I I",
    "SREM S E +",
    "SISMEMBER S E",
    "SMISMEMBER S E +",
    "SCARD S",
    "SMOVE S S E",
    "SINTERCARD 2 S S ?limit",
    "SINTERCARD I S S",
    "SINTERSTORE S S S",
    "SUNIONSTORE S S S",
    "SDIFFSTORE S S S",
    "SDIFFSTORE S S",
    "DEL H",
    "DEL S",
    "RENAME H H",
    "RENAME S S",
    "COPY H H REPLACE",
    "COPY S S",
    "EXPIRE H 1000",
    "PERSIST S",
    "TYPE S",
    "SET H V ?set",
    "GET H",
    "GETSET S V",
    "APPEND H V",
    "SETRANGE H 1 V",
    "INCR S",
    "STRLEN S",
    "GETBIT S 0",
    "MGET H S a",
];

const ELEMENTS_ANY_ORDER: &[&str] = &[
    "HGETALL H",
    "HKEYS H",
    "HVALS H",
    "HSCAN H 0 COUNT 1000 ?element_scan",
    "HRANDFIELD H ?many",
    "HRANDFIELD H 1000 WITHVALUES",
    "SMEMBERS S",
    "SSCAN S 0 COUNT 1000 ?element_scan",
    "SRANDMEMBER S ?many",
    "SPOP S ?many",
    "SINTER S S",
    "SINTER S S S",
    "SUNION S S",
    "SDIFF S S",
    "SDIFF S S S",
];

const ANY_ORDER: &[&str] = &["KEYS P"];

const STEP: &[&str] = &[
    "SCAN 0",
    "SCAN 0 COUNT 1000",
    "SCAN 0 MATCH P COUNT 1000 ?scan",
];

const NEAR_IN_TIME: &[&str] = &["TTL K", "PTTL K", "EXPIRETIME K", "PEXPIRETIME K"];

/// One request in so many has an argument added, removed or replaced.
const MUTATED_ONE_IN: usize = 12;

/// One request in so many is about sorted sets.
const SORTED_SETS_ONE_IN: usize = 3;

/// One step in so many is a transaction.
const TRANSACTION_ONE_IN: usize = 16;

/// Commands of a transaction at most.
const TRANSACTION_COMMANDS_MAX: usize = 8;

/// About so many random requests, some of them in transactions.
pub(crate) fn sequence(random: &mut Random, count: usize) -> Vec<Request> {
    let mut requests = Vec::with_capacity(count + TRANSACTION_COMMANDS_MAX);
    while requests.len() < count {
        if random.one_in(TRANSACTION_ONE_IN) {
            transaction(random, &mut requests);
        } else {
            requests.push(request(random));
        }
    }
    requests
}

/// A transaction, with watches or without, broken or not. Only requests whose replies are the same
/// byte by byte: they become one reply.
fn transaction(random: &mut Random, requests: &mut Vec<Request>) {
    if random.one_in(2) {
        requests.push(filled(("WATCH K *", Strictness::Exact), random));
        if random.one_in(2) {
            requests.push(exact(random));
        }
    }
    requests.push(filled(("MULTI", Strictness::Exact), random));
    for _ in 0..random.below(TRANSACTION_COMMANDS_MAX) {
        requests.push(exact(random));
    }
    let end = *random.pick(&["EXEC", "EXEC", "EXEC", "EXEC", "DISCARD", "UNWATCH"]);
    requests.push(filled((end, Strictness::Exact), random));
    // after UNWATCH, which is queued
    requests.push(filled(("EXEC", Strictness::Exact), random));
}

fn exact(random: &mut Random) -> Request {
    loop {
        let request = request(random);
        if request.strictness == Strictness::Exact {
            return request;
        }
    }
}

/// The next request outside of transactions.
fn request(random: &mut Random) -> Request {
    if random.one_in(SORTED_SETS_ONE_IN) {
        return sorted_sets::request(random);
    }
    let (templates, strictness) = match random.below(20) {
        0 => (ANY_ORDER, Strictness::AnyOrder),
        1 => (STEP, Strictness::Step),
        2 => (NEAR_IN_TIME, Strictness::NearInTime),
        3..=7 => (ELEMENTS_EXACT, Strictness::Exact),
        8 | 9 => (ELEMENTS_ANY_ORDER, Strictness::AnyOrder),
        _ => (EXACT, Strictness::Exact),
    };
    let template = *random.pick(templates);
    filled((template, strictness), random)
}

fn filled((template, strictness): (&str, Strictness), random: &mut Random) -> Request {
    let mut arguments = fill(template, random);
    // a name that an error echoes must be text, a time must stay long, a large value must not
    // become a key, and a random choice must stay one of everything
    let fixed = [
        "SELECT",
        "OBJECT",
        "NOSUCH",
        "MULTI",
        "EXEC",
        "DISCARD",
        "UNWATCH",
        "PSETEX",
        "SETEX",
        "EXPIRE ",
        "PEXPIRE ",
        "HRANDFIELD",
        "HSCAN",
        "SPOP",
        "SRANDMEMBER",
        "SSCAN",
    ];
    let is_mutable =
        !template.contains(" B") && !fixed.iter().any(|name| template.starts_with(name));
    if is_mutable && random.one_in(MUTATED_ONE_IN) {
        mutate(&mut arguments, random);
    }
    Request {
        arguments,
        strictness,
    }
}

fn fill(template: &str, random: &mut Random) -> Vec<Vec<u8>> {
    let is_bitfield = template.starts_with("BITFIELD");
    let is_large = template.contains(" B");
    let mut arguments: Vec<Vec<u8>> = Vec::new();
    for slot in template.split(' ') {
        let pool = match slot {
            "K" => KEYS,
            "H" => HASH_KEYS,
            "S" => SET_KEYS,
            "E" => ELEMENTS,
            "B" => LARGE_KEYS,
            "I" if is_bitfield => BITFIELD_INTEGERS,
            "I" => INTEGERS,
            "O" if is_large && !is_bitfield => LARGE_OFFSETS,
            "O" => OFFSETS,
            "F" => FLOATS,
            "D" => DATABASES,
            "P" => PATTERNS,
            "W" => INTEGER_TYPES,
            "V" => {
                arguments.push(value(is_large, random));
                continue;
            }
            "+" => {
                for _ in 0..random.below(4) {
                    arguments.push(random.pick(ELEMENTS).to_vec());
                }
                continue;
            }
            "%" => {
                for _ in 0..random.below(4) {
                    arguments.push(random.pick(ELEMENTS).to_vec());
                    arguments.push(value(false, random));
                }
                continue;
            }
            "*" => {
                for _ in 0..random.below(4) {
                    arguments.push(random.pick(KEYS).to_vec());
                }
                continue;
            }
            _ => {
                let words = match slot.strip_prefix('?') {
                    Some(pool) => random.pick(options(pool)),
                    None => slot,
                };
                let words = words.split_whitespace();
                arguments.extend(words.map(|word| word.as_bytes().to_vec()));
                continue;
            }
        };
        arguments.push(random.pick(pool).to_vec());
    }
    arguments
}

fn value(is_large: bool, random: &mut Random) -> Vec<u8> {
    if is_large && random.one_in(2) {
        let byte = *random.pick(b"\x00\xff\x10ab");
        return vec![byte; *random.pick(&[1, 44, 45, 4096, 32_768, 32_769, 262_145, 600_000])];
    }
    if random.one_in(8) {
        let len = random.below(60);
        return (0..len).map(|_| *random.pick(b"abc01\x00\xff")).collect();
    }
    random.pick(VALUES).to_vec()
}

/// Makes a request that may be malformed. What is added is text, because errors may echo it.
fn mutate(arguments: &mut Vec<Vec<u8>>, random: &mut Random) {
    let at = 1 + random.below(arguments.len());
    match random.below(3) {
        0 => arguments.insert(at, random.pick(FLOATS).to_vec()),
        1 if arguments.len() > 1 => drop(arguments.remove(at.min(arguments.len() - 1))),
        _ => arguments.truncate(1 + random.below(arguments.len())),
    }
}

/// What is asked at the end of a sequence about every key, so that no write goes unseen.
pub(crate) fn questions() -> Vec<Request> {
    let mut requests = Vec::new();
    for (command, keys) in [("HGETALL", HASH_KEYS), ("SMEMBERS", SET_KEYS)] {
        for key in keys {
            requests.push(Request {
                arguments: vec![command.as_bytes().to_vec(), key.to_vec()],
                strictness: Strictness::AnyOrder,
            });
        }
    }
    for key in HASH_KEYS.iter().chain(SET_KEYS) {
        let words = [b"OBJECT".as_slice(), b"ENCODING", key];
        requests.push(Request {
            arguments: words.map(<[u8]>::to_vec).into(),
            strictness: Strictness::Exact,
        });
    }
    for key in KEYS.iter().chain(LARGE_KEYS) {
        for (command, strictness) in [
            (&["GET"] as &[&str], Strictness::Exact),
            (&["TYPE"], Strictness::Exact),
            (&["OBJECT", "ENCODING"], Strictness::Exact),
            (&["PEXPIRETIME"], Strictness::NearInTime),
        ] {
            let words = command.iter().map(|word| word.as_bytes().to_vec());
            requests.push(Request {
                arguments: words.chain([key.to_vec()]).collect(),
                strictness,
            });
        }
    }
    requests
}
