//! Large hashes and sets over restarts, written through batches that do not hold them whole.

use crate::harness::{Client, Reply};
use crate::process::{connect, start};

/// Elements of a large value: hundreds of pages, where a batch holds a hundred.
const COUNT: usize = 20_000;

/// Elements of one request: their pages fit a batch.
const PER_REQUEST: usize = 50;

fn field(number: usize) -> String {
    format!("field:{number}")
}

fn value(number: usize) -> String {
    format!("value of {number}, as long as a value is in a hash of a service, or so")
}

fn fill(client: &mut Client) {
    for start in (0..COUNT).step_by(PER_REQUEST) {
        let numbers = start..start + PER_REQUEST;
        let pairs: Vec<String> = numbers
            .clone()
            .flat_map(|number| [field(number), value(number)])
            .collect();
        let request = [&["hset", "h"][..], &refs(&pairs)].concat();
        assert_eq!(
            client.call(&request),
            Reply::Integer(PER_REQUEST.cast_signed() as i64)
        );
        let members: Vec<String> = numbers.map(field).collect();
        let request = [&["sadd", "s"][..], &refs(&members)].concat();
        assert_eq!(
            client.call(&request),
            Reply::Integer(PER_REQUEST.cast_signed() as i64)
        );
    }
}

fn refs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// The hash has what `fill` wrote, with `changed` fields from 0 on overwritten.
fn check(client: &mut Client, changed: usize) {
    client.check("hlen h", &format!(":{COUNT}"));
    client.check("scard s", &format!(":{COUNT}"));
    for start in (0..COUNT).step_by(5_000) {
        let fields: Vec<String> = (start..start + 5_000).map(field).collect();
        let found = client.call(&[&["hmget", "h"][..], &refs(&fields)].concat());
        for (number, found) in (start..).zip(found.items()) {
            let expected = if number < changed {
                "changed".into()
            } else {
                value(number)
            };
            assert_eq!(found.text(), expected, "{number}");
        }
        let found = client.call(&[&["smismember", "s"][..], &refs(&fields)].concat());
        assert!(
            found
                .items()
                .iter()
                .all(|found| *found == Reply::Integer(1))
        );
    }
}

#[test]
fn large_values_are_there_after_a_restart_and_after_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let (process, _) = start(directory.path(), &[]);
    let mut client = connect(directory.path());
    fill(&mut client);
    check(&mut client, 0);
    client.send(&["shutdown"]);
    assert!(client.is_closed());
    assert!(process.wait().success());

    let (process, _) = start(directory.path(), &[]);
    let mut client = connect(directory.path());
    check(&mut client, 0);
    // so many pages change that the hash is written anew
    let changed = 5_000;
    let pairs: Vec<String> = (0..changed)
        .flat_map(|number| [field(number), "changed".into()])
        .collect();
    let request = [&["hset", "h"][..], &refs(&pairs)].concat();
    assert_eq!(client.call(&request), Reply::Integer(0));
    client.check("sunionstore copy s none", &format!(":{COUNT}"));
    client.check("hset h one more", ":1");
    client.check("hdel h one", ":1");
    client.check("waitaof 1 0 0", "[:1 :0]");
    process.kill();

    let (_process, _) = start(directory.path(), &[]);
    let mut client = connect(directory.path());
    check(&mut client, changed);
    client.check("sintercard 2 s copy", &format!(":{COUNT}"));
    client.check("del h s", ":2");
    client.check("hlen h", ":0");
    client.check("scard copy", &format!(":{COUNT}"));
    client.check("hset h field:1 anew", ":1");
    client.check("hgetall h", "[field:1 anew]");
}
