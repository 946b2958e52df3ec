//! Keyspace notifications: what each command tells, in its order.

use crate::harness::{Client, Running, show};

/// Runs lines of `request -> events`, each event as `name key`; those of another database than 0
/// with its number before them.
fn check(classes: &str, lines: &str) {
    let server = Running::start(&[("notify-keyspace-events", classes)]);
    let (mut listener, mut client) = (server.connect(), server.connect());
    listener.check("psubscribe __key*", "[psubscribe __key* :1]");
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (request, expected) = line.split_once(" ->").expect("a line has an arrow");
        client.run(request);
        client.run("publish __key:end end");
        assert_eq!(
            events(&mut listener).join(", "),
            expected.trim(),
            "{request}"
        );
    }
}

/// The events up to the mark.
fn events(listener: &mut Client) -> Vec<String> {
    let mut events = Vec::new();
    loop {
        let message = listener.read();
        let [_, _, channel, payload] = message.items() else {
            panic!("no message: {}", show(&message));
        };
        let (channel, payload) = (channel.text(), payload.text());
        if channel == "__key:end" {
            return events;
        }
        let name = channel.strip_prefix("__key").unwrap();
        let (space, name) = name.split_once("__:").unwrap();
        let event = match space {
            "event@0" => format!("{name} {payload}"),
            "space@0" => format!("{payload} in {name}"),
            other => format!("{other} {name} {payload}"),
        };
        events.push(event);
    }
}

#[test]
fn streams_tell_what_was_done() {
    check(
        "EAn",
        "
        XADD s 1-1 f v -> new s, xadd s
        XADD s MAXLEN 1 2-1 f v -> xadd s, xtrim s
        XADD s MAXLEN 5 3-1 f v -> xadd s
        XADD s 3-1 f v ->
        XDEL s 9 ->
        XDEL s 2-1 -> xdel s
        XTRIM s MAXLEN 5 ->
        XTRIM s MAXLEN 0 -> xtrim s
        XSETID s 5-1 -> xsetid s
        XGROUP CREATE s g 0 -> xgroup-create s
        XGROUP CREATE t g 0 MKSTREAM -> new t, xgroup-create t
        XGROUP SETID s g 0 -> xgroup-setid s
        XGROUP CREATECONSUMER s g c -> xgroup-createconsumer s
        XGROUP CREATECONSUMER s g c ->
        XADD s 6 f v -> xadd s
        XREADGROUP GROUP g c STREAMS s > ->
        XREADGROUP GROUP g d STREAMS s t > > -> xgroup-createconsumer s, xgroup-createconsumer t
        XCLAIM s g e 0 6 -> xgroup-createconsumer s
        XAUTOCLAIM s g f 0 0 -> xgroup-createconsumer s
        XACK s g 6 ->
        XGROUP DELCONSUMER s g none ->
        XGROUP DELCONSUMER s g c -> xgroup-delconsumer s
        XGROUP DESTROY s g -> xgroup-destroy s
        XGROUP DESTROY s g ->
        DEL s -> del s
        ",
    );
}

#[test]
fn commands_tell_what_they_did() {
    check(
        "EAnm",
        "
        SET a 1 -> new a, set a
        SET a 2 EX 100 -> set a, expire a
        SET a 3 NX ->
        SET b 3 NX PX 100000 -> new b, set b, expire b
        SET b 4 XX KEEPTTL -> set b
        SET none 1 XX ->
        SET c 1 GET -> keymiss c, new c, set c
        SETNX d 1 -> new d, set d
        SETNX d 1 ->
        SETEX d 100 1 -> set d, expire d
        PSETEX d 100000 1 -> set d, expire d
        GETSET d 5 -> set d
        MSET a 1 e 1 a 2 -> set a, new e, set e, set a
        MSETNX a 1 f 1 ->
        MSETNX f 1 g 1 -> new f, set f, new g, set g
        INCR a -> incrby a
        DECRBY h 2 -> new h, incrby h
        INCRBYFLOAT h 1.5 -> incrbyfloat h
        APPEND a x -> append a
        APPEND i x -> new i, append i
        SETRANGE i 1 y -> setrange i
        SETRANGE j 0 y -> new j, setrange j
        SETBIT j 1 0 -> setbit j
        SETBIT j 1 0 ->
        SETBIT k 1 0 -> new k, setbit k
        BITFIELD k SET u8 0 7 -> setbit k
        BITFIELD k SET u8 0 7 ->
        BITOP OR l k none -> keymiss none, new l, set l
        BITOP OR l none -> keymiss none, del l
        GETDEL k -> del k
        GETDEL k -> keymiss k
        GETEX a EX 100 -> expire a
        GETEX a PERSIST -> persist a
        GETEX a PERSIST ->
        GETEX a ->
        GETEX none -> keymiss none
        EXPIRE a 100 -> expire a
        EXPIRE a 100 NX ->
        EXPIRE none 100 ->
        PERSIST a -> persist a
        PERSIST a ->
        PEXPIREAT a 5 -> del a
        RENAME b a -> new a, rename_from b, rename_to a
        RENAME a a ->
        RENAMENX a c ->
        RENAMENX a b -> new b, rename_from a, rename_to b
        COPY b a -> new a, copy_to a
        COPY none x -> keymiss none
        MOVE a 3 -> event@3 new a, move_from a, event@3 move_to a
        DEL b none b c -> del b, del c
        UNLINK d -> del d
        EXISTS e none -> keymiss none
        TOUCH e none -> keymiss none
        TYPE none -> keymiss none
        TTL none -> keymiss none
        GET e ->
        GET none -> keymiss none
        MGET e none -> keymiss none
        STRLEN none -> keymiss none
        LCS e none -> keymiss none
        OBJECT ENCODING none ->
        SELECT 5 ->
        SET a 1 -> event@5 new a, event@5 set a
        FLUSHALL ->
        ",
    );
}

#[test]
fn only_the_chosen_classes_are_told() {
    check("Kg", "SET a 1 EX 100 -> expire in a\n DEL a -> del in a");
    check("E$", "SET a 1 EX 100 -> set a\n DEL a ->");
    check("KE$", "SET a 1 -> set in a, set a");
    check("A", "SET a 1 ->");
}

#[test]
fn classes_are_chosen_while_the_server_runs() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.check(
        "config get notify-keyspace-events",
        "[notify-keyspace-events ]",
    );
    client.check("config set notify-keyspace-events KEA", "+OK");
    client.check(
        "config get notify-keyspace-events",
        "[notify-keyspace-events AKE]",
    );
    client.check(
        "config set notify-keyspace-events Q",
        "-ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - Invalid \
         event class character. Use 'Ag$lshzxeKEtmdn'.",
    );
    client.run("hello 3");
    client.check(
        "subscribe __keyevent@0__:set",
        ">[subscribe __keyevent@0__:set :1]",
    );
    client.check("set k v", "+OK");
    client.expect(">[message __keyevent@0__:set k]");
}

#[test]
fn expired_keys_are_told_by_name() {
    let server = Running::start(&[("notify-keyspace-events", "Ex$")]);
    let (mut listener, mut client) = (server.connect(), server.connect());
    listener.run("psubscribe __key*");
    // met by a command, and by nobody; one in memory and one that has to be read for its name
    client.check("set seen v px 20", "+OK");
    let large = "x".repeat(100_000);
    client.check(&format!("set unseen {large} px 20"), "+OK");
    let mut told: Vec<String> = Vec::new();
    while told.len() < 4 {
        client.run("get seen");
        client.run("publish __key:end end");
        told.extend(events(&mut listener));
    }
    told.sort_unstable();
    assert_eq!(
        told,
        ["expired seen", "expired unseen", "set seen", "set unseen"]
    );
}

#[test]
fn a_write_over_an_expired_key_tells_both() {
    let server = Running::start(&[("notify-keyspace-events", "Exg$")]);
    let (mut listener, mut client) = (server.connect(), server.connect());
    client.check("debug set-active-expire 0", "+OK");
    listener.run("psubscribe __key*");
    for request in ["set k w", "incr k", "del k"] {
        client.check("set k v px 1", "+OK");
        // in the deadline's own second the record decides
        let past = "set k v exat 1";
        client.check(past, "+OK");
        client.run(request);
        client.run("publish __key:end end");
        let told = events(&mut listener);
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let first = ["set k", "expire k", "set k", "expire k", "expired k"];
        assert_eq!(told[..5], first, "{request}");
        client.run("del k");
        client.run("publish __key:end end");
        events(&mut listener);
    }
}

#[test]
fn evicted_keys_are_told_by_name() {
    let server = Running::start(&[
        ("notify-keyspace-events", "Ee"),
        ("devices", "store.cellar 24mb"),
        ("value-cache", "1mb"),
        ("maxmemory-policy", "allkeys-lru"),
    ]);
    let (mut listener, mut client) = (server.connect(), server.connect());
    listener.run("psubscribe __keyevent@0__:evicted");
    let value = "x".repeat(4_000);
    let mut key = 0;
    let mut evicted = std::collections::BTreeSet::new();
    while evicted.len() < 500 {
        for _ in 0..100 {
            key += 1;
            client.check(&format!("set k{key} {value}"), "+OK");
        }
        client.run("publish __keyevent@0__:evicted end");
        loop {
            let name = listener.read().items()[3].text();
            if name == "end" {
                break;
            }
            assert!(evicted.insert(name), "a key goes once");
        }
    }
    for name in &evicted {
        client.check(&format!("get {name}"), "nil");
    }
}
