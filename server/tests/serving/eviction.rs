//! A cache on a small device: under an eviction policy no write is refused, whatever is written.

use crate::harness::{Client, Reply, Running, encode, show};

const CONNECTIONS: u64 = 8;
const PIPELINE: u64 = 16;
const VALUE_BYTES: usize = 2000;
/// Keys that are drawn from: three times what the device holds.
const KEYS: u64 = 60_000;
/// Writes of one flood: twice what the device holds.
const WRITES: u64 = 40_000;
const DEVICE: (&str, &str) = ("devices", "store.cellar 48mb");
const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.";

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn value(key: u64) -> Vec<u8> {
    let mut value = key.to_string().into_bytes();
    value.resize(VALUE_BYTES, b'.');
    value
}

fn set(key: u64, expiry_s: Option<u64>) -> Vec<u8> {
    let (name, value) = (format!("key:{key}"), value(key));
    let seconds = expiry_s.map(|seconds| seconds.to_string());
    let mut request: Vec<&[u8]> = vec![b"SET", name.as_bytes(), &value];
    if let Some(seconds) = &seconds {
        request.extend([b"EX".as_slice(), seconds.as_bytes()]);
    }
    encode(&request)
}

fn get(key: u64) -> Vec<u8> {
    encode(&[b"GET", format!("key:{key}").as_bytes()])
}

/// One connection's part of a flood: pipelines of a GET and a SET by turns.
fn flood_one(client: &mut Client, seed: u64, expires: bool) -> u64 {
    let (mut state, mut hits) = (seed, 0);
    for _ in 0..WRITES / CONNECTIONS / PIPELINE {
        let keys: Vec<u64> = (0..PIPELINE).map(|_| next(&mut state) % KEYS).collect();
        let request = |key: &u64| [get(*key), set(*key, expires.then_some(1000 + key % 1000))];
        client.send_raw(&keys.iter().flat_map(request).flatten().collect::<Vec<_>>());
        for key in keys {
            match client.read() {
                Reply::Null => {}
                found => {
                    assert_eq!(found, Reply::Bulk(value(key)), "key {key}");
                    hits += 1;
                }
            }
            assert_eq!(show(&client.read()), "+OK", "key {key}");
        }
    }
    hits
}

/// Writes from several connections; every write has to work. The hits of the reads among them.
fn flood(server: &Running, seed: u64, expires: bool) -> u64 {
    let mut clients: Vec<Client> = (0..CONNECTIONS).map(|_| server.connect()).collect();
    std::thread::scope(|scope| {
        let flood =
            |(number, client)| scope.spawn(move || flood_one(client, seed + number, expires));
        let threads: Vec<_> = (1..).zip(&mut clients).map(flood).collect();
        let hits = threads.into_iter().map(|thread| thread.join().unwrap());
        hits.sum()
    })
}

fn info(client: &mut Client, field: &str) -> u64 {
    let text = client.run("info everything").text();
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name == field).then(|| value.trim().parse().unwrap())
    });
    value.unwrap_or_else(|| panic!("INFO has no {field}"))
}

/// Writes fresh keys until one is refused, and tells how.
fn fill(client: &mut Client) -> String {
    for key in KEYS..KEYS + WRITES {
        client.send_raw(&set(key, None));
        let reply = show(&client.read());
        if reply != "+OK" {
            return reply;
        }
    }
    "all were written".into()
}

#[test]
fn a_full_device_is_a_cache_under_every_policy_for_all_keys() {
    let server = Running::start(&[DEVICE, ("maxmemory-policy", "allkeys-lru")]);
    let mut client = server.connect();
    client.check(
        "config get maxmemory-policy",
        "[maxmemory-policy allkeys-lru]",
    );
    let mut evicted = 0;
    for (number, policy) in ["allkeys-lru", "allkeys-lfu", "allkeys-random"]
        .iter()
        .enumerate()
    {
        client.check(&format!("config set maxmemory-policy {policy}"), "+OK");
        let hits = flood(&server, 100 * (number as u64 + 1), false);
        assert!(hits > WRITES / 20, "{policy}: only {hits} hits");
        let now = info(&mut client, "evicted_keys_for_space");
        assert!(
            now > evicted + WRITES / 4,
            "{policy}: {evicted} evicted, then {now}"
        );
        evicted = now;
    }
    assert_eq!(info(&mut client, "evicted_keys_for_memory"), 0);
    assert_eq!(info(&mut client, "evicted_keys"), evicted);
    client.check("config set maxmemory-policy noeviction", "+OK");
    assert_eq!(fill(&mut client), OOM);
    assert_eq!(info(&mut client, "evicted_keys"), evicted);
}

#[test]
fn only_keys_with_a_deadline_go_where_the_policy_says_so() {
    let server = Running::start(&[DEVICE, ("maxmemory-policy", "volatile-ttl")]);
    let mut client = server.connect();
    assert_eq!(fill(&mut client), OOM, "no key has a deadline");
    assert_eq!(info(&mut client, "evicted_keys"), 0);
    let lasting = info(&mut client, "evicted_keys_for_space");
    assert_eq!(lasting, 0);
    client.check("flushall", "+OK");
    for key in KEYS..KEYS + 1000 {
        client.send_raw(&set(key, None));
        assert_eq!(show(&client.read()), "+OK");
    }
    for (seed, policy) in [
        (7, "volatile-ttl"),
        (8, "volatile-lru"),
        (9, "volatile-lfu"),
        (10, "volatile-random"),
    ] {
        client.check(&format!("config set maxmemory-policy {policy}"), "+OK");
        flood(&server, seed * 1000, true);
    }
    assert!(info(&mut client, "evicted_keys_for_space") > WRITES);
    for key in KEYS..KEYS + 1000 {
        client.send_raw(&get(key));
        assert_eq!(client.read(), Reply::Bulk(value(key)), "key {key}");
    }
}

#[test]
fn object_tells_of_uses_what_the_policy_has_counted() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.check("set k v", "+OK");
    let freq = client.run("object freq k").text();
    assert!(
        freq.starts_with("ERR An LFU maxmemory policy is not selected"),
        "{freq}"
    );
    client.check("config set maxmemory-policy allkeys-lfu", "+OK");
    client.check("object freq k", ":0");
    for _ in 0..3 {
        client.check("get k", "v");
    }
    client.check("object freq k", ":3");
    client.check("object freq k", ":3");
    client.check("object freq none", "nil");
    let idle = client.run("object idletime k").text();
    assert!(
        idle.starts_with("ERR An LFU maxmemory policy is selected"),
        "{idle}"
    );
}
