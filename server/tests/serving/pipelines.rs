//! Pipelines: any length, replies in order, whoever reads how slowly.

use crate::harness::{Reply, Running, encode, show};

#[test]
fn replies_are_in_order() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let count = 20_000;
    let mut requests = Vec::new();
    for index in 0..count {
        let (key, value) = (format!("k{}", index % 100), index.to_string());
        requests.extend(encode(&[b"SET", key.as_bytes(), value.as_bytes()]));
        requests.extend(encode(&[b"GET", key.as_bytes()]));
        requests.extend(encode(&[b"ECHO", value.as_bytes()]));
        requests.extend(encode(&[b"NOTHING"]));
    }
    let sender = client.send_beside(requests);
    let mut other = server.connect();
    for index in 0..count {
        assert_eq!(show(&client.read()), "+OK");
        assert_eq!(client.read().text(), index.to_string());
        assert_eq!(client.read().text(), index.to_string());
        assert!(matches!(client.read(), Reply::Error(_)));
        if index % 200 == 0 {
            // another client is served meanwhile
            other.check("ping", "+PONG");
        }
    }
    sender.join().unwrap();
}

#[test]
fn a_client_that_only_sends_gets_its_replies() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.run("set k v");
    let mut requests = Vec::new();
    for _ in 0..1000 {
        requests.extend(encode(&[b"GET", b"k"]));
    }
    client.send_raw(&requests);
    client.finish_sending();
    let replies = client.read_to_end();
    assert_eq!(replies, b"$1\r\nv\r\n".repeat(1000));
}

#[test]
fn large_replies_wait_for_a_slow_reader() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let value: Vec<u8> = (0..30_000_u32).flat_map(u32::to_le_bytes).collect();
    client.send_raw(&encode(&[b"SET", b"k", &value]));
    assert_eq!(show(&client.read()), "+OK");
    let count = 300;
    let mut requests = Vec::new();
    for _ in 0..count {
        requests.extend(encode(&[b"GET", b"k"]));
        requests.extend(encode(&[b"PING"]));
    }
    // 36 MB of replies are asked for before the first is read
    client.send_raw(&requests);
    let mut other = server.connect();
    other.check("ping", "+PONG");
    for _ in 0..count {
        assert_eq!(client.read(), Reply::Bulk(value.clone()));
        assert_eq!(show(&client.read()), "+PONG");
    }
}

#[test]
fn a_value_of_many_megabytes_comes_back() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let value: Vec<u8> = (0..6_000_000_u32).flat_map(u32::to_le_bytes).collect();
    client.send_raw(&encode(&[b"SET", b"large", &value]));
    assert_eq!(show(&client.read()), "+OK");
    client.send_raw(&encode(&[b"GET", b"large"]));
    // the same connection may change the key before its old value was sent
    client.send_raw(&encode(&[b"SET", b"large", b"small"]));
    client.send_raw(&encode(&[b"GET", b"large"]));
    assert!(client.read() == Reply::Bulk(value));
    assert_eq!(show(&client.read()), "+OK");
    assert_eq!(show(&client.read()), "small");
}

#[test]
fn quit_answers_what_came_before() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.send_raw(b"PING\r\nQUIT\r\nPING\r\n");
    assert_eq!(show(&client.read()), "+PONG");
    assert_eq!(show(&client.read()), "+OK");
    assert!(client.is_closed());
}
