//! Scripts beside other clients: all or nothing, no worker held, an end for what does not end, and
//! functions that outlive a restart.

use std::time::{Duration, Instant};

use crate::harness::{Client, Reply, Running};
use crate::process;

fn eval(client: &mut Client, script: &str, keys: &[&str], arguments: &[&str]) -> Reply {
    let count = keys.len().to_string();
    let words = ["EVAL", script, &count];
    client.call(&[&words[..], keys, arguments].concat())
}

/// From here on scripts count as busy at once.
fn be_impatient(client: &mut Client) {
    client.check("config set busy-reply-threshold 0", "+OK");
}

/// Asks until others are told that a script is busy: the whole text.
fn busy_text(client: &mut Client) -> String {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let text = client.run("ping").text();
        if text != "PONG" {
            return text;
        }
        assert!(Instant::now() < deadline, "nothing is busy");
        std::thread::yield_now();
    }
}

/// Asks until a script that runs is killed, or refuses to be.
fn kill(client: &mut Client, command: &str) -> String {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let text = client.run(command).text();
        if !text.starts_with("NOTBUSY") {
            return text;
        }
        assert!(Instant::now() < deadline, "nothing runs");
        std::thread::yield_now();
    }
}

#[test]
fn scripts_lose_no_update_and_nobody_sees_half_of_one() {
    const CLIENTS: usize = 4;
    const ROUNDS: usize = 100;
    const SCRIPT: &str = "local n = tonumber(redis.call('GET', KEYS[1]) or '0') + 1 \
                          redis.call('SET', KEYS[1], n) redis.call('SET', KEYS[2], n) return n";
    let server = Running::start(&[]);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let mut client = server.connect();
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    eval(&mut client, SCRIPT, &["a", "b"], &[]).integer();
                }
            });
        }
        let mut reader = server.connect();
        scope.spawn(move || {
            for _ in 0..ROUNDS {
                let both = reader.run("mget a b");
                assert_eq!(both.items()[0], both.items()[1]);
            }
        });
    });
    let total = (CLIENTS * ROUNDS).to_string();
    server.connect().check("get b", &total);
}

#[test]
fn keys_that_were_not_declared_are_locked_on_the_way() {
    const CLIENTS: usize = 4;
    const ROUNDS: usize = 100;
    const SCRIPT: &str = "for _, name in ipairs(ARGV) do redis.call('INCR', name) end";
    let server = Running::start(&[]);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let mut client = server.connect();
            scope.spawn(move || {
                let names = ["a", "b", "c", "d"];
                for round in 0..ROUNDS {
                    let order = [0, 1, 2, 3].map(|step| names[(number + round + step) % 4]);
                    assert_eq!(eval(&mut client, SCRIPT, &[], &order), Reply::Null);
                }
            });
        }
    });
    let total = (CLIENTS * ROUNDS).to_string();
    for name in ["a", "b", "c", "d"] {
        server.connect().check(&format!("get {name}"), &total);
    }
}

#[test]
fn what_does_not_end_holds_nobody_and_can_be_killed() {
    let server = Running::start(&[]);
    let endless = [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(redis.call, 'get', 'x') end",
        "local t = {3, 1, 2} table.sort(t, function() while true do end end)",
        "local f = coroutine.wrap(function() while true do end end) f()",
        "return string.gsub('x', 'x', function() while true do end end)",
    ];
    for script in endless {
        let mut scripter = server.connect();
        let mut other = server.connect();
        other.check("config set busy-reply-threshold 60000", "+OK");
        scripter.send(&["EVAL", script, "0"]);
        for _ in 0..20 {
            other.check("ping", "+PONG");
            other.check("set free 1", "+OK");
        }
        be_impatient(&mut other);
        let text = busy_text(&mut other);
        let expected = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or \
                        SHUTDOWN NOSAVE.";
        assert_eq!(text, expected, "{script}");
        other.check("get free", &format!("-{expected}"));
        other.check("function kill", &format!("-{expected}"));
        assert_eq!(kill(&mut other, "script kill"), "OK", "{script}");
        let text = scripter.read().text();
        assert!(
            text.starts_with("ERR Script killed by user with SCRIPT KILL."),
            "{text}"
        );
        scripter.check("ping", "+PONG");
    }
    server
        .connect()
        .check("script kill", "-NOTBUSY No scripts in execution right now.");
}

#[test]
fn what_has_written_is_not_killed() {
    let server = Running::start(&[]);
    let mut other = server.connect();
    be_impatient(&mut other);
    // it ends when nobody listens to the channel any more
    let mut listener = server.connect();
    listener.run("subscribe stop");
    let script = "redis.call('SET', 'k', '1') \
                  while redis.call('PUBSUB', 'NUMSUB', 'stop')[2] == 1 do end return 'end'";
    let mut scripter = server.connect();
    let text = loop {
        scripter.send(&["EVAL", script, "1", "k"]);
        let text = kill(&mut other, "script kill");
        if text != "OK" {
            break text;
        }
        // it had not come to write yet
        let killed = scripter.read().text();
        assert!(killed.starts_with("ERR Script killed"), "{killed}");
    };
    assert!(text.starts_with("UNKILLABLE Sorry"), "{text}");
    drop(listener);
    assert_eq!(scripter.read().text(), "end");
    scripter.check("get k", "1");
}

#[test]
fn a_transaction_that_meets_a_busy_script_runs_nothing() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let mut other = server.connect();
    client.check("multi", "+OK");
    client.check("set k 1", "+QUEUED");
    be_impatient(&mut other);
    let mut scripter = server.connect();
    scripter.send(&["EVAL", "while true do end", "0"]);
    busy_text(&mut other);
    let text = client.run("exec").text();
    assert!(
        text.starts_with("EXECABORT Transaction discarded because of: BUSY"),
        "{text}"
    );
    client.check("multi", "+OK");
    assert!(client.run("set k 2").text().starts_with("BUSY"));
    assert_eq!(kill(&mut other, "script kill"), "OK");
    scripter.read();
    let text = client.run("exec").text();
    assert!(
        text.starts_with("EXECABORT Transaction discarded because of previous"),
        "{text}"
    );
    other.check("exists k", ":0");
}

#[test]
fn what_is_deep_or_large_is_answered_and_packed() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let deep = "local t = {} for _ = 1, 900 do t = {t} end return t";
    let mut reply = eval(&mut client, deep, &[], &[]);
    for _ in 0..900 {
        reply = reply.items()[0].clone();
    }
    assert!(reply.items().is_empty());
    let endless = "local a = {} a[1] = {a} return a";
    assert_eq!(eval(&mut client, endless, &[], &[]).items().len(), 1);
    let large = "local t = {} for i = 1, 20000 do t['k' .. i] = {i} end \
                 return #cmsgpack.pack(t) + #cjson.encode(t)";
    assert!(eval(&mut client, large, &[], &[]).integer() > 200_000);
}

#[test]
fn monitors_see_a_script_and_its_commands() {
    let server = Running::start(&[]);
    let mut monitor = server.connect();
    monitor.check("monitor", "+OK");
    let mut client = server.connect();
    eval(
        &mut client,
        "return redis.call('SET', KEYS[1], 'v')",
        &["k"],
        &[],
    );
    assert!(monitor.read().text().contains("\"EVAL\""));
    assert!(
        monitor
            .read()
            .text()
            .ends_with("[0 lua] \"SET\" \"k\" \"v\"")
    );
}

#[test]
fn a_script_in_a_transaction_is_a_part_of_it() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.check("multi", "+OK");
    client.check("set k 5", "+QUEUED");
    let script = "return redis.call('INCRBY', KEYS[1], ARGV[1])";
    assert_eq!(eval(&mut client, script, &["k"], &["3"]).text(), "QUEUED");
    client.check("get k", "+QUEUED");
    assert_eq!(server.connect().run("get k"), Reply::Null);
    let replies = client.run("exec");
    assert_eq!(replies.items()[1].integer(), 8);
    assert_eq!(replies.items()[2].text(), "8");
}

#[test]
fn messages_and_events_of_a_script_come_after_what_it_wrote() {
    let server = Running::start(&[]);
    let mut listener = server.connect();
    listener.check("config set notify-keyspace-events KEA", "+OK");
    listener.run("subscribe news __keyevent@0__:set");
    listener.read();
    let script = "redis.call('SET', 'k', 'v') return redis.call('PUBLISH', 'news', 'told')";
    let mut client = server.connect();
    assert_eq!(eval(&mut client, script, &["k"], &[]).integer(), 1);
    let texts: Vec<String> = listener.read().items().iter().map(Reply::text).collect();
    assert_eq!(texts, ["message", "__keyevent@0__:set", "k"]);
    let texts: Vec<String> = listener.read().items().iter().map(Reply::text).collect();
    assert_eq!(texts, ["message", "news", "told"]);
}

#[test]
fn an_error_keeps_what_was_done_before_it() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let script = "redis.call('SET', 'k', 'v') redis.call('INCR', 'k')";
    let text = eval(&mut client, script, &["k"], &[]).text();
    assert!(text.starts_with("ERR value is not an integer"), "{text}");
    client.check("get k", "v");
}

#[test]
fn memory_is_bounded_and_the_next_script_has_all_of_it() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let script = "local t = {} while true do t[#t + 1] = string.rep('x', 100000) .. #t end";
    for _ in 0..3 {
        let text = eval(&mut client, script, &[], &[]).text();
        assert!(text.contains("not enough memory"), "{text}");
        assert_eq!(eval(&mut client, "return #KEYS", &["a"], &[]).integer(), 1);
    }
}

#[test]
fn scripts_of_many_clients_do_not_see_each_other() {
    const CLIENTS: usize = 24;
    let server = Running::start(&[]);
    let script = "local mine = ARGV[1] for i = 1, 200 do redis.call('GET', KEYS[1]) \
                  if ARGV[1] ~= mine or KEYS[1] ~= mine then return 'mixed' end end return mine";
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let mut client = server.connect();
            scope.spawn(move || {
                let mine = number.to_string();
                let reply = eval(&mut client, script, &[&mine], &[&mine]);
                assert_eq!(reply.text(), mine);
            });
        }
    });
}

#[test]
fn a_function_that_does_not_end_can_be_killed() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    be_impatient(&mut client);
    let library = "#!lua name=lib\nredis.register_function{function_name='endless', \
                   callback=function() while true do end end, flags={'no-writes'}}";
    assert_eq!(client.call(&["FUNCTION", "LOAD", library]).text(), "lib");
    client.send(&["FCALL", "endless", "0"]);
    let mut other = server.connect();
    assert_eq!(kill(&mut other, "function kill"), "OK");
    let text = client.read().text();
    assert!(text.starts_with("ERR Script killed by user"), "{text}");
}

#[test]
fn functions_outlive_a_crash_and_a_removed_one_stays_removed() {
    let directory = tempfile::tempdir().unwrap();
    let library = |name: &str| {
        format!("#!lua name={name}\nredis.register_function('{name}_f', function() return 7 end)")
    };
    let (child, _) = process::start(directory.path(), &[]);
    let mut client = process::connect(directory.path());
    for name in ["kept", "gone"] {
        assert_eq!(
            client.call(&["FUNCTION", "LOAD", &library(name)]).text(),
            name
        );
    }
    client.check("function delete gone", "+OK");
    child.kill();
    let (child, _) = process::start(directory.path(), &[]);
    let mut client = process::connect(directory.path());
    client.check("fcall kept_f 0", ":7");
    client.check("fcall gone_f 0", "-ERR Function not found");
    child.kill();
}
