//! Client-side caching: who is told of which changes.

use crate::harness::{Client, Running};

fn resp3(server: &Running) -> Client {
    let mut client = server.connect();
    client.run("hello 3");
    client
}

#[test]
fn who_has_read_a_key_is_told_once() {
    let server = Running::start(&[]);
    // of another worker and of the same one
    let (mut reader, mut other, mut near) = (resp3(&server), server.connect(), server.connect());
    reader.check("client tracking on", "+OK");
    other.check("set a 1", "+OK");
    other.check("set b 1", "+OK");
    reader.check("get a", "1");
    reader.check("mget a b none", "[1 1 nil]");
    for (index, writer) in [&mut other, &mut near].into_iter().enumerate() {
        writer.check("incr a", &format!(":{}", index + 2));
        reader.expect(">[invalidate [a]]");
        writer.check("incr a", &format!(":{}", index + 3));
        // forgotten with its first change: the mark is the next thing that is heard
        writer.check("set b x", "+OK");
        reader.expect(">[invalidate [b]]");
        reader.run("mget a b");
        writer.check("decr a", &format!(":{}", index + 2));
        reader.expect(">[invalidate [a]]");
        reader.run("mget a b");
    }
    other.check("set none 1", "+OK");
    reader.expect(">[invalidate [none]]");
    for (request, key) in [
        ("rename a c", "a"),
        ("append b y", "b"),
        ("expire b 100", "b"),
        ("persist b", "b"),
        ("del b", "b"),
    ] {
        reader.run(&format!("get {key}"));
        other.run(request);
        reader.expect(&format!(">[invalidate [{key}]]"));
    }
    reader.check("client tracking off", "+OK");
    reader.check("get c", "3");
    other.check("set c 1", "+OK");
    reader.check("ping", "+PONG");
}

#[test]
fn own_writes_are_told_behind_their_replies() {
    let server = Running::start(&[]);
    let mut client = resp3(&server);
    client.check("client tracking on", "+OK");
    client.check("get k", "nil");
    client.check("set k v", "+OK");
    client.expect(">[invalidate [k]]");
    client.check("client tracking on noloop", "+OK");
    client.check("get k", "v");
    client.check("set k w", "+OK");
    client.check("ping", "+PONG");
    client.check("get k", "w");
    server.connect().check("set k x", "+OK");
    client.expect(">[invalidate [k]]");
}

#[test]
fn a_key_that_expires_is_told() {
    let server = Running::start(&[]);
    let (mut reader, mut other) = (resp3(&server), server.connect());
    reader.check("client tracking on noloop", "+OK");
    other.check("set k v px 30", "+OK");
    reader.run("get k");
    reader.expect(">[invalidate [k]]");
}

#[test]
fn flushes_are_told_to_all_who_track() {
    let server = Running::start(&[]);
    let (mut reader, mut all, mut other) = (resp3(&server), resp3(&server), server.connect());
    reader.check("client tracking on", "+OK");
    all.check("client tracking on bcast", "+OK");
    other.check("set k v", "+OK");
    all.expect(">[invalidate [k]]");
    other.check("flushall", "+OK");
    reader.expect(">[invalidate nil]");
    all.expect(">[invalidate nil]");
    other.check("select 3", "+OK");
    other.check("flushdb", "+OK");
    reader.expect(">[invalidate nil]");
}

#[test]
fn keys_are_chosen_by_opting() {
    let server = Running::start(&[]);
    let (mut reader, mut other) = (resp3(&server), server.connect());
    let no_tracking = "-ERR CLIENT CACHING can be called only when the client is in tracking mode \
                       with OPTIN or OPTOUT mode enabled";
    reader.check("client caching yes", no_tracking);
    reader.check("client tracking on optin", "+OK");
    let no_optout = "-ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.";
    reader.check("client caching no", no_optout);
    reader.check("client caching maybe", "-ERR syntax error");
    reader.check("get a", "nil");
    reader.check("client caching yes", "+OK");
    reader.check(
        "client trackinginfo",
        "{flags=[on optin caching-yes] redirect=:0 prefixes=[]}",
    );
    reader.check("get b", "nil");
    reader.check(
        "client trackinginfo",
        "{flags=[on optin] redirect=:0 prefixes=[]}",
    );
    reader.check("get c", "nil");
    other.check("mset a 1 c 1 b 1", "+OK");
    reader.expect(">[invalidate [b]]");
    reader.check("client tracking off", "+OK");
    reader.check("client tracking on optout", "+OK");
    reader.check("client caching no", "+OK");
    reader.check("get a", "1");
    reader.check("get b", "1");
    other.check("mset a 1 b 1", "+OK");
    reader.expect(">[invalidate [b]]");
    reader.check("ping", "+PONG");
}

#[test]
fn prefixes_are_told_of_all_their_keys() {
    let server = Running::start(&[]);
    let (mut all, mut some, mut other) = (resp3(&server), resp3(&server), server.connect());
    all.check("client tracking on bcast noloop", "+OK");
    some.check("client tracking on bcast prefix a: prefix b:", "+OK");
    some.check(
        "client trackinginfo",
        "{flags=[on bcast] redirect=:0 prefixes=[a: b:]}",
    );
    some.check(
        "client tracking on bcast prefix a:x",
        "-ERR Prefix 'a:x' overlaps with an existing prefix 'a:'. Prefixes for a single client \
         must not overlap.",
    );
    other.check("set c:1 v ex 100", "+OK");
    all.expect(">[invalidate [c:1]]");
    other.check("mset a:2 v a:1 v c:1 v", "+OK");
    all.expect(">[invalidate [a:1 a:2 c:1]]");
    some.expect(">[invalidate [a:1 a:2]]");
    other.check("del c:1 none", ":1");
    all.expect(">[invalidate [c:1]]");
    all.check("set b:1 v", "+OK");
    all.check("ping", "+PONG");
    some.expect(">[invalidate [b:1]]");
    other.check("set b:2 v px 20", "+OK");
    all.expect(">[invalidate [b:2]]");
    some.expect(">[invalidate [b:2]]");
    // it expires by itself
    some.expect(">[invalidate [b:2]]");
    all.expect(">[invalidate [b:2]]");
    let list = other.run("client list").text();
    assert_eq!(list.matches("flags=tB ").count(), 2, "{list}");
    let info = other.run("info").text();
    assert!(info.contains("tracking_clients:2\r\n"), "{info}");
    assert!(info.contains("tracking_total_prefixes:3\r\n"), "{info}");
}

#[test]
fn another_connection_can_be_told_instead() {
    let server = Running::start(&[]);
    let (mut listener, mut reader, mut other) =
        (server.connect(), server.connect(), server.connect());
    let id = listener.run("client id").integer();
    listener.check(
        "subscribe __redis__:invalidate",
        "[subscribe __redis__:invalidate :1]",
    );
    reader.check("client getredir", ":-1");
    reader.check(&format!("client tracking on redirect {id}"), "+OK");
    reader.check("client getredir", &format!(":{id}"));
    assert!(
        other
            .run("client list")
            .text()
            .contains(&format!(" redir={id} "))
    );
    reader.check("get k", "nil");
    other.check("set k v", "+OK");
    listener.expect("[message __redis__:invalidate [k]]");
    other.check("flushall", "+OK");
    listener.expect("[message __redis__:invalidate nil]");
    reader.check(
        "client tracking on redirect 12345",
        "-ERR The client ID you want redirect to does not exist",
    );
    reader.run("hello 3");
    reader.check("get k", "nil");
    listener.check("quit", "+OK");
    assert!(listener.is_closed());
    while other
        .run("client list")
        .text()
        .contains(&format!("id={id} "))
    {}
    other.check("set k v", "+OK");
    reader.expect(&format!(">[tracking-redir-broken :{id}]"));
    let info = format!("{{flags=[on broken_redirect] redirect=:{id} prefixes=[]}}");
    reader.check("client trackinginfo", &info);
    reader.check("reset", "+RESET");
    reader.check("client getredir", ":-1");
    assert!(!other.run("client list").text().contains("flags=t"));
}

#[test]
fn remembered_keys_are_bounded() {
    const KEYS: usize = 100;
    let server = Running::start(&[("tracking-table-max-keys", "10")]);
    let (mut reader, mut other) = (resp3(&server), server.connect());
    reader.check("client tracking on", "+OK");
    for key in 0..KEYS {
        reader.send(&["get", &format!("k{key}")]);
    }
    reader.send(&["ping"]);
    let (mut replies, mut told) = (0, 0);
    while replies < KEYS + 1 {
        match reader.read() {
            crate::harness::Reply::Push(_) => told += 1,
            _ => replies += 1,
        }
    }
    let info = other.run("info stats").text();
    assert!(info.contains("tracking_total_keys:10\r\n"), "{info}");
    assert!(info.contains("tracking_total_items:10\r\n"), "{info}");
    // the last ones may be told behind the last reply
    for key in 0..KEYS {
        other.run(&format!("set k{key} v"));
    }
    while told < KEYS {
        reader.read();
        told += 1;
    }
    let info = other.run("info stats").text();
    assert!(info.contains("tracking_total_keys:0\r\n"), "{info}");
    reader.check("ping", "+PONG");
}
