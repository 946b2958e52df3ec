//! Fields that expire without anybody reading them: events, space, restarts.

use std::path::Path;

use crate::harness::{Client, Running, show};
use crate::process::{connect, start};

/// The next event, as `name key`: waits for it.
fn event(listener: &mut Client) -> String {
    let message = listener.read();
    let [_, _, channel, key] = message.items() else {
        panic!("no message: {}", show(&message));
    };
    let channel = channel.text();
    let (_, name) = channel.split_once("__:").unwrap();
    format!("{name} {}", key.text())
}

fn listen(mut listener: Client) -> Client {
    listener.check("psubscribe __keyevent*", "[psubscribe __keyevent* :1]");
    listener
}

fn check(lines: &str) {
    let server = Running::start(&[("notify-keyspace-events", "KEA")]);
    let (mut listener, mut client) = (listen(server.connect()), server.connect());
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (request, expected) = line.split_once(" ->").expect("a line has an arrow");
        client.run(request);
        for expected in expected.split(',') {
            assert_eq!(event(&mut listener), expected.trim(), "{request}");
        }
    }
    client.check("dbsize", ":0");
}

#[test]
fn fields_go_in_time_and_the_last_one_takes_the_key_along() {
    check(
        "
        HSET h f v g w -> hset h
        HPEXPIRE h 30 FIELDS 1 f -> hexpire h, hexpired h
        HPEXPIRE h 40 FIELDS 1 g -> hexpire h, hexpired h, del h
        ",
    );
}

#[test]
fn commands_tell_what_became_of_fields() {
    check(
        "
        HSET h f v g w n 5 m 6 -> hset h
        HEXPIRE h 100 FIELDS 3 f g none -> hexpire h
        HPERSIST h FIELDS 2 f n -> hpersist h
        HEXPIREAT h 1 FIELDS 2 n m -> hdel h
        HGETEX h EX 10 FIELDS 1 f -> hexpire h
        HGETEX h PERSIST FIELDS 1 f -> hpersist h
        HSETEX h EX 10 FIELDS 1 b 1 -> hset h, hexpire h
        HSETEX h EXAT 1 FIELDS 1 b 1 -> hset h, hdel h
        HGETDEL h FIELDS 1 f -> hdel h
        HPEXPIRE h 40 FIELDS 1 g -> hexpire h, hexpired h, del h
        HSET h f v -> hset h
        HEXPIRE h 0 FIELDS 1 f -> hdel h, del h
        ",
    );
}

#[test]
fn fields_go_under_the_names_that_their_hash_gets() {
    check(
        "
        HSET h f v -> hset h
        HPEXPIRE h 1500 FIELDS 1 f -> hexpire h
        COPY h copy -> copy_to copy
        RENAME h new -> rename_from h, rename_to new
        SWAPDB 0 1 -> hexpired copy, del copy, hexpired new, del new
        ",
    );
}

const COUNT: i64 = 2000;

fn fill(client: &mut Client) {
    for from in (0..COUNT).step_by(100) {
        let fields: Vec<String> = (from..from + 100)
            .map(|index| format!("field:{index}"))
            .collect();
        let pairs: Vec<String> = fields
            .iter()
            .map(|field| format!("{field} value"))
            .collect();
        client.check(&format!("hset large {}", pairs.join(" ")), ":100");
        let odd: Vec<&str> = fields
            .iter()
            .skip(1)
            .step_by(2)
            .map(String::as_str)
            .collect();
        let limit = format!("hpexpire large 3000 fields {} {}", odd.len(), odd.join(" "));
        client.run(&limit);
    }
    client.run("hset small f v g w");
    client.check("hpexpire small 3000 fields 2 f g", "[:1 :1]");
}

fn serve(directory: &Path) -> (crate::process::Process, Client) {
    let process = start(directory, &["--notify-keyspace-events", "KEA"]).0;
    (process, connect(directory))
}

#[test]
fn fields_that_expire_are_found_again_after_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (process, mut client) = serve(directory);
    fill(&mut client);
    client.check("waitaof 1 0 0", "[:1 :0]");
    process.kill();
    let (process, mut client) = serve(directory);
    let mut listener = listen(connect(directory));
    let mut is_small_gone = client.run("exists small").integer() == 0;
    while !is_small_gone || client.run("hlen large").integer() > COUNT / 2 {
        is_small_gone |= event(&mut listener) == "del small";
    }
    client.check("httl large fields 2 field:0 field:1", "[:-1 :-2]");
    client.check("object encoding large", "hashtable");
    client.check("dbsize", ":1");
    process.kill();
}
