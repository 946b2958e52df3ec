//! Fields of hashes that have deadlines of their own. The replies are those of Redis 8.2.3.

use crate::script::Script;

#[test]
fn fields_have_deadlines_of_their_own() {
    let mut script = Script::start();
    for part in [LIMITS, PERSISTING, READING, SETTING] {
        script.run(part);
    }
}

const LIMITS: &str = "
    HSET h f v g w n 5 -> :3
    HEXPIRE h 100 FIELDS 3 f g x -> [:1 :1 :-2]
    HTTL h FIELDS 4 f g x n -> [:100 :100 :-2 :-1]
    HTTL none FIELDS 1 f -> [:-2]
    HEXPIRE none 100 FIELDS 2 f g -> [:-2 :-2]
    HEXPIRE h -1 FIELDS 1 f -> -ERR invalid expire time, must be >= 0
    HEXPIRE h x FIELDS 1 f -> -ERR value is not an integer or out of range
    HEXPIREAT h 70368744177 FIELDS 1 f -> [:1]
    HEXPIREAT h 70368744178 FIELDS 1 f -> -ERR invalid expire time in 'hexpireat' command
    HPEXPIREAT h 70368744177663 FIELDS 1 f -> [:1]
    HEXPIRE h 100 FIELDS 0 f -> -ERR Parameter `numFields` should be greater than 0
    HEXPIRE h 100 FIELDS x f -> -ERR Parameter `numFields` should be greater than 0
    HEXPIRE h 100 FIELDS 1 -> -ERR wrong number of arguments for 'hexpire' command
    HEXPIRE h 100 f -> -ERR wrong number of arguments for 'hexpire' command
    HEXPIRE h 100 NX FIELDS 1 f -> [:0]
    HEXPIRE h 100 XX FIELDS 2 f n -> [:1 :0]
    HEXPIRE h 1000 GT FIELDS 2 f n -> [:1 :0]
    HEXPIRE h 10 GT FIELDS 2 f n -> [:0 :0]
    HEXPIRE h 10 LT FIELDS 2 f n -> [:1 :1]
    HPERSIST h FIELDS 3 f n zz -> [:1 :1 :-2]
    HPERSIST h FIELDS 1 f -> [:-1]
    HPERSIST none FIELDS 1 f -> [:-2]
    HPERSIST h FIELDS 0 f -> -ERR Number of fields must be a positive integer
    HEXPIRETIME h FIELDS 2 f n -> [:-1 :-1]
    HEXPIREAT h 1 FIELDS 1 n -> [:2]
    HEXPIRE h 0 FIELDS 2 f g -> [:2 :2]
    EXISTS h -> :0
    HSET h f v -> :1
";

const PERSISTING: &str = "
    OBJECT ENCODING h -> 'listpack'
    HEXPIRE h 100 FIELDS 1 f -> [:1]
    OBJECT ENCODING h -> 'listpackex'
    HSET h f v2 -> :0
    HTTL h FIELDS 1 f -> [:-1]
    OBJECT ENCODING h -> 'listpackex'
    HEXPIRE h 100 FIELDS 1 f -> [:1]
    HINCRBY h f 1 -> -ERR hash value is not an integer
    HSET h n 5 -> :1
    HEXPIRE h 100 FIELDS 1 n -> [:1]
    HINCRBY h n 1 -> :6
    HTTL h FIELDS 1 n -> [:100]
    HINCRBYFLOAT h n 1 -> '7'
    HTTL h FIELDS 1 n -> [:100]
    HSETNX h n 1 -> :0
    HMSET h n 9 -> +OK
    HTTL h FIELDS 1 n -> [:-1]
    SET s v -> +OK
    HTTL s FIELDS 1 f -> -WRONGTYPE Operation against a key holding the wrong kind of value
    HEXPIRE s 1 -> -ERR wrong number of arguments for 'hexpire' command
    HTTL h FIELDS 0 f -> -ERR Number of fields must be a positive integer
    HTTL h FIELDS 1 f g -> -ERR The `numfields` parameter must match the number of arguments
    HTTL h FIELDS 2 f -> -ERR The `numfields` parameter must match the number of arguments
    HTTL h FIELDS a f -> -ERR Number of fields must be a positive integer
    HTTL h FIELDS -1 f -> -ERR Number of fields must be a positive integer
    HEXPIRE h 100 FIELDS 2 f f -> [:1 :1]
    HEXPIRE h 100 FIELDS 2 f NX -> [:1 :-2]
    HGETDEL h FIELDS 2 f zz -> ['v2' nil]
";

const READING: &str = "
    HGETDEL h FIELDS 1 f -> [nil]
    HGETDEL none FIELDS 1 f -> [nil]
    HGETDEL h FIELDS 0 f -> -ERR Number of fields must be a positive integer
    HGETDEL h f -> -ERR wrong number of arguments for 'hgetdel' command
    HGETDEL h FIELDS x f -> -ERR Number of fields must be a positive integer
    HSET h a 1 b 2 -> :2
    HGETEX h EX 100 FIELDS 2 a zz -> ['1' nil]
    HTTL h FIELDS 1 a -> [:100]
    HGETEX h PERSIST FIELDS 1 a -> ['1']
    HTTL h FIELDS 1 a -> [:-1]
    HGETEX h FIELDS 2 a b -> ['1' '2']
    HGETEX h EX 0 FIELDS 1 a -> ['1']
    HGETEX h EX -1 FIELDS 1 a -> -ERR invalid expire time, must be >= 0
    HGETEX h EX x FIELDS 1 a -> -ERR value is not an integer or out of range
    HGETEX h EX 10 -> -ERR wrong number of arguments for 'hgetex' command
    HGETEX h EX FIELDS 1 a -> -ERR value is not an integer or out of range
    HGETEX h FIELDS 0 a -> -ERR Number of fields must be a positive integer
    HGETEX h FIELDS 2 a -> -ERR The `numfields` parameter must match the number of arguments
    HGETEX h EXAT 1 FIELDS 1 a -> [nil]
    HGETEX none EX 10 FIELDS 1 a -> [nil]
    HSETEX h FIELDS 2 a 1 b 2 -> :1
    HSETEX h EX 100 FIELDS 1 a 1 -> :1
    HTTL h FIELDS 1 a -> [:100]
    HSETEX h KEEPTTL FIELDS 1 a 2 -> :1
    HTTL h FIELDS 1 a -> [:100]
    HSETEX h FIELDS 1 a 3 -> :1
    HTTL h FIELDS 1 a -> [:-1]
    HSETEX h FNX FIELDS 2 a 3 q 3 -> :0
";

const SETTING: &str = "
    HSETEX h FXX FIELDS 2 a 3 q 3 -> :0
    HSETEX h FNX FIELDS 2 q1 3 q 3 -> :1
    HSETEX h FXX FIELDS 2 q1 3 q 3 -> :1
    HSETEX h FIELDS 2 q1 3 q -> -ERR wrong number of arguments for 'hsetex' command
    HSETEX h FIELDS 1 q1 -> -ERR wrong number of arguments for 'hsetex' command
    HSETEX h FIELDS 1 q1 3 q 4 -> -ERR wrong number of arguments for 'hsetex' command
    HSETEX h EX 0 FIELDS 1 q1 1 -> :1
    HSETEX h FOO FIELDS 1 q1 1 -> -ERR unknown argument: FOO
    HSETEX h EXAT 1 FIELDS 1 q1 1 -> :1
    HEXISTS h q1 -> :0
    HSETEX h FXX FIELDS 1 q1 1 -> :0
    HSETEX newh FXX FIELDS 1 q1 1 -> :0
    HSETEX newh EXAT 1 FIELDS 1 q1 1 -> :1
    EXISTS newh -> :0
    HSETEX h FIELDS 0 a 1 -> -ERR invalid number of fields
    HSETEX h EX 10 -> -ERR wrong number of arguments for 'hsetex' command
";
