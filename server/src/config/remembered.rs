//! Redis's parameters that mean nothing here but that clients and Redis's own tests set.
//!
//! Owns their names, kinds and first values. Must never have an effect beyond CONFIG GET and what
//! the [thresholds](super::thresholds) say.

use super::value::parse_size;

/// What a parameter's value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `yes` or `no`.
    Switch,
    /// A whole number.
    Integer,
    /// A whole number from 0 on.
    Count,
    /// A number of bytes.
    Size,
    /// A number of bytes, or a share of something in percent.
    Share,
    /// Anything.
    Text,
    /// What Redis takes at the start only, too.
    Fixed,
}

/// One remembered parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What its value looks like.
    pub kind: Kind,
    /// Its value at start.
    pub default: &'static str,
    /// Its older name, where it has one.
    pub alias: Option<&'static str>,
    /// Whether patterns pass it over.
    pub is_hidden: bool,
}

impl Parameter {
    /// The value to remember for a text, or what is wrong with it.
    pub fn normalize(&self, text: &str) -> Result<String, String> {
        match self.kind {
            Kind::Switch if text.eq_ignore_ascii_case("yes") => Ok("yes".into()),
            Kind::Switch if text.eq_ignore_ascii_case("no") => Ok("no".into()),
            Kind::Switch => Err("argument must be 'yes' or 'no'".into()),
            Kind::Integer => text
                .parse::<i64>()
                .map(|value| value.to_string())
                .map_err(|_| "argument couldn't be parsed into an integer".into()),
            Kind::Count => match text.parse::<i64>() {
                Ok(value) if value >= 0 => Ok(value.to_string()),
                Ok(_) => {
                    let max = i64::MAX;
                    Err(format!("argument must be between 0 and {max} inclusive"))
                }
                Err(_) => Err("argument couldn't be parsed into an integer".into()),
            },
            Kind::Size => parse_size(text)
                .map(|bytes| bytes.to_string())
                .ok_or_else(|| "argument must be a memory value".into()),
            Kind::Share => match text.strip_suffix('%').map(str::parse::<u64>) {
                Some(Ok(0..=100)) => Ok(text.to_owned()),
                Some(Ok(_)) => Err("percentage argument must be less or equal to 100".into()),
                Some(Err(_)) => Err("argument must be a memory or percent value".into()),
                None => parse_size(text)
                    .map(|bytes| bytes.to_string())
                    .ok_or_else(|| "argument must be a memory or percent value".into()),
            },
            Kind::Text => Ok(text.to_owned()),
            Kind::Fixed => Err("can't set immutable config".into()),
        }
    }
}

const fn parameter(name: &'static str, kind: Kind, default: &'static str) -> Parameter {
    Parameter {
        name,
        kind,
        default,
        alias: None,
        is_hidden: false,
    }
}

const fn switch(name: &'static str, default: &'static str) -> Parameter {
    parameter(name, Kind::Switch, default)
}

const fn integer(name: &'static str, default: &'static str) -> Parameter {
    parameter(name, Kind::Integer, default)
}

const fn count(name: &'static str, default: &'static str) -> Parameter {
    parameter(name, Kind::Count, default)
}

const fn size(name: &'static str, default: &'static str) -> Parameter {
    parameter(name, Kind::Size, default)
}

const fn text(name: &'static str, default: &'static str) -> Parameter {
    parameter(name, Kind::Text, default)
}

const fn fixed(name: &'static str, default: &'static str) -> Parameter {
    parameter(name, Kind::Fixed, default)
}

/// One that CONFIG GET shows only by its whole name.
const fn hidden(parameter: Parameter) -> Parameter {
    Parameter {
        is_hidden: true,
        ..parameter
    }
}

const fn renamed(parameter: Parameter, alias: &'static str) -> Parameter {
    Parameter {
        alias: Some(alias),
        ..parameter
    }
}

/// All of them, by name.
pub const PARAMETERS: &[Parameter] = &[
    text("acl-pubsub-default", "resetchannels"),
    fixed("aclfile", ""),
    count("acllog-max-len", "128"),
    integer("active-defrag-cycle-max", "25"),
    integer("active-defrag-cycle-min", "1"),
    size("active-defrag-ignore-bytes", "104857600"),
    integer("active-defrag-max-scan-fields", "1000"),
    integer("active-defrag-threshold-lower", "10"),
    integer("active-defrag-threshold-upper", "100"),
    integer("active-expire-effort", "1"),
    switch("activedefrag", "no"),
    switch("activerehashing", "yes"),
    fixed("always-show-logo", "no"),
    switch("aof-disable-auto-gc", "no"),
    switch("aof-load-truncated", "yes"),
    switch("aof-rewrite-incremental-fsync", "yes"),
    switch("aof-timestamp-enabled", "no"),
    switch("aof-use-rdb-preamble", "yes"),
    fixed("aof_rewrite_cpulist", ""),
    text("appenddirname", "appendonlydir"),
    text("appendfilename", "appendonly.aof"),
    switch("appendonly", "yes"),
    size("auto-aof-rewrite-min-size", "67108864"),
    integer("auto-aof-rewrite-percentage", "100"),
    fixed("bgsave_cpulist", ""),
    text("bind-source-addr", ""),
    fixed("bio_cpulist", ""),
    renamed(count("busy-reply-threshold", "5000"), "lua-time-limit"),
    fixed("cluster-enabled", "no"),
    switch("crash-log-enabled", "yes"),
    switch("crash-memcheck-enabled", "yes"),
    fixed("daemonize", "no"),
    text("dbfilename", "dump.rdb"),
    fixed("disable-thp", "yes"),
    switch("dynamic-hz", "yes"),
    fixed("enable-module-command", "no"),
    fixed("enable-protected-configs", "no"),
    renamed(
        count("hash-max-listpack-entries", "128"),
        "hash-max-ziplist-entries",
    ),
    renamed(
        size("hash-max-listpack-value", "64"),
        "hash-max-ziplist-value",
    ),
    size("hll-sparse-max-bytes", "3000"),
    integer("hz", "10"),
    text("ignore-warnings", ""),
    fixed("io-threads", "1"),
    fixed("io-threads-do-reads", "no"),
    switch("jemalloc-bg-thread", "yes"),
    hidden(integer("key-load-delay", "0")),
    switch("latency-tracking", "yes"),
    text("latency-tracking-info-percentiles", "50 99 99.9"),
    switch("lazyfree-lazy-eviction", "no"),
    switch("lazyfree-lazy-expire", "no"),
    switch("lazyfree-lazy-server-del", "no"),
    switch("lazyfree-lazy-user-del", "no"),
    switch("lazyfree-lazy-user-flush", "no"),
    integer("lfu-decay-time", "1"),
    integer("lfu-log-factor", "10"),
    integer("list-compress-depth", "0"),
    renamed(
        integer("list-max-listpack-size", "-2"),
        "list-max-ziplist-size",
    ),
    parameter("maxmemory-clients", Kind::Share, "0"),
    integer("maxmemory-eviction-tenacity", "10"),
    integer("maxmemory-samples", "5"),
    renamed(integer("min-replicas-max-lag", "10"), "min-slaves-max-lag"),
    renamed(integer("min-replicas-to-write", "0"), "min-slaves-to-write"),
    switch("no-appendfsync-on-rewrite", "no"),
    integer("oom-score-adj", "0"),
    text("oom-score-adj-values", "0 200 800"),
    fixed("pidfile", ""),
    text("proc-title-template", "{title} {listen-addr} {server-mode}"),
    text("propagation-error-behavior", "ignore"),
    switch("rdb-del-sync-files", "no"),
    hidden(integer("rdb-key-save-delay", "0")),
    switch("rdb-save-incremental-fsync", "yes"),
    switch("rdbchecksum", "yes"),
    switch("rdbcompression", "yes"),
    size("repl-backlog-size", "1048576"),
    integer("repl-backlog-ttl", "3600"),
    switch("repl-disable-tcp-nodelay", "no"),
    text("repl-diskless-load", "disabled"),
    switch("repl-diskless-sync", "yes"),
    integer("repl-diskless-sync-delay", "5"),
    count("repl-diskless-sync-max-replicas", "0"),
    renamed(
        integer("repl-ping-replica-period", "10"),
        "repl-ping-slave-period",
    ),
    integer("repl-timeout", "60"),
    renamed(text("replica-announce-ip", ""), "slave-announce-ip"),
    renamed(count("replica-announce-port", "0"), "slave-announce-port"),
    switch("replica-announced", "yes"),
    switch("replica-ignore-disk-write-errors", "no"),
    renamed(
        switch("replica-ignore-maxmemory", "yes"),
        "slave-ignore-maxmemory",
    ),
    renamed(switch("replica-lazy-flush", "no"), "slave-lazy-flush"),
    renamed(integer("replica-priority", "100"), "slave-priority"),
    renamed(switch("replica-read-only", "yes"), "slave-read-only"),
    renamed(
        switch("replica-serve-stale-data", "yes"),
        "slave-serve-stale-data",
    ),
    renamed(fixed("replicaof", ""), "slaveof"),
    text("sanitize-dump-payload", "no"),
    text("save", ""),
    text("server_cpulist", ""),
    count("set-max-intset-entries", "512"),
    count("set-max-listpack-entries", "128"),
    size("set-max-listpack-value", "64"),
    fixed("set-proc-title", "yes"),
    text("shutdown-on-sigint", "default"),
    text("shutdown-on-sigterm", "default"),
    integer("shutdown-timeout", "10"),
    fixed("socket-mark-id", "0"),
    switch("stop-writes-on-bgsave-error", "yes"),
    size("stream-node-max-bytes", "4096"),
    count("stream-node-max-entries", "100"),
    fixed("supervised", "no"),
    fixed("syslog-enabled", "no"),
    fixed("syslog-facility", "local0"),
    fixed("syslog-ident", "redis"),
    renamed(
        count("zset-max-listpack-entries", "128"),
        "zset-max-ziplist-entries",
    ),
    renamed(
        size("zset-max-listpack-value", "64"),
        "zset-max-ziplist-value",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::OPTIONS;

    #[test]
    fn values_are_checked_by_their_kinds() {
        let check = |kind, text: &str, expected: Result<&str, &str>| {
            let found = parameter("p", kind, "").normalize(text);
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(found, expected, "{kind:?} {text}");
        };
        check(Kind::Share, "5%", Ok("5%"));
        check(Kind::Share, "1kb", Ok("1024"));
        let text = "percentage argument must be less or equal to 100";
        check(Kind::Share, "200%", Err(text));
        check(Kind::Fixed, "yes", Err("can't set immutable config"));
        check(Kind::Switch, "YES", Ok("yes"));
    }

    #[test]
    fn names_are_unique_and_defaults_are_values() {
        let mut names: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
        names.extend(PARAMETERS.iter().filter_map(|parameter| parameter.alias));
        names.extend(OPTIONS.iter().map(|option| option.name));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for parameter in PARAMETERS.iter().filter(|one| one.kind != Kind::Fixed) {
            assert_eq!(
                parameter.normalize(parameter.default).unwrap(),
                parameter.default
            );
        }
    }
}
