//! A sorted set of many pages: it is changed, read, and found again after a crash and an end in
//! order.

use std::path::Path;

use crate::harness::{Client, Reply, encode};
use crate::process::{Process, connect, start};

/// Members of the set: some hundreds of leaves, and more buckets.
const COUNT: u32 = 50_000;

/// Members that one ZADD adds.
const PER_REQUEST: u32 = 500;

/// Prime, so that its multiples go through all scores in no order.
const STEP: u32 = 7919;

fn member(score: u32) -> String {
    format!("member:{score:05}")
}

/// Adds members with the scores from 0 to `COUNT`, exclusively, in no order.
fn fill(client: &mut Client) {
    let scores: Vec<u32> = (0..COUNT).map(|index| index * STEP % COUNT).collect();
    for part in scores.chunks(PER_REQUEST as usize) {
        let mut request: Vec<Vec<u8>> = vec![b"zadd".to_vec(), b"set".to_vec()];
        for score in part {
            request.push(score.to_string().into_bytes());
            request.push(member(*score).into_bytes());
        }
        let request: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
        client.send_raw(&encode(&request));
        assert_eq!(
            client.read(),
            Reply::Integer(part.len().cast_signed() as i64)
        );
    }
}

/// Checks that the set holds exactly the scores of `kept`.
fn check(client: &mut Client, kept: std::ops::Range<u32>) {
    let count = kept.end - kept.start;
    client.check("zcard set", &format!(":{count}"));
    client.check("object encoding set", "skiplist");
    for score in kept.clone().step_by(1777) {
        let name = member(score);
        let rank = score - kept.start;
        client.check(&format!("zscore set {name}"), &score.to_string());
        client.check(&format!("zrank set {name}"), &format!(":{rank}"));
        client.check(&format!("zrange set {rank} {rank}"), &format!("[{name}]"));
        client.check(
            &format!("zcount set -inf ({score}"),
            &format!(":{}", score - kept.start),
        );
    }
    let last = kept.end - 1;
    client.check(
        "zrevrange set 0 1",
        &format!("[{} {}]", member(last), member(last - 1)),
    );
    let all = client.run("zrange set 0 -1");
    let expected = kept
        .clone()
        .map(|score| Reply::Bulk(member(score).into_bytes()));
    assert!(all.items().iter().cloned().eq(expected));
    assert_eq!(scanned(client), count as usize);
}

/// How many members a scan meets, each once.
fn scanned(client: &mut Client) -> usize {
    let (mut cursor, mut members) = ("0".to_owned(), Vec::new());
    loop {
        let step = client.run(&format!("zscan set {cursor} count 1000"));
        let pairs = step.items()[1].items();
        members.extend(pairs.iter().step_by(2).map(Reply::text));
        cursor = step.items()[0].text();
        if cursor == "0" {
            members.sort_unstable();
            members.dedup();
            return members.len();
        }
    }
}

fn restart(directory: &Path, process: Process, end: impl Fn(Process, &mut Client)) -> Process {
    let mut client = connect(directory);
    client.check("waitaof 1 0 0", "[:1 :0]");
    end(process, &mut client);
    start(directory, &[]).0
}

#[test]
fn a_set_of_many_pages_survives_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let process = start(directory, &[]).0;
    let mut client = connect(directory);
    fill(&mut client);
    check(&mut client, 0..COUNT);
    let process = restart(directory, process, |process, _| process.kill());

    let mut client = connect(directory);
    check(&mut client, 0..COUNT);
    client.check("zremrangebyrank set 0 9999", ":10000");
    client.check("zremrangebyscore set (39999 +inf", ":10000");
    check(&mut client, 10_000..40_000);
    client.check("zunionstore copy 1 set weights 2", ":30000");
    client.check(
        "zrange copy 0 1 withscores",
        "[member:10000 20000 member:10001 20002]",
    );
    let process = restart(directory, process, |process, client| {
        client.send(&["shutdown"]);
        assert!(client.is_closed());
        assert!(process.wait().success());
    });

    let mut client = connect(directory);
    check(&mut client, 10_000..40_000);
    client.check("zcard copy", ":30000");
    client.check("zpopmin set 2", "[member:10000 10000 member:10001 10001]");
    client.check("zadd set 0 member:39999", ":0");
    client.check("zrange set 0 0", "[member:39999]");
    client.check("zremrangebyrank set 0 -1", ":29998");
    client.check("del copy", ":1");
    client.check("dbsize", ":0");
    process.kill();
}
