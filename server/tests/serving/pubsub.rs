//! Publish and subscribe, between connections of several workers.

use crate::harness::{Client, Running, encode, show};

fn resp3(server: &Running) -> Client {
    let mut client = server.connect();
    client.run("hello 3");
    client
}

/// A field of a client's own line of CLIENT LIST.
fn field(list: &str, id: i64, name: &str) -> String {
    let line = list
        .lines()
        .find(|line| line.starts_with(&format!("id={id} ")))
        .unwrap();
    let field = line
        .split(' ')
        .find_map(|field| field.strip_prefix(&format!("{name}=")));
    field.unwrap().to_owned()
}

#[test]
fn messages_reach_all_who_listen() {
    let server = Running::start(&[]);
    // connections are spread over two workers in turn
    let (mut one, mut two, mut three) = (server.connect(), server.connect(), resp3(&server));
    let mut publisher = server.connect();
    one.check("subscribe a b", "[subscribe a :1]");
    one.expect("[subscribe b :2]");
    two.check("psubscribe a* *", "[psubscribe a* :1]");
    two.expect("[psubscribe * :2]");
    three.check("subscribe a a", ">[subscribe a :1]");
    three.expect(">[subscribe a :1]");
    publisher.check("publish a hello", ":4");
    publisher.check("publish b there", ":2");
    publisher.check("publish c nobody", ":1");
    one.expect("[message a hello]");
    one.expect("[message b there]");
    two.expect("[pmessage * a hello]");
    two.expect("[pmessage a* a hello]");
    two.expect("[pmessage * b there]");
    two.expect("[pmessage * c nobody]");
    three.expect(">[message a hello]");
    one.check("unsubscribe a", "[unsubscribe a :1]");
    publisher.check("publish a again", ":3");
    one.check("unsubscribe", "[unsubscribe b :0]");
    one.check("get k", "nil");
    two.expect("[pmessage * a again]");
    two.expect("[pmessage a* a again]");
    two.check("punsubscribe", "[punsubscribe * :1]");
    two.expect("[punsubscribe a* :0]");
    publisher.check("publish a last", ":1");
}

#[test]
fn shard_channels_are_a_space_of_their_own() {
    let server = Running::start(&[]);
    let (mut one, mut publisher) = (resp3(&server), server.connect());
    one.check("ssubscribe s", ">[ssubscribe s :1]");
    one.check("subscribe s", ">[subscribe s :1]");
    one.check("psubscribe *", ">[psubscribe * :2]");
    publisher.check("spublish s m", ":1");
    one.expect(">[smessage s m]");
    publisher.check("publish s n", ":2");
    one.expect(">[message s n]");
    one.expect(">[pmessage * s n]");
    publisher.check("pubsub shardchannels", "[s]");
    publisher.check("pubsub shardnumsub s t", "[s :1 t :0]");
    one.check("sunsubscribe", ">[sunsubscribe s :0]");
    one.check("sunsubscribe", ">[sunsubscribe nil :0]");
    one.check("unsubscribe x", ">[unsubscribe x :2]");
    publisher.check("spublish s m", ":0");
    publisher.check("pubsub shardchannels", "[]");
}

#[test]
fn a_subscriber_of_the_old_protocol_runs_few_commands() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.check("ping", "+PONG");
    client.check("subscribe c", "[subscribe c :1]");
    let refused = |name: &str| {
        format!(
            "-ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / \
             RESET are allowed in this context"
        )
    };
    client.check("get k", &refused("get"));
    client.check("client list", &refused("client|list"));
    client.check("set a", "-ERR wrong number of arguments for 'set' command");
    client.check("ping", "[pong ]");
    client.check("ping hi", "[pong hi]");
    client.check("reset", "+RESET");
    client.check("get k", "nil");
    client.check("pubsub channels", "[]");
    client.check("ssubscribe c", "[ssubscribe c :1]");
    client.check("hello 3", &refused("hello"));
    client.check("quit", "+OK");
    assert!(client.is_closed());
    let mut other = resp3(&server);
    other.check("subscribe c", ">[subscribe c :1]");
    other.check("ping hi", "hi");
    other.check("set k v", "+OK");
    other.check("publish c own", ":1");
    other.expect(">[message c own]");
}

#[test]
fn subscriptions_are_told() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (resp3(&server), server.connect());
    let id = one.run("client id").integer();
    one.check("subscribe a b", ">[subscribe a :1]");
    one.expect(">[subscribe b :2]");
    one.check("psubscribe p*", ">[psubscribe p* :3]");
    one.check("ssubscribe s", ">[ssubscribe s :1]");
    let list = two.run("client list").text();
    let fields = ["flags", "sub", "psub", "ssub"].map(|name| field(&list, id, name));
    assert_eq!(fields, ["P", "2", "1", "1"]);
    let pubsub = two.run("client list type pubsub").text();
    assert!(pubsub.lines().count() == 1 && pubsub.starts_with(&format!("id={id} ")));
    let normal = two.run("client list type normal").text();
    assert!(normal.lines().count() == 1 && !normal.contains(&format!("id={id} ")));
    let info = two.run("info stats").text();
    for field in ["channels:2", "_patterns:1", "shard_channels:1"] {
        assert!(info.contains(&format!("{field}\r\n")), "{field}: {info}");
    }
    two.check("pubsub numsub a b c", "[a :1 b :1 c :0]");
    two.check("pubsub numsub", "[]");
    two.check("pubsub numpat", ":1");
    two.check("pubsub channels a*", "[a]");
    let wrong = "-ERR unknown subcommand or wrong number of arguments for 'channels'. Try PUBSUB \
                 HELP.";
    two.check("pubsub channels a b", wrong);
    two.check("pubsub x", "-ERR unknown subcommand 'x'. Try PUBSUB HELP.");
    two.check("client kill type pubsub", ":1");
    assert!(one.is_closed());
    let mut list = two.run("pubsub channels");
    while show(&list) != "[]" {
        list = two.run("pubsub channels");
    }
}

#[test]
fn a_pipeline_reads_its_replies_in_order() {
    let server = Running::start(&[]);
    let mut client = resp3(&server);
    let requests: [&[&[u8]]; 6] = [
        &[b"SET", b"k", b"v"],
        &[b"SUBSCRIBE", b"c"],
        &[b"GET", b"k"],
        &[b"PUBLISH", b"c", b"m"],
        &[b"UNSUBSCRIBE", b"c"],
        &[b"PING"],
    ];
    client.send_raw(&requests.map(encode).concat());
    for expected in [
        "+OK",
        ">[subscribe c :1]",
        "v",
        ":1",
        ">[message c m]",
        ">[unsubscribe c :0]",
        "+PONG",
    ] {
        client.expect(expected);
    }
}

#[test]
fn silence_keeps_no_message_back() {
    let server = Running::start(&[]);
    let (mut client, mut publisher) = (resp3(&server), server.connect());
    client.send(&["client", "reply", "off"]);
    client.send(&["ping"]);
    client.check("subscribe c", ">[subscribe c :1]");
    publisher.check("publish c m", ":1");
    client.expect(">[message c m]");
    client.send(&["unsubscribe"]);
    client.expect(">[unsubscribe c :0]");
    client.check("client reply on", "+OK");
    client.send(&["client", "reply", "skip"]);
    client.check("psubscribe *", ">[psubscribe * :1]");
    client.check("ping", "+PONG");
}

#[test]
fn every_publisher_is_heard_in_order() {
    const MESSAGES: usize = 2_000;
    let server = Running::start(&[]);
    let mut listeners: Vec<_> = (0..3).map(|_| resp3(&server)).collect();
    for (index, listener) in listeners.iter_mut().enumerate() {
        let request = if index == 0 {
            "psubscribe c*"
        } else {
            "subscribe c"
        };
        listener.run(request);
    }
    let publishers: Vec<_> = (0..2)
        .map(|publisher| {
            let mut client = server.connect();
            std::thread::spawn(move || {
                let requests = (0..MESSAGES).map(|number| {
                    let text = format!("{publisher}:{number}");
                    encode(&[b"PUBLISH", b"c", text.as_bytes()])
                });
                client.send_raw(&requests.collect::<Vec<_>>().concat());
                for _ in 0..MESSAGES {
                    client.expect(":3");
                }
            })
        })
        .collect();
    let heard: Vec<Vec<String>> = listeners
        .iter_mut()
        .map(|listener| {
            let mut next = [0; 2];
            let message = |_| {
                let shown = show(&listener.read());
                let text = shown.rsplit(' ').next().unwrap().trim_end_matches(']');
                let (publisher, number) = text.split_once(':').unwrap();
                let publisher: usize = publisher.parse().unwrap();
                assert_eq!(number.parse(), Ok(next[publisher]));
                next[publisher] += 1;
                text.to_owned()
            };
            (0..2 * MESSAGES).map(message).collect()
        })
        .collect();
    for publisher in publishers {
        publisher.join().unwrap();
    }
    // by name all hear the two publishers in one order
    assert_eq!(heard[1], heard[2]);
}

#[test]
fn large_messages_arrive_whole() {
    let server = Running::start(&[]);
    let (mut one, mut two) = (resp3(&server), server.connect());
    one.run("subscribe c");
    two.run("subscribe c");
    let mut publisher = server.connect();
    for length in [1, 20_000, 3_000_000] {
        let payload = "x".repeat(length);
        publisher.check(&format!("publish c {payload}"), ":2");
        assert_eq!(show(&one.read()), format!(">[message c {payload}]"));
        assert_eq!(show(&two.read()), format!("[message c {payload}]"));
    }
}

#[test]
fn a_subscriber_that_reads_nothing_is_dropped() {
    let limit = ("client-output-buffer-limit", "pubsub 1mb 0 0");
    let server = Running::start(&[limit]);
    let (mut slow, mut publisher) = (server.connect(), server.connect());
    slow.run("subscribe c");
    let payload = "x".repeat(100_000);
    let request = encode(&[b"PUBLISH", b"c", payload.as_bytes()]);
    // the socket's buffers take some megabytes before anything waits
    let mut count = 0;
    while count < 1_000 {
        publisher.send_raw(&request);
        if publisher.read().integer() == 0 {
            break;
        }
        count += 1;
    }
    assert!(count < 1_000, "nobody listens any more");
    let info = publisher.run("info stats").text();
    assert!(
        info.contains("client_output_buffer_limit_disconnections:1\r\n"),
        "{info}"
    );
    let rest = slow.read_to_end();
    assert!(rest.len() < 100_000 * count, "the last messages are lost");
}
