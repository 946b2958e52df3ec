//! Framing: requests in every shape, replies in both versions, and what loses framing.

use crate::harness::{Reply, Running, encode, show};

#[test]
fn inline_requests_and_quotes() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.send_raw(b"PING\r\n  set 'a b' \"c\\x21\\n\" \r\n\r\nget 'a b'\n");
    assert_eq!(show(&client.read()), "+PONG");
    assert_eq!(show(&client.read()), "+OK");
    assert_eq!(show(&client.read()), "c!\n");
}

#[test]
fn requests_in_single_bytes() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    for byte in encode(&[b"ECHO", b"a\r\nb"]) {
        client.send_raw(&[byte]);
    }
    assert_eq!(show(&client.read()), "a\r\nb");
}

#[test]
fn lost_framing_is_answered_and_closes() {
    let server = Running::start(&[]);
    let check = |bytes: &[u8], expected: &str| {
        let mut client = server.connect();
        client.send_raw(b"PING\r\n");
        client.send_raw(bytes);
        assert_eq!(show(&client.read()), "+PONG");
        assert_eq!(
            show(&client.read()),
            format!("-ERR Protocol error: {expected}")
        );
        assert!(client.is_closed());
    };
    check(b"*a\r\n", "invalid multibulk length");
    check(b"*2\r\n$3\r\nGET\r\nPING\r\n", "expected '$', got 'P'");
    check(b"*1\r\n$-5\r\n", "invalid bulk length");
    check(b"*1\r\n$536870913\r\n", "invalid bulk length");
    check(b"get \"a\r\n", "unbalanced quotes in request");
    check(&vec![b'a'; 64 * 1024 + 1], "too big inline request");
}

#[test]
fn guests_cannot_send_much() {
    let server = Running::start(&[("requirepass", "secret")]);
    let mut client = server.connect();
    client.send_raw(b"*11\r\n");
    let expected = "-ERR Protocol error: unauthenticated multibulk length";
    assert_eq!(show(&client.read()), expected);
    assert!(client.is_closed());
    let mut client = server.connect();
    client.send_raw(b"*1\r\n$16385\r\n");
    let expected = "-ERR Protocol error: unauthenticated bulk length";
    assert_eq!(show(&client.read()), expected);
    assert!(client.is_closed());
}

#[test]
fn resp3_has_its_own_types() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.check("debug protocol map", "[:0 :0 :1 :1 :2 :0]");
    client.check("get nothing", "nil");
    let Reply::Map(greeting) = client.run("hello 3") else {
        panic!("no map")
    };
    assert_eq!(greeting.len(), 7);
    client.send_raw(b"GET nothing\r\n");
    assert_eq!(client.read(), Reply::Null);
    client.check("debug protocol map", "{:0=#false :1=#true :2=#false}");
    client.check("debug protocol double", ",3.141");
    client.check("debug protocol true", "#true");
    client.check("debug protocol set", "[:0 :1 :2]");
    client.check("debug protocol verbatim", "txt:This is a verbatim\nstring");
    client.check("hello 4", "-NOPROTO unsupported protocol version");
    client.run("hello 2");
    client.check("debug protocol double", "3.141");
}

#[test]
fn unknown_commands_are_named() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.check(
        "foo bar baz",
        "-ERR unknown command 'foo', with args beginning with: 'bar' 'baz' ",
    );
    client.check(
        "client foo",
        "-ERR unknown subcommand 'foo'. Try CLIENT HELP.",
    );
    client.check(
        "client",
        "-ERR wrong number of arguments for 'client' command",
    );
    client.check(
        "client kill",
        "-ERR wrong number of arguments for 'client|kill' command",
    );
    client.check("get", "-ERR wrong number of arguments for 'get' command");
    let long = "x".repeat(200);
    let error = client.call(&[&long, &long]).text();
    let cut = "x".repeat(128);
    assert_eq!(
        error,
        format!("ERR unknown command '{cut}', with args beginning with: '{cut}' ")
    );
}

#[test]
fn arguments_are_binary() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let key: Vec<u8> = (0..=255).collect();
    client.send_raw(&encode(&[b"SET", &key, &key]));
    assert_eq!(show(&client.read()), "+OK");
    client.send_raw(&encode(&[b"GET", &key]));
    assert_eq!(client.read(), Reply::Bulk(key));
    client.send_raw(&encode(&[b"SET", b"", b""]));
    assert_eq!(show(&client.read()), "+OK");
    client.send_raw(&encode(&[b"GET", b""]));
    assert_eq!(client.read(), Reply::Bulk(Vec::new()));
}
