//! Hashes: fields, numbers, random fields, scans, encodings, and large ones.

use std::collections::{BTreeMap, BTreeSet};

use crate::script::Script;
use crate::socket::Reply;

#[test]
fn fields_are_set_and_read() {
    Script::start().run(
        "
        HSET h a 1 b 2 -> :2
        HSET h a 3 c '' -> :1
        HGET h a -> '3'
        HGET h c -> ''
        HGET h none -> nil
        HGET none a -> nil
        HSET h a -> -ERR wrong number of arguments for 'hset' command
        HSET h a 1 b -> -ERR wrong number of arguments for 'hset' command
        HMSET h a 1 b -> -ERR wrong number of arguments for 'hmset' command
        HMSET h a 4 '' 5 -> +OK
        HGET h '' -> '5'
        HMGET h a none '' -> ['4' nil '5']
        HMGET none a b -> [nil nil]
        HSETNX h a 9 -> :0
        HSETNX h d 9 -> :1
        HLEN h -> :5
        HLEN none -> :0
        HSTRLEN h d -> :1
        HSTRLEN h none -> :0
        HSTRLEN none d -> :0
        HEXISTS h d -> :1
        HEXISTS h none -> :0
        HGETALL h -> ['a' '4' 'b' '2' 'c' '' '' '5' 'd' '9']
        HKEYS h -> ['a' 'b' 'c' '' 'd']
        HVALS h -> ['4' '2' '' '5' '9']
        HGETALL none -> []
        HDEL h a none b -> :2
        HDEL none a -> :0
        HDEL h c '' d -> :3
        EXISTS h -> :0
        ",
    );
}

#[test]
fn numbers_in_fields() {
    Script::start().run(
        "
        HINCRBY h n 5 -> :5
        HINCRBY h n -7 -> :-2
        HSET h text abc max 9223372036854775807 float 10.50 -> :3
        HINCRBY h text 1 -> -ERR hash value is not an integer
        HINCRBY h max 1 -> -ERR increment or decrement would overflow
        HINCRBY h n x -> -ERR value is not an integer or out of range
        HINCRBY h float 1 -> -ERR hash value is not an integer
        HINCRBYFLOAT h float 0.1 -> '10.6'
        HINCRBYFLOAT h float -5 -> '5.6'
        HINCRBYFLOAT h new 5.0e3 -> '5000'
        HINCRBYFLOAT h text 1 -> -ERR hash value is not a float
        HINCRBYFLOAT h n inf -> -ERR value is NaN or Infinity
        HINCRBYFLOAT h n x -> -ERR value is not a valid float
        HGET h n -> '-2'
        ",
    );
}

#[test]
fn wrong_types_are_told() {
    let mut script = Script::start();
    script.run("SET s 1 -> +OK\nHSET h f 1 -> :1\nSADD m x -> :1");
    let refused = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    for request in [
        "HSET s f 1",
        "HSETNX s f 1",
        "HMSET s f 1",
        "HGET s f",
        "HMGET s f",
        "HGETALL s",
        "HKEYS s",
        "HVALS s",
        "HLEN m",
        "HSTRLEN m f",
        "HEXISTS s f",
        "HDEL s f",
        "HINCRBY s f 1",
        "HINCRBYFLOAT s f 1",
        "HRANDFIELD s",
        "HSCAN s 0",
        "GET h",
        "GETSET h 1",
        "GETDEL h",
        "GETEX h",
        "APPEND h x",
        "SETRANGE h 0 x",
        "GETRANGE h 0 1",
        "STRLEN h",
        "INCR h",
        "INCRBYFLOAT h 1",
        "SETBIT h 0 1",
        "GETBIT h 0",
        "BITCOUNT h",
        "BITPOS h 1",
        "BITOP NOT d h",
        "BITFIELD h GET u8 0",
        "SET h 1 GET",
        "LCS h s",
    ] {
        script.check(
            request,
            if request.starts_with("LCS") {
                "-ERR The specified keys must contain string values"
            } else {
                refused
            },
        );
    }
    script.run(
        "
        MGET s h m -> ['1' nil nil]
        SETNX h 1 -> :0
        TYPE h -> +hash
        SET h 1 -> +OK
        TYPE h -> +string
        ",
    );
}

#[test]
fn encodings_are_sticky() {
    let mut script = Script::start();
    script.run(
        "
        CONFIG SET hash-max-listpack-entries 3 hash-max-ziplist-value 5 -> +OK
        CONFIG GET hash-max-listpack-value -> ['hash-max-listpack-value' '5']
        HSET h a 1 b 2 c 3 -> :3
        OBJECT ENCODING h -> 'listpack'
        HSET h a 12345 -> :0
        OBJECT ENCODING h -> 'listpack'
        HSET h d 4 -> :1
        OBJECT ENCODING h -> 'hashtable'
        HDEL h b c d -> :3
        OBJECT ENCODING h -> 'hashtable'
        HSET long a 123456 -> :1
        OBJECT ENCODING long -> 'hashtable'
        HSET field abcdef 1 -> :1
        OBJECT ENCODING field -> 'hashtable'
        HINCRBY sum a 99999 -> :99999
        OBJECT ENCODING sum -> 'listpack'
        HINCRBY sum a 1 -> :100000
        OBJECT ENCODING sum -> 'hashtable'
        RENAME h g -> +OK
        OBJECT ENCODING g -> 'hashtable'
        COPY g c -> :1
        OBJECT ENCODING c -> 'hashtable'
        ",
    );
    script.check(
        "CONFIG SET hash-max-listpack-entries -1",
        "-ERR CONFIG SET failed (possibly related to argument 'hash-max-listpack-entries') - \
         argument must be between 0 and 9223372036854775807 inclusive",
    );
}

#[test]
fn expiry_stays_with_changes() {
    Script::start().run(
        "
        HSET h a 1 -> :1
        EXPIRE h 100 -> :1
        HSET h b 2 -> :1
        HINCRBY h a 1 -> :2
        HDEL h b -> :1
        TTL h -> :100
        PERSIST h -> :1
        TTL h -> :-1
        ",
    );
}

#[test]
fn random_fields() {
    let mut script = Script::start();
    script.run(
        "
        HRANDFIELD none -> nil
        HRANDFIELD none 2 -> []
        HRANDFIELD none -2 WITHVALUES -> []
        HSET h a 1 -> :1
        HRANDFIELD h -> 'a'
        HRANDFIELD h 0 -> []
        HRANDFIELD h 5 -> ['a']
        HRANDFIELD h 5 WITHVALUES -> ['a' '1']
        HRANDFIELD h -3 -> ['a' 'a' 'a']
        HRANDFIELD h -2 WITHVALUES -> ['a' '1' 'a' '1']
        HRANDFIELD h x -> -ERR value is not an integer or out of range
        HRANDFIELD h 1 foo -> -ERR syntax error
        HRANDFIELD h 1 WITHVALUES x -> -ERR syntax error
        HRANDFIELD h -9223372036854775807 WITHVALUES -> -ERR value is out of range
        ",
    );
    script.check(
        "HRANDFIELD h -9223372036854775808",
        "-ERR value is out of range, value must between -9223372036854775807 and \
         9223372036854775807",
    );
    script.call(&[b"HELLO", b"3"]);
    script.run(
        "
        HRANDFIELD h 2 WITHVALUES -> [['a' '1']]
        HRANDFIELD h -2 WITHVALUES -> [['a' '1'] ['a' '1']]
        HGETALL h -> %['a' '1']
        HGETALL none -> %[]
        HGET none a -> _
        HKEYS h -> ['a']
        HSCAN h 0 -> ['0' ['a' '1']]
        ",
    );
}

#[test]
fn scans_of_small_hashes() {
    Script::start().run(
        "
        HSET h a 1 b 2 ab 3 -> :3
        HSCAN h 0 -> ['0' ['a' '1' 'b' '2' 'ab' '3']]
        HSCAN h 0 MATCH a* COUNT 1 -> ['0' ['a' '1' 'ab' '3']]
        HSCAN none 0 -> ['0' []]
        HSCAN h x -> -ERR invalid cursor
        HSCAN h 0 COUNT 0 -> -ERR syntax error
        HSCAN h 0 COUNT x -> -ERR value is not an integer or out of range
        HSCAN h 0 TYPE hash -> -ERR syntax error
        HSCAN none 0 COUNT x -> ['0' []]
        SCAN 0 COUNT 1000000 TYPE hash -> ['0' ['h']]
        SCAN 0 COUNT 1000000 TYPE set -> ['0' []]
        ",
    );
}

/// Fields of a large hash: enough for hundreds of pages.
const FIELDS: usize = 20_000;

fn field(number: usize) -> Vec<u8> {
    format!("field:{number}").into_bytes()
}

fn value(number: usize) -> Vec<u8> {
    // some lie beside their pages
    let len = if number % 1000 == 7 {
        3000 + number
    } else {
        number % 40
    };
    vec![b'a' + (number % 26) as u8; len]
}

/// The pairs of a flat reply.
fn pairs(reply: &Reply) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let Reply::Many(_, Some(elements)) = reply else {
        panic!("{reply}");
    };
    let text = |reply: &Reply| match reply {
        Reply::Bulk(_, Some(bytes)) => bytes.clone(),
        other => panic!("{other}"),
    };
    let (pairs, rest) = elements.as_chunks::<2>();
    assert!(rest.is_empty());
    pairs
        .iter()
        .map(|[field, value]| (text(field), text(value)))
        .collect()
}

#[test]
fn a_large_hash_is_a_map() {
    let mut script = Script::start();
    let mut model = BTreeMap::new();
    for numbers in (0..FIELDS).collect::<Vec<_>>().chunks(1_000) {
        let mut request = vec![b"HSET".to_vec(), b"h".to_vec()];
        for number in numbers {
            request.extend([field(*number), value(*number)]);
            model.insert(field(*number), value(*number));
        }
        let request: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
        assert_eq!(
            script.call(&request).to_string(),
            format!(":{}", numbers.len())
        );
    }
    script.run("OBJECT ENCODING h -> 'hashtable'");
    script.check("HLEN h", &format!(":{FIELDS}"));
    for number in (0..FIELDS).step_by(371) {
        let found = script.call(&[b"HGET", b"h", &field(number)]);
        assert_eq!(found, Reply::Bulk(b'$', Some(value(number))));
        script.call(&[b"HDEL", b"h", &field(number)]);
        model.remove(&field(number));
        script.call(&[b"HSET", b"h", &field(number + 1), b"changed"]);
        model.insert(field(number + 1), b"changed".to_vec());
    }
    script.run("COPY h copy -> :1\nRENAME h g -> +OK\nEXPIRE g 1000 -> :1\nHSET g extra 1 -> :1");
    script.run("TTL g -> :1000\nHDEL g extra -> :1");
    for key in [b"g".as_slice(), b"copy"] {
        assert_eq!(pairs(&script.call(&[b"HGETALL", key])), model);
        assert_eq!(scan(&mut script, key), model);
    }
    let names: BTreeSet<Vec<u8>> = model.keys().cloned().collect();
    let Reply::Many(_, Some(some)) = script.call(&[b"HRANDFIELD", b"g", b"500"]) else {
        panic!("it has fields");
    };
    let some: BTreeSet<Vec<u8>> = some
        .into_iter()
        .map(|reply| match reply {
            Reply::Bulk(_, Some(name)) => name,
            other => panic!("{other}"),
        })
        .collect();
    assert!(some.len() == 500 && some.is_subset(&names));
    script
        .run("DEL g -> :1\nEXISTS g -> :0\nHLEN g -> :0\nHSET g a 1 -> :1\nHGETALL g -> ['a' '1']");
    assert_eq!(pairs(&script.call(&[b"HGETALL", b"copy"])), model);
}

fn scan(script: &mut Script, key: &[u8]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let (mut found, mut cursor) = (BTreeMap::new(), b"0".to_vec());
    loop {
        let reply = script.call(&[b"HSCAN", key, &cursor, b"COUNT", b"100"]);
        let Reply::Many(_, Some(parts)) = reply else {
            panic!("HSCAN answers an array");
        };
        let Reply::Bulk(_, Some(next)) = &parts[0] else {
            panic!("a cursor is a string");
        };
        for (field, value) in pairs(&parts[1]) {
            assert!(found.insert(field, value).is_none(), "a field is met once");
        }
        cursor.clone_from(next);
        if cursor == b"0" {
            return found;
        }
    }
}
