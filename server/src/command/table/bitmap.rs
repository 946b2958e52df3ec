//! Rows of the bitmap commands.

use crate::command::Flag::{DenyOom, Fast, Readonly, Write};
use crate::command::{Acl, CommandSpec, Group, Handler, KeyAccess, KeySpec};
use crate::commands::{bitfield, bitmap, bitop};

const GROUP: Group = Group::Bitmap;

pub(super) const ROWS: &[CommandSpec] = &[
    CommandSpec::new("bitcount", -2, GROUP, Handler::Wait(bitmap::bitcount))
        .flags(&[Readonly], &[Acl::Bitmap])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key [start end [BYTE | BIT]]")
        .doc("2.6.0", "Counts the set bits of a string.", "O(N) bytes"),
    CommandSpec::new("bitfield", -2, GROUP, Handler::Wait(bitfield::bitfield))
        .flags(&[Write, DenyOom], &[Acl::Bitmap])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE).variable()])
        .syntax(
            "key [GET encoding offset | [OVERFLOW WRAP | SAT | FAIL] SET encoding offset value | \
             INCRBY encoding offset increment ...]",
        )
        .doc(
            "3.2.0",
            "Reads and changes integers of any width in a string.",
            "O(N) operations",
        ),
    CommandSpec::new(
        "bitfield_ro",
        -2,
        GROUP,
        Handler::Wait(bitfield::bitfield_ro),
    )
    .flags(&[Readonly, Fast], &[Acl::Bitmap])
    .keys(&[KeySpec::one(KeyAccess::READ)])
    .syntax("key [GET encoding offset ...]")
    .doc(
        "6.0.0",
        "Reads integers of any width in a string.",
        "O(N) operations",
    ),
    CommandSpec::new("bitop", -4, GROUP, Handler::Wait(bitop::bitop))
        .flags(&[Write, DenyOom], &[Acl::Bitmap])
        .keys(&[
            KeySpec::at(2, KeyAccess::OVERWRITE),
            KeySpec::range(3, -1, 1, KeyAccess::READ),
        ])
        .syntax("AND | OR | XOR | NOT destkey key [key ...]")
        .doc(
            "2.6.0",
            "Combines strings bit by bit and stores the result.",
            "O(N) bytes",
        ),
    CommandSpec::new("bitpos", -3, GROUP, Handler::Wait(bitmap::bitpos))
        .flags(&[Readonly], &[Acl::Bitmap])
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key bit [start [end [BYTE | BIT]]]")
        .doc(
            "2.8.7",
            "Finds the first set or clear bit of a string.",
            "O(N) bytes",
        ),
    CommandSpec::new(
        "getbit",
        3,
        GROUP,
        Handler::Try(bitmap::try_getbit, bitmap::getbit),
    )
    .flags(&[Readonly, Fast], &[Acl::Bitmap])
    .keys(&[KeySpec::one(KeyAccess::READ)])
    .syntax("key offset")
    .doc("2.2.0", "Answers one bit of a string.", "O(1)"),
    CommandSpec::new("setbit", 4, GROUP, Handler::Wait(bitmap::setbit))
        .flags(&[Write, DenyOom], &[Acl::Bitmap])
        .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
        .syntax("key offset value")
        .doc("2.2.0", "Sets or clears one bit of a string.", "O(1)"),
];
