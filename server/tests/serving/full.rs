//! A full device without eviction: what would grow the data is refused, everything else works, and
//! what is deleted can be written again.

use std::path::Path;

use crate::harness::{Client, Reply, Running, encode, show};
use crate::process::{connect, start_on};
use crate::server_commands::field;

const DEVICE: &str = "store.cellar 64mb";
pub(crate) const FULL: &str = "-OOM command not allowed when used memory > 'maxmemory'.";
const VALUE_BYTES: usize = 4000;

pub(crate) fn start() -> Running {
    Running::start(&[("devices", DEVICE)])
}

pub(crate) fn key(index: usize) -> String {
    format!("key:{index}")
}

/// A value that tells whose it is and which.
fn value(index: usize, round: usize) -> Vec<u8> {
    let mut value = format!("{index}/{round}/").into_bytes();
    value.resize(VALUE_BYTES, b'v');
    value
}

pub(crate) fn set(client: &mut Client, index: usize, round: usize) -> String {
    client.send_raw(&encode(&[
        b"SET",
        key(index).as_bytes(),
        &value(index, round),
    ]));
    show(&client.read())
}

/// Writes keys from `first` on until one is refused: the first that is not there.
pub(crate) fn fill_from(client: &mut Client, first: usize) -> usize {
    let mut index = first;
    loop {
        let reply = set(client, index, 0);
        if reply == FULL {
            return index;
        }
        assert_eq!(reply, "+OK", "key {index}");
        index += 1;
    }
}

/// Takes the last bytes with the smallest keys there are.
fn top_up(client: &mut Client) {
    for index in 0..VALUE_BYTES {
        let reply = show(&client.run(&format!("set {index} x")));
        if reply == FULL {
            return;
        }
        assert_eq!(reply, "+OK");
    }
    panic!("it never is full");
}

fn check_keys(client: &mut Client, indexes: std::ops::Range<usize>) {
    for index in indexes {
        let read = client.call(&["get", &key(index)]);
        assert!(read == Reply::Bulk(value(index, 0)), "key {index}");
    }
}

fn device_number(client: &mut Client, name: &str) -> u64 {
    field(&client.run("info device").text(), name)
        .parse()
        .unwrap()
}

#[test]
fn growth_is_refused_and_everything_else_works() {
    let server = start();
    let mut client = server.connect();
    client.check("set counter 41", "+OK");
    client.check("set text abc", "+OK");
    let count = fill_from(&mut client, 0);
    assert!(count * VALUE_BYTES > 32 << 20, "only {count} keys");
    top_up(&mut client);
    for line in [
        "set k v",
        "set text v",
        "setnx k v",
        "getset text v",
        "append text d",
        "setrange text 1 x",
        "incr counter",
        "incrby counter 2",
        "decr counter",
        "incrbyfloat counter 1.5",
        "mset a 1 b 2",
        "msetnx a 1 b 2",
        "setbit text 7 1",
        "setex k 10 v",
        "psetex k 10000 v",
        "copy text other",
        "bitop not other text",
        "bitfield text set u8 0 1",
    ] {
        client.check(line, FULL);
    }
    // arity and syntax of the name come first, as in Redis
    client.check(
        "append text",
        "-ERR wrong number of arguments for 'append' command",
    );
    for (line, expected) in [
        ("get counter", "41"),
        ("get text", "abc"),
        ("strlen text", ":3"),
        ("getrange text 0 1", "ab"),
        ("exists a b k other", ":0"),
        ("expire text 1000", ":1"),
        ("ttl text", ":1000"),
        ("persist text", ":1"),
        ("rename text renamed", "+OK"),
        ("getex renamed ex 1000", "abc"),
        ("move renamed 1", ":1"),
        ("bitfield counter get u8 0", FULL),
        ("bitfield_ro counter get u8 0", "[:52]"),
        ("type counter", "+string"),
        ("getdel counter", "41"),
        ("unlink nothing", ":0"),
    ] {
        client.check(line, expected);
    }
    check_keys(&mut client, 0..count);
}

#[test]
fn a_refused_value_is_not_stored_first() {
    let server = start();
    let mut client = server.connect();
    fill_from(&mut client, 0);
    top_up(&mut client);
    let written_before = device_number(&mut client, "records_written");
    let large = vec![b'x'; 8 << 20];
    for _ in 0..3 {
        client.send_raw(&encode(&[b"SET", b"large", &large]));
        assert_eq!(show(&client.read()), FULL);
        client.send_raw(&encode(&[b"APPEND", b"large", &large]));
        assert_eq!(show(&client.read()), FULL);
    }
    assert_eq!(
        device_number(&mut client, "records_written"),
        written_before
    );
}

#[test]
fn what_is_removed_can_be_written_again() {
    let server = start();
    let mut client = server.connect();
    let mut count = fill_from(&mut client, 0);
    // three times the device through one full device
    for round in 0..3 {
        for index in 0..count {
            let command = if index % 2 == 0 { "del" } else { "unlink" };
            assert_eq!(client.call(&[command, &key(index)]), Reply::Integer(1));
            if round == 0 && index % 3 == 0 {
                // one for one: a tombstone takes less than what it removed
                assert_eq!(set(&mut client, index, 0), "+OK", "key {index}");
            }
        }
        client.run("flushdb");
        let again = fill_from(&mut client, 0);
        assert!(
            again.abs_diff(count) <= count / 20,
            "{again} of {count} keys"
        );
        check_keys(&mut client, 0..again);
        count = again;
    }
    for index in 0..count {
        client.call(&["pexpire", &key(index), "1"]);
    }
    // expired keys give their space back when they are met
    for index in 0..count {
        while client.call(&["exists", &key(index)]) != Reply::Integer(0) {}
    }
    assert_eq!(set(&mut client, 0, 0), "+OK");
}

#[test]
fn many_writers_on_a_full_device_are_all_answered() {
    const CLIENTS: usize = 50;
    let server = start();
    let count = fill_from(&mut server.connect(), 0);
    let each = count / CLIENTS;
    let clients: Vec<Client> = (0..CLIENTS).map(|_| server.connect()).collect();
    let writers = clients.into_iter().enumerate().map(|(number, mut client)| {
        std::thread::spawn(move || {
            let own = number * each..(number + 1) * each;
            let mut accepted = vec![Some(0); each];
            for round in 1..=4 {
                for (place, index) in own.clone().enumerate() {
                    // each third key is removed, the others are written over
                    if (index + round) % 3 == 0 {
                        client.call(&["del", &key(index)]);
                        accepted[place] = None;
                        continue;
                    }
                    let reply = set(&mut client, index, round);
                    match reply.as_str() {
                        "+OK" => accepted[place] = Some(round),
                        FULL => {}
                        other => panic!("key {index}: {other}"),
                    }
                }
            }
            for (index, accepted) in own.zip(accepted) {
                let expected =
                    accepted.map_or(Reply::Null, |round| Reply::Bulk(value(index, round)));
                assert!(
                    client.call(&["get", &key(index)]) == expected,
                    "key {index}"
                );
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.join().unwrap();
    }
}

#[test]
fn several_keys_are_written_together_or_not_at_all() {
    let server = start();
    let mut client = server.connect();
    let mut refused_count = 0;
    let mut written = Vec::new();
    for group in 0_u32.. {
        let names: Vec<String> = (0..16).map(|member| format!("{group}:{member}")).collect();
        let value = vec![b'a' + (group % 26) as u8; 20_000];
        let mut request: Vec<&[u8]> = vec![if group % 2 == 0 { b"MSET" } else { b"MSETNX" }];
        for name in &names {
            request.extend([name.as_bytes(), value.as_slice()]);
        }
        client.send_raw(&encode(&request));
        let is_written = match client.read() {
            Reply::Simple(_) | Reply::Integer(1) => true,
            Reply::Error(text) => {
                assert_eq!(format!("-{text}"), FULL);
                false
            }
            other => panic!("{other:?}"),
        };
        let mut exists = vec!["exists"];
        exists.extend(names.iter().map(String::as_str));
        let expected = if is_written { 16 } else { 0 };
        assert_eq!(
            client.call(&exists),
            Reply::Integer(expected),
            "group {group}"
        );
        if is_written {
            written.push(group);
        } else {
            refused_count += 1;
        }
        if refused_count == 5 {
            break;
        }
    }
    for group in written {
        let read = client.call(&["get", &format!("{group}:15")]);
        assert!(
            read == Reply::Bulk(vec![b'a' + (group % 26) as u8; 20_000]),
            "group {group}"
        );
    }
}

fn restart_full(directory: &Path, end: impl Fn(crate::process::Process, &mut Client)) {
    let (process, _) = start_on(directory, DEVICE, &[]);
    let mut client = connect(directory);
    let count = fill_from(&mut client, 0);
    client.check("waitaof 1 0 0", "[:1 :0]");
    end(process, &mut client);
    let (process, _) = start_on(directory, DEVICE, &[]);
    let mut client = connect(directory);
    check_keys(&mut client, 0..count);
    let next = fill_from(&mut client, count);
    assert!(next - count <= count / 20, "{count} keys, then {next}");
    for index in 0..count / 2 {
        assert_eq!(client.call(&["del", &key(index)]), Reply::Integer(1));
    }
    client.check("waitaof 1 0 0", "[:1 :0]");
    end(process, &mut client);
    let (_process, _) = start_on(directory, DEVICE, &[]);
    let mut client = connect(directory);
    check_keys(&mut client, count / 2..next);
    client.check(&format!("exists {} {}", key(0), key(count / 2 - 1)), ":0");
    for index in 0..count / 3 {
        assert_eq!(set(&mut client, index, 0), "+OK", "key {index}");
    }
}

#[test]
fn a_full_device_survives_kill_9() {
    let directory = tempfile::tempdir().unwrap();
    restart_full(directory.path(), |process, _| process.kill());
}

#[test]
fn a_full_device_is_closed_and_opened_in_order() {
    let directory = tempfile::tempdir().unwrap();
    restart_full(directory.path(), |process, client| {
        client.send(&["shutdown"]);
        assert!(client.is_closed());
        assert!(process.wait().success());
    });
}
