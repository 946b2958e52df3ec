//! Rows of the set commands.

use crate::command::Flag::{DenyOom, Fast, MovableKeys, Readonly, Write};
use crate::command::{Acl, CommandSpec, FindKeys, Group, Handler, KeyAccess, KeySpec};
use crate::commands::access::{changes, reads};
use crate::commands::{element_scan, random_elements, set_algebra, sets};

const GROUP: Group = Group::Set;

/// Nothing of the value is answered, and parts of it go.
const DELETE: KeyAccess = KeyAccess {
    names: &["RW", "delete"],
};

/// Parts are added, and nothing of the value is answered.
const INSERT: KeyAccess = KeyAccess {
    names: &["RW", "insert"],
};

/// A destination, then sources.
const STORED: &[KeySpec] = &[
    KeySpec::one(KeyAccess::OVERWRITE),
    KeySpec::range(2, -1, 1, KeyAccess::READ),
];

/// A count, then so many keys.
const COUNTED: &[KeySpec] = &[KeySpec {
    access: KeyAccess::READ,
    first: 1,
    find: FindKeys::Counted,
    is_variable: false,
}];

const fn row(name: &'static str, arity: i32, handler: Handler) -> CommandSpec {
    CommandSpec::new(name, arity, GROUP, handler)
}

pub(super) const ROWS: &[CommandSpec] = &[
    row("sadd", -3, changes!(sets::sadd))
        .flags(&[Write, DenyOom, Fast], &[Acl::Set])
        .keys(&[KeySpec::one(INSERT)])
        .syntax("key member [member ...]")
        .doc(
            "1.0.0",
            "Adds members to a set and counts those that are new.",
            "O(N) members",
        ),
    row("scard", 2, reads!(sets::scard))
        .flags(&[Readonly, Fast], &[Acl::Set])
        .keys(&[KeySpec::one(KeyAccess::LOOK)])
        .syntax("key")
        .doc("1.0.0", "Counts the members of a set.", "O(1)"),
    row("sdiff", -2, Handler::Wait(set_algebra::sdiff))
        .flags(&[Readonly], &[Acl::Set])
        .keys(&[KeySpec::all(KeyAccess::READ)])
        .syntax("key [key ...]")
        .doc(
            "1.0.0",
            "Answers the members of a set that no other one has.",
            "O(N) members of the first, times sets",
        )
        .tips(&["nondeterministic_output_order"]),
    row("sdiffstore", -3, Handler::Wait(set_algebra::sdiffstore))
        .flags(&[Write, DenyOom], &[Acl::Set])
        .keys(STORED)
        .syntax("destination key [key ...]")
        .doc(
            "1.0.0",
            "Keeps the members of a set that no other one has.",
            "O(N) members of the first, times sets",
        ),
    row("sinter", -2, Handler::Wait(set_algebra::sinter))
        .flags(&[Readonly], &[Acl::Set])
        .keys(&[KeySpec::all(KeyAccess::READ)])
        .syntax("key [key ...]")
        .doc(
            "1.0.0",
            "Answers the members that all sets have.",
            "O(N) members of the smallest, times sets",
        )
        .tips(&["nondeterministic_output_order"]),
    row("sintercard", -3, Handler::Wait(set_algebra::sintercard))
        .flags(&[Readonly, MovableKeys], &[Acl::Set])
        .keys(COUNTED)
        .syntax("numkeys key [key ...] [LIMIT limit]")
        .doc(
            "7.0.0",
            "Counts the members that all sets have.",
            "O(N) members of the smallest, times sets",
        ),
    row("sinterstore", -3, Handler::Wait(set_algebra::sinterstore))
        .flags(&[Write, DenyOom], &[Acl::Set])
        .keys(STORED)
        .syntax("destination key [key ...]")
        .doc(
            "1.0.0",
            "Keeps the members that all sets have.",
            "O(N) members of the smallest, times sets",
        ),
    row("sismember", 3, reads!(sets::sismember))
        .flags(&[Readonly, Fast], &[Acl::Set])
        .keys(&[KeySpec::one(KeyAccess::LOOK)])
        .syntax("key member")
        .doc("1.0.0", "Tells whether a set has a member.", "O(1)"),
    row("smembers", 2, reads!(sets::smembers))
        .flags(&[Readonly], &[Acl::Set])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key")
        .doc("1.0.0", "Answers all members of a set.", "O(N) members")
        .tips(&["nondeterministic_output_order"]),
    row("smismember", -3, reads!(sets::smismember))
        .flags(&[Readonly, Fast], &[Acl::Set])
        .keys(&[KeySpec::one(KeyAccess::LOOK)])
        .syntax("key member [member ...]")
        .doc(
            "6.2.0",
            "Tells of several members whether a set has them.",
            "O(N) members asked for",
        ),
    row("smove", 4, Handler::Wait(sets::smove))
        .flags(&[Write, Fast], &[Acl::Set])
        .keys(&[KeySpec::one(KeyAccess::READ_REMOVE), KeySpec::at(2, INSERT)])
        .syntax("source destination member")
        .doc("1.0.0", "Moves a member from one set to another.", "O(1)"),
    row("spop", -2, changes!(random_elements::spop))
        .flags(&[Write, Fast], &[Acl::Set])
        .keys(&[KeySpec::one(KeyAccess::READ_REMOVE)])
        .syntax("key [count]")
        .doc(
            "1.0.0",
            "Removes random members of a set and answers them.",
            "O(N) members removed",
        )
        .tips(&["nondeterministic_output"]),
    row("srandmember", -2, reads!(random_elements::srandmember))
        .flags(&[Readonly], &[Acl::Set])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key [count]")
        .doc(
            "1.0.0",
            "Answers random members of a set, each as likely as any other.",
            "O(N) members answered",
        )
        .tips(&["nondeterministic_output"]),
    row("srem", -3, changes!(sets::srem))
        .flags(&[Write, Fast], &[Acl::Set])
        .keys(&[KeySpec::one(DELETE)])
        .syntax("key member [member ...]")
        .doc(
            "1.0.0",
            "Removes members of a set, and a set without members.",
            "O(N) members",
        ),
    row("sscan", -3, reads!(element_scan::sscan))
        .flags(&[Readonly], &[Acl::Set])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key cursor [MATCH pattern] [COUNT count]")
        .doc(
            "2.8.0",
            "Goes over the members of a set, a step at a time.",
            "O(1) a step",
        )
        .tips(&["nondeterministic_output"]),
    row("sunion", -2, Handler::Wait(set_algebra::sunion))
        .flags(&[Readonly], &[Acl::Set])
        .keys(&[KeySpec::all(KeyAccess::READ)])
        .syntax("key [key ...]")
        .doc(
            "1.0.0",
            "Answers the members that any of the sets has.",
            "O(N) members of all sets",
        )
        .tips(&["nondeterministic_output_order"]),
    row("sunionstore", -3, Handler::Wait(set_algebra::sunionstore))
        .flags(&[Write, DenyOom], &[Acl::Set])
        .keys(STORED)
        .syntax("destination key [key ...]")
        .doc(
            "1.0.0",
            "Keeps the members that any of the sets has.",
            "O(N) members of all sets",
        ),
];
