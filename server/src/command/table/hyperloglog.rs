//! Rows of the HyperLogLog commands.

use crate::command::Flag::{Admin, DenyOom, Fast, MayReplicate, Readonly, Write};
use crate::command::{Acl, CommandSpec, Group, Handler, KeyAccess, KeySpec};
use crate::commands::hyperloglog;

const GROUP: Group = Group::HyperLogLog;

/// The value grows, and nothing of it is answered.
const GROW: KeyAccess = KeyAccess {
    names: &["RW", "insert"],
};

/// The answer is kept in the value.
const KEEP: KeyAccess = KeyAccess {
    names: &["RW", "access"],
};

/// The value takes others in.
const TAKE_IN: KeyAccess = KeyAccess {
    names: &["RW", "access", "insert"],
};

pub(super) const ROWS: &[CommandSpec] = &[
    CommandSpec::new("pfadd", -2, GROUP, Handler::Wait(hyperloglog::pfadd))
        .flags(&[Write, DenyOom, Fast], &[Acl::HyperLogLog])
        .keys(&[KeySpec::one(GROW)])
        .syntax("key [element ...]")
        .doc(
            "2.8.9",
            "Takes elements into the count of different ones.",
            "O(N) elements",
        ),
    CommandSpec::new("pfcount", -2, GROUP, Handler::Wait(hyperloglog::pfcount))
        .flags(&[Readonly, MayReplicate], &[Acl::HyperLogLog])
        .keys(&[KeySpec::all(KEEP)])
        .syntax("key [key ...]")
        .doc(
            "2.8.9",
            "Answers about how many different elements keys have counted.",
            "O(N) keys",
        ),
    CommandSpec::new("pfdebug", 3, GROUP, Handler::Wait(hyperloglog::pfdebug))
        .flags(&[Write, DenyOom, Admin], &[Acl::HyperLogLog])
        .keys(&[KeySpec::at(2, KeyAccess::READ_WRITE)])
        .syntax("subcommand key")
        .doc("2.8.9", "Shows how a count is kept.", "O(1)"),
    CommandSpec::new("pfmerge", -2, GROUP, Handler::Wait(hyperloglog::pfmerge))
        .flags(&[Write, DenyOom], &[Acl::HyperLogLog])
        .keys(&[
            KeySpec::one(TAKE_IN),
            KeySpec::range(2, -1, 1, KeyAccess::READ),
        ])
        .syntax("destkey [sourcekey ...]")
        .doc(
            "2.8.9",
            "Makes one count of several, where an element counts once.",
            "O(N) keys",
        ),
    CommandSpec::new(
        "pfselftest",
        1,
        GROUP,
        Handler::Wait(hyperloglog::pfselftest),
    )
    .flags(&[Admin], &[Acl::HyperLogLog])
    .doc("2.8.9", "Counts and looks how close it comes.", "O(1)"),
];
