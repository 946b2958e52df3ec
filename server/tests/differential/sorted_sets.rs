//! Random requests about sorted sets and places.
//!
//! Owns their templates and pools. Scores are such that Redis 7.0, which prints 17 digits, and
//! 7.2, which prints the shortest, print them alike. Ranges of members are asked for where all
//! scores are equal only: elsewhere Redis leaves the answer open.

use super::random::Random;
use super::requests::{Request, Strictness};
use super::templates::{Pool, drawn, fill};

const KEYS: Pool = &[b"z:1", b"z:2", b"z:3", b"a"];
/// Sets whose elements all have the score 0.
const FLAT_KEYS: Pool = &[b"flat:1", b"flat:2"];
const PLACE_KEYS: Pool = &[b"geo:1", b"geo:2"];
const MEMBERS: Pool = &[
    b"a",
    b"b",
    b"c",
    b"d",
    b"e",
    b"aa",
    b"ab",
    b"b\x00",
    b"",
    b"10",
    b"\xff",
    b"a member that is longer than the sixty-four bytes that a listpack takes",
];
const SCORES: Pool = &[
    b"0", b"-0", b"1", b"1", b"2", b"3", b"1.5", b"-2.25", b"1e3", b"-7", b"0.5", b"inf", b"-inf",
    b"+5", b".5", b"0x10", b"nan", b"abc", b"", b"1 ", b" 1", b"1e400",
];
const BOUNDS: Pool = &[
    b"-inf", b"+inf", b"0", b"1", b"(1", b"2", b"(3", b"-2.25", b"(inf", b"(-inf", b"1000", b"",
    b"(", b"((1", b"a", b"nan", b"1e400", b"-1",
];
const MEMBER_BOUNDS: Pool = &[
    b"-", b"+", b"[a", b"(a", b"[b", b"(b", b"(aa", b"[c", b"[", b"(", b"[z", b"a", b"", b"+x",
];
const RANKS: Pool = &[
    b"0", b"1", b"2", b"3", b"5", b"-1", b"-2", b"-4", b"100", b"-100", b"x", b"",
];
const COUNTS: Pool = &[b"0", b"1", b"2", b"10", b"-1", b"x"];
const LONGITUDES: Pool = &[
    b"0", b"13.5", b"-122.25", b"179.75", b"-180", b"15.25", b"181", b"x",
];
const LATITUDES: Pool = &[
    b"0", b"37.5", b"-33.75", b"85", b"-85", b"38.25", b"86", b"y",
];
const RADII: Pool = &[b"0", b"1", b"100", b"500.5", b"5000", b"30000", b"-1", b"x"];
const UNITS: Pool = &[b"m", b"km", b"KM", b"mi", b"ft", b"foo"];

/// `Z` is a key, `L` a flat one, `G` one of places; `M` a member, `N` a score, `B` a bound, `Y` a
/// bound of members, `R` a rank, `C` a count, `X` `A` `D` `U` longitude, latitude, distance, unit;
/// `{a|b}` one of these texts; else a word as it is.
const EXACT: &[&str] = &[
    "ZADD Z N M",
    "ZADD Z N M N M N M",
    "ZADD Z N M N M N M N M N M N M",
    "ZADD Z {NX|XX|GT|LT|CH|GT CH|LT CH|XX GT|NX CH|INCR|XX INCR|NX INCR|GT LT|NX XX|NX GT} N M",
    "ZADD Z {CH|XX CH|GT|INCR} N M N M",
    "ZINCRBY Z N M",
    "ZREM Z M M",
    "ZCARD Z",
    "ZSCORE Z M",
    "ZMSCORE Z M M M",
    "ZRANK Z M",
    "ZREVRANK Z M",
    "ZCOUNT Z B B",
    "ZRANGE Z R R",
    "ZRANGE Z R R {WITHSCORES|REV|REV WITHSCORES|LIMIT 0 1|foo}",
    "ZRANGE Z B B BYSCORE {WITHSCORES|LIMIT 1 2|LIMIT -1 2|LIMIT 0 -1|LIMIT 1|REV|BYLEX}",
    "ZRANGE Z B B BYSCORE REV {WITHSCORES|LIMIT 1 2|LIMIT 5 5|}",
    "ZREVRANGE Z R R",
    "ZREVRANGE Z R R WITHSCORES",
    "ZRANGEBYSCORE Z B B",
    "ZRANGEBYSCORE Z B B {WITHSCORES|LIMIT 1 2|LIMIT 0 1 WITHSCORES|REV|LIMIT x 1}",
    "ZREVRANGEBYSCORE Z B B {WITHSCORES|LIMIT 1 2|LIMIT 0 1 WITHSCORES|}",
    "ZREMRANGEBYRANK Z R R",
    "ZREMRANGEBYSCORE Z B B",
    "ZPOPMIN Z",
    "ZPOPMAX Z",
    "ZPOPMIN Z C",
    "ZPOPMAX Z C",
    "ZMPOP 2 Z Z {MIN|MAX|min COUNT 2|MAX COUNT 0|MAX COUNT x|foo|MIN COUNT}",
    "ZMPOP C Z MIN",
    "ZRANDMEMBER Z {0|x|0 WITHSCORES|0 foo}",
    "ZRANGESTORE Z Z R R",
    "ZRANGESTORE Z Z B B BYSCORE {REV|LIMIT 0 2|WITHSCORES|}",
    "ZUNION 2 Z Z {WITHSCORES|WITHSCORES AGGREGATE MIN|AGGREGATE MAX|WEIGHTS 2 0.5 WITHSCORES|}",
    "ZUNION 3 Z Z Z {WEIGHTS 1 2 3 WITHSCORES|WEIGHTS 1 2|AGGREGATE|AGGREGATE foo|WITHSCORES}",
    "ZINTER 2 Z Z {WITHSCORES|WITHSCORES AGGREGATE MAX|WEIGHTS 0 -1 WITHSCORES|LIMIT 1|}",
    "ZDIFF 2 Z Z {WITHSCORES|WEIGHTS 1 1|}",
    "ZINTERCARD 2 Z Z {LIMIT 1|LIMIT 0|LIMIT -1|LIMIT|}",
    "ZUNIONSTORE Z 2 Z Z {AGGREGATE MIN|AGGREGATE MAX|WEIGHTS 1 -1|WEIGHTS x 1|WITHSCORES|}",
    "ZINTERSTORE Z 2 Z Z {AGGREGATE MIN|WEIGHTS inf 1|}",
    "ZDIFFSTORE Z 2 Z Z",
    "ZUNIONSTORE Z C Z Z",
    "OBJECT ENCODING Z",
    "TYPE Z",
    "DEL Z",
    "RENAME Z Z",
    "COPY Z Z REPLACE",
    "EXPIRE Z 1000",
    "GET Z",
    "ZADD L 0 M 0 M",
    "ZADD L 0 M 0 M 0 M 0 M 0 M",
    "ZREM L M",
    "ZLEXCOUNT L Y Y",
    "ZRANGEBYLEX L Y Y",
    "ZRANGEBYLEX L Y Y {LIMIT 1 2|WITHSCORES|LIMIT -1 1}",
    "ZREVRANGEBYLEX L Y Y",
    "ZRANGE L Y Y BYLEX {REV|LIMIT 0 2|REV LIMIT 1 1|WITHSCORES}",
    "ZREMRANGEBYLEX L Y Y",
    "ZRANGESTORE L L Y Y BYLEX",
    "ZRANK L M",
    "GEOADD G X A M",
    "GEOADD G X A M X A M",
    "GEOADD G {NX|XX|CH|XX CH|NX XX} X A M",
    "GEODIST G M M",
    "GEODIST G M M U",
    "GEOPOS G M M",
    "GEOHASH G M M",
    "ZRANGE G R R WITHSCORES",
    "ZREM G M",
    "GEOSEARCHSTORE G G FROMLONLAT X A BYRADIUS D U {ANY|WITHDIST|DESC|}",
    "GEORADIUS G X A D U STORE G",
    "GEORADIUSBYMEMBER_RO G M D U STORE G",
];

const ANY_ORDER: &[&str] = &[
    "ZSCAN Z 0 {COUNT 1000|MATCH a* COUNT 1000|COUNT 0|MATCH|foo 1}",
    "ZRANDMEMBER Z 1000",
    "ZRANDMEMBER Z 1000 WITHSCORES",
    "GEOSEARCH G FROMLONLAT X A BYRADIUS D U {ASC|WITHDIST|WITHCOORD WITHHASH|DESC WITHDIST|ANY}",
    "GEOSEARCH G FROMMEMBER M BYBOX D D U {ASC|WITHDIST|WITHCOORD|COUNT 0|COUNT x}",
    "GEORADIUS G X A D U {WITHDIST|WITHHASH|ASC|foo}",
    "GEORADIUSBYMEMBER G M D U {WITHDIST|DESC|}",
];

/// One request in so many loses or doubles an argument.
const MUTATED_ONE_IN: usize = 25;

/// The next request.
pub(crate) fn request(random: &mut Random) -> Request {
    let (templates, strictness) = if random.one_in(8) {
        (ANY_ORDER, Strictness::AnyOrder)
    } else {
        (EXACT, Strictness::Exact)
    };
    let template = *random.pick(templates);
    let mut arguments = fill(template, random, drawn(pool));
    // a flat set must stay one, a random choice one of everything, and ranks have a new argument
    let fixed = ["ZRANDMEMBER", "ZRANK", "ZREVRANK"];
    let is_mutable =
        !template.contains(" L") && !fixed.iter().any(|name| template.starts_with(name));
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
        strictness,
    }
}

/// What is asked at the end of a sequence about every key.
pub(crate) fn questions() -> impl Iterator<Item = Request> {
    let keys = [KEYS, FLAT_KEYS, PLACE_KEYS].concat();
    keys.into_iter().flat_map(|key| {
        [
            &["ZRANGE", "0", "-1", "WITHSCORES"] as &[&str],
            &["OBJECT ENCODING"],
        ]
        .map(|words| {
            let (command, rest) = words.split_first().expect("a question has words");
            let command = command.split(' ').map(|word| word.as_bytes().to_vec());
            let rest = rest.iter().map(|word| word.as_bytes().to_vec());
            Request {
                arguments: command.chain([key.to_vec()]).chain(rest).collect(),
                strictness: Strictness::Exact,
            }
        })
    })
}

fn pool(slot: &str) -> Option<Pool> {
    Some(match slot {
        "Z" => KEYS,
        "L" => FLAT_KEYS,
        "G" => PLACE_KEYS,
        "M" => MEMBERS,
        "N" => SCORES,
        "B" => BOUNDS,
        "Y" => MEMBER_BOUNDS,
        "R" => RANKS,
        "C" => COUNTS,
        "X" => LONGITUDES,
        "A" => LATITUDES,
        "D" => RADII,
        "U" => UNITS,
        _ => return None,
    })
}
