//! Clients that wait for streams: all who read are served, one of a group, and who waits in a group
//! hears when it is gone. And streams that are read while they change.

use crate::blocking::{send_blocked, wait_for_blocked};
use crate::harness::{Client, Running, show};

/// What the end of a wait in a group says when its stream is gone.
const GONE: &str = "-NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP \
                    option: it no longer exists";
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value: the \
                          stream no longer exists";

const READ_GROUP: &str = "xreadgroup group g c block 0 streams s >";

#[test]
fn an_entry_serves_all_who_read() {
    let server = Running::start(&[]);
    let mut one = server.connect();
    let mut readers: Vec<Client> = (0..5).map(|_| server.connect()).collect();
    one.check("xadd s 1 f v", "1-0");
    for client in &mut readers {
        send_blocked(client, "xread block 0 streams none s $ $", &mut one);
    }
    one.check("xadd s 2 f w", "2-0");
    for client in &mut readers {
        assert_eq!(show(&client.read()), "[[s [[2-0 [f w]]]]]");
    }
    wait_for_blocked(&mut one, 0);
    // whoever waits for later entries waits on
    send_blocked(&mut readers[0], "xread block 0 streams s 5", &mut one);
    send_blocked(
        &mut readers[1],
        "xread block 0 count 1 streams s t 2 0",
        &mut one,
    );
    one.check("xadd s 3 f x", "3-0");
    assert_eq!(show(&readers[1].read()), "[[s [[3-0 [f x]]]]]");
    wait_for_blocked(&mut one, 1);
    one.check("del s", ":1");
    one.check("set s 1", "+OK");
    one.check("del s", ":1");
    one.check("xadd s 5 f v", "5-0");
    one.check("xadd s 6 f v", "6-0");
    assert_eq!(show(&readers[0].read()), "[[s [[6-0 [f v]]]]]");
}

#[test]
fn an_entry_serves_one_of_a_group() {
    let server = Running::start(&[]);
    let mut one = server.connect();
    one.check("xgroup create s g $ mkstream", "+OK");
    one.check("xgroup create s h $", "+OK");
    let mut members: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    for client in &mut members {
        send_blocked(client, READ_GROUP, &mut one);
    }
    let mut other = server.connect();
    send_blocked(
        &mut other,
        "xreadgroup group h c block 0 streams s >",
        &mut one,
    );
    for (index, client) in members.iter_mut().enumerate() {
        let id = index + 1;
        one.check(&format!("xadd s {id} f v"), &format!("{id}-0"));
        assert_eq!(show(&client.read()), format!("[[s [[{id}-0 [f v]]]]]"));
    }
    assert_eq!(show(&other.read()), "[[s [[1-0 [f v]]]]]");
    one.check("xpending s g", "[:3 1-0 3-0 [[c 3]]]");
    one.check("xpending s h", "[:1 1-0 1-0 [[c 1]]]");
    one.check("xreadgroup group g d block 1 streams s >", "nil");
}

#[test]
fn who_waits_in_a_group_hears_that_it_is_gone() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    for (request, expected) in [
        ("del s", GONE),
        ("xgroup destroy s g", GONE),
        ("set s 1", WRONG_TYPE),
        ("flushall", GONE),
        ("flushdb", GONE),
        ("swapdb 0 1", GONE),
        ("rename s t", GONE),
        ("expire s -1", GONE),
    ] {
        one.run("flushall");
        one.check("xgroup create s g $ mkstream", "+OK");
        send_blocked(&mut two, READ_GROUP, &mut one);
        one.run(request);
        assert_eq!(show(&two.read()), expected, "{request}");
    }
    one.run("flushall");
    one.check("xgroup create s g $ mkstream", "+OK");
    send_blocked(&mut two, READ_GROUP, &mut one);
    one.check("multi", "+OK");
    one.check("del s", "+QUEUED");
    one.check("sadd s m", "+QUEUED");
    one.check("exec", "[:1 :1]");
    assert_eq!(show(&two.read()), WRONG_TYPE);
}

#[test]
fn a_lost_key_passes_by_those_who_wait_for_more() {
    let server = Running::start(&[]);
    let mut one = server.connect();
    let (mut list, mut reader) = (server.connect(), server.connect());
    let mut member = server.connect();
    send_blocked(&mut list, "blpop s 0", &mut one);
    one.check("xgroup create s g $ mkstream", "+OK");
    send_blocked(&mut reader, "xread block 0 streams s $", &mut one);
    send_blocked(&mut member, READ_GROUP, &mut one);
    one.check("del s", ":1");
    assert_eq!(show(&member.read()), GONE);
    wait_for_blocked(&mut one, 2);
    one.check("xadd s 1 f v", "1-0");
    assert_eq!(show(&reader.read()), "[[s [[1-0 [f v]]]]]");
    one.check("del s", ":1");
    one.check("rpush s a", ":1");
    assert_eq!(show(&list.read()), "[s a]");
}

#[test]
fn a_stream_in_pages_is_read_while_it_grows() {
    let server = Running::start(&[]);
    let (mut writer, mut reader) = (server.connect(), server.connect());
    let value = "v".repeat(100);
    writer.check("xgroup create s g 0 mkstream", "+OK");
    let mut last = 0;
    for id in 1..=1500 {
        writer.send(&["xadd", "s", &id.to_string(), "f", &value]);
        if id % 100 == 0 {
            reader.send(&[
                "xreadgroup",
                "group",
                "g",
                "c",
                "count",
                "100",
                "streams",
                "s",
                ">",
            ]);
            for _ in 0..100 {
                writer.read();
            }
            let reply = reader.read();
            if show(&reply) == "nil" {
                // it came before all of them
                continue;
            }
            let found = &reply.items()[0];
            for entry in found.items()[1].items() {
                let id = entry.items()[0].text();
                let ms: u64 = id.strip_suffix("-0").unwrap().parse().unwrap();
                assert_eq!(ms, last + 1);
                last = ms;
            }
        }
    }
    assert!(last > 0);
    writer.check("xlen s", ":1500");
    writer.check("xtrim s maxlen 10", ":1490");
    let count = writer.run("xautoclaim s g d 0 0 count 100000").items()[2]
        .items()
        .len();
    assert_eq!(count as u64, last.min(1490));
}
