//! Sets: members, algebra, random members, scans, encodings, and large ones.

use std::collections::BTreeSet;

use crate::script::Script;
use crate::socket::Reply;

type Members = BTreeSet<Vec<u8>>;

fn members(reply: Reply) -> Members {
    let Reply::Many(_, Some(elements)) = reply else {
        panic!("{reply}");
    };
    let count = elements.len();
    let members: Members = elements
        .into_iter()
        .map(|element| match element {
            Reply::Bulk(_, Some(member)) => member,
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(members.len(), count, "a member comes once");
    members
}

#[test]
fn members_are_added_and_read() {
    let mut script = Script::start();
    script.run(
        "
        SADD s b a b -> :2
        SADD s a c -> :1
        SMEMBERS s -> ['b' 'a' 'c']
        SCARD s -> :3
        SCARD none -> :0
        SISMEMBER s a -> :1
        SISMEMBER s x -> :0
        SISMEMBER none x -> :0
        SMISMEMBER s a x c -> [:1 :0 :1]
        SMISMEMBER none a x -> [:0 :0]
        SREM s a x -> :1
        SREM none a -> :0
        SMEMBERS s -> ['b' 'c']
        SMEMBERS none -> []
        SADD s -> -ERR wrong number of arguments for 'sadd' command
        SREM s b c -> :2
        EXISTS s -> :0
        SADD i 10 9 -1 100 9 -> :4
        SMEMBERS i -> ['-1' '9' '10' '100']
        SADD s a -> :1
        SMOVE s t a -> :1
        EXISTS s -> :0
        SMEMBERS t -> ['a']
        SMOVE t s x -> :0
        SMOVE none t a -> :0
        SMOVE t t a -> :1
        SMOVE t t x -> :0
        SADD u a -> :1
        SMOVE t u a -> :1
        EXISTS t -> :0
        ",
    );
    script.call(&[b"HELLO", b"3"]);
    script.run(
        "
        SMEMBERS u -> ~['a']
        SMEMBERS none -> ~[]
        SINTER u u -> ~['a']
        SPOP u 5 -> ~['a']
        SPOP u 5 -> ~[]
        SPOP u -> _
        SRANDMEMBER u -> _
        SRANDMEMBER u 2 -> []
        ",
    );
}

#[test]
fn wrong_types_are_told() {
    let mut script = Script::start();
    script.run("SET s 1 -> +OK\nSADD m x -> :1");
    for request in [
        "SADD s a",
        "SREM s a",
        "SMEMBERS s",
        "SISMEMBER s a",
        "SMISMEMBER s a",
        "SCARD s",
        "SMOVE s m a",
        "SMOVE m s a",
        "SPOP s",
        "SPOP s 1",
        "SRANDMEMBER s",
        "SRANDMEMBER s 1",
        "SSCAN s 0",
        "SINTER m s",
        "SINTER none s",
        "SINTERCARD 2 m s",
        "SINTERSTORE d m s",
        "SUNION m s",
        "SUNIONSTORE d m s",
        "SDIFF m s",
        "SDIFF none s",
        "SDIFFSTORE d m s",
        "GET m",
        "APPEND m x",
        "INCR m",
    ] {
        script.check(
            request,
            "-WRONGTYPE Operation against a key holding the wrong kind of value",
        );
    }
    script.run("SUNIONSTORE s m -> :1\nTYPE s -> +set");
}

#[test]
fn algebra_of_small_sets() {
    let mut script = Script::start();
    script.run(
        "
        SADD a 1 2 3 4 5 -> :5
        SADD b 3 4 x y -> :4
        SADD c 4 y -> :2
        SINTER a b -> ['3' '4']
        SINTER a b c -> ['4']
        SINTER a none -> []
        SINTERCARD 2 a b -> :2
        SINTERCARD 2 a b LIMIT 1 -> :1
        SINTERCARD 2 a b LIMIT 0 -> :2
        SINTERCARD 0 a -> -ERR numkeys should be greater than 0
        SINTERCARD x a -> -ERR numkeys should be greater than 0
        SINTERCARD 3 a b -> -ERR Number of keys can't be greater than number of args
        SINTERCARD 2 a b LIMIT -1 -> -ERR LIMIT can't be negative
        SINTERCARD 2 a b LIMIT -> -ERR syntax error
        SINTERCARD 2 a b foo 1 -> -ERR syntax error
        SDIFF a b -> ['1' '2' '5']
        SDIFF a none -> ['1' '2' '3' '4' '5']
        SDIFF none a -> []
        SDIFFSTORE d a b -> :3
        OBJECT ENCODING d -> 'intset'
        SMEMBERS d -> ['1' '2' '5']
        SUNIONSTORE u a b c -> :7
        OBJECT ENCODING u -> 'listpack'
        SINTERSTORE i b a -> :2
        OBJECT ENCODING i -> 'intset'
        SINTERSTORE i b c -> :2
        OBJECT ENCODING i -> 'listpack'
        EXPIRE i 100 -> :1
        SINTERSTORE i i b -> :2
        TTL i -> :-1
        SINTERSTORE i a none -> :0
        EXISTS i -> :0
        SDIFFSTORE a a a -> :0
        EXISTS a -> :0
        ",
    );
    let union = script.call(&[b"SUNION", b"b", b"c", b"none", b"d"]);
    let expected = ["3", "4", "x", "y", "1", "2", "5"];
    assert_eq!(
        members(union),
        expected.map(|member| member.as_bytes().to_vec()).into()
    );
}

#[test]
fn encodings_follow_redis() {
    let mut script = Script::start();
    script.run(
        "
        CONFIG SET set-max-intset-entries 4 set-max-listpack-entries 3 -> +OK
        CONFIG SET set-max-listpack-value 4 -> +OK
        SADD i 1 2 3 -> :3
        OBJECT ENCODING i -> 'intset'
        SADD i 4 -> :1
        OBJECT ENCODING i -> 'intset'
        SADD i 5 -> :1
        OBJECT ENCODING i -> 'hashtable'
        SADD j 1 2 -> :2
        SADD j x -> :1
        OBJECT ENCODING j -> 'listpack'
        SMEMBERS j -> ['1' '2' 'x']
        SADD j y -> :1
        OBJECT ENCODING j -> 'hashtable'
        SREM j y x -> :2
        OBJECT ENCODING j -> 'hashtable'
        SADD k 1 2 3 -> :3
        SADD k x -> :1
        OBJECT ENCODING k -> 'hashtable'
        SADD l 12345 -> :1
        SADD l x -> :1
        OBJECT ENCODING l -> 'hashtable'
        SADD m x -> :1
        SADD m 12345 -> :1
        OBJECT ENCODING m -> 'hashtable'
        SADD n 01 -> :1
        OBJECT ENCODING n -> 'listpack'
        SADD o a b c d -> :4
        OBJECT ENCODING o -> 'hashtable'
        SADD p a a a a -> :1
        OBJECT ENCODING p -> 'hashtable'
        ",
    );
}

#[test]
fn random_members() {
    let mut script = Script::start();
    script.run(
        "
        SPOP none -> nil
        SPOP none 2 -> []
        SRANDMEMBER none -> nil
        SRANDMEMBER none 2 -> []
        SADD s a -> :1
        SRANDMEMBER s -> 'a'
        SRANDMEMBER s 3 -> ['a']
        SRANDMEMBER s -3 -> ['a' 'a' 'a']
        SRANDMEMBER s 0 -> []
        SRANDMEMBER s x -> -ERR value is not an integer or out of range
        SRANDMEMBER s 1 2 -> -ERR syntax error
        SPOP s 0 -> []
        SPOP s -1 -> -ERR value is out of range, must be positive
        SPOP s x -> -ERR value is out of range, must be positive
        SPOP s 1 2 -> -ERR syntax error
        SPOP s -> 'a'
        EXISTS s -> :0
        ",
    );
}

#[test]
fn scans_of_small_sets() {
    Script::start().run(
        "
        SADD s a b ab -> :3
        SSCAN s 0 -> ['0' ['a' 'b' 'ab']]
        SSCAN s 0 MATCH a* -> ['0' ['a' 'ab']]
        SSCAN none 0 -> ['0' []]
        SSCAN s x -> -ERR invalid cursor
        SSCAN s 0 TYPE set -> -ERR syntax error
        SCAN 0 COUNT 1000000 TYPE set -> ['0' ['s']]
        ",
    );
}

fn add(script: &mut Script, key: &[u8], all: &Members) {
    let all: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
    for chunk in all.chunks(1_000) {
        let request: Vec<&[u8]> = [b"SADD", key]
            .into_iter()
            .chain(chunk.iter().copied())
            .collect();
        assert_eq!(
            script.call(&request).to_string(),
            format!(":{}", chunk.len())
        );
    }
}

fn numbered(numbers: std::ops::Range<usize>) -> Members {
    numbers
        .map(|number| format!("member:{number}").into_bytes())
        .collect()
}

#[test]
fn large_sets_are_combined() {
    let mut script = Script::start();
    let (a, b) = (numbered(0..20_000), numbered(10_000..25_000));
    add(&mut script, b"a", &a);
    add(&mut script, b"b", &b);
    add(&mut script, b"few", &numbered(19_990..20_010));
    script.run("SCARD a -> :20000\nSINTERCARD 2 a b -> :10000\nSINTERCARD 2 a b LIMIT 7 -> :7");
    assert_eq!(members(script.call(&[b"SMEMBERS", b"a"])), a);
    assert_eq!(members(script.call(&[b"SINTER", b"a", b"b"])), &a & &b);
    assert_eq!(members(script.call(&[b"SDIFF", b"a", b"b"])), &a - &b);
    assert_eq!(members(script.call(&[b"SUNION", b"b", b"a"])), &a | &b);
    assert_eq!(
        members(script.call(&[b"SINTER", b"few", b"a"])),
        numbered(19_990..20_000)
    );
    script.run(
        "
        SUNIONSTORE u a b few -> :25000
        SDIFFSTORE d a b -> :10000
        SINTERSTORE i a few b -> :10
        OBJECT ENCODING u -> 'hashtable'
        OBJECT ENCODING i -> 'listpack'
        DEL a b -> :2
        ",
    );
    assert_eq!(members(script.call(&[b"SMEMBERS", b"u"])), &a | &b);
    assert_eq!(members(script.call(&[b"SMEMBERS", b"d"])), &a - &b);
}

#[test]
fn a_large_set_is_popped_empty() {
    let mut script = Script::start();
    let mut left = numbered(0..8_000);
    add(&mut script, b"s", &left);
    let drawn = members(script.call(&[b"SRANDMEMBER", b"s", b"300"]));
    assert!(drawn.len() == 300 && drawn.is_subset(&left));
    let drawn = members(script.call(&[b"SRANDMEMBER", b"s", b"7000"]));
    assert!(drawn.len() == 7_000 && drawn.is_subset(&left));
    // a few, a third, almost all: each is done in another way
    for (count, encoding) in [
        (10, "'hashtable'"),
        (3_000, "'hashtable'"),
        (4_900, "'listpack'"),
    ] {
        let popped = members(script.call(&[b"SPOP", b"s", count.to_string().as_bytes()]));
        assert!(popped.len() == count && popped.is_subset(&left));
        left = &left - &popped;
        assert_eq!(members(script.call(&[b"SMEMBERS", b"s"])), left);
        script.check("OBJECT ENCODING s", encoding);
        script.check("SCARD s", &format!(":{}", left.len()));
    }
    let popped = members(script.call(&[b"SPOP", b"s", b"1000"]));
    assert_eq!(popped, left);
    script.run("EXISTS s -> :0");
}
