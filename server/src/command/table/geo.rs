//! Rows of the commands on places.

use crate::command::Flag::{DenyOom, MovableKeys, Readonly, Write};
use crate::command::{Acl, CommandSpec, Flag, Group, Handler, KeyAccess, KeySpec};
use crate::commands::access::{changes, reads};
use crate::commands::geo::{add, read, search};

/// A command on places.
const fn row(name: &'static str, arity: i32, flags: &[Flag], handler: Handler) -> CommandSpec {
    CommandSpec::new(name, arity, Group::Geo, handler).flags(flags, &[Acl::Geo])
}

/// The key that is searched, and those that take what was found: options from argument `first` on.
const fn search_keys(first: isize) -> [KeySpec; 3] {
    [
        KeySpec::one(KeyAccess::READ),
        KeySpec::keyword("STORE", first, KeyAccess::OVERWRITE),
        KeySpec::keyword("STOREDIST", first, KeyAccess::OVERWRITE),
    ]
}

const RADIUS_KEYS: &[KeySpec] = &search_keys(6);
const MEMBER_KEYS: &[KeySpec] = &search_keys(5);

pub(super) const ROWS: &[CommandSpec] = &[
    row("geoadd", -5, &[Write, DenyOom], changes!(add::geoadd))
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]")
        .doc(
            "3.2.0",
            "Adds places, or moves them.",
            "O(log(N)) for each place",
        ),
    row("geodist", -4, &[Readonly], reads!(read::geodist))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key member1 member2 [M | KM | FT | MI]")
        .doc("3.2.0", "Answers the distance between two places.", "O(1)"),
    row("geohash", -2, &[Readonly], reads!(read::geohash))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key [member [member ...]]")
        .doc("3.2.0", "Answers places as geohashes.", "O(M) places"),
    row("geopos", -2, &[Readonly], reads!(read::geopos))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key [member [member ...]]")
        .doc(
            "3.2.0",
            "Answers longitude and latitude of places.",
            "O(M) places",
        ),
    row(
        "georadius",
        -6,
        &[Write, DenyOom, MovableKeys],
        Handler::Wait(search::georadius),
    )
    .keys(RADIUS_KEYS)
    .syntax(
        "key longitude latitude radius M | KM | FT | MI [WITHCOORD] [WITHDIST] \
[WITHHASH] [COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]",
    )
    .doc(
        "3.2.0",
        "Answers or stores the places in a circle around a point.",
        "O(N + log(M)), N places in the cells around the shape, M in the set",
    ),
    row(
        "georadius_ro",
        -6,
        &[Readonly],
        Handler::Wait(search::georadius_ro),
    )
    .keys(&[KeySpec::one(KeyAccess::READ)])
    .syntax(
        "key longitude latitude radius M | KM | FT | MI [WITHCOORD] [WITHDIST] \
[WITHHASH] [COUNT count [ANY]] [ASC | DESC]",
    )
    .doc(
        "3.2.10",
        "Answers the places in a circle around a point.",
        "O(N + log(M)), N places in the cells around the shape, M in the set",
    ),
    row(
        "georadiusbymember",
        -5,
        &[Write, DenyOom, MovableKeys],
        Handler::Wait(search::georadiusbymember),
    )
    .keys(MEMBER_KEYS)
    .syntax(
        "key member radius M | KM | FT | MI [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT \
count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]",
    )
    .doc(
        "3.2.0",
        "Answers or stores the places in a circle around a member.",
        "O(N + log(M)), N places in the cells around the shape, M in the set",
    ),
    row(
        "georadiusbymember_ro",
        -5,
        &[Readonly],
        Handler::Wait(search::georadiusbymember_ro),
    )
    .keys(&[KeySpec::one(KeyAccess::READ)])
    .syntax(
        "key member radius M | KM | FT | MI [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT \
count [ANY]] [ASC | DESC]",
    )
    .doc(
        "3.2.10",
        "Answers the places in a circle around a member.",
        "O(N + log(M)), N places in the cells around the shape, M in the set",
    ),
    row(
        "geosearch",
        -7,
        &[Readonly],
        Handler::Wait(search::geosearch),
    )
    .keys(&[KeySpec::one(KeyAccess::READ)])
    .syntax(
        "key FROMMEMBER member | FROMLONLAT longitude latitude BYRADIUS radius M | \
KM | FT | MI | BYBOX width height M | KM | FT | MI [ASC | DESC] [COUNT \
count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]",
    )
    .doc(
        "6.2.0",
        "Answers the places in a circle or rectangle.",
        "O(N + log(M)), N places in the cells around the shape, M in the set",
    ),
    row(
        "geosearchstore",
        -8,
        &[Write, DenyOom],
        Handler::Wait(search::geosearchstore),
    )
    .keys(&[
        KeySpec::one(KeyAccess::OVERWRITE),
        KeySpec::at(2, KeyAccess::READ),
    ])
    .syntax(
        "destination source FROMMEMBER member | FROMLONLAT longitude latitude \
BYRADIUS radius M | KM | FT | MI | BYBOX width height M | KM | FT | MI [ASC \
| DESC] [COUNT count [ANY]] [STOREDIST]",
    )
    .doc(
        "6.2.0",
        "Stores the places in a circle or rectangle.",
        "O(N + log(M)), N places in the cells around the shape, M in the set",
    ),
];
