//! Random requests about lists, their ends, their middle, and sorting.
//!
//! Owns their templates and pools. Encodings are left out: Redis 7.0 calls every list a quicklist.
//! Elements are long enough, now and then, for lists of several pages.

use super::differ;
use super::random::Random;
use super::requests::{Request, Strictness};
use super::templates::{Pool, fill};

/// Sequences of this test, each from an empty keyspace.
const SEQUENCES: usize = 120;

/// Requests of one sequence, sent as one pipeline.
const REQUESTS: usize = 150;

const KEYS: Pool = &[b"l:1", b"l:2", b"l:3", b"text"];
const ELEMENTS: Pool = &[
    b"a",
    b"b",
    b"c",
    b"a",
    b"",
    b"1",
    b"2",
    b"-3",
    b"10",
    b"2.5",
    b"1e3",
    b"0x10",
    b" 7",
    b"7 ",
    b"nan",
    b"inf",
    b"\xff\x00",
    b"1234567890123",
    b"word",
];
const INDEXES: Pool = &[
    b"0",
    b"1",
    b"2",
    b"3",
    b"5",
    b"10",
    b"40",
    b"-1",
    b"-2",
    b"-3",
    b"-20",
    b"1000",
    b"-1000",
    b"x",
    b"",
    b"9223372036854775807",
    b"-9223372036854775808",
];
const COUNTS: Pool = &[b"0", b"1", b"2", b"3", b"50", b"-1", b"-2", b"x"];
const TIMEOUTS: Pool = &[b"0.001", b"0.001", b"-1", b"x", b""];

/// `K` is a key, `E` an element, `I` an index, `C` a count, `T` a time limit that passes at once,
/// `{a|b}` one of these texts; else a word as it is.
const TEMPLATES: &[&str] = &[
    "LPUSH K E",
    "RPUSH K E",
    "RPUSH K E E E E E E",
    "LPUSH K E E E",
    "RPUSH K E E E E E E E E E E E E E E E E",
    "LPUSHX K E",
    "RPUSHX K E E",
    "LPOP K",
    "RPOP K",
    "LPOP K C",
    "RPOP K C",
    "LLEN K",
    "LINDEX K I",
    "LSET K I E",
    "LRANGE K I I",
    "LRANGE K 0 -1",
    "LINSERT K {BEFORE|after|beside} E E",
    "LREM K C E",
    "LTRIM K I I",
    "LTRIM K 0 30",
    "LPOS K E",
    "LPOS K E {RANK|COUNT|MAXLEN} C",
    "LPOS K E RANK C COUNT C MAXLEN C",
    "LPOS K E COUNT 0 RANK -1",
    "LMOVE K K {LEFT|right|up} {LEFT|RIGHT}",
    "LMOVE K K LEFT RIGHT",
    "RPOPLPUSH K K",
    "LMPOP {0|1|2|x} K K {LEFT|RIGHT|up} {COUNT 2|COUNT 0|COUNT x|COUNT|}",
    "BLPOP K K T",
    "BRPOP K T",
    "BLMPOP T {1|2} K K {LEFT|RIGHT} {COUNT 3|}",
    "BLMOVE K K {LEFT|RIGHT} {LEFT|RIGHT} T",
    "BRPOPLPUSH K K T",
    "SORT K",
    "SORT K ALPHA",
    "SORT K {DESC|ASC|ALPHA DESC|BY nosort|BY nosort DESC} LIMIT C C",
    "SORT K BY {w:*|w:*->f|nosort|*} {GET #|GET w:* GET #|GET none|DESC|foo|}",
    "SORT K ALPHA {STORE l:3|STORE text|STORE|GET # GET w:* STORE l:2}",
    "SORT_RO K ALPHA {LIMIT 1 2|STORE l:1|GET w:*|}",
    "SET w:a 3",
    "SET w:b 1",
    "SET w:1 x",
    "MSET w:c 2 w: 9 w:2 5",
    "DEL K",
    "RENAME K K",
    "COPY K K REPLACE",
    "TYPE K",
    "EXISTS K",
    "EXPIRE K 1000",
    "PERSIST K",
    "GET K",
    "APPEND text E",
];

/// One request in so many loses or doubles an argument.
const MUTATED_ONE_IN: usize = 25;

#[test]
fn lists_answer_as_redis_does() {
    differ("lists", SEQUENCES, |random| {
        let requests = (0..REQUESTS).map(|_| request(random));
        requests.chain(questions()).collect()
    });
}

fn request(random: &mut Random) -> Request {
    let template = *random.pick(TEMPLATES);
    let mut arguments = fill(template, random, value);
    // a time limit of another request's argument might be long
    let is_mutable = !template.starts_with('B');
    if is_mutable && random.one_in(MUTATED_ONE_IN) {
        let at = 1 + random.below(arguments.len() - 1);
        if random.one_in(2) {
            arguments.remove(at);
        } else {
            arguments.insert(at, arguments[at].clone());
        }
    }
    Request {
        arguments,
        strictness: Strictness::Exact,
    }
}

fn questions() -> impl Iterator<Item = Request> {
    let ask = |words: &[&[u8]], strictness| Request {
        arguments: words.iter().map(|word| word.to_vec()).collect(),
        strictness,
    };
    KEYS.iter().flat_map(move |key| {
        [
            ask(&[b"LRANGE", key, b"0", b"-1"], Strictness::Exact),
            ask(&[b"LRANGE", key, b"-9", b"-4"], Strictness::Exact),
            ask(&[b"TYPE", key], Strictness::Exact),
            ask(&[b"PEXPIRETIME", key], Strictness::NearInTime),
        ]
    })
}

fn value(slot: &str, random: &mut Random) -> Option<Vec<u8>> {
    let pool = match slot {
        "K" => KEYS,
        "I" => INDEXES,
        "C" => COUNTS,
        "T" => TIMEOUTS,
        "E" => return Some(element(random)),
        _ => return None,
    };
    Some(random.pick(pool).to_vec())
}

fn element(random: &mut Random) -> Vec<u8> {
    if random.one_in(6) {
        let len = *random.pick(&[63, 64, 300, 900, 2048, 2049, 5000]);
        return vec![*random.pick(b"ab0\xff"); len];
    }
    random.pick(ELEMENTS).to_vec()
}
