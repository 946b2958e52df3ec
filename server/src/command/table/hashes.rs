//! Rows of the hash commands.

use crate::command::Flag::{DenyOom, Fast, Readonly, Write};
use crate::command::{Acl, CommandSpec, Group, Handler, KeyAccess, KeySpec};
use crate::commands::access::{changes, reads};
use crate::commands::{
    element_scan, field_expiry, field_values, hash_numbers, hashes, random_elements,
};

const GROUP: Group = Group::Hash;

/// Nothing of the value is answered, and parts of it go.
const DELETE: KeyAccess = KeyAccess {
    names: &["RW", "delete"],
};

/// Parts are added, and nothing of the value is answered.
const INSERT: KeyAccess = KeyAccess {
    names: &["RW", "insert"],
};

const fn row(name: &'static str, arity: i32, handler: Handler) -> CommandSpec {
    CommandSpec::new(name, arity, GROUP, handler)
}

pub(super) const ROWS: &[CommandSpec] = &[
    row("hdel", -3, changes!(hashes::hdel))
        .flags(&[Write, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(DELETE)])
        .syntax("key field [field ...]")
        .doc(
            "2.0.0",
            "Removes fields of a hash, and a hash without fields.",
            "O(N) fields",
        ),
    row("hexists", 3, reads!(hashes::hexists))
        .flags(&[Readonly, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::LOOK)])
        .syntax("key field")
        .doc("2.0.0", "Tells whether a hash has a field.", "O(1)"),
    row("hexpire", -6, changes!(field_expiry::hexpire))
        .flags(&[Write, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]")
        .doc(
            "7.4.0",
            "Sets the time to live of fields in seconds.",
            "O(N) fields",
        ),
    row("hexpireat", -6, changes!(field_expiry::hexpireat))
        .flags(&[Write, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key unix-time-seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]")
        .doc(
            "7.4.0",
            "Sets when fields expire, in Unix seconds.",
            "O(N) fields",
        ),
    row("hexpiretime", -5, reads!(field_expiry::hexpiretime))
        .flags(&[Readonly, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key FIELDS numfields field [field ...]")
        .doc(
            "7.4.0",
            "Tells when fields expire, in Unix seconds.",
            "O(N) fields",
        ),
    row("hget", 3, reads!(hashes::hget))
        .flags(&[Readonly, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key field")
        .doc("2.0.0", "Answers the value of a field.", "O(1)"),
    row("hgetall", 2, reads!(hashes::hgetall))
        .flags(&[Readonly], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key")
        .doc(
            "2.0.0",
            "Answers all fields of a hash and their values.",
            "O(N) fields",
        )
        .tips(&["nondeterministic_output_order"]),
    row("hgetdel", -5, changes!(field_values::hgetdel))
        .flags(&[Write, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ_REMOVE)])
        .syntax("key FIELDS numfields field [field ...]")
        .doc(
            "8.0.0",
            "Answers the values of fields and removes them.",
            "O(N) fields",
        ),
    row("hgetex", -5, changes!(field_values::hgetex))
        .flags(&[Write, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
        .syntax(
            "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | \
             PXAT unix-time-milliseconds | PERSIST] FIELDS numfields field [field ...]",
        )
        .doc(
            "8.0.0",
            "Answers the values of fields and sets or removes their time to live.",
            "O(N) fields",
        ),
    row("hincrby", 4, changes!(hash_numbers::hincrby))
        .flags(&[Write, DenyOom, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
        .syntax("key field increment")
        .doc(
            "2.0.0",
            "Adds to the number in a field, 0 where there is none.",
            "O(1)",
        ),
    row("hincrbyfloat", 4, changes!(hash_numbers::hincrbyfloat))
        .flags(&[Write, DenyOom, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
        .syntax("key field increment")
        .doc(
            "2.6.0",
            "Adds to the decimal number in a field, 0 where there is none.",
            "O(1)",
        ),
    row("hkeys", 2, reads!(hashes::hkeys))
        .flags(&[Readonly], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key")
        .doc("2.0.0", "Answers all fields of a hash.", "O(N) fields")
        .tips(&["nondeterministic_output_order"]),
    row("hlen", 2, reads!(hashes::hlen))
        .flags(&[Readonly, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::LOOK)])
        .syntax("key")
        .doc("2.0.0", "Counts the fields of a hash.", "O(1)"),
    row("hmget", -3, reads!(hashes::hmget))
        .flags(&[Readonly, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key field [field ...]")
        .doc(
            "2.0.0",
            "Answers the values of fields; their device reads overlap.",
            "O(N) fields",
        ),
    row("hmset", -4, changes!(hashes::hmset))
        .flags(&[Write, DenyOom, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key field value [field value ...]")
        .doc(
            "2.0.0",
            "Does what HSET does, its earlier name, and answers OK.",
            "O(N) fields",
        ),
    row("hpersist", -5, changes!(field_expiry::hpersist))
        .flags(&[Write, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key FIELDS numfields field [field ...]")
        .doc(
            "7.4.0",
            "Removes the time to live of fields.",
            "O(N) fields",
        ),
    row("hpexpire", -6, changes!(field_expiry::hpexpire))
        .flags(&[Write, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]")
        .doc(
            "7.4.0",
            "Sets the time to live of fields in milliseconds.",
            "O(N) fields",
        ),
    row("hpexpireat", -6, changes!(field_expiry::hpexpireat))
        .flags(&[Write, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key unix-time-milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]")
        .doc(
            "7.4.0",
            "Sets when fields expire, in Unix milliseconds.",
            "O(N) fields",
        ),
    row("hpexpiretime", -5, reads!(field_expiry::hpexpiretime))
        .flags(&[Readonly, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key FIELDS numfields field [field ...]")
        .doc(
            "7.4.0",
            "Tells when fields expire, in Unix milliseconds.",
            "O(N) fields",
        ),
    row("hpttl", -5, reads!(field_expiry::hpttl))
        .flags(&[Readonly, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key FIELDS numfields field [field ...]")
        .doc(
            "7.4.0",
            "Tells the time to live of fields in milliseconds.",
            "O(N) fields",
        )
        .tips(&["nondeterministic_output"]),
    row("hrandfield", -2, reads!(random_elements::hrandfield))
        .flags(&[Readonly], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key [count [WITHVALUES]]")
        .doc(
            "6.2.0",
            "Answers random fields of a hash, each as likely as any other.",
            "O(N) fields answered",
        )
        .tips(&["nondeterministic_output"]),
    row("hscan", -3, reads!(element_scan::hscan))
        .flags(&[Readonly], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key cursor [MATCH pattern] [COUNT count]")
        .doc(
            "2.8.0",
            "Goes over the fields of a hash, a step at a time.",
            "O(1) a step",
        )
        .tips(&["nondeterministic_output"]),
    row("hset", -4, changes!(hashes::hset))
        .flags(&[Write, DenyOom, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key field value [field value ...]")
        .doc(
            "2.0.0",
            "Sets fields of a hash and counts those that are new.",
            "O(N) fields",
        ),
    row("hsetex", -6, changes!(field_values::hsetex))
        .flags(&[Write, DenyOom, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax(
            "key [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | \
             PXAT unix-time-milliseconds | KEEPTTL] FIELDS numfields field value [field value ...]",
        )
        .doc(
            "8.0.0",
            "Sets fields and their time to live.",
            "O(N) fields",
        ),
    row("hsetnx", 4, changes!(hashes::hsetnx))
        .flags(&[Write, DenyOom, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(INSERT)])
        .syntax("key field value")
        .doc(
            "2.0.0",
            "Sets a field of a hash that it does not have.",
            "O(1)",
        ),
    row("hstrlen", 3, reads!(hashes::hstrlen))
        .flags(&[Readonly, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::LOOK)])
        .syntax("key field")
        .doc("3.2.0", "Tells the length of a field's value.", "O(1)"),
    row("httl", -5, reads!(field_expiry::httl))
        .flags(&[Readonly, Fast], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key FIELDS numfields field [field ...]")
        .doc(
            "7.4.0",
            "Tells the time to live of fields in seconds.",
            "O(N) fields",
        )
        .tips(&["nondeterministic_output"]),
    row("hvals", 2, reads!(hashes::hvals))
        .flags(&[Readonly], &[Acl::Hash])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key")
        .doc("2.0.0", "Answers all values of a hash.", "O(N) fields")
        .tips(&["nondeterministic_output_order"]),
];
