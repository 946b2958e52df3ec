//! Fields with deadlines, against a Redis that knows them: from 8.0 on, named by `REDIS_SERVER`.
//!
//! Owns these requests. Deadlines lie far ahead or have passed, so that all answers are certain.

use crate::random::Random;
use crate::redis::Redis;
use crate::socket::{Cellar, Client, Reply, shorten};
use crate::{report, seed, sorted};

const SEQUENCES: usize = 60;
const REQUESTS: usize = 150;

type Request = Vec<String>;

fn is_known(client: &mut Client) -> bool {
    let reply = client.call(&["HSETEX", "probe", "FIELDS", "1", "f", "v"]);
    matches!(reply, Ok(Reply::Line(b':', _)))
}

fn field(random: &mut Random, count: usize) -> String {
    format!("f{}", random.below(count))
}

fn fields(random: &mut Random, count: usize) -> Vec<String> {
    let named = 1 + random.below(4);
    let mut words = vec!["FIELDS".to_owned(), named.to_string()];
    words.extend((0..named).map(|_| field(random, count)));
    if random.one_in(30) {
        let count = *random.pick(&["0", "-1", "x", "2"]);
        count.clone_into(&mut words[1]);
    }
    words
}

/// A word that says how a time is written, and a time.
fn lifetime(random: &mut Random) -> [&'static str; 2] {
    let times = [
        ["EX", "100000"],
        ["PX", "100000000"],
        ["EXAT", "33177117420"],
        ["PXAT", "33177117420000"],
        ["PXAT", "1"],
        ["EX", "0"],
        ["EX", "-1"],
        ["EX", "99999999999999999"],
    ];
    *random.pick(&times)
}

fn expire(random: &mut Random) -> Request {
    let (command, time) = *random.pick(&[
        ("HEXPIREAT", "33177117419"),
        ("HEXPIREAT", "33177117421"),
        ("HPEXPIREAT", "33177117419500"),
        ("HEXPIREAT", "33177117420"),
        ("HPEXPIREAT", "33177117420001"),
        ("HPEXPIREAT", "1"),
        ("HEXPIRE", "0"),
        ("HEXPIRE", "-1"),
        ("HEXPIREAT", "70368744178"),
    ]);
    let mut request = vec![command.to_owned(), "h".to_owned(), time.to_owned()];
    if random.one_in(2) {
        request.push((*random.pick(&["NX", "XX", "GT", "LT", "ZZ"])).to_owned());
    }
    request
}

fn request(random: &mut Random, count: usize) -> Request {
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Request>();
    let mut request = match random.below(12) {
        0 => return [words(&["HDEL", "h"]), vec![field(random, count)]].concat(),
        1 => {
            let (field, value) = (field(random, count), random.below(1000).to_string());
            let command = *random.pick(&["HSET", "HSETNX", "HINCRBY"]);
            return [words(&[command, "h"]), vec![field, value]].concat();
        }
        2 => {
            let command = *random.pick(&["HGETALL", "HKEYS", "HVALS", "HLEN", "EXISTS", "TYPE"]);
            return words(&[command, "h"]);
        }
        3 => {
            let mut request = words(&["HSETEX", "h"]);
            if random.one_in(3) {
                request.push((*random.pick(&["FNX", "FXX"])).to_owned());
            }
            match random.below(3) {
                0 => request.push("KEEPTTL".to_owned()),
                1 => request.extend(lifetime(random).map(str::to_owned)),
                _ => {}
            }
            let (field, value) = (field(random, count), "x".repeat(random.below(30)));
            request.extend([
                "FIELDS".to_owned(),
                "1".to_owned(),
                field,
                format!("v{value}"),
            ]);
            return request;
        }
        4 => {
            let mut request = words(&["HGETEX", "h"]);
            match random.below(3) {
                0 => request.push("PERSIST".to_owned()),
                1 => request.extend(lifetime(random).map(str::to_owned)),
                _ => {}
            }
            request
        }
        5..8 => expire(random),
        8 => words(&["HPERSIST", "h"]),
        9 => words(&["HGETDEL", "h"]),
        _ => words(&[*random.pick(&["HEXPIRETIME", "HTTL"]), "h"]),
    };
    request.extend(fields(random, count));
    request
}

/// Times to live in seconds may differ by as long as a sequence takes.
fn is_same(request: &Request, expected: &Reply, found: &Reply) -> bool {
    let number = |reply: &Reply| match reply {
        Reply::Line(b':', text) => String::from_utf8_lossy(text).parse::<i64>().ok(),
        _ => None,
    };
    match (expected, found) {
        (Reply::Many(_, Some(expected)), Reply::Many(_, Some(found)))
            if matches!(&request[0][..], "HTTL" | "HEXPIRETIME") =>
        {
            let pairs = expected.iter().zip(found);
            let are_near = |(a, b): (&Reply, &Reply)| match (number(a), number(b)) {
                (Some(a), Some(b)) if a > 0 && b > 0 => a.abs_diff(b) < 30,
                _ => a == b,
            };
            expected.len() == found.len() && pairs.into_iter().all(are_near)
        }
        _ => sorted(expected) == sorted(found),
    }
}

#[test]
fn fields_with_deadlines_are_those_of_redis() {
    let Some(redis) = Redis::start_named() else {
        report("skipped: REDIS_SERVER names no redis-server");
        return;
    };
    let cellar = Cellar::start();
    let mut clients = [redis.connect(), cellar.connect()];
    if !is_known(&mut clients[0]) {
        report("skipped: what REDIS_SERVER names does not know HSETEX");
        return;
    }
    let seed = seed();
    report(&format!("SEED={seed}"));
    let mut random = Random::new(seed);
    for index in 0..SEQUENCES {
        let count = *random.pick(&[4, 12, 400]);
        for client in &mut clients {
            client.call(&["FLUSHALL"]).expect("the server answers");
            if count == 400 {
                let pairs = (0..count).flat_map(|n| [format!("f{n}"), "v".repeat(n % 50)]);
                let words: Vec<String> = ["HSET", "h"].map(str::to_owned).into();
                let words: Vec<String> = words.into_iter().chain(pairs).collect();
                client.call(&words).expect("the server answers");
            }
        }
        let mut history = Vec::new();
        for _ in 0..REQUESTS {
            let request = request(&mut random, count);
            let [expected, found] = [0, 1].map(|at: usize| {
                let reply = clients[at].call(&request);
                reply.expect("the server answers")
            });
            let shown: Vec<String> = request
                .iter()
                .map(|word| shorten(word.as_bytes()))
                .collect();
            history.push(shown.join(" "));
            assert!(
                is_same(&request, &expected, &found),
                "sequence {index}, after\n{}\nredis:  {expected}\ncellar: {found}",
                history.join("\n"),
            );
        }
    }
}
