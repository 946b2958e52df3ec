//! Clients that write all they have before they read.

use crate::harness::{Client, Running, encode, show};

/// Bytes of a value; with the key's they make requests of megabytes and replies of hundreds.
const VALUE_BYTES: usize = 16_000;

fn long_key() -> Vec<u8> {
    vec![b'k'; 1000]
}

fn set_value(client: &mut Client) -> Vec<u8> {
    let value: Vec<u8> = (0..VALUE_BYTES)
        .map(|index| b'a' + (index % 26) as u8)
        .collect();
    client.send_raw(&encode(&[b"SET", &long_key(), &value]));
    assert_eq!(show(&client.read()), "+OK");
    value
}

fn bulk(value: &[u8]) -> Vec<u8> {
    let mut bulk = format!("${}\r\n", value.len()).into_bytes();
    bulk.extend_from_slice(value);
    bulk.extend_from_slice(b"\r\n");
    bulk
}

fn field<'a>(line: &'a str, name: &str) -> &'a str {
    line.split(' ')
        .find_map(|field| field.strip_prefix(name))
        .unwrap()
}

#[test]
fn all_requests_may_be_written_before_the_first_reply_is_read() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let value = set_value(&mut client);
    // 20 MB of requests, 320 MB of replies
    let count = 20_000;
    client.send_raw(&encode(&[b"GET", &long_key()]).repeat(count));
    client.finish_sending();
    let expected = bulk(&value);
    for index in 0..count {
        assert!(
            client.read_exact(expected.len()) == expected,
            "reply {index}"
        );
    }
    assert!(client.is_closed());
}

#[test]
fn requests_beyond_their_bound_run_while_their_replies_are_small() {
    let server = Running::start(&[("client-query-buffer-limit", "1mb")]);
    let mut client = server.connect();
    // 24 MB of requests, 16 MB of replies: more than the query buffer and both sockets hold
    let count = 300_000;
    let text = [b'x'; 45];
    client.send_raw(&encode(&[b"ECHO", &text]).repeat(count));
    let expected = bulk(&text);
    for index in 0..count {
        assert!(
            client.read_exact(expected.len()) == expected,
            "reply {index}"
        );
    }
    client.check("ping", "+PONG");
}

#[test]
fn a_client_that_never_reads_is_closed_at_its_bound() {
    let server = Running::start(&[("client-query-buffer-limit", "1mb")]);
    let mut client = server.connect();
    set_value(&mut client);
    // far more replies than are held, and more requests than the bound and both sockets
    let requests = encode(&[b"GET", &long_key()]).repeat(40_000);
    assert!(client.send_until_closed(&requests), "all was taken");
    let mut other = server.connect();
    let info = other.run("info stats").text();
    assert!(
        info.contains("client_query_buffer_limit_disconnections:1\r\n"),
        "{info}"
    );
}

#[test]
fn a_guest_that_never_reads_is_closed_early() {
    let server = Running::start(&[("requirepass", "secret")]);
    let mut guest = server.connect();
    // 20 MB of refusals
    let requests = encode(&[b"GET", b"k"]).repeat(600_000);
    assert!(guest.send_until_closed(&requests), "all was taken");
    let mut client = server.connect();
    client.check("auth secret", "+OK");
    let info = client.run("info stats").text();
    assert!(
        info.contains("client_query_buffer_limit_disconnections:1\r\n"),
        "{info}"
    );
}

#[test]
fn a_client_that_does_not_read_is_told_of_and_can_be_killed() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    set_value(&mut client);
    let id = client.run("client id").integer();
    client.send_raw(&encode(&[b"GET", &long_key()]).repeat(20_000));
    let mut other = server.connect();
    let list = other.run(&format!("client list id {id}")).text();
    let line = list.trim_end();
    let number = |name: &str| field(line, name).parse::<u64>().unwrap();
    // what both sockets hold at most is far less than the 20 MB that were sent
    assert!(number("qbuf=") > 4 << 20, "{line}");
    assert!(number("omem=") >= 64 << 10, "{line}");
    assert!(number("omem=") <= number("qbuf=") + (1 << 20), "{line}");
    assert!(number("tot-mem=") > number("qbuf="), "{line}");
    other.check("set other v", "+OK");
    other.check(&format!("client kill id {id}"), ":1");
    let taken = client.read_to_end();
    assert!(taken.len() < 20_000 * VALUE_BYTES);
}
