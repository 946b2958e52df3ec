//! CONFIG.

use cellar_server::config::{Loaded, OPTIONS, remembered};

use crate::harness::{Running, show};

#[test]
fn every_parameter_is_told_and_takes_its_own_value() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let pairs = client.run("config get *");
    let shown = remembered::PARAMETERS
        .iter()
        .filter(|parameter| !parameter.is_hidden);
    let names = shown.flat_map(|parameter| [Some(parameter.name), parameter.alias]);
    let count = OPTIONS.len() + names.flatten().count();
    assert_eq!(pairs.items().len(), count * 2);
    client.check("config get key-load-delay", "[key-load-delay 0]");
    for pair in pairs.items().chunks(2) {
        let (name, value) = (pair[0].text(), pair[1].text());
        let reply = show(&client.call(&["config", "set", &name, &value]));
        let is_fixed = reply.ends_with("can't set immutable config");
        assert!(reply == "+OK" || is_fixed, "{name} {value}: {reply}");
    }
}

#[test]
fn changes_are_all_or_nothing() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    let failed = |name: &str, text: &str| {
        format!("-ERR CONFIG SET failed (possibly related to argument '{name}') - {text}")
    };
    client.check(
        "config set timeout 5 maxclients x",
        &failed("maxclients", "argument couldn't be parsed into an integer"),
    );
    client.check("config get timeout", "[timeout 0]");
    client.check("config set timeout 5 maxclients 77", "+OK");
    client.check("config get timeout maxcl*", "[timeout 5 maxclients 77]");
    client.check(
        "config set timeout 5 timeout 6",
        &failed("timeout", "duplicate parameter"),
    );
    client.check(
        "config set port 1",
        &failed("port", "can't set immutable config"),
    );
    client.check("config set databases 16", "+OK");
    client.check(
        "config set timeout",
        "-ERR wrong number of arguments for 'config|set' command",
    );
    client.check(
        "config set timeout 1 x",
        "-ERR wrong number of arguments for 'config|set' command",
    );
    let unknown = "-ERR Unknown option or number of arguments for CONFIG SET - 'foo'";
    client.check("config set foo 1", unknown);
    client.check(
        "config set maxmemory-policy lru",
        &failed(
            "maxmemory-policy",
            "argument(s) must be one of the following: volatile-lru, volatile-lfu, \
             volatile-random, volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction",
        ),
    );
    client.check("config set maxmemory 1mb", "+OK");
    client.check(
        "set k v",
        "-OOM command not allowed when used memory > 'maxmemory'.",
    );
    client.check("config set maxmemory 1gb", "+OK");
    client.check("set k v", "+OK");
    client.check("config get maxmemory", "[maxmemory 1073741824]");
    client.check("config set save abc hz 5", "+OK");
    client.check("config get save hz", "[hz 5 save abc]");
    client.check("config set list-max-ziplist-size 7", "+OK");
    client.check(
        "config get list-max-listpack-size",
        "[list-max-listpack-size 7]",
    );
    client.check(
        "config rewrite",
        "-ERR The server is running without a config file",
    );
}

#[test]
fn a_new_password_counts_for_new_connections() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.check("config set requirepass secret", "+OK");
    client.check("ping", "+PONG");
    server
        .connect()
        .check("ping", "-NOAUTH Authentication required.");
}

#[test]
fn the_file_is_rewritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cellar.toml");
    std::fs::write(
        &path,
        "# mine\n[limits]\n# roomy\nproto-max-bulk-len = \"2mb\"\n",
    )
    .unwrap();
    let mut loaded = Loaded::default();
    loaded.read_file(&path).unwrap();
    let server = Running::start_loaded(loaded, &[]);
    let mut client = server.connect();
    client.check(
        "config get proto-max-bulk-len",
        "[proto-max-bulk-len 2097152]",
    );
    client.check("config set proto-max-bulk-len 3mb timeout 9", "+OK");
    client.check("config rewrite", "+OK");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with("# mine\n[limits]\n# roomy\nproto-max-bulk-len = \"3mb\"\n"),
        "{text}"
    );
    assert!(text.contains("[network]\ntimeout = 9\n"), "{text}");
    let mut again = Loaded::default();
    again.read_file(&path).unwrap();
    assert_eq!(again.config.network.timeout.get(), 9);
}
