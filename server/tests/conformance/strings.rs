//! Strings: SET and its options, reading, counting, ranges, LCS.

use crate::script::Script;
use crate::socket::Reply;

#[test]
fn set_and_its_options() {
    Script::start().run(
        "
        SET a 1 -> +OK
        GET a -> '1'
        SET a 2 NX -> nil
        SET b 2 XX -> nil
        SET a 2 XX -> +OK
        SET a 3 GET -> '2'
        SET new 1 GET -> nil
        SET new 2 NX GET -> '1'
        GET new -> '1'
        SET fresh 1 NX GET -> nil
        GET fresh -> '1'
        SET a 1 EX 100 -> +OK
        TTL a -> :100
        SET a 2 KEEPTTL -> +OK
        TTL a -> :100
        SET a 2 -> +OK
        TTL a -> :-1
        SET a 1 EXAT 1 -> +OK
        EXISTS a -> :0
        SET a 1 PXAT 99999999999999 -> +OK
        PEXPIRETIME a -> :99999999999999
        SET a 1 NX XX -> -ERR syntax error
        SET a 1 EX -> -ERR syntax error
        SET a 1 EX 1 KEEPTTL -> -ERR syntax error
        SET a 1 EX 1 PX 1 -> -ERR syntax error
        SET a 1 EX 0 -> -ERR invalid expire time in 'set' command
        SET a 1 PX -1 -> -ERR invalid expire time in 'set' command
        SET a 1 EX 9223372036854775807 -> -ERR invalid expire time in 'set' command
        SET a 1 EX 1.5 -> -ERR value is not an integer or out of range
        SET a -> -ERR wrong number of arguments for 'set' command
        SETNX a 9 -> :0
        SETNX n 9 -> :1
        SETEX s 10 v -> +OK
        TTL s -> :10
        SETEX s 0 v -> -ERR invalid expire time in 'setex' command
        PSETEX s x v -> -ERR value is not an integer or out of range
        GETSET s w -> 'v'
        TTL s -> :-1
        GETSET none w -> nil
        ",
    );
}

#[test]
fn reading_and_taking() {
    Script::start().run(
        "
        GET none -> nil
        GETDEL none -> nil
        GETEX none EX 10 -> nil
        MSET a 1 b 2 '' empty -> +OK
        GET '' -> 'empty'
        MGET a none b -> ['1' nil '2']
        MSET a 1 b -> -ERR wrong number of arguments for 'mset' command
        MSETNX c 1 a 2 -> :0
        EXISTS c -> :0
        MSETNX c 1 d 2 -> :1
        MSET e 1 e 2 -> +OK
        GET e -> '2'
        GETDEL a -> '1'
        EXISTS a -> :0
        GETEX b EX 100 -> '2'
        TTL b -> :100
        GETEX b -> '2'
        TTL b -> :100
        GETEX b PERSIST -> '2'
        TTL b -> :-1
        GETEX b PXAT 1 -> '2'
        EXISTS b -> :0
        GETEX c NX -> -ERR syntax error
        GETEX c EX 0 -> -ERR invalid expire time in 'getex' command
        GETEX none EX 0 -> nil
        SET v '' -> +OK
        GET v -> ''
        STRLEN v -> :0
        EXISTS v -> :1
        ",
    );
}

#[test]
fn counters() {
    Script::start().run(
        "
        INCR n -> :1
        INCRBY n 41 -> :42
        DECR n -> :41
        DECRBY n -9 -> :50
        GET n -> '50'
        OBJECT ENCODING n -> 'int'
        SET max 9223372036854775807 -> +OK
        INCR max -> -ERR increment or decrement would overflow
        SET min -9223372036854775808 -> +OK
        DECR min -> -ERR increment or decrement would overflow
        DECRBY n -9223372036854775808 -> -ERR decrement would overflow
        INCRBY n 9223372036854775808 -> -ERR value is not an integer or out of range
        SET s 012 -> +OK
        INCR s -> -ERR value is not an integer or out of range
        SET n 5 EX 100 -> +OK
        INCR n -> :6
        TTL n -> :100
        SET f 10.50 -> +OK
        INCRBYFLOAT f 0.1 -> '10.6'
        SET f 5 -> +OK
        INCRBYFLOAT f 2.0e3 -> '2005'
        INCRBYFLOAT f -2005 -> '0'
        OBJECT ENCODING f -> 'embstr'
        INCRBYFLOAT none 3 -> '3'
        INCRBYFLOAT f inf -> -ERR increment would produce NaN or Infinity
        INCRBYFLOAT f nan -> -ERR value is not a valid float
        INCRBYFLOAT s x -> -ERR value is not a valid float
        SET e 17179869184.123456789 -> +OK
        INCRBYFLOAT e 0.0000000000000001 -> '17179869184.12345678918063641'
        ",
    );
}

#[test]
fn ranges() {
    let mut script = Script::start();
    script.run(
        "
        SET s Hello -> +OK
        APPEND s ,World -> :11
        APPEND new x -> :1
        STRLEN s -> :11
        GETRANGE s 0 4 -> 'Hello'
        GETRANGE s -5 -1 -> 'World'
        GETRANGE s 5 3 -> ''
        GETRANGE s 0 -100 -> 'H'
        GETRANGE none 0 -1 -> ''
        GETRANGE s a 1 -> -ERR value is not an integer or out of range
        SUBSTR s 0 1 -> 'He'
        SETRANGE s 6 Redis -> :11
        GET s -> 'Hello,Redis'
        SETRANGE pad 3 x -> :4
        GET pad -> '\\x00\\x00\\x00x'
        SETRANGE none 5 '' -> :0
        EXISTS none -> :0
        SETRANGE s 0 '' -> :11
        SETRANGE s -1 x -> -ERR offset is out of range
        SETRANGE s 536870912 x -> -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        ",
    );
    script.check(
        "SETRANGE s 9223372036854775807 x",
        "-ERR string exceeds maximum allowed size (proto-max-bulk-len)",
    );
}

#[test]
fn longest_common_subsequence() {
    let mut script = Script::start();
    script.run(
        "
        MSET a ohmytext b mynewtext -> +OK
        LCS a b -> 'mytext'
        LCS a b LEN -> :6
        LCS a b IDX -> ['matches' [[[:4 :7] [:5 :8]] [[:2 :3] [:0 :1]]] 'len' :6]
        LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN -> ['matches' [[[:4 :7] [:5 :8] :4]] 'len' :6]
        LCS a none -> ''
        LCS a none LEN -> :0
        LCS a b LEN IDX -> -ERR If you want both the length and indexes, please just use IDX.
        LCS a b FOO -> -ERR syntax error
        LCS a -> -ERR wrong number of arguments for 'lcs' command
        ",
    );
    let long = vec![b'x'; 12_000];
    script.call(&[b"SET", b"long", &long]);
    let reply = script.call(&[b"LCS", b"long", b"long"]);
    let text = "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len";
    assert_eq!(reply, Reply::Line(b'-', text.into()));
}

#[test]
fn bytes_of_every_value_are_kept() {
    let mut script = Script::start();
    let all: Vec<u8> = (0..=255).collect();
    let ok = Reply::Line(b'+', b"OK".to_vec());
    assert_eq!(script.call(&[b"SET", &all, &all]), ok);
    assert_eq!(
        script.call(&[b"GET", &all]),
        Reply::Bulk(b'$', Some(all.clone()))
    );
    assert_eq!(
        script.call(&[b"KEYS", b"*"]),
        Reply::Many(b'*', Some(vec![Reply::Bulk(b'$', Some(all))]))
    );
}

#[test]
fn encodings() {
    let mut script = Script::start();
    script.run(
        "
        SET i 123 -> +OK
        OBJECT ENCODING i -> 'int'
        SET e 0123 -> +OK
        OBJECT ENCODING e -> 'embstr'
        APPEND i '' -> :3
        OBJECT ENCODING i -> 'raw'
        SET r 12345678901234567890123456789012345678901234 -> +OK
        OBJECT ENCODING r -> 'embstr'
        SET r 123456789012345678901234567890123456789012345 -> +OK
        OBJECT ENCODING r -> 'raw'
        OBJECT REFCOUNT r -> :1
        OBJECT ENCODING none -> nil
        OBJECT FREQ none -> nil
        OBJECT IDLETIME none -> nil
        OBJECT ENCODING -> -ERR wrong number of arguments for 'object|encoding' command
        OBJECT FOO r -> -ERR unknown subcommand 'FOO'. Try OBJECT HELP.
        ",
    );
}
