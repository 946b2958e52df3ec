//! Clients that wait for keys: who is served, in which order, and who is not.
//!
//! Two workers, so that clients that wait and those that push live on different threads.

use crate::harness::{Client, Running, show};

/// A client, and its id.
fn connect(server: &Running) -> (Client, String) {
    let mut client = server.connect();
    let id = client.run("client id").integer().to_string();
    (client, id)
}

/// Sends a request that is going to wait, and waits until it does.
pub(crate) fn send_blocked(client: &mut Client, line: &str, watcher: &mut Client) {
    let count = blocked_count(watcher);
    client.send(&line.split_whitespace().collect::<Vec<_>>());
    wait_for_blocked(watcher, count + 1);
}

fn blocked_count(watcher: &mut Client) -> usize {
    let info = watcher.run("info clients").text();
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("blocked_clients:"));
    line.unwrap().parse().unwrap()
}

/// Asks until so many clients wait: another connection's state changes on its own worker.
pub(crate) fn wait_for_blocked(watcher: &mut Client, count: usize) {
    for _ in 0..100_000 {
        if blocked_count(watcher) == count {
            return;
        }
    }
    panic!("never were {count} clients blocked");
}

#[test]
fn a_push_serves_who_waits() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    for (request, push, expected) in [
        ("blpop none l 0", "rpush l a", "[l a]"),
        ("brpop l none 0", "lpush l b", "[l b]"),
        ("blmpop 0 1 l left count 5", "rpush l a b c", "[l [a b c]]"),
        ("blmove l m left right 0", "rpush l d", "d"),
        ("brpoplpush l m 0", "rpush l e", "e"),
        ("blpop l l 0", "rpush l f", "[l f]"),
        ("blpop l 100.5", "rpush l g", "[l g]"),
    ] {
        send_blocked(&mut two, request, &mut one);
        let reply = one.run(push);
        assert!(reply.integer() >= 1, "{request}");
        // whoever pushed finds what the waiting client left
        one.check("llen l", ":0");
        one.check("exists l", ":0");
        assert_eq!(show(&two.read()), expected, "{request}");
        assert_eq!(blocked_count(&mut one), 0);
    }
    one.check("lrange m 0 -1", "[e d]");
    let keys = one.run("info clients").text();
    assert!(keys.contains("total_blocking_keys:0\r\n"), "{keys}");
}

#[test]
fn who_waits_longest_is_served_first() {
    let server = Running::start(&[]);
    let mut pusher = server.connect();
    let mut waiting: Vec<Client> = (0..8).map(|_| server.connect()).collect();
    for client in &mut waiting {
        send_blocked(client, "blpop l 0", &mut pusher);
    }
    let keys = pusher.run("info clients").text();
    assert!(keys.contains("total_blocking_keys:1\r\n"), "{keys}");
    pusher.check("rpush l 0", ":1");
    pusher.check("rpush l 1 2 3", ":3");
    pusher.check("llen l", ":0");
    for round in 4..8 {
        pusher.check(&format!("rpush l {round}"), ":1");
    }
    for (index, client) in waiting.iter_mut().enumerate() {
        assert_eq!(show(&client.read()), format!("[l {index}]"));
    }
    pusher.check("rpush l x", ":1");
    pusher.check("llen l", ":1");
}

#[test]
fn what_is_left_after_all_were_served_stays() {
    let server = Running::start(&[]);
    let (mut one, mut two, mut three) = (server.connect(), server.connect(), server.connect());
    send_blocked(&mut two, "blpop l 0", &mut one);
    send_blocked(&mut three, "blmpop 0 1 l right count 2", &mut one);
    one.check("rpush l a b c d", ":4");
    one.check("lrange l 0 -1", "[b]");
    assert_eq!(show(&two.read()), "[l a]");
    assert_eq!(show(&three.read()), "[l [d c]]");
}

#[test]
fn a_chain_of_moves_is_through_before_the_pusher_goes_on() {
    let server = Running::start(&[]);
    let mut one = server.connect();
    let mut movers: Vec<Client> = (0..4).map(|_| server.connect()).collect();
    for (index, client) in movers.iter_mut().enumerate() {
        let request = format!("brpoplpush l{index} l{} 0", index + 1);
        send_blocked(client, &request, &mut one);
    }
    one.check("rpush l0 x", ":1");
    one.check("lrange l4 0 -1", "[x]");
    one.check("exists l0 l1 l2 l3", ":0");
    for client in &mut movers {
        assert_eq!(show(&client.read()), "x");
    }
}

#[test]
fn a_circle_of_moves_ends() {
    let server = Running::start(&[]);
    let (mut one, mut two, mut three) = (server.connect(), server.connect(), server.connect());
    send_blocked(&mut two, "brpoplpush a b 0", &mut one);
    send_blocked(&mut three, "brpoplpush b a 0", &mut one);
    one.check("rpush a x", ":1");
    assert_eq!(show(&two.read()), "x");
    assert_eq!(show(&three.read()), "x");
    one.check("lrange a 0 -1", "[x]");
    send_blocked(&mut two, "blmove c c left right 0", &mut one);
    one.check("rpush c 1 2", ":2");
    one.check("lrange c 0 -1", "[2 1]");
    assert_eq!(show(&two.read()), "1");
}

#[test]
fn nothing_is_popped_for_a_client_that_left() {
    let server = Running::start(&[]);
    let (mut one, mut two, mut three) = (server.connect(), server.connect(), server.connect());
    send_blocked(&mut two, "blpop l 0", &mut one);
    send_blocked(&mut three, "blpop l 0", &mut one);
    drop(two);
    wait_for_blocked(&mut one, 1);
    one.check("rpush l a b", ":2");
    assert_eq!(show(&three.read()), "[l a]");
    one.check("lrange l 0 -1", "[b]");
}

#[test]
fn time_passes_and_clients_are_unblocked() {
    let server = Running::start(&[]);
    let mut one = server.connect();
    let (mut two, id) = connect(&server);
    for request in [
        "blpop l 0.01",
        "blmove l m left left 0.01",
        "blmpop 0.01 1 l left",
    ] {
        two.check(request, "nil");
    }
    send_blocked(&mut two, "blpop l m 0", &mut one);
    let list = one.call(&["client", "list", "id", &id]).text();
    assert!(
        list.contains(" flags=b ") && list.contains(" cmd=blpop "),
        "{list}"
    );
    assert_eq!(one.call(&["client", "unblock", &id]).integer(), 1);
    assert_eq!(show(&two.read()), "nil");
    send_blocked(&mut two, "blpop l m 0", &mut one);
    assert_eq!(one.call(&["client", "unblock", &id, "error"]).integer(), 1);
    let unblocked = "-UNBLOCKED client unblocked via CLIENT UNBLOCK";
    assert_eq!(show(&two.read()), unblocked);
    assert_eq!(one.call(&["client", "unblock", &id]).integer(), 0);
    one.check("rpush l a", ":1");
    one.check("llen l", ":1");
    two.check("ping", "+PONG");
}

#[test]
fn only_a_list_serves() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    send_blocked(&mut two, "blpop l 0", &mut one);
    one.check("set l x", "+OK");
    one.check("append l y", ":2");
    assert_eq!(blocked_count(&mut one), 1);
    one.check("del l", ":1");
    one.check("rpush l a", ":1");
    assert_eq!(show(&two.read()), "[l a]");
    send_blocked(&mut two, "blmove l s left left 0", &mut one);
    one.check("set s x", "+OK");
    one.check("rpush l a", ":1");
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    assert_eq!(show(&two.read()), wrong);
    one.check("lrange l 0 -1", "[a]");
}

#[test]
fn keys_arrive_by_other_ways_than_a_push() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    for (before, change) in [
        ("rpush other a", "rename other l"),
        ("rpush other a", "copy other l"),
        ("ping", "rpush l a"),
    ] {
        one.run("flushall");
        send_blocked(&mut two, "blpop l 0", &mut one);
        one.run(before);
        one.run(change);
        one.check("exists l", ":0");
        assert_eq!(show(&two.read()), "[l a]", "{change}");
    }
}

#[test]
fn a_flush_or_swap_loses_no_waiting_client() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    send_blocked(&mut two, "blpop l 0", &mut one);
    for flush in ["flushall", "flushdb", "swapdb 0 3", "swapdb 0 3", "flushdb"] {
        one.check(flush, "+OK");
        assert_eq!(blocked_count(&mut one), 1, "{flush}");
    }
    one.check("rpush l a", ":1");
    assert_eq!(show(&two.read()), "[l a]");
    send_blocked(&mut two, "blpop l 0", &mut one);
    one.run("select 3");
    one.check("rpush l b", ":1");
    one.check("swapdb 0 3", "+OK");
    assert_eq!(show(&two.read()), "[l b]");
    send_blocked(&mut two, "blpop l 0", &mut one);
    one.check("move l 0", ":0");
    one.check("rpush l c", ":1");
    one.check("move l 0", ":1");
    assert_eq!(show(&two.read()), "[l c]");
}

#[test]
fn a_pipeline_waits_behind_a_blocked_command_and_not_before_it() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    one.check("set k v", "+OK");
    two.send_raw(b"GET k\r\nPING\r\nBLPOP l 0\r\nLLEN l\r\nPING\r\n");
    assert_eq!(show(&two.read()), "v");
    assert_eq!(show(&two.read()), "+PONG");
    wait_for_blocked(&mut one, 1);
    one.check("rpush l a b", ":2");
    assert_eq!(show(&two.read()), "[l a]");
    assert_eq!(show(&two.read()), ":1");
    assert_eq!(show(&two.read()), "+PONG");
}

#[test]
fn a_paused_server_lets_nobody_begin_to_wait() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (server.connect(), server.connect());
    one.check("rpush l a", ":1");
    one.check("client pause 100000 write", "+OK");
    send_blocked(&mut two, "blpop l 0", &mut one);
    one.check("llen l", ":1");
    one.check("client unpause", "+OK");
    assert_eq!(show(&two.read()), "[l a]");
}

#[test]
fn time_spent_waiting_is_not_the_commands_own() {
    let server = Running::start(&[("slowlog-log-slower-than", "200000")]);
    let (mut one, mut two) = (server.connect(), server.connect());
    two.check("blpop l 0.4", "nil");
    one.check("slowlog len", ":0");
}

/// Every element goes to exactly one of many clients, whatever the workers' threads do.
#[test]
fn many_clients_share_what_many_push() {
    const CLIENTS: usize = 12;
    const ROUNDS: usize = 120;
    let server = Running::start(&[]);
    let pop = |number: usize| {
        let mut client = server.connect();
        std::thread::spawn(move || {
            let keys = if number.is_multiple_of(2) {
                "q r"
            } else {
                "r q"
            };
            let popped = (0..ROUNDS).map(|_| client.run(&format!("blpop {keys} 0")));
            popped
                .map(|reply| reply.items()[1].text())
                .collect::<Vec<_>>()
        })
    };
    let push = |number: usize| {
        let mut client = server.connect();
        std::thread::spawn(move || {
            for round in 0..ROUNDS {
                let key = if (number + round).is_multiple_of(3) {
                    "q"
                } else {
                    "r"
                };
                client.run(&format!("rpush {key} {number}:{round}"));
            }
        })
    };
    let poppers: Vec<_> = (0..CLIENTS).map(pop).collect();
    let pushers: Vec<_> = (0..CLIENTS).map(push).collect();
    for pusher in pushers {
        pusher.join().unwrap();
    }
    let mut popped: Vec<String> = poppers
        .into_iter()
        .flat_map(|popper| popper.join().unwrap())
        .collect();
    popped.sort_unstable();
    popped.dedup();
    assert_eq!(popped.len(), CLIENTS * ROUNDS);
    let mut one = server.connect();
    one.check("exists q r", ":0");
    assert_eq!(blocked_count(&mut one), 0);
}

#[test]
fn sorted_sets_serve_who_waits() {
    let server = Running::start(&[]);
    let (mut one, mut two, mut three) = (server.connect(), server.connect(), server.connect());
    for (request, change, expected) in [
        ("bzpopmin none z 0", "zadd z 2 b", "[z b 2]"),
        ("bzpopmax z 0", "zadd z 1.5 a 3 c", "[z c 3]"),
        (
            "bzmpop 0 1 z min count 5",
            "zadd z 4 d",
            "[z [[a 1.5] [d 4]]]",
        ),
    ] {
        one.run("del other");
        if request.starts_with("bzmpop") {
            // something is there at once
            one.run(change);
            two.check(request, expected);
            continue;
        }
        send_blocked(&mut two, request, &mut one);
        one.run(change);
        assert_eq!(show(&two.read()), expected, "{request}");
    }
    one.check("exists z", ":0");
    two.check("bzpopmin z 0.01", "nil");
    // each waits for its own type
    send_blocked(&mut two, "blpop k 0", &mut one);
    send_blocked(&mut three, "bzpopmin k 0", &mut one);
    one.check("zadd k 1 m", ":1");
    assert_eq!(show(&three.read()), "[k m 1]");
    assert_eq!(blocked_count(&mut one), 1);
    one.check("rpush k e", ":1");
    assert_eq!(show(&two.read()), "[k e]");
}
