//! Keys whatever they hold: removal, existence, moving, SCAN and KEYS.

use std::collections::BTreeSet;

use crate::script::Script;
use crate::socket::Reply;

#[test]
fn removal_and_existence() {
    Script::start().run(
        "
        MSET a 1 b 2 c 3 -> +OK
        EXISTS a a none b -> :3
        TOUCH a none -> :1
        TYPE a -> +string
        TYPE none -> +none
        DEL a a none -> :1
        UNLINK b c -> :2
        EXISTS a b c -> :0
        DEL -> -ERR wrong number of arguments for 'del' command
        SET past 1 EXAT 1 -> +OK
        DEL past past -> :0
        RANDOMKEY -> nil
        SET only 1 -> +OK
        RANDOMKEY -> 'only'
        ",
    );
}

#[test]
fn moving() {
    let mut script = Script::start();
    script.run(
        "
        SET a 1 EX 100 -> +OK
        RENAME a b -> +OK
        TTL b -> :100
        RENAME a b -> -ERR no such key
        RENAME b b -> +OK
        RENAME none none -> -ERR no such key
        SET c 3 -> +OK
        RENAMENX b c -> :0
        RENAMENX b b -> :0
        RENAMENX b d -> :1
        RENAMENX none d -> -ERR no such key
        COPY d c -> :0
        COPY d c REPLACE -> :1
        TTL c -> :100
        COPY none c REPLACE -> :0
        GET c -> '1'
        COPY c c -> -ERR source and destination objects are the same
        COPY c c DB 1 -> :1
        COPY c x DB 99 -> -ERR DB index is out of range
        COPY c x DB y -> -ERR value is not an integer or out of range
        COPY c x DB -> -ERR syntax error
        MOVE c 1 -> :0
        MOVE d 1 -> :1
        MOVE d 1 -> :0
        MOVE c 0 -> -ERR source and destination objects are the same
        MOVE c 16 -> -ERR DB index is out of range
        SELECT 1 -> +OK
        GET d -> '1'
        TTL d -> :100
        ",
    );
    script.check(
        "COPY c x DB 4294967296",
        "-ERR value is out of range, value must between -2147483648 and 2147483647",
    );
}

#[test]
fn scanning() {
    let mut script = Script::start();
    let names: BTreeSet<Vec<u8>> = (0..1000).map(|i| format!("key:{i}").into_bytes()).collect();
    for name in &names {
        script.call(&[b"SET", name, b"v"]);
    }
    for count in ["1", "10", "100000"] {
        assert_eq!(scan(&mut script, &["COUNT", count]), names);
    }
    let tens: BTreeSet<_> = names
        .iter()
        .filter(|name| name.ends_with(b"0"))
        .cloned()
        .collect();
    assert_eq!(scan(&mut script, &["MATCH", "key:*0"]), tens);
    assert_eq!(
        scan(&mut script, &["TYPE", "string", "COUNT", "300"]),
        names
    );
    assert_eq!(scan(&mut script, &["TYPE", "list"]), BTreeSet::new());
    assert_eq!(elements(&script.call(&[b"KEYS", b"key:*0"])), tens);
    script.run(
        "
        SCAN x -> -ERR invalid cursor
        SCAN 0 COUNT 0 -> -ERR syntax error
        SCAN 0 COUNT x -> -ERR value is not an integer or out of range
        SCAN 0 MATCH -> -ERR syntax error
        SCAN 0 TYPE foo COUNT 5000 -> ['0' []]
        KEYS none* -> []
        ",
    );
}

/// All keys that a whole iteration answers.
fn scan(script: &mut Script, options: &[&str]) -> BTreeSet<Vec<u8>> {
    const CALLS_MAX: usize = 5_000;
    let mut keys = BTreeSet::new();
    let mut cursor = b"0".to_vec();
    for _ in 0..CALLS_MAX {
        let mut request: Vec<&[u8]> = vec![b"SCAN", &cursor];
        request.extend(options.iter().map(|option| option.as_bytes()));
        let Reply::Many(_, Some(parts)) = script.call(&request) else {
            panic!("no array")
        };
        keys.extend(elements(&parts[1]));
        let Reply::Bulk(_, Some(next)) = &parts[0] else {
            panic!("no cursor")
        };
        cursor.clone_from(next);
        if cursor == b"0" {
            return keys;
        }
    }
    panic!("SCAN does not end")
}

fn elements(reply: &Reply) -> BTreeSet<Vec<u8>> {
    let Reply::Many(_, Some(elements)) = reply else {
        panic!("no array: {reply}")
    };
    let bytes = elements.iter().map(|element| match element {
        Reply::Bulk(_, Some(bytes)) => bytes.clone(),
        other => panic!("no string: {other}"),
    });
    bytes.collect()
}
