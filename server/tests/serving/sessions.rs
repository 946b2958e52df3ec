//! What belongs to one connection: who it is, what it has selected, how it is answered.

use crate::harness::{Running, show};

const NO_AUTH: &str = "-NOAUTH Authentication required.";
const WRONG: &str = "-WRONGPASS invalid username-password pair or user is disabled.";

#[test]
fn a_password_is_asked_for() {
    let server = Running::start(&[("requirepass", "secret")]);
    let mut client = server.connect();
    client.check("ping", NO_AUTH);
    client.check("auth wrong", WRONG);
    client.check("auth other secret", WRONG);
    client.check("auth a b c", "-ERR syntax error");
    client.check("auth secret", "+OK");
    client.check("ping", "+PONG");
    client.check("reset", "+RESET");
    client.check("ping", NO_AUTH);
    client.check("auth default secret", "+OK");
    client.check("ping", "+PONG");
    let info = client.run("info stats").text();
    assert!(info.contains("acl_access_denied_auth:2\r\n"), "{info}");
}

#[test]
fn without_a_password_auth_says_so() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let error = client.run("auth x").text();
    assert!(
        error.starts_with("ERR AUTH <password> called without any password"),
        "{error}"
    );
    client.check("auth default anything", "+OK");
    client.check("auth other anything", WRONG);
}

#[test]
fn hello_authenticates_and_names() {
    let server = Running::start(&[("requirepass", "secret")]);
    let mut client = server.connect();
    let error = client.run("hello 3").text();
    assert!(error.starts_with("NOAUTH HELLO must be called"), "{error}");
    client.check("hello 3 auth default wrong", WRONG);
    client.check("hello 3 foo", "-ERR Syntax error in HELLO option 'foo'");
    client.run("hello 3 auth default secret setname me");
    client.check("client getname", "me");
}

#[test]
fn databases_are_apart() {
    let server = Running::start(&[("databases", "4")]);
    let mut client = server.connect();
    client.check("set k zero", "+OK");
    client.check("select 3", "+OK");
    client.check("get k", "nil");
    client.check("set k three", "+OK");
    client.check("select 0", "+OK");
    client.check("get k", "zero");
    client.check("swapdb 0 3", "+OK");
    client.check("get k", "three");
    client.check("select 4", "-ERR DB index is out of range");
    client.check("select x", "-ERR value is not an integer or out of range");
    client.check("swapdb 0 4", "-ERR DB index is out of range");
    client.check("swapdb x 0", "-ERR invalid first DB index");
    client.check("dbsize", ":1");
    client.check("flushdb", "+OK");
    client.check("dbsize", ":0");
    client.check("select 3", "+OK");
    client.check("dbsize", ":1");
    client.check("flushall async", "+OK");
    client.check("dbsize", ":0");
}

#[test]
fn replies_can_be_switched_off() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.send_raw(b"CLIENT REPLY OFF\r\nPING\r\nNOTHING\r\nSET k v\r\nCLIENT REPLY ON\r\n");
    assert_eq!(show(&client.read()), "+OK");
    client.check("get k", "v");
    client.send_raw(b"CLIENT REPLY SKIP\r\nGET k\r\nPING\r\n");
    assert_eq!(show(&client.read()), "+PONG");
    client.send_raw(b"CLIENT REPLY SKIP\r\nNOTHING\r\nECHO hi\r\n");
    assert_eq!(show(&client.read()), "hi");
    client.check("client reply maybe", "-ERR syntax error");
}

#[test]
fn reset_takes_everything_back() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.run("hello 3 setname me");
    client.check("select 2", "+OK");
    client.check("monitor", "+OK");
    client.send_raw(b"RESET\r\n");
    while show(&client.read()) != "+RESET" {}
    client.check("client getname", "nil");
    client.check("debug protocol map", "[:0 :0 :1 :1 :2 :0]");
    let line = client.run("client info").text();
    assert!(
        line.contains(" db=0 ") && line.contains(" flags=N "),
        "{line}"
    );
}
