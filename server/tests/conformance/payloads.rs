//! DUMP and RESTORE: options, errors, deadlines, and where they may stand.

use crate::script::Script;
use crate::socket::Reply;

/// What Redis 7.0.15 dumps of `hello`.
const HELLO: &[u8] = b"\0\x05hello\n\0cr\xdfve4 \n";

fn restore(script: &mut Script, options: &[&[u8]], expected: &str) {
    let words = [&[&b"RESTORE"[..], b"k", b"0", HELLO], options].concat();
    script.check_words(&words, expected);
}

#[test]
fn a_key_is_made_of_a_payload() {
    let mut script = Script::start();
    restore(&mut script, &[], "+OK");
    script.run("GET k -> 'hello'\n TTL k -> :-1\n OBJECT ENCODING k -> 'embstr'");
    restore(&mut script, &[], "-BUSYKEY Target key name already exists.");
    script.run("SADD k:set a -> :1\n RENAME k:set k -> +OK");
    restore(&mut script, &[b"replace"], "+OK");
    script.run("GET k -> 'hello'");
    script.check_words(&[b"DUMP", b"k"], &format!("'{}'", HELLO.escape_ascii()));
    script.run("DUMP none -> nil\n DUMP -> -ERR wrong number of arguments for 'dump' command");
}

#[test]
fn options_are_checked_before_the_key_and_the_payload_last() {
    let mut script = Script::start();
    script.run("SET k 1 -> +OK");
    let too_often = "-ERR Invalid FREQ value, must be >= 0 and <= 255";
    restore(&mut script, &[b"FREQ", b"256"], too_often);
    let idle = "-ERR Invalid IDLETIME value, must be >= 0";
    restore(&mut script, &[b"IDLETIME", b"-1"], idle);
    restore(
        &mut script,
        &[b"IDLETIME", b"1", b"FREQ", b"1"],
        "-ERR syntax error",
    );
    restore(&mut script, &[b"other"], "-ERR syntax error");
    script.run(
        "
        RESTORE k -1 x -> -BUSYKEY Target key name already exists.
        RESTORE k -1 x REPLACE -> -ERR Invalid TTL value, must be >= 0
        RESTORE k y x REPLACE -> -ERR value is not an integer or out of range
        RESTORE k 0 x REPLACE -> -ERR DUMP payload version or checksum are wrong
        RESTORE k 0 '' REPLACE -> -ERR DUMP payload version or checksum are wrong
        GET k -> '1'
        ",
    );
    let mut damaged = HELLO.to_vec();
    damaged[3] ^= 1;
    let refused = "-ERR DUMP payload version or checksum are wrong";
    script.check_words(&[b"RESTORE", b"new", b"0", &damaged], refused);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime can be made");
    for body in [
        &b"\x06"[..],
        b"\x02\0",
        b"\x02\x02\x01a\x01a",
        b"\x04\x01\x01f",
        b"\x12\0",
        b"",
    ] {
        let payload = runtime.block_on(cellar_server::rdb::seal(body.to_vec()));
        script.check_words(
            &[b"RESTORE", b"new", b"0", &payload],
            "-ERR Bad data format",
        );
    }
    script.run("EXISTS new -> :0");
}

#[test]
fn deadlines_are_relative_or_absolute() {
    let mut script = Script::start();
    script.check_words(&[b"RESTORE", b"k", b"100000", HELLO], "+OK");
    script.run("TTL k -> :100");
    let absolute = [
        &b"RESTORE"[..],
        b"k",
        b"33177117420000",
        HELLO,
        b"ABSTTL",
        b"REPLACE",
    ];
    script.check_words(&absolute, "+OK");
    script.run("PEXPIRETIME k -> :33177117420000");
    let past = [&b"RESTORE"[..], b"k", b"1000", HELLO, b"ABSTTL", b"REPLACE"];
    script.check_words(&past, "+OK");
    script.run("EXISTS k -> :0");
}

#[test]
fn they_work_in_transactions_and_scripts() {
    let mut script = Script::start();
    let hello = format!("'{}'", HELLO.escape_ascii());
    script.run("MULTI -> +OK\n SET k hello -> +QUEUED\n DUMP k -> +QUEUED");
    script.check_words(&[b"RESTORE", b"l", b"0", HELLO], "+QUEUED");
    script.run("GET l -> +QUEUED");
    script.check("EXEC", &format!("[+OK {hello} +OK 'hello']"));
    let text: &[u8] = b"redis.call('restore', KEYS[2], 0, redis.call('dump', KEYS[1])) \
                        return redis.call('smembers', KEYS[2])";
    script.run("SADD s 1 2 3 -> :3");
    script.check_words(&[b"EVAL", text, b"2", b"s", b"t"], "['1' '2' '3']");
}

#[test]
fn large_values_come_back_from_their_payload() {
    let mut script = Script::start();
    for index in 0..200 {
        let words: Vec<String> = (0..200).map(|word| format!("{index}:{word}")).collect();
        let mut words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        words.splice(0..0, [&b"SADD"[..], b"set"]);
        script.check_words(&words, ":200");
    }
    let Reply::Bulk(_, Some(payload)) = script.call(&[b"DUMP", b"set"]) else {
        panic!("a payload is a string");
    };
    script.check_words(&[b"RESTORE", b"again", b"0", &payload], "+OK");
    script.run("SCARD again -> :40000\n SDIFF again set -> []\n SINTERCARD 2 again set -> :40000");
}
