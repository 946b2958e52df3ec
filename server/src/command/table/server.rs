//! Rows of the commands about the server.

use crate::command::Flag::{
    Admin, AllowBusy, Blocking, Fast, Loading, NoMulti, Noscript, Readonly, Stale, Write,
};
use crate::command::{Acl, CommandSpec, Group, Handler, KeyAccess, KeySpec};
use crate::commands::{
    acl, cellar, command, config, debug, help, info, latency, memory, module, monitor, server,
    slowlog, wait,
};

const GROUP: Group = Group::Server;

pub(super) const ROWS: &[CommandSpec] = &[
    CommandSpec::container("acl", GROUP, ACL)
        .flags(&[], &[])
        .doc("6.0.0", "Commands about users.", "Depends on subcommand."),
    CommandSpec::new("bgrewriteaof", 1, GROUP, Handler::Now(server::bgrewriteaof))
        .flags(&[Admin, Noscript], &[])
        .doc(
            "1.0.0",
            "Starts a round of durability: the log needs no rewriting.",
            "O(1)",
        ),
    CommandSpec::new("bgsave", -1, GROUP, Handler::Now(server::bgsave))
        .flags(&[Admin, Noscript], &[])
        .syntax("[SCHEDULE]")
        .doc("1.0.0", "Starts a round of durability.", "O(1)"),
    CommandSpec::container("cellar", GROUP, CELLAR).doc(
        "7.2.0",
        "Commands about the store beneath the keys.",
        "Depends on subcommand.",
    ),
    CommandSpec::new("command", -1, GROUP, Handler::Now(command::all))
        .flags(&[Loading, Stale], &[Acl::Connection])
        .doc("2.8.13", "Describes all commands.", "O(N) commands")
        .tips(&["nondeterministic_output_order"])
        .subcommands(COMMAND),
    CommandSpec::container("config", GROUP, CONFIG).doc(
        "2.0.0",
        "Commands about the configuration.",
        "Depends on subcommand.",
    ),
    CommandSpec::new("dbsize", 1, GROUP, Handler::Now(server::dbsize))
        .flags(&[Readonly, Fast], &[Acl::Keyspace])
        .doc("1.0.0", "Counts the keys of the database.", "O(1)")
        .tips(&["request_policy:all_shards", "response_policy:agg_sum"]),
    CommandSpec::new("debug", -2, GROUP, Handler::Wait(debug::debug))
        .flags(&[Admin, Noscript, Stale], &[])
        .syntax("subcommand [argument ...]")
        .doc("1.0.0", "What tests drive.", "Depends on subcommand."),
    CommandSpec::new("flushall", -1, GROUP, Handler::Wait(server::flushall))
        .flags(&[Write], &[Acl::Keyspace, Acl::Dangerous])
        .syntax("[ASYNC | SYNC]")
        .doc("1.0.0", "Empties all databases.", "O(1)")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"]),
    CommandSpec::new("flushdb", -1, GROUP, Handler::Wait(server::flushdb))
        .flags(&[Write], &[Acl::Keyspace, Acl::Dangerous])
        .syntax("[ASYNC | SYNC]")
        .doc("1.0.0", "Empties the database.", "O(1)")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"]),
    CommandSpec::new("info", -1, GROUP, Handler::Now(info::info))
        .flags(&[Loading, Stale], &[Acl::Dangerous])
        .syntax("[section [section ...]]")
        .doc(
            "1.0.0",
            "Tells about the server.",
            "O(N) connections and commands",
        )
        .tips(&["nondeterministic_output"]),
    CommandSpec::new("lastsave", 1, GROUP, Handler::Now(server::lastsave))
        .flags(&[Loading, Stale, Fast], &[Acl::Admin, Acl::Dangerous])
        .doc(
            "1.0.0",
            "Tells when the last round of durability ended.",
            "O(1)",
        )
        .tips(&["nondeterministic_output"]),
    CommandSpec::container("latency", GROUP, LATENCY).doc(
        "2.8.13",
        "Commands about latency.",
        "Depends on subcommand.",
    ),
    CommandSpec::new("lolwut", -1, GROUP, Handler::Now(server::lolwut))
        .flags(&[Readonly, Fast], &[])
        .syntax("[VERSION version]")
        .doc("5.0.0", "Tells the versions.", "O(1)"),
    CommandSpec::container("memory", GROUP, MEMORY).doc(
        "4.0.0",
        "Commands about memory.",
        "Depends on subcommand.",
    ),
    CommandSpec::container("module", GROUP, MODULE).doc(
        "4.0.0",
        "Commands about modules.",
        "Depends on subcommand.",
    ),
    CommandSpec::new("monitor", 1, GROUP, Handler::Now(monitor::monitor))
        .flags(&[Admin, Noscript, Loading, Stale], &[])
        .doc("1.0.0", "Shows every command that runs.", "O(1)"),
    CommandSpec::new("replicaof", 3, GROUP, Handler::Now(server::replicaof))
        .flags(&[Admin, Noscript, Stale], &[])
        .syntax("NO ONE")
        .doc("5.0.0", "Makes the server a primary, which it is.", "O(1)"),
    CommandSpec::new("role", 1, GROUP, Handler::Now(server::role))
        .flags(
            &[Noscript, Loading, Stale, Fast],
            &[Acl::Admin, Acl::Dangerous],
        )
        .doc("2.8.12", "Tells the replication role.", "O(1)"),
    CommandSpec::new("save", 1, GROUP, Handler::Wait(server::save))
        .flags(&[Admin, Noscript, NoMulti], &[])
        .doc("1.0.0", "Makes everything durable.", "O(1)"),
    CommandSpec::new("shutdown", -1, GROUP, Handler::Wait(server::shutdown))
        .flags(&[Admin, Noscript, Loading, Stale, NoMulti, AllowBusy], &[])
        .syntax("[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]")
        .doc("1.0.0", "Stops the server.", "O(N) connections"),
    CommandSpec::new("slaveof", 3, GROUP, Handler::Now(server::replicaof))
        .flags(&[Admin, Noscript, Stale], &[])
        .syntax("NO ONE")
        .doc("1.0.0", "The old name of REPLICAOF.", "O(1)"),
    CommandSpec::container("slowlog", GROUP, SLOWLOG).doc(
        "2.2.12",
        "Commands about the slow log.",
        "Depends on subcommand.",
    ),
    CommandSpec::new("swapdb", 3, GROUP, Handler::Wait(server::swapdb))
        .flags(&[Write, Fast], &[Acl::Keyspace, Acl::Dangerous])
        .syntax("index1 index2")
        .doc("4.0.0", "Swaps two databases.", "O(1)"),
    CommandSpec::new("time", 1, GROUP, Handler::Now(server::time))
        .flags(&[Loading, Stale, Fast], &[])
        .doc("2.6.0", "Answers the server's time.", "O(1)")
        .tips(&["nondeterministic_output"]),
    CommandSpec::new("wait", 3, Group::Generic, Handler::Wait(wait::wait))
        .flags(&[Noscript, Blocking], &[Acl::Connection])
        .syntax("numreplicas timeout")
        .doc(
            "3.0.0",
            "Waits for replicas, of which there is none.",
            "O(1)",
        ),
    CommandSpec::new("waitaof", 4, Group::Generic, Handler::Wait(wait::waitaof))
        .flags(&[Noscript, Blocking], &[Acl::Connection])
        .syntax("numlocal numreplicas timeout")
        .doc(
            "7.2.0",
            "Waits until this connection's writes are durable.",
            "O(1)",
        ),
];

const ACL: &[CommandSpec] = &[
    CommandSpec::new("cat", -2, GROUP, Handler::Now(acl::cat))
        .flags(&[Noscript, Loading, Stale], &[])
        .syntax("[category]")
        .doc(
            "6.0.0",
            "Lists the categories, or the commands of one.",
            "O(N) commands",
        ),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[])
        .doc("6.0.0", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("users", 2, GROUP, Handler::Now(acl::users))
        .flags(&[Admin, Noscript, Loading, Stale], &[])
        .doc("6.0.0", "Lists the users: there is one.", "O(1)"),
    CommandSpec::new("whoami", 2, GROUP, Handler::Now(acl::whoami))
        .flags(&[Noscript, Loading, Stale], &[])
        .doc("6.0.0", "Answers the connection's user.", "O(1)"),
];

const COMMAND: &[CommandSpec] = &[
    CommandSpec::new("count", 2, GROUP, Handler::Now(command::count))
        .flags(&[Loading, Stale], &[Acl::Connection])
        .doc("2.8.13", "Counts the commands.", "O(1)"),
    CommandSpec::new("docs", -2, GROUP, Handler::Now(command::docs))
        .flags(&[Loading, Stale], &[Acl::Connection])
        .syntax("[command-name [command-name ...]]")
        .doc("7.0.0", "Documents commands.", "O(N) commands")
        .tips(&["nondeterministic_output_order"]),
    CommandSpec::new("getkeys", -3, GROUP, Handler::Now(command::getkeys))
        .flags(&[Loading, Stale], &[Acl::Connection])
        .syntax("command [arg [arg ...]]")
        .doc("2.8.13", "Lists the keys of a request.", "O(N) arguments"),
    CommandSpec::new(
        "getkeysandflags",
        -3,
        GROUP,
        Handler::Now(command::getkeysandflags),
    )
    .flags(&[Loading, Stale], &[Acl::Connection])
    .syntax("command [arg [arg ...]]")
    .doc(
        "7.0.0",
        "Lists the keys of a request and what it does with them.",
        "O(N) arguments",
    ),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[Acl::Connection])
        .doc("5.0.0", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("info", -2, GROUP, Handler::Now(command::info))
        .flags(&[Loading, Stale], &[Acl::Connection])
        .syntax("[command-name [command-name ...]]")
        .doc("2.8.13", "Describes commands.", "O(N) commands")
        .tips(&["nondeterministic_output_order"]),
    CommandSpec::new("list", -2, GROUP, Handler::Now(command::list))
        .flags(&[Loading, Stale], &[Acl::Connection])
        .syntax("[FILTERBY MODULE module-name | ACLCAT category | PATTERN pattern]")
        .doc("7.0.0", "Lists the names of commands.", "O(N) commands")
        .tips(&["nondeterministic_output_order"]),
];

const CONFIG: &[CommandSpec] = &[
    CommandSpec::new("get", -3, GROUP, Handler::Now(config::get))
        .flags(&[Admin, Noscript, Loading, Stale], &[])
        .syntax("parameter [parameter ...]")
        .doc("2.0.0", "Answers the values of options.", "O(N) options"),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[])
        .doc("5.0.0", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("resetstat", 2, GROUP, Handler::Now(config::resetstat))
        .flags(&[Admin, Noscript, Loading, Stale], &[])
        .doc("2.0.0", "Lets the statistics begin again.", "O(1)"),
    CommandSpec::new("rewrite", 2, GROUP, Handler::Wait(config::rewrite))
        .flags(&[Admin, Noscript, Loading, Stale], &[])
        .doc(
            "2.8.0",
            "Writes the running values into the config file.",
            "O(1)",
        ),
    CommandSpec::new("set", -4, GROUP, Handler::Now(config::set))
        .flags(&[Admin, Noscript, Loading, Stale], &[])
        .syntax("parameter value [parameter value ...]")
        .doc("2.0.0", "Changes options.", "O(N) options"),
];

const LATENCY: &[CommandSpec] = &[
    CommandSpec::new("doctor", 2, GROUP, Handler::Now(latency::doctor))
        .flags(&[Admin, Noscript, Loading, Stale], &[])
        .doc("2.8.13", "Sums up the latency history.", "O(1)"),
    CommandSpec::new("graph", 3, GROUP, Handler::Now(latency::graph))
        .flags(&[Admin, Noscript, Loading, Stale], &[])
        .syntax("event")
        .doc("2.8.13", "Draws an event's latency history.", "O(1)"),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[])
        .doc("2.8.13", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("histogram", -2, GROUP, Handler::Now(latency::histogram))
        .flags(&[Admin, Noscript, Loading, Stale], &[])
        .syntax("[command [command ...]]")
        .doc(
            "7.0.0",
            "Tells how long commands took, by powers of two.",
            "O(N) commands",
        ),
    CommandSpec::new("history", 3, GROUP, Handler::Now(latency::history))
        .flags(&[Admin, Noscript, Loading, Stale], &[])
        .syntax("event")
        .doc("2.8.13", "Answers an event's latency history.", "O(1)"),
    CommandSpec::new("latest", 2, GROUP, Handler::Now(latency::latest))
        .flags(&[Admin, Noscript, Loading, Stale], &[])
        .doc(
            "2.8.13",
            "Answers the latest samples of all events.",
            "O(1)",
        ),
    CommandSpec::new("reset", -2, GROUP, Handler::Now(latency::reset))
        .flags(&[Admin, Noscript, Loading, Stale], &[])
        .syntax("[event [event ...]]")
        .doc("2.8.13", "Forgets events.", "O(1)"),
];

const MODULE: &[CommandSpec] = &[
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[])
        .doc("5.0.0", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("list", 2, GROUP, Handler::Now(module::list))
        .flags(&[Admin, Noscript], &[])
        .doc("4.0.0", "Lists the loaded modules: there is none.", "O(1)"),
];

const MEMORY: &[CommandSpec] = &[
    CommandSpec::new("doctor", 2, GROUP, Handler::Now(memory::doctor)).doc(
        "4.0.0",
        "Says what is wrong with the use of memory.",
        "O(N) connections",
    ),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[])
        .doc("4.0.0", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("malloc-stats", 2, GROUP, Handler::Now(memory::malloc_stats)).doc(
        "4.0.0",
        "Tells about the allocator.",
        "O(1)",
    ),
    CommandSpec::new("purge", 2, GROUP, Handler::Now(memory::purge)).doc(
        "4.0.0",
        "Nothing: freed memory goes back by itself.",
        "O(1)",
    ),
    CommandSpec::new("stats", 2, GROUP, Handler::Now(memory::stats)).doc(
        "4.0.0",
        "Tells what memory is used for.",
        "O(N) connections",
    ),
    CommandSpec::new("usage", -3, GROUP, Handler::Wait(memory::usage))
        .flags(&[Readonly], &[])
        .keys(&[KeySpec::at(2, KeyAccess::LOOK)])
        .syntax("key [SAMPLES count]")
        .doc(
            "4.0.0",
            "Tells how many bytes a key takes, in DRAM and on the device.",
            "O(1)",
        ),
];

/// Not in Redis: no client library calls them.
const CELLAR: &[CommandSpec] = &[
    CommandSpec::new("cleaner", 3, GROUP, Handler::Now(cellar::cleaner))
        .flags(&[Admin, Noscript], &[])
        .syntax("PAUSE | RESUME | STATS")
        .doc(
            "7.2.0",
            "Pauses the cleaner, lets it go on, or tells what it does.",
            "O(1)",
        ),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[])
        .doc("7.2.0", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("scrub", 3, GROUP, Handler::Now(cellar::scrub))
        .flags(&[Admin, Noscript], &[])
        .syntax("START | STOP | STATUS")
        .doc(
            "7.2.0",
            "Starts or stops reading and verifying everything that is stored, or tells how far it is.",
            "O(1)",
        ),
];

const SLOWLOG: &[CommandSpec] = &[
    CommandSpec::new("get", -2, GROUP, Handler::Now(slowlog::get))
        .flags(&[Admin, Loading, Stale], &[])
        .syntax("[count]")
        .doc("2.2.12", "Answers the newest entries.", "O(N) entries"),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[])
        .doc("6.2.0", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("len", 2, GROUP, Handler::Now(slowlog::len))
        .flags(&[Admin, Loading, Stale], &[])
        .doc("2.2.12", "Counts the entries.", "O(1)"),
    CommandSpec::new("reset", 2, GROUP, Handler::Now(slowlog::reset))
        .flags(&[Admin, Loading, Stale], &[])
        .doc("2.2.12", "Forgets the entries.", "O(1)"),
];
