//! Streams: entries, ranges, trimming, groups, what is pending and claimed, and what is told of it.

use crate::script::Script;

#[test]
fn entries() {
    Script::start().run(
        "
        XADD s 1-1 f v -> '1-1'
        XADD s 1-* f v g w -> '1-2'
        XADD s 3 f v -> '3-0'
        XADD s 3 f v -> -ERR The ID specified in XADD is equal or smaller than the target stream \
            top item
        XADD s 2-* f v -> -ERR The ID specified in XADD is equal or smaller than the target \
            stream top item
        XADD s 0-0 f v -> -ERR The ID specified in XADD must be greater than 0-0
        XADD s x f v -> -ERR Invalid stream ID specified as stream command argument
        XADD s - f v -> -ERR Invalid stream ID specified as stream command argument
        XADD s 4 f -> -ERR wrong number of arguments for 'xadd' command
        XADD s 4 f v g -> -ERR wrong number of arguments for 'xadd' command
        XADD none NOMKSTREAM 1-1 f v -> nil
        EXISTS none -> :0
        TYPE s -> +stream
        OBJECT ENCODING s -> 'stream'
        XLEN s -> :3
        XLEN none -> :0
        XRANGE s - + -> [['1-1' ['f' 'v']] ['1-2' ['f' 'v' 'g' 'w']] ['3-0' ['f' 'v']]]
        XRANGE s 1 1 -> [['1-1' ['f' 'v']] ['1-2' ['f' 'v' 'g' 'w']]]
        XRANGE s (1-1 (3 -> [['1-2' ['f' 'v' 'g' 'w']] ['3-0' ['f' 'v']]]
        XRANGE s - + COUNT 1 -> [['1-1' ['f' 'v']]]
        XRANGE s - + COUNT 0 -> nil
        XRANGE s - + COUNT -1 -> nil
        XRANGE s - + COUNT x -> -ERR value is not an integer or out of range
        XRANGE s - + FOO 1 -> -ERR syntax error
        XRANGE s + - -> []
        XRANGE none - + -> []
        XRANGE s (- + -> -ERR Invalid stream ID specified as stream command argument
        XRANGE s - (0-0 -> -ERR invalid end ID for the interval
        XRANGE s (18446744073709551615-18446744073709551615 + -> -ERR invalid start ID for the \
            interval
        XREVRANGE s + - COUNT 2 -> [['3-0' ['f' 'v']] ['1-2' ['f' 'v' 'g' 'w']]]
        XREVRANGE s 1-1 - -> [['1-1' ['f' 'v']]]
        XDEL s 1-2 1-2 9 -> :1
        XDEL s x -> -ERR Invalid stream ID specified as stream command argument
        XDEL none 1 -> :0
        XLEN s -> :2
        XADD s 18446744073709551615-18446744073709551615 f v -> \
            '18446744073709551615-18446744073709551615'
        XADD s * f v -> -ERR The stream has exhausted the last possible ID, unable to add more items
        XADD t 0-* f v -> '0-1'
        XADD t 5-18446744073709551615 f v -> '5-18446744073709551615'
        XADD t 5-* f v -> -ERR The ID specified in XADD is equal or smaller than the target \
            stream top item
        SET x 1 -> +OK
        XADD x * f v -> -WRONGTYPE Operation against a key holding the wrong kind of value
        XLEN x -> -WRONGTYPE Operation against a key holding the wrong kind of value
        XRANGE x - + -> -WRONGTYPE Operation against a key holding the wrong kind of value
        XREAD STREAMS s x 0 0 -> -WRONGTYPE Operation against a key holding the wrong kind of value
        GET s -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ",
    );
}

#[test]
fn trimming() {
    let mut script = Script::start();
    script.run("CONFIG SET stream-node-max-entries 3 -> +OK");
    for id in 1..=10 {
        script.check(&format!("XADD s {id} f {id}"), &format!("'{id}-0'"));
    }
    script.run(
        "
        XTRIM s MAXLEN ~ 8 -> :0
        XTRIM s MAXLEN ~ 7 -> :3
        XTRIM s MAXLEN ~ 0 LIMIT 2 -> :0
        XTRIM s MAXLEN ~ 0 LIMIT 5 -> :3
        XTRIM s MAXLEN 3 -> :1
        XRANGE s - + -> [['8-0' ['f' '8']] ['9-0' ['f' '9']] ['10-0' ['f' '10']]]
        XTRIM s MINID ~ 9 -> :0
        XTRIM s MINID ~ 10 -> :2
        XADD s MAXLEN = 1 11 f v -> '11-0'
        XADD s MINID 12 12 f v -> '12-0'
        XRANGE s - + -> [['12-0' ['f' 'v']]]
        XADD s MAXLEN 0 13 f v -> '13-0'
        XLEN s -> :0
        EXISTS s -> :1
        XTRIM none MAXLEN 1 -> :0
        XTRIM s MAXLEN -1 -> -ERR The MAXLEN argument must be >= 0.
        XTRIM s MAXLEN x -> -ERR value is not an integer or out of range
        XTRIM s MINID x -> -ERR Invalid stream ID specified as stream command argument
        XTRIM s MAXLEN 1 LIMIT 1 -> -ERR syntax error, LIMIT cannot be used without the special \
            ~ option
        XTRIM s LIMIT 1 -> -ERR syntax error, LIMIT cannot be used without specifying a trimming \
            strategy
        XTRIM s MAXLEN -> -ERR wrong number of arguments for 'xtrim' command
        XTRIM s MAXLEN ~ 1 LIMIT -1 -> -ERR The LIMIT argument must be >= 0.
        XTRIM s MAXLEN 1 MINID 1 -> -ERR syntax error, MAXLEN and MINID options at the same time \
            are not compatible
        XTRIM s FOO 1 -> -ERR syntax error
        XADD s LIMIT 1 14 f v -> -ERR syntax error, LIMIT cannot be used without specifying a \
            trimming strategy
        XSETID s 12 -> +OK
        XADD s 13 f v -> '13-0'
        XSETID s 12 -> -ERR The ID specified in XSETID is smaller than the target stream top item
        XSETID s 20 ENTRIESADDED 0 MAXDELETEDID 1 -> -ERR The entries_added specified in XSETID \
            is smaller than the target stream length
        XSETID s 20 MAXDELETEDID 21 -> -ERR The ID specified in XSETID is smaller than the \
            provided max_deleted_entry_id
        XSETID s 20 ENTRIESADDED -1 -> -ERR entries_added must be positive
        XSETID s 20 ENTRIESADDED -> -ERR syntax error
        XSETID none 1 -> -ERR no such key
        XSETID s 20 ENTRIESADDED 77 MAXDELETEDID 19-1 -> +OK
        XINFO STREAM s -> ['length' :1 'radix-tree-keys' :1 'radix-tree-nodes' :2 \
            'last-generated-id' '20-0' 'max-deleted-entry-id' '19-1' 'entries-added' :77 \
            'recorded-first-entry-id' '13-0' 'groups' :0 'first-entry' ['13-0' ['f' 'v']] \
            'last-entry' ['13-0' ['f' 'v']]]
        ",
    );
}

#[test]
fn reading() {
    let mut script = Script::start();
    script.run(
        "
        XADD a 1 f v -> '1-0'
        XADD a 2 f v -> '2-0'
        XADD b 5 f v -> '5-0'
        XREAD STREAMS a b 0 0 -> [['a' [['1-0' ['f' 'v']] ['2-0' ['f' 'v']]]] ['b' [['5-0' ['f' \
            'v']]]]]
        XREAD COUNT 1 STREAMS a none b 1 0 9 -> [['a' [['2-0' ['f' 'v']]]]]
        XREAD STREAMS a b $ $ -> nil
        XREAD STREAMS none 0 -> nil
        XREAD BLOCK 1 STREAMS a 2 -> nil
        XREAD BLOCK 0 STREAMS a 1-5 -> [['a' [['2-0' ['f' 'v']]]]]
        XREAD STREAMS a a 1 0-5 -> [['a' [['2-0' ['f' 'v']]]] ['a' [['1-0' ['f' 'v']] ['2-0' \
            ['f' 'v']]]]]
        XREAD STREAMS a b 0 -> -ERR Unbalanced 'xread' list of streams: for each stream key an \
            ID or '$' must be specified.
        XREAD STREAMS a x -> -ERR Invalid stream ID specified as stream command argument
        XREAD STREAMS a > -> -ERR The > ID can be specified only when calling XREADGROUP using \
            the GROUP <group> <consumer> option.
        XREAD GROUP g c STREAMS a 0 -> -ERR The GROUP option is only supported by XREADGROUP. \
            You called XREAD instead.
        XREAD NOACK STREAMS a 0 -> -ERR The NOACK option is only supported by XREADGROUP. You \
            called XREAD instead.
        XREAD COUNT 1 FOO 1 -> -ERR syntax error
        XREAD BLOCK -1 STREAMS a 0 -> -ERR timeout is negative
        XREAD BLOCK x STREAMS a 0 -> -ERR timeout is not an integer or out of range
        MULTI -> +OK
        XREAD BLOCK 0 STREAMS a $ -> +QUEUED
        XADD a 3 f v -> +QUEUED
        EXEC -> [nil '3-0']
        COMMAND GETKEYS XREAD COUNT 3 STREAMS a b 0 0 -> ['a' 'b']
        COMMAND GETKEYS XREADGROUP GROUP streams c STREAMS a > -> ['a']
        ",
    );
    script.call(&[b"HELLO", b"3"]);
    script.run(
        "
        XREAD COUNT 1 STREAMS a b 0 0 -> %['a' [['1-0' ['f' 'v']]] 'b' [['5-0' ['f' 'v']]]]
        XREAD STREAMS a 9 -> _
        ",
    );
}

#[test]
fn groups() {
    Script::start().run(
        "
        XGROUP CREATE s g $ -> -ERR The XGROUP subcommand requires the key to exist. Note that \
            for CREATE you may want to use the MKSTREAM option to create an empty stream \
            automatically.
        XGROUP CREATE s g $ MKSTREAM -> +OK
        XGROUP CREATE s g 0 -> -BUSYGROUP Consumer Group name already exists
        XGROUP CREATE s h x -> -ERR Invalid stream ID specified as stream command argument
        XGROUP CREATE s h - -> -ERR Invalid stream ID specified as stream command argument
        XGROUP CREATE s h 0 FOO -> -ERR unknown subcommand or wrong number of arguments for \
            'CREATE'. Try XGROUP HELP.
        XGROUP CREATE s h 0 ENTRIESREAD -2 -> -ERR value for ENTRIESREAD must be positive or -1
        XGROUP CREATE s h 0 ENTRIESREAD 3 -> +OK
        XGROUP FOO s -> -ERR unknown subcommand 'FOO'. Try XGROUP HELP.
        XGROUP SETID s none 0 -> -NOGROUP No such consumer group 'none' for key name 's'
        XGROUP SETID s h - ENTRIESREAD -1 -> +OK
        XGROUP CREATECONSUMER s h c -> :1
        XGROUP CREATECONSUMER s h c -> :0
        XGROUP CREATECONSUMER s none c -> -NOGROUP No such consumer group 'none' for key name 's'
        XGROUP DELCONSUMER s h none -> :0
        XGROUP DELCONSUMER s h c -> :0
        XGROUP DESTROY s h -> :1
        XGROUP DESTROY s h -> :0
        XADD s 1 f 1 -> '1-0'
        XADD s 2 f 2 -> '2-0'
        XADD s 3 f 3 -> '3-0'
        XREADGROUP GROUP g c COUNT 2 STREAMS s > -> [['s' [['1-0' ['f' '1']] ['2-0' ['f' '2']]]]]
        XREADGROUP GROUP g d NOACK STREAMS s > -> [['s' [['3-0' ['f' '3']]]]]
        XREADGROUP GROUP g d STREAMS s > -> nil
        XREADGROUP GROUP g c STREAMS s 0 -> [['s' [['1-0' ['f' '1']] ['2-0' ['f' '2']]]]]
        XREADGROUP GROUP g c COUNT 1 STREAMS s 1 -> [['s' [['2-0' ['f' '2']]]]]
        XREADGROUP GROUP g d STREAMS s 0 -> [['s' []]]
        XREADGROUP GROUP g d STREAMS s $ -> -ERR The $ ID is meaningless in the context of \
            XREADGROUP: you want to read the history of this consumer by specifying a proper ID, \
            or use the > ID to get new messages. The $ ID would just return an empty result set.
        XREADGROUP GROUP none c STREAMS s > -> -NOGROUP No such key 's' or consumer group 'none' \
            in XREADGROUP with GROUP option
        XREADGROUP GROUP g c STREAMS s none > > -> -NOGROUP No such key 'none' or consumer group \
            'g' in XREADGROUP with GROUP option
        XREADGROUP COUNT 1 COUNT 1 STREAMS s > -> -ERR Missing GROUP option for XREADGROUP
        XPENDING s g -> [:2 '1-0' '2-0' [['c' '2']]]
        XPENDING s g - + 0 -> []
        XPENDING s g - + 10 none -> []
        XPENDING s g - + -> -ERR syntax error
        XPENDING s g IDLE 1 - + -> -ERR syntax error
        XPENDING s g - + x -> -ERR value is not an integer or out of range
        XPENDING s none -> -NOGROUP No such key 's' or consumer group 'none'
        XPENDING s g IDLE 100000000 - + 10 -> []
        XDEL s 1 -> :1
        XREADGROUP GROUP g c STREAMS s 0 -> [['s' [['1-0' nil] ['2-0' ['f' '2']]]]]
        XACK s g 1 9 -> :1
        XACK s g 1 x -> -ERR Invalid stream ID specified as stream command argument
        XACK s none 1 -> :0
        XACK none g 1 -> :0
        XGROUP DELCONSUMER s g c -> :1
        XPENDING s g -> [:0 nil nil nil]
        XINFO GROUPS s -> [['name' 'g' 'consumers' :1 'pending' :0 'last-delivered-id' '3-0' \
            'entries-read' :3 'lag' :0]]
        XINFO GROUPS none -> -ERR no such key
        XINFO CONSUMERS s none -> -NOGROUP No such consumer group 'none' for key name 's'
        XINFO STREAM s FOO -> -ERR unknown subcommand or wrong number of arguments for 'STREAM'. \
            Try XINFO HELP.
        XINFO STREAM s FULL COUNT -> -ERR unknown subcommand or wrong number of arguments for \
            'STREAM'. Try XINFO HELP.
        XINFO FOO s -> -ERR unknown subcommand 'FOO'. Try XINFO HELP.
        ",
    );
}

#[test]
fn claims() {
    let mut script = Script::start();
    for id in 1..=5 {
        script.check(&format!("XADD s {id} f {id}"), &format!("'{id}-0'"));
    }
    script.run(
        "
        XGROUP CREATE s g 0 -> +OK
        XREADGROUP GROUP g a COUNT 4 STREAMS s > -> [['s' [['1-0' ['f' '1']] ['2-0' ['f' '2']] \
            ['3-0' ['f' '3']] ['4-0' ['f' '4']]]]]
        XCLAIM s g b 0 1 3 5 -> [['1-0' ['f' '1']] ['3-0' ['f' '3']]]
        XCLAIM s g b 0 5 FORCE JUSTID -> ['5-0']
        XCLAIM s g b 100000000 2 -> []
        XPENDING s g -> [:5 '1-0' '5-0' [['a' '2'] ['b' '3']]]
        XDEL s 3 -> :1
        XCLAIM s g a 0 3 4 JUSTID -> ['4-0']
        XPENDING s g -> [:4 '1-0' '5-0' [['a' '2'] ['b' '2']]]
        XCLAIM s g c 0 1 RETRYCOUNT 7 TIME 1 IDLE 0 LASTID 9 -> [['1-0' ['f' '1']]]
        XCLAIM s g c 0 1 FOO -> -ERR Unrecognized XCLAIM option 'FOO'
        XCLAIM s g c 0 1 IDLE -> -ERR Unrecognized XCLAIM option 'IDLE'
        XCLAIM s g c 0 1 IDLE x -> -ERR Invalid IDLE option argument for XCLAIM
        XCLAIM s g c x 1 -> -ERR Invalid min-idle-time argument for XCLAIM
        XCLAIM s none c 0 1 -> -NOGROUP No such key 's' or consumer group 'none'
        XINFO GROUPS s -> [['name' 'g' 'consumers' :3 'pending' :4 'last-delivered-id' '9-0' \
            'entries-read' :4 'lag' :1]]
        XDEL s 2 -> :1
        XAUTOCLAIM s g d 0 - COUNT 2 -> ['4-0' [['1-0' ['f' '1']]] ['2-0']]
        XAUTOCLAIM s g d 0 (4 JUSTID -> ['0-0' ['5-0'] []]
        XAUTOCLAIM s g d 100000000 0 -> ['0-0' [] []]
        XAUTOCLAIM s g d 0 0 COUNT 0 -> -ERR COUNT must be > 0
        XAUTOCLAIM s g d 0 0 FOO -> -ERR syntax error
        XAUTOCLAIM s g d x 0 -> -ERR Invalid min-idle-time argument for XAUTOCLAIM
        XAUTOCLAIM none g d 0 0 -> -NOGROUP No such key 'none' or consumer group 'g'
        XPENDING s g -> [:3 '1-0' '5-0' [['a' '1'] ['d' '2']]]
        ",
    );
}

#[test]
fn scripts_do_not_wait() {
    let mut script = Script::start();
    script.run("XGROUP CREATE s g $ MKSTREAM -> +OK");
    for (call, expected) in [
        ("'xread','STREAMS','s','$'", "nil"),
        ("'xreadgroup','group','g','block','STREAMS','s','>'", "nil"),
        (
            "'xread','BLOCK',0,'STREAMS','s','$'",
            "-ERR xread command is not allowed with BLOCK option from scripts",
        ),
        (
            "'xreadgroup','group','g','c','count','1','block','x','STREAMS','s','>'",
            "-ERR xreadgroup command is not allowed with BLOCK option from scripts",
        ),
    ] {
        let text = format!("return redis.pcall({call})");
        script.check_words(&[b"EVAL", text.as_bytes(), b"1", b"s"], expected);
    }
}

#[test]
fn a_copy_and_a_move_keep_everything() {
    let mut script = Script::start();
    for id in 1..=300 {
        let value = "v".repeat(40);
        script.check(&format!("XADD s {id} f {value}"), &format!("'{id}-0'"));
    }
    script.run(
        "
        XGROUP CREATE s g 298 -> +OK
        XREADGROUP GROUP g c COUNT 1 STREAMS s > -> [['s' [['299-0' ['f' \
            'vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv']]]]]
        COPY s t -> :1
        XACK s g 299 -> :1
        XTRIM s MAXLEN 1 -> :299
        XPENDING t g -> [:1 '299-0' '299-0' [['c' '1']]]
        XLEN t -> :300
        RENAME t u -> +OK
        XACK u g 299 -> :1
        EXPIRE u 1000 -> :1
        XADD u 301 f v -> '301-0'
        XTRIM u MAXLEN 2 -> :299
        TTL u -> :1000
        DEL s u -> :2
        ",
    );
}
