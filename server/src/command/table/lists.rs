//! Rows of the list commands.

use crate::command::Flag::{Blocking, DenyOom, Fast, MovableKeys, Readonly, Write};
use crate::command::{Acl, CommandSpec, Group, Handler, KeyAccess, KeySpec};
use crate::commands::access::{changes, reads};
use crate::commands::lists::{blocking, ends, middle, moves, reads};

const GROUP: Group = Group::List;

/// Elements are added.
const INSERT: KeyAccess = KeyAccess {
    names: &["RW", "insert"],
};
/// Elements are removed.
const SHRINK: KeyAccess = KeyAccess {
    names: &["RW", "delete"],
};
/// An element leaves the first key for the second.
const MOVE_KEYS: &[KeySpec] = &[KeySpec::one(KeyAccess::READ_REMOVE), KeySpec::at(2, INSERT)];

/// Keys that follow their count, argument number `first`.
const fn counted(first: isize) -> KeySpec {
    KeySpec::counted(first, KeyAccess::READ_REMOVE)
}

/// A command on one list.
const fn row(
    name: &'static str,
    arity: i32,
    handler: Handler,
    keys: &'static [KeySpec],
) -> CommandSpec {
    CommandSpec::new(name, arity, GROUP, handler).keys(keys)
}

const READ: &[KeySpec] = &[KeySpec::one(KeyAccess::READ)];
const POP: &[KeySpec] = &[KeySpec::one(KeyAccess::READ_REMOVE)];
const PUSH: &[KeySpec] = &[KeySpec::one(INSERT)];

pub(super) const ROWS: &[CommandSpec] = &[
    row("blmove", 6, Handler::Wait(blocking::blmove), MOVE_KEYS)
        .flags(&[Write, DenyOom, Blocking], &[Acl::List])
        .syntax("source destination (LEFT | RIGHT) (LEFT | RIGHT) timeout")
        .doc(
            "6.2.0",
            "Moves an element from one list to another, and waits for one.",
            "O(log N) elements",
        ),
    row("blmpop", -5, Handler::Wait(blocking::blmpop), &[counted(2)])
        .flags(&[Write, Blocking, MovableKeys], &[Acl::List])
        .syntax("timeout numkeys key [key ...] (LEFT | RIGHT) [COUNT count]")
        .doc(
            "7.0.0",
            "Pops elements from the first list that has some, and waits for one.",
            "O(N) keys and elements popped",
        ),
    row(
        "blpop",
        -3,
        Handler::Wait(blocking::blpop),
        &[KeySpec::range(1, -2, 1, KeyAccess::READ_REMOVE)],
    )
    .flags(&[Write, Blocking], &[Acl::List])
    .syntax("key [key ...] timeout")
    .doc(
        "2.0.0",
        "Pops the first element of the first list that has one, and waits for one.",
        "O(N) keys",
    ),
    row(
        "brpop",
        -3,
        Handler::Wait(blocking::brpop),
        &[KeySpec::range(1, -2, 1, KeyAccess::READ_REMOVE)],
    )
    .flags(&[Write, Blocking], &[Acl::List])
    .syntax("key [key ...] timeout")
    .doc(
        "2.0.0",
        "Pops the last element of the first list that has one, and waits for one.",
        "O(N) keys",
    ),
    row(
        "brpoplpush",
        4,
        Handler::Wait(blocking::brpoplpush),
        MOVE_KEYS,
    )
    .flags(&[Write, DenyOom, Blocking], &[Acl::List])
    .syntax("source destination timeout")
    .doc(
        "2.2.0",
        "Moves the last element of a list to the front of another, and waits for one.",
        "O(log N) elements",
    ),
    row("lindex", 3, reads!(reads::lindex), READ)
        .flags(&[Readonly], &[Acl::List])
        .syntax("key index")
        .doc(
            "1.0.0",
            "Answers an element by its index.",
            "O(log N) elements",
        ),
    row("linsert", 5, changes!(middle::linsert), PUSH)
        .flags(&[Write, DenyOom], &[Acl::List])
        .syntax("key (BEFORE | AFTER) pivot element")
        .doc(
            "2.2.0",
            "Inserts an element beside another.",
            "O(N) elements before it",
        ),
    row(
        "llen",
        2,
        reads!(reads::llen),
        &[KeySpec::one(KeyAccess::LOOK)],
    )
    .flags(&[Readonly, Fast], &[Acl::List])
    .syntax("key")
    .doc("1.0.0", "Tells the length of a list.", "O(1)"),
    row("lmove", 5, Handler::Wait(moves::lmove), MOVE_KEYS)
        .flags(&[Write, DenyOom], &[Acl::List])
        .syntax("source destination (LEFT | RIGHT) (LEFT | RIGHT)")
        .doc(
            "6.2.0",
            "Moves an element from one list to another.",
            "O(log N) elements",
        ),
    row("lmpop", -4, Handler::Wait(ends::lmpop), &[counted(1)])
        .flags(&[Write, MovableKeys], &[Acl::List])
        .syntax("numkeys key [key ...] (LEFT | RIGHT) [COUNT count]")
        .doc(
            "7.0.0",
            "Pops elements from the first list that has some.",
            "O(N) keys and elements popped",
        ),
    row("lpop", -2, changes!(ends::lpop), POP)
        .flags(&[Write, Fast], &[Acl::List])
        .syntax("key [count]")
        .doc(
            "1.0.0",
            "Pops the first elements of a list.",
            "O(N) elements popped",
        ),
    row("lpos", -3, reads!(reads::lpos), READ)
        .flags(&[Readonly], &[Acl::List])
        .syntax("key element [RANK rank] [COUNT num-matches] [MAXLEN len]")
        .doc(
            "6.0.6",
            "Tells where an element is.",
            "O(N) elements compared",
        ),
    row("lpush", -3, changes!(ends::lpush), PUSH)
        .flags(&[Write, DenyOom, Fast], &[Acl::List])
        .syntax("key element [element ...]")
        .doc(
            "1.0.0",
            "Puts elements before the first of a list, or creates it.",
            "O(N) elements added",
        ),
    row("lpushx", -3, changes!(ends::lpushx), PUSH)
        .flags(&[Write, DenyOom, Fast], &[Acl::List])
        .syntax("key element [element ...]")
        .doc(
            "2.2.0",
            "Puts elements before the first of a list that exists.",
            "O(N) elements added",
        ),
    row("lrange", 4, reads!(reads::lrange), READ)
        .flags(&[Readonly], &[Acl::List])
        .syntax("key start stop")
        .doc(
            "1.0.0",
            "Answers a range of elements.",
            "O(N) elements answered",
        ),
    row("lrem", 4, changes!(middle::lrem), &[KeySpec::one(SHRINK)])
        .flags(&[Write], &[Acl::List])
        .syntax("key count element")
        .doc("1.0.0", "Removes elements by their value.", "O(N) elements"),
    row(
        "lset",
        4,
        changes!(middle::lset),
        &[KeySpec::one(KeyAccess::UPDATE)],
    )
    .flags(&[Write, DenyOom], &[Acl::List])
    .syntax("key index element")
    .doc(
        "1.0.0",
        "Sets an element by its index.",
        "O(log N) elements",
    ),
    row("ltrim", 4, changes!(middle::ltrim), &[KeySpec::one(SHRINK)])
        .flags(&[Write], &[Acl::List])
        .syntax("key start stop")
        .doc(
            "1.0.0",
            "Keeps a range of elements only.",
            "O(N) elements removed",
        ),
    row("rpop", -2, changes!(ends::rpop), POP)
        .flags(&[Write, Fast], &[Acl::List])
        .syntax("key [count]")
        .doc(
            "1.0.0",
            "Pops the last elements of a list.",
            "O(N) elements popped",
        ),
    row("rpoplpush", 3, Handler::Wait(moves::rpoplpush), MOVE_KEYS)
        .flags(&[Write, DenyOom], &[Acl::List])
        .syntax("source destination")
        .doc(
            "1.2.0",
            "Moves the last element of a list to the front of another.",
            "O(log N) elements",
        ),
    row("rpush", -3, changes!(ends::rpush), PUSH)
        .flags(&[Write, DenyOom, Fast], &[Acl::List])
        .syntax("key element [element ...]")
        .doc(
            "1.0.0",
            "Puts elements behind the last of a list, or creates it.",
            "O(N) elements added",
        ),
    row("rpushx", -3, changes!(ends::rpushx), PUSH)
        .flags(&[Write, DenyOom, Fast], &[Acl::List])
        .syntax("key element [element ...]")
        .doc(
            "2.2.0",
            "Puts elements behind the last of a list that exists.",
            "O(N) elements added",
        ),
];
