//! Rows of the string commands.

use crate::command::Flag::{DenyOom, Fast, Readonly, Write};
use crate::command::{Acl, CommandSpec, Group, Handler, KeyAccess, KeySpec};
use crate::commands::counters::counts;
use crate::commands::read::answers_from;
use crate::commands::{counters, lcs, ranges, set, strings};

const GROUP: Group = Group::String;

/// Every other argument is a key.
const fn pairs(access: KeyAccess) -> KeySpec {
    KeySpec::range(1, -1, 2, access)
}

/// The value grows, and nothing of it is answered.
const GROW: KeyAccess = KeyAccess {
    names: &["RW", "insert"],
};

pub(super) const ROWS: &[CommandSpec] = &[
    CommandSpec::new("append", 3, GROUP, Handler::Wait(ranges::append))
        .flags(&[Write, DenyOom, Fast], &[Acl::String])
        .keys(&[KeySpec::one(GROW)])
        .syntax("key value")
        .doc(
            "2.0.0",
            "Appends to a string, or creates it.",
            "O(1) for the stored part",
        ),
    CommandSpec::new("decr", 2, GROUP, counts!(counters::minus_one))
        .flags(&[Write, DenyOom, Fast], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
        .syntax("key")
        .doc(
            "1.0.0",
            "Subtracts one from a number, 0 where there is none.",
            "O(1)",
        ),
    CommandSpec::new("decrby", 3, GROUP, counts!(counters::minus_amount))
        .flags(&[Write, DenyOom, Fast], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
        .syntax("key decrement")
        .doc(
            "1.0.0",
            "Subtracts from a number, 0 where there is none.",
            "O(1)",
        ),
    CommandSpec::new("get", 2, GROUP, answers_from!(1, strings::answer_get))
        .flags(&[Readonly, Fast], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key")
        .doc("1.0.0", "Answers the string of a key.", "O(1)"),
    CommandSpec::new("getdel", 2, GROUP, Handler::Wait(strings::getdel))
        .flags(&[Write, Fast], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::READ_REMOVE)])
        .syntax("key")
        .doc(
            "6.2.0",
            "Answers the string of a key and removes the key.",
            "O(1)",
        ),
    CommandSpec::new("getex", -2, GROUP, Handler::Wait(strings::getex))
        .flags(&[Write, Fast], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
        .syntax(
            "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | \
             PXAT unix-time-milliseconds | PERSIST]",
        )
        .doc(
            "6.2.0",
            "Answers the string of a key and changes its expiry.",
            "O(1)",
        ),
    CommandSpec::new(
        "getrange",
        4,
        GROUP,
        answers_from!(1, ranges::answer_getrange),
    )
    .flags(&[Readonly], &[Acl::String])
    .keys(&[KeySpec::one(KeyAccess::READ)])
    .syntax("key start end")
    .doc(
        "2.4.0",
        "Answers a part of a string.",
        "O(N) bytes answered",
    ),
    CommandSpec::new("getset", 3, GROUP, Handler::Wait(set::getset))
        .flags(&[Write, DenyOom, Fast], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
        .syntax("key value")
        .doc(
            "1.0.0",
            "Sets the string of a key and answers the old one.",
            "O(1)",
        ),
    CommandSpec::new("incr", 2, GROUP, counts!(counters::one))
        .flags(&[Write, DenyOom, Fast], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
        .syntax("key")
        .doc(
            "1.0.0",
            "Adds one to a number, 0 where there is none.",
            "O(1)",
        ),
    CommandSpec::new("incrby", 3, GROUP, counts!(counters::amount))
        .flags(&[Write, DenyOom, Fast], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
        .syntax("key increment")
        .doc("1.0.0", "Adds to a number, 0 where there is none.", "O(1)"),
    CommandSpec::new(
        "incrbyfloat",
        3,
        GROUP,
        Handler::Wait(counters::incrbyfloat),
    )
    .flags(&[Write, DenyOom, Fast], &[Acl::String])
    .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
    .syntax("key increment")
    .doc(
        "2.6.0",
        "Adds to a decimal number, 0 where there is none.",
        "O(1)",
    ),
    CommandSpec::new("lcs", -3, GROUP, Handler::Wait(lcs::lcs))
        .flags(&[Readonly], &[Acl::String])
        .keys(&[KeySpec::range(1, 1, 1, KeyAccess::READ)])
        .syntax("key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]")
        .doc(
            "7.0.0",
            "Finds the longest common subsequence of two strings.",
            "O(N*M) bytes",
        ),
    CommandSpec::new(
        "mget",
        -2,
        GROUP,
        Handler::Try(strings::try_mget, strings::mget),
    )
    .flags(&[Readonly, Fast], &[Acl::String])
    .keys(&[KeySpec::all(KeyAccess::READ)])
    .syntax("key [key ...]")
    .doc(
        "1.0.0",
        "Answers the strings of keys; their device reads overlap.",
        "O(N) keys",
    )
    .tips(&["request_policy:multi_shard"]),
    CommandSpec::new(
        "mset",
        -3,
        GROUP,
        Handler::Try(strings::try_mset, strings::mset),
    )
    .flags(&[Write, DenyOom], &[Acl::String])
    .keys(&[pairs(KeyAccess::OVERWRITE)])
    .syntax("key value [key value ...]")
    .doc(
        "1.0.1",
        "Sets the strings of keys, all or none.",
        "O(N) keys",
    )
    .tips(&[
        "request_policy:multi_shard",
        "response_policy:all_succeeded",
    ]),
    CommandSpec::new("msetnx", -3, GROUP, Handler::Wait(strings::msetnx))
        .flags(&[Write, DenyOom], &[Acl::String])
        .keys(&[pairs(KeyAccess::INSERT)])
        .syntax("key value [key value ...]")
        .doc(
            "1.0.1",
            "Sets the strings of keys if none of them exists.",
            "O(N) keys",
        )
        .tips(&["request_policy:multi_shard", "response_policy:agg_min"]),
    CommandSpec::new(
        "psetex",
        4,
        GROUP,
        Handler::Try(set::try_psetex, set::psetex),
    )
    .flags(&[Write, DenyOom], &[Acl::String])
    .keys(&[KeySpec::one(KeyAccess::OVERWRITE)])
    .syntax("key milliseconds value")
    .doc(
        "2.6.0",
        "Sets the string of a key and its time to live.",
        "O(1)",
    ),
    CommandSpec::new("set", -3, GROUP, Handler::Try(set::try_set, set::set))
        .flags(&[Write, DenyOom], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE).variable()])
        .syntax(
            "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | \
             PXAT unix-time-milliseconds | KEEPTTL]",
        )
        .doc(
            "1.0.0",
            "Sets the string of a key, whatever it held.",
            "O(1)",
        ),
    CommandSpec::new("setex", 4, GROUP, Handler::Try(set::try_setex, set::setex))
        .flags(&[Write, DenyOom], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::OVERWRITE)])
        .syntax("key seconds value")
        .doc(
            "2.0.0",
            "Sets the string of a key and its time to live.",
            "O(1)",
        ),
    CommandSpec::new("setnx", 3, GROUP, Handler::Try(set::try_setnx, set::setnx))
        .flags(&[Write, DenyOom, Fast], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::INSERT)])
        .syntax("key value")
        .doc(
            "1.0.0",
            "Sets the string of a key that does not exist.",
            "O(1)",
        ),
    CommandSpec::new("setrange", 4, GROUP, Handler::Wait(ranges::setrange))
        .flags(&[Write, DenyOom], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key offset value")
        .doc(
            "2.2.0",
            "Overwrites a part of a string.",
            "O(N) bytes written",
        ),
    CommandSpec::new("strlen", 2, GROUP, answers_from!(1, strings::answer_strlen))
        .flags(&[Readonly, Fast], &[Acl::String])
        .keys(&[KeySpec::one(KeyAccess::LOOK)])
        .syntax("key")
        .doc("2.2.0", "Tells the length of a string.", "O(1)"),
    CommandSpec::new(
        "substr",
        4,
        GROUP,
        answers_from!(1, ranges::answer_getrange),
    )
    .flags(&[Readonly], &[Acl::String])
    .keys(&[KeySpec::one(KeyAccess::READ)])
    .syntax("key start end")
    .doc(
        "1.0.0",
        "Does what GETRANGE does, its later name.",
        "O(N) bytes answered",
    ),
];
