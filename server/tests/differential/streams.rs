//! Random requests about streams.
//!
//! Owns their templates and pools. Ids come from the client, since two servers have two clocks. Not
//! compared is what Redis 7.2 answers unlike 7.0: which consumers there are before they get
//! something, when they were seen, and lags; and what depends on where Redis cuts its nodes in
//! memory.

use super::random::Random;
use super::requests::{Request, Strictness};
use super::templates::{Pool, drawn, fill};

const KEYS: Pool = &[b"st:1", b"st:2", b"st:2", b"a"];
const GROUPS: Pool = &[b"g", b"g", b"h", b"gg"];
const CONSUMERS: Pool = &[b"c", b"d", b"e\x00", b""];
const NEW_IDS: Pool = &[
    b"7-*",
    b"7-*",
    b"7-*",
    b"7-*",
    b"7-*",
    b"7-*",
    b"8-*",
    b"1-1",
    b"2",
    b"0-0",
    b"0-*",
    b"7-50",
    b"x",
    b"-",
    b"5-",
    b"18446744073709551616",
    b"+1-+1",
    b"01-01",
];
const IDS: Pool = &[
    b"7-0",
    b"7-1",
    b"7-2",
    b"7-3",
    b"7-4",
    b"7-5",
    b"7-6",
    b"7-8",
    b"7-10",
    b"7",
    b"8",
    b"8-1",
    b"1-1",
    b"2",
    b"0",
    b"7-50",
    b"9",
    b"x",
    b"7-",
    b"18446744073709551615-18446744073709551615",
];
const BOUNDS: Pool = &[
    b"-",
    b"+",
    b"-",
    b"+",
    b"7-1",
    b"7-3",
    b"(7-2",
    b"(7",
    b"7",
    b"(7-5",
    b"8",
    b"0",
    b"(0",
    b"(18446744073709551615-18446744073709551615",
    b"(-",
    b"(",
    b"x",
    b"9",
];
const VALUES: Pool = &[
    b"",
    b"1",
    b"v",
    b"a\x00\r\n\xff",
    b"-77",
    b"a value of more bytes than others",
];
const COUNTS: Pool = &[b"0", b"1", b"2", b"3", b"5", b"8", b"-1", b"x"];

/// `S` is a key, `G` a group, `C` a consumer, `N` the id of a new entry, `I` an id, `B` a bound,
/// `V` a field or value, `K` a count.
const EXACT: &[&str] = &[
    "XADD S N V V",
    "XADD S N V V",
    "XADD S N V V",
    "XADD S N V V V V",
    "XADD S {MAXLEN 5|MAXLEN = 3|MAXLEN ~ 4|MAXLEN ~ 0|NOMKSTREAM|MINID 7-3|MAXLEN x|LIMIT 1} N \
            V V",
    "XADD S {MAXLEN ~ 2 LIMIT 5|MAXLEN ~ 2 LIMIT 0|MAXLEN 2 LIMIT 5|MAXLEN 1 MINID 1} N V V",
    "XADD S N V",
    "XLEN S",
    "XRANGE S B B",
    "XRANGE S B B COUNT K",
    "XREVRANGE S B B",
    "XREVRANGE S B B COUNT K",
    "XRANGE S B B {FOO 1|COUNT|COUNT 1 COUNT 2}",
    "XDEL S I",
    "XDEL S I I",
    "XTRIM S MAXLEN K",
    "XTRIM S MAXLEN ~ K",
    "XTRIM S MAXLEN ~ K LIMIT K",
    "XTRIM S {MINID|MINID =} I",
    "XSETID S I",
    "XSETID S I {ENTRIESADDED 5|ENTRIESADDED -1|MAXDELETEDID 7-1|ENTRIESADDED|FOO 1}",
    "XREAD STREAMS S I",
    "XREAD COUNT K STREAMS S S I I",
    "XREAD STREAMS S {$|>|x|}",
    "XREAD STREAMS S S $ I",
    "XREAD {FOO|NOACK|COUNT|BLOCK x|GROUP g c|BLOCK 1 COUNT 1} STREAMS S I",
    "XGROUP CREATE S G I",
    "XGROUP CREATE S G {0 MKSTREAM|$ MKSTREAM|$|0 ENTRIESREAD 2|0 ENTRIESREAD -5|0 FOO|0 \
            ENTRIESREAD}",
    "XGROUP CREATE S G 0 MKSTREAM",
    "XGROUP SETID S G {0|$|-|+|7-2|x|0 ENTRIESREAD 1|0 FOO}",
    "XGROUP DESTROY S G",
    "XGROUP DELCONSUMER S G C",
    "XREADGROUP GROUP G C STREAMS S >",
    "XREADGROUP GROUP G C COUNT K STREAMS S >",
    "XREADGROUP GROUP G C COUNT K STREAMS S >",
    "XREADGROUP GROUP G C STREAMS S I",
    "XREADGROUP GROUP G C COUNT K STREAMS S S {> >|0 >|0 0|$ >}",
    "XREADGROUP GROUP G C NOACK COUNT 1 STREAMS S >",
    "XACK S G I",
    "XACK S G I I I",
    "XPENDING S G",
    "XCLAIM S G C 0 I",
    "XCLAIM S G C 0 I I I",
    "XCLAIM S G C 0 I {JUSTID|FORCE|FORCE JUSTID|RETRYCOUNT 4|LASTID 7-4|FOO|IDLE x|TIME|IDLE 5}",
    "XCLAIM S G C {x|-1|1000000000} I",
    "XAUTOCLAIM S G C 0 B",
    "XAUTOCLAIM S G C 0 B {COUNT 2|COUNT 1 JUSTID|JUSTID|COUNT 0|COUNT x|FOO|COUNT}",
    "XAUTOCLAIM S G C {x|1000000000} 0",
    "XINFO STREAM S {FOO|FULL FOO|FULL COUNT|FULL COUNT x}",
    "XINFO {FOO|CONSUMERS} S",
    "XGROUP {FOO|CREATE|DESTROY} S",
    "OBJECT ENCODING S",
    "TYPE S",
    "DEL S",
    "RENAME S S",
    "COPY S S REPLACE",
    "GET S",
    "SET S V",
];

const NEAR_IN_TIME: &[&str] = &[
    "XPENDING S G B B K",
    "XPENDING S G - + 10",
    "XPENDING S G - + 10 C",
    "XPENDING S G {IDLE 0|IDLE 1000000000|IDLE x} B B K",
    "XPENDING S G {IDLE|- +|- + 1 c d|IDLE 5 - +}",
];

/// The next request.
pub(crate) fn request(random: &mut Random) -> Request {
    let (templates, strictness) = if random.one_in(8) {
        (NEAR_IN_TIME, Strictness::NearInTime)
    } else {
        (EXACT, Strictness::Exact)
    };
    let template = *random.pick(templates);
    Request {
        arguments: fill(template, random, drawn(pool)),
        strictness,
    }
}

/// What is asked at the end of a sequence about every key.
pub(crate) fn questions() -> impl Iterator<Item = Request> {
    let question = |words: &[&[u8]], strictness| Request {
        arguments: words.iter().map(|word| word.to_vec()).collect(),
        strictness,
    };
    KEYS[..2].iter().flat_map(move |key| {
        let all = question(&[b"XRANGE", key, b"-", b"+"], Strictness::Exact);
        let pending = GROUPS[1..].iter().flat_map(move |group| {
            [
                question(&[b"XPENDING", key, group], Strictness::Exact),
                question(
                    &[b"XPENDING", key, group, b"-", b"+", b"100"],
                    Strictness::NearInTime,
                ),
            ]
        });
        [all].into_iter().chain(pending)
    })
}

fn pool(slot: &str) -> Option<Pool> {
    Some(match slot {
        "S" => KEYS,
        "G" => GROUPS,
        "C" => CONSUMERS,
        "N" => NEW_IDS,
        "I" => IDS,
        "B" => BOUNDS,
        "V" => VALUES,
        "K" => COUNTS,
        _ => return None,
    })
}
