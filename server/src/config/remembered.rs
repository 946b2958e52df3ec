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
    /// Anything.
    Text,
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
            Kind::Text => Ok(text.to_owned()),
        }
    }
}

const fn switch(name: &'static str, default: &'static str) -> Parameter {
    Parameter {
        name,
        kind: Kind::Switch,
        default,
        alias: None,
    }
}

const fn integer(name: &'static str, default: &'static str) -> Parameter {
    Parameter {
        name,
        kind: Kind::Integer,
        default,
        alias: None,
    }
}

const fn count(name: &'static str, default: &'static str) -> Parameter {
    Parameter {
        name,
        kind: Kind::Count,
        default,
        alias: None,
    }
}

const fn size(name: &'static str, default: &'static str) -> Parameter {
    Parameter {
        name,
        kind: Kind::Size,
        default,
        alias: None,
    }
}

const fn text(name: &'static str, default: &'static str) -> Parameter {
    Parameter {
        name,
        kind: Kind::Text,
        default,
        alias: None,
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
    integer("active-defrag-cycle-max", "25"),
    integer("active-defrag-cycle-min", "1"),
    size("active-defrag-ignore-bytes", "104857600"),
    integer("active-defrag-max-scan-fields", "1000"),
    integer("active-defrag-threshold-lower", "10"),
    integer("active-defrag-threshold-upper", "100"),
    integer("active-expire-effort", "1"),
    switch("activedefrag", "no"),
    switch("activerehashing", "yes"),
    switch("aof-load-truncated", "yes"),
    switch("aof-rewrite-incremental-fsync", "yes"),
    switch("aof-timestamp-enabled", "no"),
    switch("aof-use-rdb-preamble", "yes"),
    text("appenddirname", "appendonlydir"),
    text("appendfilename", "appendonly.aof"),
    switch("appendonly", "yes"),
    integer("auto-aof-rewrite-percentage", "100"),
    size("auto-aof-rewrite-min-size", "67108864"),
    renamed(count("busy-reply-threshold", "5000"), "lua-time-limit"),
    switch("crash-log-enabled", "yes"),
    switch("crash-memcheck-enabled", "yes"),
    text("dbfilename", "dump.rdb"),
    switch("dynamic-hz", "yes"),
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
    switch("jemalloc-bg-thread", "yes"),
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
    size("maxmemory-clients", "0"),
    integer("maxmemory-eviction-tenacity", "10"),
    integer("maxmemory-samples", "5"),
    renamed(integer("min-replicas-max-lag", "10"), "min-slaves-max-lag"),
    renamed(integer("min-replicas-to-write", "0"), "min-slaves-to-write"),
    switch("no-appendfsync-on-rewrite", "no"),
    integer("oom-score-adj", "0"),
    switch("rdb-del-sync-files", "no"),
    switch("rdb-save-incremental-fsync", "yes"),
    switch("rdbchecksum", "yes"),
    switch("rdbcompression", "yes"),
    size("repl-backlog-size", "1048576"),
    integer("repl-backlog-ttl", "3600"),
    switch("repl-disable-tcp-nodelay", "no"),
    switch("repl-diskless-sync", "yes"),
    integer("repl-diskless-sync-delay", "5"),
    integer("repl-ping-replica-period", "10"),
    integer("repl-timeout", "60"),
    renamed(integer("replica-priority", "100"), "slave-priority"),
    renamed(switch("replica-read-only", "yes"), "slave-read-only"),
    renamed(
        switch("replica-serve-stale-data", "yes"),
        "slave-serve-stale-data",
    ),
    text("save", ""),
    text("server_cpulist", ""),
    count("set-max-intset-entries", "512"),
    count("set-max-listpack-entries", "128"),
    size("set-max-listpack-value", "64"),
    integer("shutdown-timeout", "10"),
    switch("stop-writes-on-bgsave-error", "yes"),
    size("stream-node-max-bytes", "4096"),
    count("stream-node-max-entries", "100"),
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
    fn names_are_unique_and_defaults_are_values() {
        let mut names: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
        names.extend(PARAMETERS.iter().filter_map(|parameter| parameter.alias));
        names.extend(OPTIONS.iter().map(|option| option.name));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for parameter in PARAMETERS {
            assert_eq!(
                parameter.normalize(parameter.default).unwrap(),
                parameter.default
            );
        }
    }
}
