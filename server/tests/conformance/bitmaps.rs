//! Bitmaps: single bits, counts, positions, operations, integers of any width.

use crate::script::Script;

#[test]
fn single_bits() {
    Script::start().run(
        "
        SETBIT b 7 1 -> :0
        GET b -> '\\x01'
        SETBIT b 7 0 -> :1
        SETBIT b 15 1 -> :0
        STRLEN b -> :2
        GETBIT b 15 -> :1
        GETBIT b 100 -> :0
        GETBIT none 0 -> :0
        SETBIT b 0 2 -> -ERR bit is not an integer or out of range
        SETBIT b -1 1 -> -ERR bit offset is not an integer or out of range
        SETBIT b 4294967296 1 -> -ERR bit offset is not an integer or out of range
        GETBIT b x -> -ERR bit offset is not an integer or out of range
        ",
    );
}

#[test]
fn counts_and_positions() {
    Script::start().run(
        "
        SET s foobar -> +OK
        BITCOUNT s -> :26
        BITCOUNT s 0 0 -> :4
        BITCOUNT s 1 1 BYTE -> :6
        BITCOUNT s 5 30 BIT -> :17
        BITCOUNT s -1 -2 -> :0
        BITCOUNT s -1 -2 FOO -> :0
        BITCOUNT s 1 2 FOO -> -ERR syntax error
        BITCOUNT s 1 -> -ERR syntax error
        BITCOUNT none -> :0
        BITCOUNT none x y -> :0
        SETRANGE ones 2 x -> :3
        BITPOS ones 1 -> :17
        BITPOS ones 1 -1 -> :17
        BITPOS ones 0 2 -> :16
        BITPOS none 1 -> :-1
        BITPOS none 0 -> :0
        BITPOS s 2 -> -ERR The bit argument must be 1 or 0.
        SETBIT full 0 1 -> :0
        BITFIELD full SET u8 0 255 -> [:128]
        BITPOS full 0 -> :8
        BITPOS full 0 0 -> :8
        BITPOS full 0 0 -1 -> :-1
        BITPOS full 0 0 7 BIT -> :-1
        BITPOS full 1 5 -> :-1
        BITPOS full 1 3 6 BIT -> :3
        BITPOS full 1 0 1 FOO -> -ERR syntax error
        ",
    );
}

#[test]
fn operations() {
    Script::start().run(
        "
        MSET a foobar b abc -> +OK
        BITOP AND d a b -> :6
        GET d -> '`bc\\x00\\x00\\x00'
        BITOP OR d a b none -> :6
        GET d -> 'goobar'
        BITOP XOR d a a -> :6
        GET d -> '\\x00\\x00\\x00\\x00\\x00\\x00'
        BITOP NOT d b -> :3
        GET d -> '\\x9e\\x9d\\x9c'
        BITOP NOT b b -> :3
        GET b -> '\\x9e\\x9d\\x9c'
        BITOP AND d none other -> :0
        EXISTS d -> :0
        BITOP NOT d a b -> -ERR BITOP NOT must be called with a single source key.
        BITOP FOO d a -> -ERR syntax error
        ",
    );
}

#[test]
fn integers() {
    let mut script = Script::start();
    script.run(
        "
        BITFIELD k -> []
        BITFIELD k GET u8 0 -> [:0]
        EXISTS k -> :0
        BITFIELD k INCRBY i5 100 1 GET u4 0 -> [:1 :0]
        STRLEN k -> :14
        BITFIELD s SET i8 0 -100 GET u8 0 -> [:0 :156]
        BITFIELD s SET u8 #1 300 GET u8 #1 -> [:0 :44]
        BITFIELD o INCRBY u2 0 1 OVERFLOW SAT INCRBY u2 2 1 -> [:1 :1]
        BITFIELD o INCRBY u2 0 3 OVERFLOW SAT INCRBY u2 2 5 -> [:0 :3]
        BITFIELD o OVERFLOW FAIL INCRBY u2 2 1 -> [nil]
        BITFIELD f OVERFLOW FAIL SET u2 30 4 -> [nil]
        STRLEN f -> :4
        BITFIELD w SET i64 3 -2 GET i64 3 GET u63 4 -> [:0 :-2 :9223372036854775806]
        BITFIELD w GET u8 -1 -> -ERR bit offset is not an integer or out of range
        BITFIELD w GET u8 -> -ERR syntax error
        BITFIELD w OVERFLOW FOO -> -ERR Invalid OVERFLOW type specified
        BITFIELD w SET u8 0 x -> -ERR value is not an integer or out of range
        BITFIELD_RO w GET i64 3 -> [:-2]
        BITFIELD_RO w SET u8 0 1 -> -ERR BITFIELD_RO only supports the GET subcommand
        ",
    );
    script.check(
        "BITFIELD w GET u64 0",
        "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but \
         i64 is.",
    );
}
