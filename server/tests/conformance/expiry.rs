//! Deadlines: setting, telling, and passing them.

use std::time::{Duration, Instant};

use crate::script::Script;
use crate::socket::Reply;

#[test]
fn deadlines() {
    Script::start().run(
        "
        EXPIRE none 10 -> :0
        TTL none -> :-2
        PERSIST none -> :0
        SET a 1 -> +OK
        TTL a -> :-1
        EXPIRETIME a -> :-1
        PERSIST a -> :0
        EXPIRE a 100 -> :1
        TTL a -> :100
        PERSIST a -> :1
        TTL a -> :-1
        EXPIREAT a 33177117420 -> :1
        EXPIRETIME a -> :33177117420
        PEXPIRETIME a -> :33177117420000
        PEXPIREAT a 33177117420499 -> :1
        EXPIRETIME a -> :33177117420
        PEXPIREAT a 33177117420500 -> :1
        EXPIRETIME a -> :33177117421
        EXPIREAT a 1 -> :1
        EXISTS a -> :0
        SET a 1 -> +OK
        EXPIRE a -1 -> :1
        EXISTS a -> :0
        SET a 1 -> +OK
        EXPIRE a x -> -ERR value is not an integer or out of range
        EXPIRE a 9223372036854775807 -> -ERR invalid expire time in 'expire' command
        PEXPIRE a 9223372036854775807 -> -ERR invalid expire time in 'pexpire' command
        EXPIREAT a -9223372036854775808 -> -ERR invalid expire time in 'expireat' command
        EXPIRE a 10 FOO -> -ERR Unsupported option FOO
        ",
    );
}

#[test]
fn conditions() {
    Script::start().run(
        "
        SET a 1 -> +OK
        EXPIRE a 100 XX -> :0
        EXPIRE a 100 GT -> :0
        EXPIRE a 100 LT -> :1
        EXPIRE a 200 NX -> :0
        EXPIRE a 200 LT -> :0
        EXPIRE a 200 GT -> :1
        TTL a -> :200
        EXPIRE a 50 XX LT -> :1
        EXPIRE none 50 NX -> :0
        EXPIRE a 1 NX XX -> -ERR NX and XX, GT or LT options at the same time are not compatible
        EXPIRE a 1 GT LT -> -ERR GT and LT options at the same time are not compatible
        ",
    );
}

#[test]
fn writes_keep_or_drop_the_deadline() {
    Script::start().run(
        "
        SETEX a 100 5 -> +OK
        INCR a -> :6
        APPEND a x -> :2
        SETRANGE a 0 y -> :2
        SETBIT a 3 1 -> :1
        INCRBYFLOAT f 1 -> '1'
        EXPIRE f 100 -> :1
        INCRBYFLOAT f 1 -> '2'
        TTL f -> :100
        TTL a -> :100
        GETSET a 1 -> 'yx'
        TTL a -> :-1
        SETEX b 100 1 -> +OK
        SET b 2 KEEPTTL -> +OK
        TTL b -> :100
        MSET b 3 -> +OK
        TTL b -> :-1
        SETEX c 100 1 -> +OK
        BITOP NOT c b -> :1
        TTL c -> :-1
        SET d 1 -> +OK
        SETEX e 100 1 -> +OK
        RENAME d e -> +OK
        TTL e -> :-1
        ",
    );
}

#[test]
fn a_deadline_passes() {
    let mut script = Script::start();
    script.run(
        "
        SET a 1 PX 50 -> +OK
        SET b 1 EX 1000 -> +OK
        PEXPIRE b 50 -> :1
        ",
    );
    let deadline = Instant::now() + Duration::from_secs(20);
    for key in [b"a", b"b"] {
        while script.call(&[b"GET", key]) != Reply::Bulk(b'$', None) {
            assert!(Instant::now() < deadline, "the key outlives its deadline");
        }
    }
    script.run(
        "
        EXISTS a b -> :0
        TTL a -> :-2
        TYPE a -> +none
        INCR a -> :1
        TTL a -> :-1
        SET b 2 NX -> +OK
        ",
    );
}
