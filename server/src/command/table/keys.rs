//! Rows of the commands about keys, whatever their type.

use crate::command::Flag::{DenyOom, Fast, Loading, MovableKeys, Readonly, Stale, Write};
use crate::command::{Acl, CommandSpec, Group, Handler, KeyAccess, KeySpec};
use crate::commands::read::answers_from;
use crate::commands::{dump, expiry, keys, moving, object, restore, scan, sort};

const GROUP: Group = Group::Generic;

/// Commands that go to every node of a cluster that has one of their keys.
const COUNTED_BY_SHARD: &[&str] = &["request_policy:multi_shard", "response_policy:agg_sum"];

/// A renamed key.
const FROM_KEY: KeySpec = KeySpec::one(KeyAccess::READ_REMOVE);

pub(super) const ROWS: &[CommandSpec] = &[
    CommandSpec::new("copy", -3, GROUP, Handler::Wait(moving::copy))
        .flags(&[Write, DenyOom], &[Acl::Keyspace])
        .keys(&[
            KeySpec::one(KeyAccess::READ),
            KeySpec::at(2, KeyAccess::OVERWRITE),
        ])
        .syntax("source destination [DB destination-db] [REPLACE]")
        .doc(
            "6.2.0",
            "Copies the value of a key to a new key.",
            "O(1) for strings",
        ),
    CommandSpec::new("del", -2, GROUP, Handler::Try(keys::try_del, keys::del))
        .flags(&[Write], &[Acl::Keyspace])
        .keys(&[KeySpec::all(KeyAccess::REMOVE)])
        .syntax("key [key ...]")
        .doc(
            "1.0.0",
            "Removes keys and counts those that were there.",
            "O(N) keys",
        )
        .tips(COUNTED_BY_SHARD),
    CommandSpec::new("dump", 2, GROUP, Handler::Wait(dump::dump))
        .flags(&[Readonly], &[Acl::Keyspace])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key")
        .doc(
            "2.6.0",
            "Answers a value as Redis encodes it, for RESTORE.",
            "O(N) elements",
        )
        .tips(&["nondeterministic_output"]),
    CommandSpec::new(
        "exists",
        -2,
        GROUP,
        Handler::Try(keys::try_exists, keys::exists),
    )
    .flags(&[Readonly, Fast], &[Acl::Keyspace])
    .keys(&[KeySpec::all(KeyAccess::LOOK)])
    .syntax("key [key ...]")
    .doc(
        "1.0.0",
        "Counts the keys that exist.",
        "O(N) keys, without a device read",
    )
    .tips(COUNTED_BY_SHARD),
    CommandSpec::new("expire", -3, GROUP, Handler::Wait(expiry::expire))
        .flags(&[Write, Fast], &[Acl::Keyspace])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key seconds [NX | XX | GT | LT]")
        .doc(
            "1.0.0",
            "Sets the time to live of a key in seconds.",
            "O(1)",
        ),
    CommandSpec::new("expireat", -3, GROUP, Handler::Wait(expiry::expireat))
        .flags(&[Write, Fast], &[Acl::Keyspace])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key unix-time-seconds [NX | XX | GT | LT]")
        .doc(
            "1.2.0",
            "Sets the time at which a key expires, in Unix seconds.",
            "O(1)",
        ),
    CommandSpec::new(
        "expiretime",
        2,
        GROUP,
        answers_from!(1, expiry::answer_expiretime),
    )
    .flags(&[Readonly, Fast], &[Acl::Keyspace])
    .keys(&[KeySpec::one(KeyAccess::READ)])
    .syntax("key")
    .doc(
        "7.0.0",
        "Tells when a key expires, in Unix seconds.",
        "O(1)",
    ),
    CommandSpec::new("keys", 2, GROUP, Handler::Wait(scan::keys))
        .flags(&[Readonly], &[Acl::Keyspace, Acl::Dangerous])
        .syntax("pattern")
        .doc(
            "1.0.0",
            "Lists the keys that match a pattern.",
            "O(N) keys of the database",
        )
        .tips(&["request_policy:all_shards", "nondeterministic_output_order"]),
    CommandSpec::new("move", 3, GROUP, Handler::Wait(moving::move_key))
        .flags(&[Write, Fast], &[Acl::Keyspace])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
        .syntax("key db")
        .doc("1.0.0", "Moves a key to another database.", "O(1)"),
    OBJECT,
    CommandSpec::new("persist", 2, GROUP, Handler::Wait(expiry::persist))
        .flags(&[Write, Fast], &[Acl::Keyspace])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key")
        .doc("2.2.0", "Removes the time to live of a key.", "O(1)"),
    CommandSpec::new("pexpire", -3, GROUP, Handler::Wait(expiry::pexpire))
        .flags(&[Write, Fast], &[Acl::Keyspace])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key milliseconds [NX | XX | GT | LT]")
        .doc(
            "2.6.0",
            "Sets the time to live of a key in milliseconds.",
            "O(1)",
        ),
    CommandSpec::new("pexpireat", -3, GROUP, Handler::Wait(expiry::pexpireat))
        .flags(&[Write, Fast], &[Acl::Keyspace])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key unix-time-milliseconds [NX | XX | GT | LT]")
        .doc(
            "2.6.0",
            "Sets the time at which a key expires, in Unix milliseconds.",
            "O(1)",
        ),
    CommandSpec::new(
        "pexpiretime",
        2,
        GROUP,
        answers_from!(1, expiry::answer_pexpiretime),
    )
    .flags(&[Readonly, Fast], &[Acl::Keyspace])
    .keys(&[KeySpec::one(KeyAccess::READ)])
    .syntax("key")
    .doc(
        "7.0.0",
        "Tells when a key expires, in Unix milliseconds.",
        "O(1)",
    ),
    CommandSpec::new("pttl", 2, GROUP, answers_from!(1, expiry::answer_pttl))
        .flags(&[Readonly, Fast], &[Acl::Keyspace])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key")
        .doc(
            "2.6.0",
            "Tells the time to live of a key in milliseconds.",
            "O(1)",
        )
        .tips(&["nondeterministic_output"]),
    CommandSpec::new("randomkey", 1, GROUP, Handler::Wait(keys::randomkey))
        .flags(&[Readonly], &[Acl::Keyspace])
        .doc("1.0.0", "Answers some key of the database.", "O(1)")
        .tips(&["request_policy:all_shards", "nondeterministic_output"]),
    CommandSpec::new("rename", 3, GROUP, Handler::Wait(moving::rename))
        .flags(&[Write], &[Acl::Keyspace])
        .keys(&[FROM_KEY, KeySpec::at(2, KeyAccess::OVERWRITE)])
        .syntax("key newkey")
        .doc(
            "1.0.0",
            "Renames a key and overwrites the destination.",
            "O(1)",
        ),
    CommandSpec::new("renamenx", 3, GROUP, Handler::Wait(moving::renamenx))
        .flags(&[Write, Fast], &[Acl::Keyspace])
        .keys(&[FROM_KEY, KeySpec::at(2, KeyAccess::INSERT)])
        .syntax("key newkey")
        .doc(
            "1.0.0",
            "Renames a key unless the new name is taken.",
            "O(1)",
        ),
    CommandSpec::new("restore", -4, GROUP, Handler::Wait(restore::restore))
        .flags(&[Write, DenyOom], &[Acl::Keyspace, Acl::Dangerous])
        .keys(&[KeySpec::one(KeyAccess::OVERWRITE)])
        .syntax("key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]")
        .doc(
            "2.6.0",
            "Makes a key of what DUMP answered, here or in Redis.",
            "O(N) elements, O(N*log(N)) of a sorted set",
        ),
    CommandSpec::new("scan", -2, GROUP, Handler::Wait(scan::scan))
        .flags(&[Readonly], &[Acl::Keyspace])
        .syntax("cursor [MATCH pattern] [COUNT count] [TYPE type]")
        .doc(
            "2.8.0",
            "Lists some keys and the cursor of the next ones.",
            "O(1) for one call",
        )
        .tips(&["nondeterministic_output", "request_policy:special"]),
    CommandSpec::new("sort", -2, GROUP, Handler::Wait(sort::sort))
        .flags(
            &[Write, DenyOom, MovableKeys],
            &[Acl::Set, Acl::SortedSet, Acl::List],
        )
        .keys(&[
            KeySpec::one(KeyAccess::READ),
            KeySpec::keyword("STORE", 2, KeyAccess::OVERWRITE),
        ])
        .syntax(
            "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] \
             [ALPHA] [STORE destination]",
        )
        .doc(
            "1.0.0",
            "Sorts the elements of a list, set or sorted set, and may store the result.",
            "O(N*log(N)) elements, and a device read for each value of a pattern",
        ),
    CommandSpec::new("sort_ro", -2, GROUP, Handler::Wait(sort::sort_ro))
        .flags(
            &[Readonly, MovableKeys],
            &[Acl::Set, Acl::SortedSet, Acl::List],
        )
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax(
            "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] \
             [ALPHA]",
        )
        .doc(
            "7.0.0",
            "Sorts the elements of a list, set or sorted set.",
            "O(N*log(N)) elements, and a device read for each value of a pattern",
        ),
    CommandSpec::new("touch", -2, GROUP, Handler::Wait(keys::touch))
        .flags(&[Readonly, Fast], &[Acl::Keyspace])
        .keys(&[KeySpec::all(KeyAccess::LOOK)])
        .syntax("key [key ...]")
        .doc(
            "3.2.1",
            "Marks keys as used and counts those that exist.",
            "O(N) keys",
        )
        .tips(COUNTED_BY_SHARD),
    CommandSpec::new("ttl", 2, GROUP, answers_from!(1, expiry::answer_ttl))
        .flags(&[Readonly, Fast], &[Acl::Keyspace])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key")
        .doc(
            "1.0.0",
            "Tells the time to live of a key in seconds.",
            "O(1)",
        )
        .tips(&["nondeterministic_output"]),
    CommandSpec::new(
        "type",
        2,
        GROUP,
        Handler::Try(keys::try_type, keys::type_of),
    )
    .flags(&[Readonly, Fast], &[Acl::Keyspace])
    .keys(&[KeySpec::one(KeyAccess::LOOK)])
    .syntax("key")
    .doc(
        "1.0.0",
        "Tells the type of a key's value.",
        "O(1), without a device read",
    ),
    CommandSpec::new("unlink", -2, GROUP, Handler::Try(keys::try_del, keys::del))
        .flags(&[Write, Fast], &[Acl::Keyspace])
        .keys(&[KeySpec::all(KeyAccess::REMOVE)])
        .syntax("key [key ...]")
        .doc("4.0.0", "Does what DEL does.", "O(N) keys")
        .tips(COUNTED_BY_SHARD),
];

const OBJECT: CommandSpec = CommandSpec::container(
    "object",
    GROUP,
    &[
        object_row("encoding", answers_from!(2, object::answer_encoding)).doc(
            "2.2.3",
            "Tells how a value is held.",
            "O(1)",
        ),
        object_row("freq", Handler::Wait(object::freq)).doc(
            "4.0.0",
            "Tells about how often a key was used of late, under an LFU policy.",
            "O(1)",
        ),
        CommandSpec::new("help", 2, GROUP, Handler::Now(object::help))
            .flags(&[Loading, Stale], &[Acl::Keyspace])
            .doc("6.2.0", "Lists the subcommands.", "O(1)"),
        object_row("idletime", Handler::Wait(object::idletime)).doc(
            "2.2.3",
            "Refuses: when a key was used last is not kept.",
            "O(1)",
        ),
        object_row("refcount", answers_from!(2, object::answer_refcount)).doc(
            "2.2.3",
            "Answers 1: values are not shared.",
            "O(1)",
        ),
    ],
)
.doc("2.2.3", "Tells how a value is held.", "O(1)");

const OBJECT_KEYS: &[KeySpec] = &[KeySpec::at(2, KeyAccess::LOOK)];

/// A subcommand about one key.
const fn object_row(name: &'static str, handler: Handler) -> CommandSpec {
    CommandSpec::new(name, 3, GROUP, handler)
        .flags(&[Readonly], &[Acl::Keyspace])
        .keys(OBJECT_KEYS)
        .syntax("key")
        .tips(&["nondeterministic_output"])
}
