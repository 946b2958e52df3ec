//! Replies with all elements of a large collection: they are what the collection was when the
//! command ran, and the client that takes its time with them is in nobody's way.

use crate::harness::{Client, Reply, Running, encode, show};

/// Elements of a collection, of a thousand bytes each: more than the sockets between hold.
const COUNT: usize = 20_000;

fn element(index: usize) -> Vec<u8> {
    format!("{index:01000}").into_bytes()
}

/// Puts all elements into a collection by one request.
fn fill(client: &mut Client, command: &[&str], arguments: impl Fn(usize) -> Vec<Vec<u8>>) {
    let mut request: Vec<Vec<u8>> = command
        .iter()
        .map(|word| word.as_bytes().to_vec())
        .collect();
    request.extend((0..COUNT).flat_map(arguments));
    let request: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
    client.send_raw(&encode(&request));
    assert_eq!(show(&client.read()), format!(":{COUNT}"));
}

fn fill_all(client: &mut Client) {
    fill(client, &["hset", "h"], |index| {
        vec![format!("f{index}").into_bytes(), element(index)]
    });
    fill(client, &["sadd", "s"], |index| vec![element(index)]);
    fill(client, &["zadd", "z"], |index| {
        vec![index.to_string().into_bytes(), element(index)]
    });
    fill(client, &["rpush", "l"], |index| vec![element(index)]);
}

fn is_element(reply: &Reply, index: usize) -> bool {
    *reply == Reply::Bulk(element(index))
}

fn check_fields(reply: &Reply) {
    let (pairs, rest) = reply.items().as_chunks::<2>();
    assert!(pairs.len() == COUNT && rest.is_empty());
    for [field, value] in pairs {
        let index = field.text()[1..].parse().unwrap();
        assert!(is_element(value, index));
    }
}

fn check_in_order(reply: &Reply) {
    assert_eq!(reply.items().len(), COUNT);
    let numbered = reply.items().iter().enumerate();
    assert!(
        numbered
            .clone()
            .all(|(index, item)| is_element(item, index))
    );
}

fn check_members(reply: &Reply) {
    let mut members: Vec<String> = reply.items().iter().map(Reply::text).collect();
    members.sort();
    let numbers: Vec<usize> = members.iter().map(|text| text.parse().unwrap()).collect();
    assert!(numbers.into_iter().eq(0..COUNT));
}

#[test]
fn a_slow_reader_gets_what_was_there_and_holds_no_lock() {
    let server = Running::start(&[("devices", "store.cellar 1gb")]);
    let (mut reader, mut writer) = (server.connect(), server.connect());
    fill_all(&mut writer);
    let replies = [
        ("hgetall h", "hset h f0 changed", check_fields as fn(&Reply)),
        ("smembers s", "sadd s more", check_members),
        ("zrange z 0 -1", "zadd z -1 before", check_in_order),
        ("lrange l 0 -1", "lpush l before", check_in_order),
    ];
    for (read, change, check) in replies {
        let key = read.split(' ').nth(1).unwrap();
        let words: Vec<&str> = read.split(' ').collect();
        reader.send(&words);
        // its first byte says that the command has run
        reader.await_reply();
        writer.run(change);
        writer.check(&format!("del {key}"), ":1");
        writer.check("set other value", "+OK");
        check(&reader.read());
        reader.check("ping", "+PONG");
    }
}

#[test]
fn transactions_and_scripts_see_all_elements() {
    let server = Running::start(&[("devices", "store.cellar 1gb")]);
    let mut client = server.connect();
    fill_all(&mut client);
    client.check("multi", "+OK");
    for line in ["hgetall h", "hset h f0 changed", "zrange z 0 -1", "del z h"] {
        client.check(line, "+QUEUED");
    }
    let answered = client.run("exec");
    let [fields, changed, members, removed] = answered.items() else {
        panic!("four replies");
    };
    check_fields(fields);
    check_in_order(members);
    assert_eq!((changed.integer(), removed.integer()), (0, 2));
    let script = "return #redis.call('smembers', KEYS[1])";
    let found = client.call(&["eval", script, "1", "s"]);
    assert_eq!(show(&found), format!(":{COUNT}"));
}
