//! Transactions beside other clients: all or nothing for readers and after a crash, watches,
//! bounds, and what is told of them.

use std::time::{Duration, Instant};

use crate::harness::{Client, Reply, Running, encode, show};
use crate::process;

/// A transaction that sets so many keys to one value, on the wire.
fn set_all(key_count: usize, value: &str) -> Vec<u8> {
    let mut requests = encode(&[b"MULTI"]);
    for key in 0..key_count {
        let key = format!("k{key}");
        requests.extend(encode(&[b"SET", key.as_bytes(), value.as_bytes()]));
    }
    requests.extend(encode(&[b"EXEC"]));
    requests
}

fn get_all(key_count: usize) -> Vec<String> {
    let keys = (0..key_count).map(|key| format!("k{key}"));
    std::iter::once("MGET".to_owned()).chain(keys).collect()
}

/// The one value that all keys hold.
fn common_value(client: &mut Client, key_count: usize) -> Reply {
    let words = get_all(key_count);
    let reply = client.call(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let values = reply.items();
    let first = &values[0];
    assert!(values.iter().all(|value| value == first), "{values:?}");
    first.clone()
}

fn read_transaction(client: &mut Client, count: usize) -> Reply {
    for _ in 0..=count {
        client.read();
    }
    client.read()
}

#[test]
fn readers_see_all_or_nothing() {
    const KEYS: usize = 50;
    const ROUNDS: usize = 300;
    let server = Running::start(&[]);
    let mut writer = server.connect();
    let requests: Vec<u8> = (0..ROUNDS)
        .flat_map(|round| set_all(KEYS, &round.to_string()))
        .collect();
    let sender = writer.send_beside(requests);
    let mut reader = server.connect();
    for round in 0..ROUNDS {
        let reply = read_transaction(&mut writer, KEYS);
        assert_eq!(reply.items().len(), KEYS, "{round}");
        common_value(&mut reader, KEYS);
    }
    sender.join().unwrap();
    let last = (ROUNDS - 1).to_string();
    assert_eq!(common_value(&mut reader, KEYS).text(), last);
}

#[test]
fn counters_lose_no_update_under_watch() {
    const CLIENTS: usize = 4;
    const ROUNDS: usize = 100;
    let server = Running::start(&[]);
    server.connect().check("set counter 0", "+OK");
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let mut client = server.connect();
            scope.spawn(move || {
                let mut done = 0;
                while done < ROUNDS {
                    client.check("watch counter", "+OK");
                    let next = client.run("get counter").text().parse::<u64>().unwrap() + 1;
                    client.check("multi", "+OK");
                    client.check(&format!("set counter {next}"), "+QUEUED");
                    done += usize::from(client.run("exec") != Reply::Null);
                }
            });
        }
    });
    let total = (CLIENTS * ROUNDS).to_string();
    server.connect().check("get counter", &total);
}

#[test]
fn transactions_that_cross_each_other_all_end() {
    const CLIENTS: usize = 4;
    const ROUNDS: usize = 200;
    let server = Running::start(&[]);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let mut client = server.connect();
            scope.spawn(move || {
                let mut requests = Vec::new();
                for round in 0..ROUNDS {
                    let names = ["a", "b", "c", "d"].map(str::as_bytes);
                    requests.extend(encode(&[b"MULTI"]));
                    for step in 0..4 {
                        requests.extend(encode(&[b"INCR", names[(number + round + step) % 4]]));
                    }
                    requests.extend(encode(&[b"EXEC"]));
                }
                let sender = client.send_beside(requests);
                for _ in 0..ROUNDS {
                    assert_eq!(read_transaction(&mut client, 4).items().len(), 4);
                }
                sender.join().unwrap();
            });
        }
    });
    let total = (CLIENTS * ROUNDS).to_string();
    let expected = format!("[{total} {total} {total} {total}]");
    server.connect().check("mget a b c d", &expected);
}

#[test]
fn transactions_that_flush_run_every_command_once() {
    const CLIENTS: usize = 4;
    const ROUNDS: usize = 100;
    let server = Running::start(&[]);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let mut client = server.connect();
            scope.spawn(move || {
                let (one, two) = [("x", "y"), ("y", "x")][number % 2];
                let mut requests = Vec::new();
                for _ in 0..ROUNDS {
                    requests.extend(encode(&[b"MULTI"]));
                    requests.extend(encode(&[b"SELECT", b"1"]));
                    requests.extend(encode(&[b"INCR", b"all"]));
                    requests.extend(encode(&[b"SELECT", b"0"]));
                    requests.extend(encode(&[b"FLUSHDB"]));
                    // in a database of which nobody holds a lock yet
                    requests.extend(encode(&[b"INCR", one.as_bytes()]));
                    requests.extend(encode(&[b"INCR", two.as_bytes()]));
                    requests.extend(encode(&[b"EXEC"]));
                }
                let sender = client.send_beside(requests);
                for _ in 0..ROUNDS {
                    let reply = read_transaction(&mut client, 6);
                    assert_eq!(reply.items()[4].integer(), reply.items()[5].integer());
                }
                sender.join().unwrap();
            });
        }
    });
    let mut client = server.connect();
    client.check("select 1", "+OK");
    client.check("get all", &(CLIENTS * ROUNDS).to_string());
}

#[test]
fn another_clients_write_breaks_a_watch() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    for change in ["set k 1", "append k x", "expire k 100", "del k", "flushall"] {
        two.run("set k 0");
        one.check("watch k", "+OK");
        one.check("multi", "+OK");
        two.run(change);
        one.check("get k", "+QUEUED");
        one.check("exec", "nil");
    }
    one.check("watch k", "+OK");
    two.run("set other 1");
    two.run("get k");
    one.check("multi", "+OK");
    one.check("get other", "+QUEUED");
    one.check("exec", "[1]");
}

#[test]
fn clients_show_their_transactions() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    let mut line = |expected: &[&str]| {
        let list = two.run("client list id 1").text();
        for field in expected {
            assert!(list.contains(&format!(" {field} ")), "{field}: {list}");
        }
        list
    };
    one.check("watch k", "+OK");
    line(&["flags=N", "multi=-1"]);
    one.check("multi", "+OK");
    line(&["flags=x", "multi=0"]);
    one.check("set k 1", "+QUEUED");
    one.call(&["set", "k", &"v".repeat(10_000)]);
    let list = line(&["flags=x", "multi=2"]);
    let field = list
        .split(' ')
        .find_map(|field| field.strip_prefix("multi-mem="));
    assert!(field.unwrap().parse::<u64>().unwrap() > 10_000, "{list}");
    one.check("client list", "+QUEUED");
    let inside = one.run("exec").items()[2].text();
    assert!(
        inside.contains(" flags=x ") && inside.contains(" multi=3 "),
        "{inside}"
    );
    line(&["flags=N", "multi=-1", "multi-mem=0"]);
    one.check("watch k", "+OK");
    one.check("set k 2", "+OK");
    line(&["flags=d", "multi=-1"]);
    one.check("unwatch", "+OK");
    line(&["flags=N", "multi-mem=0"]);
}

#[test]
fn the_commands_inside_are_counted_and_shown() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    two.check("config set slowlog-log-slower-than 0", "+OK");
    two.check("config resetstat", "+OK");
    two.check("slowlog reset", "+OK");
    two.check("monitor", "+OK");
    one.check("multi", "+OK");
    one.check("set a 1", "+QUEUED");
    one.check("rename none b", "+QUEUED");
    assert_eq!(show(&one.run("exec")), "[+OK -ERR no such key]");
    one.check("multi", "+OK");
    one.check("set a", "-ERR wrong number of arguments for 'set' command");
    one.check(
        "exec",
        "-EXECABORT Transaction discarded because of previous errors.",
    );
    let expected = ["multi", "set", "rename", "exec", "multi", "exec"];
    for name in expected {
        let line = two.read().text();
        assert!(line.contains(&format!("] \"{name}\"")), "{name}: {line}");
    }
    let stats = one.run("info commandstats").text();
    let counts = |name: &str| {
        let prefix = format!("cmdstat_{name}:");
        let line = stats.lines().find(|line| line.starts_with(&prefix));
        let fields = line.unwrap().split(',');
        let wanted = fields.filter(|field| !field.contains("usec"));
        wanted.collect::<Vec<_>>().join(",")
    };
    assert_eq!(
        counts("multi"),
        "cmdstat_multi:calls=2,rejected_calls=0,failed_calls=0"
    );
    assert_eq!(
        counts("exec"),
        "cmdstat_exec:calls=2,rejected_calls=0,failed_calls=1"
    );
    assert_eq!(
        counts("set"),
        "cmdstat_set:calls=1,rejected_calls=1,failed_calls=0"
    );
    assert_eq!(
        counts("rename"),
        "cmdstat_rename:calls=1,rejected_calls=0,failed_calls=1"
    );
    let errors = one.run("info errorstats").text();
    assert!(errors.contains("errorstat_EXECABORT:count=1"), "{errors}");
    let slow = one.run("slowlog get 10").items().to_vec();
    let names = slow.iter().map(|entry| entry.items()[3].items()[0].text());
    let names: Vec<String> = names.collect();
    assert!(names.iter().any(|name| name == "set"), "{names:?}");
    assert!(!names.iter().any(|name| name == "exec"), "{names:?}");
}

#[test]
fn messages_and_events_go_out_after_the_commit() {
    let server = Running::start(&[("notify-keyspace-events", "KEA")]);
    let (mut one, mut two) = (server.connect(), server.connect());
    two.check("psubscribe *", "[psubscribe * :1]");
    one.check("multi", "+OK");
    one.check("set a 1", "+QUEUED");
    one.check("publish channel message", "+QUEUED");
    one.check("append a 2", "+QUEUED");
    one.check("exec", "[+OK :1 :2]");
    let mut messages: Vec<String> = (0..5).map(|_| show(&two.read())).collect();
    messages.sort();
    let expected = [
        "[pmessage * __keyevent@0__:append a]",
        "[pmessage * __keyevent@0__:set a]",
        "[pmessage * __keyspace@0__:a append]",
        "[pmessage * __keyspace@0__:a set]",
        "[pmessage * channel message]",
    ];
    assert_eq!(messages, expected);
    one.check("multi", "+OK");
    one.check("subscribe c d", "+QUEUED");
    one.check("get a", "+QUEUED");
    one.send(&["exec"]);
    let replies = b"*2\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n\
                    *3\r\n$9\r\nsubscribe\r\n$1\r\nd\r\n:2\r\n$2\r\n12\r\n";
    assert_eq!(one.read_exact(replies.len()), replies);
}

#[test]
fn reads_inside_are_tracked_and_writes_inside_are_ones_own() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    one.run("hello 3");
    one.check("client tracking on noloop", "+OK");
    for value in ["nil", "1"] {
        one.check("multi", "+OK");
        one.check("get a", "+QUEUED");
        one.check("exec", &format!("[{value}]"));
        two.check("set a 1", "+OK");
        assert_eq!(show(&one.read()), ">[invalidate [a]]");
    }
    one.check("multi", "+OK");
    one.check("get a", "+QUEUED");
    one.check("set a 2", "+QUEUED");
    one.check("exec", "[1 +OK]");
    one.check("ping", "+PONG");
}

#[test]
fn silence_is_kept_inside() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.check("multi", "+OK");
    client.check("set a 1", "+QUEUED");
    client.check("client reply off", "+QUEUED");
    client.check("set b 1", "+QUEUED");
    client.send(&["exec"]);
    client.send(&["ping"]);
    client.send(&["client", "reply", "on"]);
    assert_eq!(client.read_exact(14), b"*3\r\n+OK\r\n+OK\r\n");
    for line in [
        "client reply off",
        "multi",
        "set a 2",
        "client reply on",
        "set b 2",
        "exec",
        "ping",
    ] {
        client.send(&line.split(' ').collect::<Vec<_>>());
    }
    assert_eq!(client.read_exact(17), b"+OK\r\n+OK\r\n+PONG\r\n");
    client.check("mget a b", "[2 2]");
}

#[test]
fn a_queue_counts_as_unread_requests() {
    let server = Running::start(&[("client-query-buffer-limit", "1mb")]);
    let mut client = server.connect();
    client.check("multi", "+OK");
    let value = "x".repeat(1000);
    let request = encode(&[b"SET", b"k", value.as_bytes()]);
    assert!(client.send_until_closed(&request.repeat(20_000)));
    let mut other = server.connect();
    other.check("get k", "nil");
    let info = other.run("info stats").text();
    let expected = "client_query_buffer_limit_disconnections:1\r\n";
    assert!(info.contains(expected), "{info}");
}

#[test]
fn what_is_too_much_for_one_batch_is_not_begun() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.check("multi", "+OK");
    let value = "x".repeat(20_000);
    for key in 0..40 {
        client.call(&["set", &format!("k{key}"), &value]);
    }
    let reply = client.run("exec").text();
    let expected = "EXECABORT Transaction discarded because of: atomic write of ";
    assert!(reply.starts_with(expected), "{reply}");
    client.check("dbsize", ":0");
    client.check("exec", "-ERR EXEC without MULTI");
    client.check("set k0 1", "+OK");
}

#[test]
fn a_long_transaction_holds_nobody_up() {
    const COMMANDS: usize = 10_000;
    let server = Running::start(&[("workers", "1"), ("segment-size", "8mb")]);
    let (mut long, mut other) = (server.connect(), server.connect());
    let sender = long.send_beside(set_all(COMMANDS, "v"));
    for _ in 0..=COMMANDS {
        long.read();
    }
    sender.join().unwrap();
    let mut pings = 0;
    let waiting = std::thread::scope(|scope| {
        let reader = scope.spawn(|| long.read());
        while !reader.is_finished() {
            other.check("ping", "+PONG");
            pings += 1;
        }
        reader.join().unwrap()
    });
    assert_eq!(waiting.items().len(), COMMANDS);
    assert!(pings > 0);
    other.check("dbsize", &format!(":{COMMANDS}"));
}

#[test]
fn refused_writes_abort() {
    let server = Running::start(&[("requirepass", "secret")]);
    let mut client = server.connect();
    let denied = "NOAUTH Authentication required.";
    client.check("multi", &format!("-{denied}"));
    let text = format!("-EXECABORT Transaction discarded because of: {denied}");
    client.check("exec", &text);
    client.check("auth secret", "+OK");
    client.check("multi", "+OK");
    client.check("ping", "+QUEUED");
    client.check("exec", "[+PONG]");
}

#[test]
fn a_pause_of_writes_holds_transactions_that_write() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    two.check("multi", "+OK");
    two.check("set k v", "+QUEUED");
    one.check("client pause 100000 write", "+OK");
    one.check("multi", "+OK");
    one.check("get k", "+QUEUED");
    one.check("exec", "[nil]");
    two.send(&["exec"]);
    while !one.run("client list").text().contains("flags=xb") {}
    one.check("client unpause", "+OK");
    assert_eq!(show(&two.read()), "[+OK]");
}

#[test]
fn a_crash_leaves_all_or_nothing() {
    const KEYS: usize = 40;
    const ROUNDS: u32 = 8;
    let directory = tempfile::tempdir().unwrap();
    let mut least = 0;
    for round in 0..ROUNDS {
        let (child, _) = process::start(directory.path(), &["--appendfsync", "always"]);
        let mut client = process::connect(directory.path());
        let found = match common_value(&mut client, KEYS) {
            Reply::Null => 0,
            value => value.text().parse::<u64>().unwrap(),
        };
        assert!(found >= least, "{found} after {least} was acknowledged");
        // acknowledged ones, then one that the end meets somewhere
        let end = Instant::now() + Duration::from_millis(u64::from(20 + 7 * round));
        least = found;
        while Instant::now() < end {
            client.send_raw(&set_all(KEYS, &(least + 1).to_string()));
            assert_eq!(read_transaction(&mut client, KEYS).items().len(), KEYS);
            least += 1;
        }
        for ahead in 1..50 {
            client.send_raw(&set_all(KEYS, &(least + ahead).to_string()));
        }
        child.kill();
    }
}
