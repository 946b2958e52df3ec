//! Rows of the commands on streams.

use crate::command::Flag::{Blocking, DenyOom, Fast, Loading, MovableKeys, Readonly, Stale, Write};
use crate::command::{Acl, CommandSpec, Group, Handler, KeyAccess, KeySpec};
use crate::commands::access::{changes, reads};
use crate::commands::{help, streams};

const GROUP: Group = Group::Stream;

const UPDATE: &[KeySpec] = &[KeySpec::one(KeyAccess::UPDATE)];
const SHRINK: &[KeySpec] = &[KeySpec::one(KeyAccess::REMOVE_PART)];
const READ: &[KeySpec] = &[KeySpec::one(KeyAccess::READ)];

/// A command on one stream.
const fn row(
    name: &'static str,
    arity: i32,
    handler: Handler,
    keys: &'static [KeySpec],
) -> CommandSpec {
    CommandSpec::new(name, arity, GROUP, handler).keys(keys)
}

pub(super) const ROWS: &[CommandSpec] = &[
    row("xack", -4, changes!(streams::xack), UPDATE)
        .flags(&[Write, Fast], &[Acl::Stream])
        .syntax("key group id [id ...]")
        .doc(
            "5.0.0",
            "Acknowledges entries: they are pending no longer.",
            "O(log N) for each id",
        ),
    row("xadd", -5, changes!(streams::xadd), UPDATE)
        .flags(&[Write, DenyOom, Fast], &[Acl::Stream])
        .syntax(
            "key [NOMKSTREAM] [(MAXLEN | MINID) [= | ~] threshold [LIMIT count]] (* | id) \
             field value [field value ...]",
        )
        .tips(&["nondeterministic_output"])
        .doc(
            "5.0.0",
            "Adds an entry to a stream, or creates it.",
            "O(log N) entries, and what is trimmed",
        ),
    row("xautoclaim", -6, changes!(streams::xautoclaim), SHRINK)
        .flags(&[Write, Fast], &[Acl::Stream])
        .syntax("key group consumer min-idle-time start [COUNT count] [JUSTID]")
        .tips(&["nondeterministic_output"])
        .doc(
            "6.2.0",
            "Claims what has been pending for too long for a consumer.",
            "O(log N) for each entry that is looked at",
        ),
    row("xclaim", -6, changes!(streams::xclaim), UPDATE)
        .flags(&[Write, Fast], &[Acl::Stream])
        .syntax(
            "key group consumer min-idle-time id [id ...] [IDLE ms] \
             [TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]",
        )
        .tips(&["nondeterministic_output"])
        .doc(
            "5.0.0",
            "Claims pending entries for a consumer.",
            "O(log N) for each id",
        ),
    row("xdel", -3, changes!(streams::xdel), SHRINK)
        .flags(&[Write, Fast], &[Acl::Stream])
        .syntax("key id [id ...]")
        .doc(
            "5.0.0",
            "Removes entries by their ids.",
            "O(log N) for each id",
        ),
    CommandSpec::container("xgroup", GROUP, XGROUP).doc(
        "5.0.0",
        "Commands about the consumer groups of a stream.",
        "Depends on subcommand.",
    ),
    CommandSpec::container("xinfo", GROUP, XINFO).doc(
        "5.0.0",
        "Commands that tell about a stream.",
        "Depends on subcommand.",
    ),
    row(
        "xlen",
        2,
        reads!(streams::xlen),
        &[KeySpec::one(KeyAccess::LOOK)],
    )
    .flags(&[Readonly, Fast], &[Acl::Stream])
    .syntax("key")
    .doc("5.0.0", "Tells how many entries a stream has.", "O(1)"),
    row("xpending", -3, reads!(streams::xpending), READ)
        .flags(&[Readonly], &[Acl::Stream])
        .syntax("key group [[IDLE min-idle-time] start end count [consumer]]")
        .tips(&["nondeterministic_output"])
        .doc(
            "5.0.0",
            "Tells what was delivered to a group and not acknowledged.",
            "O(N) entries gone over",
        ),
    row("xrange", -4, reads!(streams::xrange), READ)
        .flags(&[Readonly], &[Acl::Stream])
        .syntax("key start end [COUNT count]")
        .doc(
            "5.0.0",
            "Answers the entries between two ids.",
            "O(log N) entries, and those answered",
        ),
    CommandSpec::new("xread", -4, GROUP, Handler::Wait(streams::xread))
        .keys(&[KeySpec::half_behind("STREAMS", 1, KeyAccess::READ)])
        .flags(&[Readonly, Blocking, MovableKeys], &[Acl::Stream])
        .syntax("[COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]")
        .doc(
            "5.0.0",
            "Answers the entries of streams behind given ids, and waits for some.",
            "O(log N) entries of each stream, and those answered",
        ),
    CommandSpec::new("xreadgroup", -7, GROUP, Handler::Wait(streams::xreadgroup))
        .keys(&[KeySpec::half_behind("STREAMS", 4, KeyAccess::READ)])
        .flags(&[Write, Blocking, MovableKeys], &[Acl::Stream])
        .syntax(
            "GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK] \
             STREAMS key [key ...] id [id ...]",
        )
        .doc(
            "5.0.0",
            "Delivers entries of streams to a consumer of a group, and waits for some.",
            "O(log N) for each entry answered",
        ),
    row("xrevrange", -4, reads!(streams::xrevrange), READ)
        .flags(&[Readonly], &[Acl::Stream])
        .syntax("key end start [COUNT count]")
        .doc(
            "5.0.0",
            "Answers the entries between two ids, the last one first.",
            "O(log N) entries, and those answered",
        ),
    row("xsetid", -3, changes!(streams::xsetid), UPDATE)
        .flags(&[Write, DenyOom, Fast], &[Acl::Stream])
        .syntax("key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]")
        .doc(
            "5.0.0",
            "Sets what a stream remembers of ids and counts.",
            "O(1)",
        ),
    row("xtrim", -4, changes!(streams::xtrim), SHRINK)
        .flags(&[Write], &[Acl::Stream])
        .syntax("key (MAXLEN | MINID) [= | ~] threshold [LIMIT count]")
        .tips(&["nondeterministic_output"])
        .doc(
            "5.0.0",
            "Removes the first entries of a stream.",
            "O(N) pages of what is removed",
        ),
];

/// A subcommand on the groups of one stream.
const fn group_row(
    name: &'static str,
    arity: i32,
    handler: crate::command::AsyncHandler,
    keys: &'static [KeySpec],
) -> CommandSpec {
    CommandSpec::new(name, arity, GROUP, Handler::Wait(handler)).keys(keys)
}

/// A group or a consumer is added.
const INSERT: &[KeySpec] = &[KeySpec::at(
    2,
    KeyAccess {
        names: &["RW", "insert"],
    },
)];
const REMOVE: &[KeySpec] = &[KeySpec::at(2, KeyAccess::REMOVE_PART)];

const XGROUP: &[CommandSpec] = &[
    group_row("create", -5, streams::xgroup_create, INSERT)
        .flags(&[Write, DenyOom], &[Acl::Stream])
        .syntax("key group (id | $) [MKSTREAM] [ENTRIESREAD entries-read]")
        .doc("5.0.0", "Creates a consumer group.", "O(log N) groups"),
    group_row("createconsumer", 5, streams::xgroup_createconsumer, INSERT)
        .flags(&[Write, DenyOom], &[Acl::Stream])
        .syntax("key group consumer")
        .doc("6.2.0", "Creates a consumer.", "O(log N) consumers"),
    group_row("delconsumer", 5, streams::xgroup_delconsumer, REMOVE)
        .flags(&[Write], &[Acl::Stream])
        .syntax("key group consumer")
        .doc(
            "5.0.0",
            "Removes a consumer and what is pending for it.",
            "O(N) entries pending for it",
        ),
    group_row("destroy", 4, streams::xgroup_destroy, REMOVE)
        .flags(&[Write], &[Acl::Stream])
        .syntax("key group")
        .doc(
            "5.0.0",
            "Removes a consumer group.",
            "O(N) pages of what is pending in it",
        ),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[Acl::Stream])
        .doc("5.0.0", "Answers this text.", "O(1)"),
    group_row(
        "setid",
        -5,
        streams::xgroup_setid,
        &[KeySpec::at(2, KeyAccess::UPDATE)],
    )
    .flags(&[Write], &[Acl::Stream])
    .syntax("key group (id | $) [ENTRIESREAD entries-read]")
    .doc(
        "5.0.0",
        "Sets the last id that was delivered to a group.",
        "O(log N) groups",
    ),
];

const INFO: &[KeySpec] = &[KeySpec::at(2, KeyAccess::READ)];

const XINFO: &[CommandSpec] = &[
    group_row("consumers", 4, streams::xinfo_consumers, INFO)
        .flags(&[Readonly], &[Acl::Stream])
        .syntax("key group")
        .tips(&["nondeterministic_output"])
        .doc(
            "5.0.0",
            "Tells about the consumers of a group.",
            "O(N log M) consumers",
        ),
    group_row("groups", 3, streams::xinfo_groups, INFO)
        .flags(&[Readonly], &[Acl::Stream])
        .syntax("key")
        .doc(
            "5.0.0",
            "Tells about the groups of a stream.",
            "O(N log M) groups",
        ),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[Acl::Stream])
        .doc("5.0.0", "Answers this text.", "O(1)"),
    group_row("stream", -3, streams::xinfo_stream, INFO)
        .flags(&[Readonly], &[Acl::Stream])
        .syntax("key [FULL [COUNT count]]")
        .doc("5.0.0", "Tells about a stream.", "O(log N) entries"),
];
