//! Lists: both ends, the middle, searching, moving, and what blocking commands do at once.

use crate::script::Script;
use crate::socket::Reply;

#[test]
fn ends() {
    Script::start().run(
        "
        LPUSH l a b -> :2
        RPUSH l c -> :3
        LRANGE l 0 -1 -> ['b' 'a' 'c']
        LLEN l -> :3
        LPUSHX l x -> :4
        RPUSHX l y z -> :6
        LPUSHX none x -> :0
        RPUSHX none x -> :0
        EXISTS none -> :0
        LPOP l -> 'x'
        RPOP l -> 'z'
        LPOP l 2 -> ['b' 'a']
        RPOP l 0 -> []
        RPOP l 10 -> ['y' 'c']
        EXISTS l -> :0
        LPOP l -> nil
        LPOP l 1 -> nil
        LPOP l 0 -> nil
        RPUSH l '' 0 -1 12345678901 -> :4
        LRANGE l 0 -1 -> ['' '0' '-1' '12345678901']
        TYPE l -> +list
        LPOP l x -> -ERR value is out of range, must be positive
        LPOP l -1 -> -ERR value is out of range, must be positive
        LPOP l 1 2 -> -ERR wrong number of arguments for 'lpop' command
        RPOP none x -> -ERR value is out of range, must be positive
        SET s 1 -> +OK
        LPUSH s a -> -WRONGTYPE Operation against a key holding the wrong kind of value
        LPOP s -> -WRONGTYPE Operation against a key holding the wrong kind of value
        LLEN s -> -WRONGTYPE Operation against a key holding the wrong kind of value
        GET l -> -WRONGTYPE Operation against a key holding the wrong kind of value
        APPEND l x -> -WRONGTYPE Operation against a key holding the wrong kind of value
        SET l 1 -> +OK
        TYPE l -> +string
        ",
    );
}

#[test]
fn the_middle() {
    Script::start().run(
        "
        RPUSH l a b c b a -> :5
        LINDEX l 0 -> 'a'
        LINDEX l -1 -> 'a'
        LINDEX l 5 -> nil
        LINDEX l -6 -> nil
        LINDEX none x -> nil
        LINDEX l x -> -ERR value is not an integer or out of range
        LSET l 1 B -> +OK
        LSET l -1 A -> +OK
        LSET l 5 x -> -ERR index out of range
        LSET l -6 x -> -ERR index out of range
        LSET none 0 x -> -ERR no such key
        LRANGE l 1 -2 -> ['B' 'c' 'b']
        LRANGE l 3 1 -> []
        LRANGE l -100 100 -> ['a' 'B' 'c' 'b' 'A']
        LRANGE none 0 -1 -> []
        LRANGE none 0 x -> -ERR value is not an integer or out of range
        LINSERT l BEFORE c x -> :6
        LINSERT l after A y -> :7
        LINSERT l before none y -> :-1
        LINSERT none before c y -> :0
        LINSERT l beside c y -> -ERR syntax error
        LRANGE l 0 -1 -> ['a' 'B' 'x' 'c' 'b' 'A' 'y']
        LTRIM l 1 -2 -> +OK
        LRANGE l 0 -1 -> ['B' 'x' 'c' 'b' 'A']
        LTRIM l 5 9 -> +OK
        EXISTS l -> :0
        LTRIM l 0 1 -> +OK
        ",
    );
}

#[test]
fn removing_and_searching() {
    Script::start().run(
        "
        RPUSH l a b a c a b a -> :7
        LPOS l a -> :0
        LPOS l a RANK 2 -> :2
        LPOS l a RANK -1 -> :6
        LPOS l a RANK -2 COUNT 2 -> [:4 :2]
        LPOS l a COUNT 0 -> [:0 :2 :4 :6]
        LPOS l b COUNT 0 MAXLEN 3 -> [:1]
        LPOS l b RANK -1 MAXLEN 1 -> nil
        LPOS l x -> nil
        LPOS l x COUNT 1 -> []
        LPOS none x COUNT 1 -> []
        LPOS none x -> nil
        LPOS l a RANK 9 -> nil
        LPOS l a RANK 0 -> -ERR RANK can't be zero: use 1 to start from the first match, 2 from \
         the second ... or use negative to start from the end of the list
        LPOS l a COUNT -1 -> -ERR COUNT can't be negative
        LPOS l a MAXLEN -1 -> -ERR MAXLEN can't be negative
        LPOS l a RANK x -> -ERR value is not an integer or out of range
        LPOS l a FOO -> -ERR syntax error
        LREM l 1 a -> :1
        LREM l -1 a -> :1
        LRANGE l 0 -1 -> ['b' 'a' 'c' 'a' 'b']
        LREM l 0 a -> :2
        LREM l 0 x -> :0
        LREM l x a -> -ERR value is not an integer or out of range
        LREM l -9223372036854775808 a -> -ERR value is out of range, value must between \
         -9223372036854775807 and 9223372036854775807
        LREM l 5 b -> :2
        LREM l 0 c -> :1
        EXISTS l -> :0
        LREM l 0 c -> :0
        "
        .replace("\\\n         ", "")
        .as_str(),
    );
}

#[test]
fn moving() {
    Script::start().run(
        "
        RPUSH l a b c -> :3
        LMOVE l m LEFT RIGHT -> 'a'
        LMOVE l m right left -> 'c'
        LRANGE m 0 -1 -> ['c' 'a']
        RPOPLPUSH l m -> 'b'
        EXISTS l -> :0
        LMOVE l m LEFT LEFT -> nil
        RPOPLPUSH m m -> 'a'
        LRANGE m 0 -1 -> ['a' 'b' 'c']
        LMOVE m m LEFT LEFT -> 'a'
        LRANGE m 0 -1 -> ['a' 'b' 'c']
        LMOVE l m UP LEFT -> -ERR syntax error
        SET s 1 -> +OK
        LMOVE m s LEFT LEFT -> -WRONGTYPE Operation against a key holding the wrong kind of value
        LMOVE none s LEFT LEFT -> nil
        LMOVE s m LEFT LEFT -> -WRONGTYPE Operation against a key holding the wrong kind of value
        LLEN m -> :3
        LMPOP 2 l m LEFT -> ['m' ['a']]
        LMPOP 2 l m RIGHT COUNT 5 -> ['m' ['c' 'b']]
        LMPOP 2 l m RIGHT COUNT 5 -> nil
        LMPOP 0 l LEFT -> -ERR numkeys should be greater than 0
        LMPOP x l LEFT -> -ERR numkeys should be greater than 0
        LMPOP 3 l m LEFT -> -ERR syntax error
        LMPOP 1 l LEFT COUNT 0 -> -ERR count should be greater than 0
        LMPOP 1 l LEFT COUNT 1 COUNT 1 -> -ERR syntax error
        LMPOP 1 l UP -> -ERR syntax error
        LMPOP 1 s LEFT -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ",
    );
}

#[test]
fn blocking_commands_that_need_not_wait() {
    Script::start().run(
        "
        RPUSH l a b c d e -> :5
        BLPOP none l 0 -> ['l' 'a']
        BRPOP l none 0 -> ['l' 'e']
        BLMPOP 0 2 none l LEFT COUNT 2 -> ['l' ['b' 'c']]
        BLMOVE l m RIGHT LEFT 0 -> 'd'
        BRPOPLPUSH m l 0 -> 'd'
        LRANGE l 0 -1 -> ['d']
        BLPOP none 0.001 -> nil
        BLMOVE none m LEFT LEFT 0.001 -> nil
        BRPOPLPUSH none m 0.001 -> nil
        BLMPOP 0.001 1 none RIGHT -> nil
        BLPOP l x -> -ERR timeout is not a float or out of range
        BLPOP l -1 -> -ERR timeout is negative
        BLPOP l inf -> -ERR timeout is out of range
        BLPOP l 1e300 -> -ERR timeout is out of range
        BLMPOP x 1 l LEFT -> -ERR timeout is not a float or out of range
        BLMPOP x 0 l LEFT -> -ERR numkeys should be greater than 0
        BLMOVE l m UP LEFT x -> -ERR syntax error
        SET s 1 -> +OK
        BLPOP none s 0 -> -WRONGTYPE Operation against a key holding the wrong kind of value
        BLMOVE l s LEFT LEFT 0 -> -WRONGTYPE Operation against a key holding the wrong kind of value
        LLEN l -> :1
        ",
    );
}

#[test]
fn encodings_and_expiry() {
    let mut script = Script::start();
    script.run(
        "
        RPUSH l a b c -> :3
        OBJECT ENCODING l -> 'listpack'
        CONFIG SET list-max-listpack-size 3 -> +OK
        RPUSH l d -> :4
        OBJECT ENCODING l -> 'quicklist'
        LPOP l 2 -> ['a' 'b']
        OBJECT ENCODING l -> 'quicklist'
        LPOP l -> 'c'
        OBJECT ENCODING l -> 'listpack'
        CONFIG SET list-max-ziplist-size -2 -> +OK
        CONFIG GET list-max-listpack-size -> ['list-max-listpack-size' '-2']
        CONFIG SET list-compress-depth 2 -> +OK
        EXPIRE l 100 -> :1
        RPUSH l e -> :2
        LSET l 0 x -> +OK
        TTL l -> :100
        RENAME l m -> +OK
        COPY m l -> :1
        LRANGE l 0 -1 -> ['x' 'e']
        RPUSH m f -> :3
        LRANGE l 0 -1 -> ['x' 'e']
        ",
    );
    let long = vec![b'x'; 9000];
    script.call(&[b"RPUSH", b"l", &long]);
    script.run("OBJECT ENCODING l -> 'quicklist'");
    assert_eq!(script.call(&[b"RPOP", b"l"]), Reply::Bulk(b'$', Some(long)));
    script.run(
        "
        OBJECT ENCODING l -> 'listpack'
        LRANGE l 0 -1 -> ['x' 'e']
        ",
    );
}

#[test]
fn sorting() {
    let mut script = Script::start();
    script.run(
        "
        RPUSH l 3 1 2 10 -> :4
        SORT l -> ['1' '2' '3' '10']
        SORT l DESC LIMIT 1 2 -> ['3' '2']
        SORT l ALPHA -> ['1' '10' '2' '3']
        SORT l BY nosort -> ['3' '1' '2' '10']
        SORT l BY nosort DESC LIMIT 0 2 -> ['10' '2']
        MSET w:1 9 w:2 8 w:3 7 -> +OK
        SORT l BY w:* -> ['10' '3' '2' '1']
        SORT l BY w:* GET # GET w:* LIMIT 2 9 -> ['2' '8' '1' '9']
        HSET h:1 f 30 -> :1
        HSET h:3 f 20 g x -> :2
        SORT l BY h:*->f GET h:*->g GET h:*->f -> [nil nil nil nil 'x' '20' nil '30']
        SORT l STORE d -> :4
        LRANGE d 0 -1 -> ['1' '2' '3' '10']
        SORT none STORE d -> :0
        EXISTS d -> :0
        SORT_RO l LIMIT 0 1 -> ['1']
        SORT_RO l STORE d -> -ERR syntax error
        SORT l LIMIT 0 x -> -ERR value is not an integer or out of range
        SORT none -> []
        RPUSH t a 1 -> :2
        SORT t -> -ERR One or more scores can't be converted into double
        SORT w:1 -> -WRONGTYPE Operation against a key holding the wrong kind of value
        SADD s 3 1 2 -> :3
        SORT s DESC -> ['3' '2' '1']
        SORT s BY nosort STORE d -> :3
        LRANGE d 0 -1 -> ['1' '2' '3']
        ZADD z 3 a 2 b 1 c -> :3
        SORT z ALPHA -> ['a' 'b' 'c']
        SORT z BY nosort -> ['c' 'b' 'a']
        SORT z BY nosort DESC LIMIT 0 2 -> ['a' 'b']
        SORT h:1 -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ",
    );
}
