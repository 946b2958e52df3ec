//! CELLAR: the cleaner and the scrub in an operator's hands.

use std::os::unix::fs::FileExt;

use crate::full::{FULL, fill_from, key, set, start};
use crate::harness::{Client, Reply, Running, show};
use crate::server_commands::field;

/// The fields of a reply that is a map.
fn fields(client: &mut Client, line: &str) -> Vec<(String, String)> {
    let reply = client.run(line);
    let pair = |pair: &[Reply]| (show(&pair[0]), show(&pair[1]));
    reply.items().chunks(2).map(pair).collect()
}

fn value(fields: &[(String, String)], name: &str) -> String {
    let found = fields.iter().find(|(field, _)| field == name);
    found.unwrap_or_else(|| panic!("no {name}")).1.clone()
}

#[test]
fn the_words_are_checked() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.check("cellar cleaner now", "-ERR syntax error");
    client.check("cellar scrub now", "-ERR syntax error");
    client.check(
        "cellar cleaner",
        "-ERR wrong number of arguments for 'cellar|cleaner' command",
    );
    client.check("cellar scrub stop", "-ERR No scrub in progress");
    let help = show(&client.run("cellar help"));
    assert!(help.contains("CLEANER PAUSE | RESUME | STATS"), "{help}");
    let info = show(&client.run("command info cellar|cleaner cellar|scrub"));
    assert_eq!(info.matches("+@admin").count(), 2, "{info}");
    assert_eq!(info.matches("+@dangerous").count(), 2, "{info}");
}

#[test]
fn a_paused_cleaner_refuses_instead_of_waiting() {
    let server = start();
    let mut client = server.connect();
    let count = fill_from(&mut client, 0) / 2;
    for index in count..2 * count {
        client.call(&["del", &key(index)]);
    }
    client.check("cellar cleaner pause", "+OK");
    let info = client.run("info cleaner").text();
    assert_eq!(field(&info, "cleaner_state"), "paused");
    // what is written over takes new places, and none is made free
    let mut replies = (0..10 * count).map(|turn| set(&mut client, turn % count, 0));
    assert_eq!(replies.find(|reply| reply != "+OK").as_deref(), Some(FULL));
    client.check("exists key:0", ":1");
    let stats = fields(&mut client, "cellar cleaner stats");
    assert_eq!(value(&stats, "state"), "paused");
    assert_ne!(value(&stats, "writes_refused"), ":0");
    client.check("cellar cleaner resume", "+OK");
    for index in 0..count {
        assert_eq!(set(&mut client, index, 0), "+OK", "key {index}");
    }
    let stats = fields(&mut client, "cellar cleaner stats");
    assert_ne!(value(&stats, "state"), "paused");
    assert_ne!(value(&stats, "segments_freed"), ":0");
}

/// Starts a scrub and waits for its end.
fn scrub(client: &mut Client) -> Vec<(String, String)> {
    client.check("cellar scrub start", "+OK");
    loop {
        let status = fields(client, "cellar scrub status");
        match value(&status, "state").as_str() {
            "running" => std::thread::yield_now(),
            "finished" => return status,
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_scrub_reads_everything_and_finds_damage() {
    let server = start();
    let mut client = server.connect();
    fill_from(&mut client, 0);
    client.check("waitaof 1 0 0", "[:1 :0]");
    let status = scrub(&mut client);
    assert_eq!(value(&status, "damaged"), ":0");
    assert_eq!(value(&status, "percent"), ":100");
    assert_eq!(
        value(&status, "segments_done"),
        value(&status, "segments_total")
    );
    assert_ne!(value(&status, "records"), ":0");
    let info = client.run("info scrub").text();
    assert_eq!(field(&info, "scrub_state"), "finished");
    assert_eq!(field(&info, "scrub_damaged"), "0");
    // one byte in each page of two megabytes in the middle
    let path = server.directory().join("store.cellar");
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    for at in (30 << 20..32 << 20).step_by(4096) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at + 77).unwrap();
        file.write_all_at(&[!byte[0]], at + 77).unwrap();
    }
    file.sync_all().unwrap();
    let status = scrub(&mut client);
    assert_ne!(value(&status, "damaged"), ":0");
    assert!(
        value(&status, "last_damage").contains("store.cellar at "),
        "{status:?}"
    );
    client.check("ping", "+PONG");
}
