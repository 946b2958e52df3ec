//! DUMP and RESTORE between Cellar and real Redis servers: what one dumps, the other restores.
//!
//! Owns the values that cross, of all types and encodings. Beside the `redis-server` on the PATH it
//! uses the one that `REDIS_SERVER` names, of any version.

use crate::redis::Redis;
use crate::report;
use crate::socket::{Cellar, Client, Reply};

/// Commands that make values, each under a key of its own.
fn makers() -> Vec<Vec<String>> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut makers = vec![
        words("SET string:int 123456"),
        words("SET string:long-int 9223372036854775807"),
        words("SET string:empty "),
        words("SET string:raw hello"),
        words(&format!("SET string:packed {}", "abc".repeat(5000))),
        words("SETRANGE string:large 3000000 end"),
        words("RPUSH list:small a 1 -5 300 70000 5000000000 007"),
        words("SADD set:intset 1 -70000 5000000000"),
        words("SADD set:small 1 b c"),
        words("HSET hash:small f v n 12"),
        words("ZADD sorted:small -inf a 1 b 2.5 c inf d -0 e"),
        words("PFADD hyperloglog a b c"),
    ];
    let many = |head: &str, element: &dyn Fn(usize) -> Vec<String>| {
        let mut words = words(head);
        words.extend((0..3000).flat_map(element));
        words
    };
    let long = |index: usize| format!("{index}:{}", "x".repeat(index % 90));
    makers.extend([
        many("RPUSH list:large", &|index| vec![long(index)]),
        many("SADD set:large-ints", &|index| {
            vec![(index * 7).to_string()]
        }),
        many("SADD set:large", &|index| vec![long(index)]),
        many("HSET hash:large", &|index| {
            vec![long(index), index.to_string()]
        }),
        many("ZADD sorted:large", &|index| {
            vec![format!("{}.{:03}", index / 8, index % 8 * 125), long(index)]
        }),
    ]);
    makers
}

/// What tells all of a value.
fn questions(key: &str) -> Vec<Vec<&str>> {
    let kind = key.split(':').next().expect("a name has a first part");
    match kind {
        "list" => vec![vec!["LRANGE", key, "0", "-1"]],
        "set" => vec![vec!["SMEMBERS", key]],
        "hash" => vec![vec!["HGETALL", key]],
        "sorted" => vec![vec!["ZRANGE", key, "0", "-1", "WITHSCORES"]],
        "hyperloglog" => vec![vec!["PFCOUNT", key], vec!["GET", key]],
        _ => vec![vec!["GET", key], vec!["OBJECT", "ENCODING", key]],
    }
}

fn ask(client: &mut Client, key: &str) -> Vec<Reply> {
    let ask = |question: Vec<&str>| client.call(&question).expect("the server answers");
    let is_unordered = key.starts_with("set") || key.starts_with("hash");
    let replies = questions(key).into_iter().map(ask);
    let replies = replies.map(|reply| match reply {
        // a hash's fields and values are compared as if they were one set of both
        Reply::Many(kind, Some(mut elements)) if is_unordered => {
            elements.sort();
            Reply::Many(kind, Some(elements))
        }
        reply => reply,
    });
    replies.collect()
}

fn payload(client: &mut Client, key: &str) -> Vec<u8> {
    match client.call(&["DUMP", key]) {
        Ok(Reply::Bulk(_, Some(payload))) => payload,
        other => panic!("DUMP {key}: {other:?}"),
    }
}

fn restore(client: &mut Client, key: &str, payload: &[u8]) {
    let request = [b"RESTORE", key.as_bytes(), b"0", payload, b"REPLACE"];
    let reply = client.call(&request).expect("the server answers");
    assert_eq!(reply, Reply::Line(b'+', b"OK".to_vec()), "{key}");
}

/// From `made` to `other` and back again; all three hold the same.
fn cross([made, other]: [&mut Client; 2]) {
    for client in [&mut *made, &mut *other] {
        client.call(&["FLUSHALL"]).expect("the server answers");
    }
    for maker in makers() {
        let key = maker[1].clone();
        made.call(&maker).expect("the server answers");
        let held = ask(made, &key);
        let there = payload(made, &key);
        restore(other, &key, &there);
        assert_eq!(ask(other, &key), held, "{key} there");
        let back = payload(other, &key);
        restore(made, &key, &back);
        assert_eq!(ask(made, &key), held, "{key} and back");
    }
}

#[test]
fn payloads_cross_to_redis_and_back() {
    let redis: Vec<Redis> = [Redis::start(), Redis::start_named()]
        .into_iter()
        .flatten()
        .collect();
    if redis.is_empty() {
        report("skipped: no redis-server 7 on the PATH, and none is named by REDIS_SERVER");
    }
    let cellar = Cellar::start();
    for redis in redis {
        let (mut cellar, mut redis) = (cellar.connect(), redis.connect());
        cross([&mut cellar, &mut redis]);
        cross([&mut redis, &mut cellar]);
    }
}

/// Encodings that no present Redis writes, in bodies without a footer.
const OLDER: [(&str, &[u8]); 6] = [
    (
        "hash:zipmap",
        b"\x09\x10\x02\x01f\x02\0vv\x03abc\x01\x01x.\xff",
    ),
    (
        "list:ziplist",
        b"\x0a\x13\x13\0\0\0\x0e\0\0\0\x02\0\0\x02ab\x04\xc0\x2c\x01\xff",
    ),
    (
        "hash:ziplist",
        b"\x0d\x10\x10\0\0\0\x0d\0\0\0\x02\0\0\x01f\x03\xf2\xff",
    ),
    (
        "sorted:ziplist",
        b"\x0c\x13\x13\0\0\0\x0d\0\0\0\x02\0\0\x01m\x03\x031.5\xff",
    ),
    (
        "list:quicklist",
        b"\x0e\x02\x0e\x0e\0\0\0\x0a\0\0\0\x01\0\0\x01a\xff\
          \x0e\x0e\0\0\0\x0a\0\0\0\x01\0\0\x01b\xff",
    ),
    ("sorted:texts", b"\x03\x03\x01a\x032.5\x01b\xff\x01c\xfe"),
];

#[test]
fn encodings_of_older_versions_are_read_as_redis_reads_them() {
    let Some(redis) = Redis::start() else {
        report("skipped: no redis-server 7 on the PATH");
        return;
    };
    let cellar = Cellar::start();
    let (mut cellar, mut redis) = (cellar.connect(), redis.connect());
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime can be made");
    for (key, body) in OLDER {
        let payload = runtime.block_on(cellar_server::rdb::seal(body.to_vec()));
        restore(&mut redis, key, &payload);
        restore(&mut cellar, key, &payload);
        assert_eq!(ask(&mut cellar, key), ask(&mut redis, key), "{key}");
    }
}
