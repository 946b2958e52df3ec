//! Commands about the server: what it tells, and how it ends.

use crate::harness::{Reply, Running, encode, show};

/// A field of INFO's text.
pub(crate) fn field(info: &str, name: &str) -> String {
    let prefix = format!("{name}:");
    let line = info.lines().find_map(|line| line.strip_prefix(&prefix));
    line.unwrap_or_else(|| panic!("no {name} in {info}"))
        .to_owned()
}

#[test]
fn info_has_its_sections_and_fields() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.run("set k v");
    client.run("get k");
    client.run("get other");
    client.run("get");
    client.run("foo");
    let info = client.run("info").text();
    for name in [
        "redis_version",
        "redis_mode",
        "tcp_port",
        "uptime_in_seconds",
        "connected_clients",
        "used_memory",
        "used_memory_human",
        "used_memory_index",
        "maxmemory",
        "loading",
        "rdb_last_save_time",
        "aof_enabled",
        "lsn_durable",
        "device_reads",
        "cache_hits",
        "total_commands_processed",
        "instantaneous_ops_per_sec",
        "expired_keys",
        "evicted_keys",
        "role",
        "connected_slaves",
        "used_cpu_sys",
        "cluster_enabled",
    ] {
        field(&info, name);
    }
    assert_eq!(field(&info, "connected_clients"), "1");
    assert_eq!(field(&info, "keyspace_hits"), "1");
    assert_eq!(field(&info, "keyspace_misses"), "1");
    assert_eq!(field(&info, "total_error_replies"), "2");
    assert_eq!(field(&info, "errorstat_ERR"), "count=2");
    assert_eq!(field(&info, "db0"), "keys=1,expires=0,avg_ttl=0");
    assert!(!info.contains("cmdstat_"));
    let info = client.run("info commandstats latencystats").text();
    assert!(field(&info, "cmdstat_get").starts_with("calls=2,usec="));
    assert!(field(&info, "cmdstat_get").ends_with("rejected_calls=1,failed_calls=0"));
    field(&info, "latency_percentiles_usec_set");
    assert!(!info.contains("# Server"));
    client.check("info nothing", "");
    client.check("config resetstat", "+OK");
    let info = client.run("info everything").text();
    assert_eq!(field(&info, "keyspace_hits"), "0");
    assert!(info.contains("# Modules") && !info.contains("errorstat_"));
}

#[test]
fn command_tells_the_table() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let count = client.run("command count").integer();
    assert_eq!(
        client.run("command").items().len(),
        count.unsigned_abs() as usize
    );
    let expected = "[[get :2 [+readonly +fast] :1 :1 :1 [+@read +@string +@fast] [] [[flags [+RO \
                    +access] begin_search [type index spec [index :1]] find_keys [type range spec \
                    [lastkey :0 keystep :1 limit :0]]]] []] nil]";
    client.check("command info get nothing", expected);
    client.check("command getkeys mset a 1 b 2", "[a b]");
    client.check(
        "command getkeys ping",
        "-ERR The command has no key arguments",
    );
    client.check("command getkeys eval return 0 a", "[]");
    client.check("module list", "[]");
    client.check("command getkeys foo", "-ERR Invalid command specified");
    client.check("command getkeysandflags get k", "[[k [+RO +access]]]");
    client.check("command list filterby pattern pin*", "[ping]");
    client.check("command list filterby x y", "-ERR syntax error");
    let docs = client.run("command docs get");
    assert_eq!(docs.items()[0].text(), "get");
    let lines = client.run("config help");
    assert!(
        lines
            .items()
            .iter()
            .any(|line| line.text() == "GET parameter [parameter ...]")
    );
}

#[test]
fn slow_commands_are_kept() {
    let server = Running::start(&[("slowlog-log-slower-than", "0"), ("slowlog-max-len", "3")]);
    let mut client = server.connect();
    for index in 0..5 {
        client.run(&format!("echo {index}"));
    }
    client.check("slowlog len", ":3");
    let entries = client.run("slowlog get 1");
    let entry = entries.items()[0].items().to_vec();
    assert_eq!(entry.len(), 6);
    assert_eq!(show(&entry[3]), "[slowlog len]");
    client.check("config set slowlog-log-slower-than -1", "+OK");
    client.check("slowlog reset", "+OK");
    client.check("slowlog get", "[]");
    client.check(
        "slowlog get x",
        "-ERR count should be greater than or equal to -1",
    );
}

#[test]
fn latency_is_recorded_on_request() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.run("debug sleep 0.02");
    client.check("latency latest", "[]");
    client.check("config set latency-monitor-threshold 10", "+OK");
    client.run("debug sleep 0.02");
    let latest = client.run("latency latest");
    assert_eq!(latest.items()[0].items()[0].text(), "command");
    assert_eq!(client.run("latency history command").items().len(), 1);
    assert!(
        client
            .run("latency graph command")
            .text()
            .contains("command - high")
    );
    assert!(
        client
            .run("latency doctor")
            .text()
            .contains("command: 1 slow seconds")
    );
    client.check("latency reset", ":1");
    client.check(
        "latency graph command",
        "-ERR No samples available for event 'command'",
    );
    let histogram = client.run("latency histogram debug");
    assert_eq!(histogram.items()[0].text(), "debug");
}

#[test]
fn saving_is_a_round_of_durability() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.run("set k v");
    client.check("save", "+OK");
    let info = client.run("info persistence").text();
    assert_eq!(field(&info, "lsn_durable"), field(&info, "lsn_published"));
    client.check("bgsave", "+Background saving started");
    client.check("bgsave x", "-ERR syntax error");
    client.check(
        "bgrewriteaof",
        "+Background append only file rewriting started",
    );
    assert!(client.run("lastsave").integer() > 0);
}

#[test]
fn replies_wait_for_durability_when_asked() {
    let server = Running::start(&[("appendfsync", "always")]);
    let mut client = server.connect();
    let rounds_before = field(&client.run("info persistence").text(), "sync_rounds");
    let count = 3000;
    let mut requests = Vec::new();
    for index in 0..count {
        requests.extend(encode(&[b"SET", format!("k{index}").as_bytes(), b"v"]));
    }
    let sender = client.send_beside(requests);
    for _ in 0..count {
        assert_eq!(show(&client.read()), "+OK");
    }
    sender.join().unwrap();
    let info = client.run("info persistence").text();
    assert_eq!(field(&info, "lsn_at_risk"), "0");
    let rounds = |text: &str| text.parse::<u64>().unwrap();
    let taken = rounds(&field(&info, "sync_rounds")) - rounds(&rounds_before);
    assert!(
        (1..count / 8).contains(&taken),
        "{taken} rounds for {count} writes"
    );
    client.check("config set appendfsync everysec", "+OK");
    client.check("set k v", "+OK");
    client.check("waitaof 1 0 0", "[:1 :0]");
}

#[test]
fn memory_is_told() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.run("set k value");
    assert!(client.run("memory usage k").integer() > 5);
    client.check("memory usage nothing", "nil");
    client.check(
        "memory usage k samples x",
        "-ERR value is not an integer or out of range",
    );
    assert!(client.run("memory stats").items().len() > 20);
    assert!(client.run("memory doctor").text().ends_with('\n'));
    client.check("memory purge", "+OK");
}

#[test]
fn time_and_roles() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    assert_eq!(client.run("time").items().len(), 2);
    let role = client.run("role");
    assert_eq!(role.items()[0].text(), "master");
    client.check("replicaof no one", "+OK");
    client.check("replicaof host 1", "-ERR replication is not available");
    client.check("acl whoami", "default");
    assert!(
        client
            .run("acl cat")
            .items()
            .contains(&Reply::Bulk(b"string".to_vec()))
    );
    client.check("acl cat x", "-ERR Unknown category 'x'");
}

#[test]
fn shutdown_ends_the_server() {
    for option in ["", "nosave", "save now", "force"] {
        let server = Running::start(&[]);
        let mut client = server.connect();
        let mut other = server.connect();
        other.check("set k v", "+OK");
        client.check("shutdown abort", "-ERR No shutdown in progress.");
        client.check("shutdown save nosave", "-ERR syntax error");
        client.send(
            &[
                &["shutdown"],
                option.split_whitespace().collect::<Vec<_>>().as_slice(),
            ]
            .concat(),
        );
        assert!(client.is_closed());
        assert!(other.is_closed());
        assert!(server.wait_end(), "{option}");
    }
}
