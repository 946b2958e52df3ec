//! CLIENT, MONITOR and the commands that block.

use crate::harness::{Client, Reply, Running, show};

fn id_of(client: &mut Client) -> String {
    client.run("client id").integer().to_string()
}

#[test]
fn clients_are_listed() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    one.check("client setname first", "+OK");
    one.check("client setinfo lib-name lib", "+OK");
    one.check("client setinfo lib-ver 1.2", "+OK");
    let unknown = "-ERR Unrecognized option 'lib'";
    one.check("client setinfo lib 1.2", unknown);
    let refused = "ERR Client names cannot contain spaces, newlines or special characters.";
    assert_eq!(one.call(&["client", "setname", "a b"]).text(), refused);
    two.run("select 5");
    let list = two.run("client list").text();
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].contains(" name=first ") && lines[0].contains(" cmd=client|setname "));
    assert!(
        lines[0].ends_with(" lib-name=lib lib-ver=1.2"),
        "{}",
        lines[0]
    );
    assert!(lines[1].contains(" db=5 ") && lines[1].contains(" cmd=client|list "));
    let id = id_of(&mut one);
    let line = two.call(&["client", "list", "id", &id, "999"]).text();
    assert_eq!(line.lines().count(), 1);
    two.check("client list type replica", "");
    two.check("client list type x", "-ERR Unknown client type 'x'");
    two.check("client list id x", "-ERR Invalid client ID");
    two.check("client list x", "-ERR syntax error");
    let own = one.run("client info").text();
    assert!(own.starts_with(&format!("id={id} ")), "{own}");
}

#[test]
fn clients_are_killed() {
    let server = Running::start(&[]);
    let (mut one, mut two, mut three) = (server.connect(), server.connect(), server.connect());
    let id = id_of(&mut two);
    assert_eq!(one.call(&["client", "kill", "id", &id]).integer(), 1);
    assert!(two.is_closed());
    one.check(
        "client kill id 0",
        "-ERR client-id should be greater than 0",
    );
    one.check("client kill 1.2.3.4:5", "-ERR No such client");
    one.check("client kill type x", "-ERR Unknown client type 'x'");
    one.check("client kill user nobody", "-ERR No such user 'nobody'");
    one.check("client kill skipme maybe", "-ERR syntax error");
    let line = three.run("client info").text();
    let address = line
        .split(' ')
        .find_map(|field| field.strip_prefix("addr="))
        .unwrap();
    assert_eq!(show(&one.call(&["client", "kill", address])), "+OK");
    assert!(three.is_closed());
    one.check("client kill type normal skipme no", ":1");
    assert!(one.is_closed());
}

#[test]
fn a_paused_client_waits() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    one.check("client pause 100000 write", "+OK");
    two.check("get k", "nil");
    two.send(&["set", "k", "v"]);
    wait_until(&mut one, |list| list.contains("flags=b"));
    one.check("client unblock 2", ":0");
    one.check("client unpause", "+OK");
    assert_eq!(show(&two.read()), "+OK");
    one.check("client pause 1", "+OK");
    two.check("ping", "+PONG");
    one.check(
        "client pause x",
        "-ERR timeout is not an integer or out of range",
    );
    one.check(
        "client pause 1 x",
        "-ERR CLIENT PAUSE mode must be WRITE or ALL",
    );
}

#[test]
fn a_blocked_client_is_unblocked() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    let id = id_of(&mut two);
    assert_eq!(one.call(&["client", "unblock", &id]).integer(), 0);
    for (reason, expected) in [
        ("timeout", ":0"),
        ("error", "-UNBLOCKED client unblocked via CLIENT UNBLOCK"),
    ] {
        two.send(&["wait", "1", "0"]);
        wait_until(&mut one, |list| list.contains("flags=b"));
        assert_eq!(one.call(&["client", "unblock", &id, reason]).integer(), 1);
        assert_eq!(show(&two.read()), expected);
    }
    two.check("wait 1 1", ":0");
    two.check("wait 0 0", ":0");
    two.check("wait 1 -1", "-ERR timeout is negative");
    two.check("set k v", "+OK");
    two.check("waitaof 1 0 0", "[:1 :0]");
    two.check(
        "waitaof 2 0 0",
        "-ERR value is out of range, must be between 0 and 1",
    );
}

#[test]
fn a_blocked_client_that_leaves_is_noticed() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    two.send(&["wait", "1", "0"]);
    wait_until(&mut one, |list| list.contains("flags=b"));
    drop(two);
    wait_until(&mut one, |list| list.lines().count() == 1);
}

#[test]
fn a_blocked_client_is_killed() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    let id = id_of(&mut two);
    two.send(&["wait", "1", "0"]);
    wait_until(&mut one, |list| list.contains("flags=b"));
    assert_eq!(one.call(&["client", "kill", "id", &id]).integer(), 1);
    assert!(two.is_closed());
}

/// Asks for the list of clients until it is as expected: another connection's state changes on its
/// own worker.
fn wait_until(client: &mut Client, is_reached: impl Fn(&str) -> bool) {
    for _ in 0..100_000 {
        if is_reached(&client.run("client list").text()) {
            return;
        }
    }
    panic!(
        "it never came to that: {}",
        client.run("client list").text()
    );
}

#[test]
fn monitor_shows_commands_and_no_passwords() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    one.check("monitor", "+OK");
    two.run("select 3");
    two.run("auth default secret");
    two.run("set k v");
    two.run("client list");
    two.check("echo end", "end");
    let mut lines = Vec::new();
    while !lines
        .last()
        .is_some_and(|line: &String| line.ends_with("\"echo\" \"end\""))
    {
        let Reply::Simple(line) = one.read() else {
            panic!("no line")
        };
        lines.push(line);
    }
    let commands: Vec<&str> = lines
        .iter()
        .map(|line| line.split_once("] ").unwrap().1)
        .collect();
    let expected = [
        "\"select\" \"3\"",
        "\"auth\" \"(redacted)\" \"(redacted)\"",
        "\"set\" \"k\" \"v\"",
        "\"echo\" \"end\"",
    ];
    assert_eq!(commands, expected);
    assert!(lines[2].contains(" [3 127.0.0.1:"), "{}", lines[2]);
}

#[test]
fn sleep_holds_nobody_else() {
    let server = Running::start(&[("workers", "1")]);
    let (mut one, mut two) = (server.connect(), server.connect());
    one.send(&["debug", "sleep", "0.3"]);
    two.check("ping", "+PONG");
    let list = two.run("client list").text();
    assert!(list.contains("cmd=debug"), "{list}");
    assert_eq!(show(&one.read()), "+OK");
}
