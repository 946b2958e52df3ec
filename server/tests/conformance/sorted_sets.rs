//! Sorted sets: ZADD and its options, reading, ranges, removing, combining, scans.

use crate::script::Script;

#[test]
fn adding_elements() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        ZADD z 1 a 2 b 3 c -> :3
        ZADD z 1 a 5 b 4 d -> :1
        ZADD z CH 1 a 6 b 7 e -> :2
        ZADD z NX 9 a 9 f -> :1
        ZADD z XX 10 a 10 g -> :0
        ZADD z XX CH 11 a -> :1
        ZADD z GT 5 a -> :0
        ZADD z GT CH 12 a 8 new -> :2
        ZADD z LT CH 3 a -> :1
        ZADD z LT CH 3 a -> :0
        ZADD z INCR 2 a -> '5'
        ZADD z NX INCR 2 a -> nil
        ZADD z XX INCR 2 none -> nil
        ZADD z GT INCR -1 a -> nil
        ZADD z LT INCR -1 a -> '4'
        ZADD z incr 1.5 fresh -> '1.5'
        ZADD z inf i -inf j +inf k -> :3
        ZADD z INCR -inf i -> -ERR resulting score is not a number (NaN)
        ZINCRBY z inf j -> -ERR resulting score is not a number (NaN)
        ZINCRBY z 2 a -> '6'
        ZINCRBY z 0.1 tenth -> '0.1'
        ZINCRBY z 0.2 tenth -> '0.30000000000000004'
        ZINCRBY fresh -3 m -> '-3'
        ZINCRBY z nx m -> -ERR syntax error
        ZINCRBY z x m -> -ERR value is not a valid float
        ZADD none XX 1 a -> :0
        EXISTS none -> :0
        ZADD none XX INCR 1 a -> nil
        ZADD z -> -ERR wrong number of arguments for 'zadd' command
        ZADD z 1 -> -ERR wrong number of arguments for 'zadd' command
        ZADD z 1 a 2 -> -ERR syntax error
        ZADD z NX -> -ERR wrong number of arguments for 'zadd' command
        ZADD z x a -> -ERR value is not a valid float
        ZADD z nan a -> -ERR value is not a valid float
        ZADD z 1e400 a -> -ERR value is not a valid float
        ZADD z 1 a x b -> -ERR value is not a valid float
        ZADD z NX XX 1 a -> -ERR XX and NX options at the same time are not compatible
        ZADD z NX GT 1 a -> -ERR GT, LT, and/or NX options at the same time are not compatible
        ZADD z GT LT 1 a -> -ERR GT, LT, and/or NX options at the same time are not compatible
        ZADD z NX XX GT 1 a -> -ERR XX and NX options at the same time are not compatible
        ZADD z INCR 1 a 2 b -> -ERR INCR option supports a single increment-element pair
        ZADD z 0x10 hex 1e3 exp .5 half 5. five -> :4
        ",
    );
    script.check(
        "ZRANGE z 0 6 WITHSCORES",
        "['j' '-inf' 'tenth' '0.30000000000000004' 'half' '0.5' 'fresh' '1.5' 'c' '3' 'd' \
         '4' 'five' '5']",
    );
    script.check(
        "ZRANGE z 7 -1 WITHSCORES",
        "['a' '6' 'b' '6' 'e' '7' 'new' '8' 'f' '9' 'hex' '16' 'exp' '1000' 'i' 'inf' 'k' 'inf']",
    );
    script.run(
        "
        SET s v -> +OK
        ZADD s 1 a -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZADD s x a -> -ERR value is not a valid float
        ZADD e 1 '' -> :1
        ZADD e 1 '' 2 '' -> :0
        ZSCORE e '' -> '2'
        TYPE z -> +zset
        OBJECT ENCODING z -> 'listpack'
        ",
    );
}

#[test]
fn what_one_set_says() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        ZADD z 1 a 2 b 2 c 3 d 1e17 e 0.1 f -0 g 3.25 h -> :8
        ZCARD z -> :8
        ZCARD none -> :0
        ZCARD s -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZSCORE z a -> '1'
        ZSCORE z e -> '100000000000000000'
        ZSCORE z f -> '0.1'
        ZSCORE z g -> '0'
        ZSCORE z none -> nil
        ZSCORE none a -> nil
        ZSCORE s a -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZMSCORE z a none h -> ['1' nil '3.25']
        ZMSCORE none a b -> [nil nil]
        ZMSCORE s a -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZMSCORE z -> -ERR wrong number of arguments for 'zmscore' command
        ZRANK z g -> :0
        ZRANK z c -> :4
        ZRANK z e -> :7
        ZRANK z none -> nil
        ZRANK none a -> nil
        ZRANK z c WITHSCORE -> [:4 '2']
        ZRANK z none WITHSCORE -> nil
        ZRANK none c withscore -> nil
        ZRANK z c foo -> -ERR syntax error
        ZRANK z c WITHSCORE x -> -ERR wrong number of arguments for 'zrank' command
        ZRANK s c -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZREVRANK z g -> :7
        ZREVRANK z e -> :0
        ZREVRANK z d WITHSCORE -> [:2 '3']
        ZCOUNT z 1 2 -> :3
        ZCOUNT z (1 2 -> :2
        ZCOUNT z (1 (2 -> :0
        ZCOUNT z -inf +inf -> :8
        ZCOUNT z 2 1 -> :0
        ZCOUNT z (2 2 -> :0
        ZCOUNT z 0 0 -> :1
        ZCOUNT z (0 1 -> :2
        ZCOUNT none 1 2 -> :0
        ZCOUNT s 1 2 -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZCOUNT z a 1 -> -ERR min or max is not a float
        ZCOUNT z 1 ((2 -> -ERR min or max is not a float
        ZLEXCOUNT none - + -> :0
        ",
    );
    script.call(&[b"HELLO", b"3"]);
    script.run(
        "
        ZSCORE z a -> ,1
        ZMSCORE z a none e -> [,1 _ ,100000000000000000]
        ZRANK z c WITHSCORE -> [:4 ,2]
        ZRANK z none WITHSCORE -> _
        ZSCORE z none -> _
        ZINCRBY z 1 a -> ,2
        ZADD z INCR 1 a -> ,3
        ",
    );
}

#[test]
fn ranges() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        ZADD z 1 a 2 b 3 c 4 d 5 e -> :5
        ZRANGE z 0 -1 -> ['a' 'b' 'c' 'd' 'e']
        ZRANGE z 1 2 -> ['b' 'c']
        ZRANGE z -2 -1 WITHSCORES -> ['d' '4' 'e' '5']
        ZRANGE z 3 1 -> []
        ZRANGE z 9 10 -> []
        ZRANGE z -100 100 -> ['a' 'b' 'c' 'd' 'e']
        ZRANGE z 0 0 REV -> ['e']
        ZRANGE z 0 1 REV WITHSCORES -> ['e' '5' 'd' '4']
        ZRANGE z 2 4 BYSCORE -> ['b' 'c' 'd']
        ZRANGE z (2 (4 BYSCORE -> ['c']
        ZRANGE z 4 2 BYSCORE REV -> ['d' 'c' 'b']
        ZRANGE z +inf -inf BYSCORE REV LIMIT 1 2 -> ['d' 'c']
        ZRANGE z -inf +inf BYSCORE LIMIT 1 2 WITHSCORES -> ['b' '2' 'c' '3']
        ZRANGE z -inf +inf BYSCORE LIMIT 3 -1 -> ['d' 'e']
        ZRANGE z -inf +inf BYSCORE LIMIT -1 2 -> []
        ZRANGE z -inf +inf BYSCORE LIMIT 9 2 -> []
        ZRANGE z -inf +inf BYSCORE LIMIT 0 0 -> []
        ",
    );
    script.check(
        "ZRANGE z 0 -1 LIMIT 0 1",
        "-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
    );
    script.run(
        "
        ZRANGE z 0 -1 LIMIT 0 -1 -> ['a' 'b' 'c' 'd' 'e']
        ZRANGE z 0 -1 LIMIT 0 -> -ERR syntax error
        ZRANGE z 0 -1 LIMIT x 1 -> -ERR value is not an integer or out of range
        ZRANGE z 0 -1 FOO -> -ERR syntax error
        ZRANGE z 0 x -> -ERR value is not an integer or out of range
        ZRANGE z a b BYSCORE -> -ERR min or max is not a float
        ZRANGE z a b BYLEX -> -ERR min or max not valid string range item
        ",
    );
    script.check(
        "ZRANGE z - + BYLEX WITHSCORES",
        "-ERR syntax error, WITHSCORES not supported in combination with BYLEX",
    );
    script.run(
        "
        ZRANGE z - + BYLEX BYSCORE -> -ERR syntax error
        ZRANGE z 1 2 REV REV -> -ERR syntax error
        ZRANGE none 0 -1 -> []
        ZRANGE s 0 -1 -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZRANGE s 0 x -> -ERR value is not an integer or out of range
        ",
    );
}

#[test]
fn ranges_by_older_names() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        ZADD z 1 a 2 b 3 c 4 d 5 e -> :5
        ZREVRANGE z 0 1 -> ['e' 'd']
        ZREVRANGE z 0 1 WITHSCORES -> ['e' '5' 'd' '4']
        ZREVRANGE z 0 1 REV -> -ERR syntax error
        ZREVRANGE z 0 1 BYSCORE -> -ERR syntax error
        ZRANGEBYSCORE z 2 3 -> ['b' 'c']
        ZRANGEBYSCORE z 2 3 WITHSCORES LIMIT 1 5 -> ['c' '3']
        ZRANGEBYSCORE z (2 +inf LIMIT 0 1 -> ['c']
        ZRANGEBYSCORE z '' 1 -> ['a']
        ZREVRANGEBYSCORE z 3 2 -> ['c' 'b']
        ZREVRANGEBYSCORE z +inf (3 WITHSCORES -> ['e' '5' 'd' '4']
        ZREVRANGEBYSCORE z 2 3 -> []
        ZREVRANGEBYSCORE z +inf -inf LIMIT 1 2 -> ['d' 'c']
        ",
    );
}

#[test]
fn ranges_of_members() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        ZADD l 0 a 0 b 0 c 0 d 0 '' 0 aa -> :6
        ZRANGEBYLEX l - + -> ['' 'a' 'aa' 'b' 'c' 'd']
        ZRANGEBYLEX l [a (c -> ['a' 'aa' 'b']
        ZRANGEBYLEX l (a [c -> ['aa' 'b' 'c']
        ZRANGEBYLEX l [aa + -> ['aa' 'b' 'c' 'd']
        ZRANGEBYLEX l + - -> []
        ZADD rising 1 a 2 b 3 c 4 d -> :4
        ZRANGEBYLEX rising [b (d -> ['b' 'c']
        ZLEXCOUNT rising (a + -> :3
        ZRANGEBYLEX l - (a -> ['']
        ZRANGEBYLEX l - + LIMIT 1 3 -> ['a' 'aa' 'b']
        ZRANGEBYLEX l [b [a -> []
        ZRANGEBYLEX l [z + -> []
        ",
    );
    script.check(
        "ZRANGEBYLEX l - + WITHSCORES",
        "-ERR syntax error, WITHSCORES not supported in combination with BYLEX",
    );
    script.run(
        "
        ZRANGEBYLEX l a b -> -ERR min or max not valid string range item
        ZREVRANGEBYLEX l + - -> ['d' 'c' 'b' 'aa' 'a' '']
        ZREVRANGEBYLEX l (c [a -> ['b' 'aa' 'a']
        ZREVRANGEBYLEX l [c (aa LIMIT 0 1 -> ['c']
        ZLEXCOUNT l - + -> :6
        ZLEXCOUNT l [a (c -> :3
        ZLEXCOUNT l + - -> :0
        ZLEXCOUNT l a c -> -ERR min or max not valid string range item
        ZRANGE l (a + BYLEX LIMIT 1 2 -> ['b' 'c']
        ZRANGE l + (a BYLEX REV -> ['d' 'c' 'b' 'aa']
        ",
    );
}

#[test]
fn stored_ranges() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        ZADD z 1 a 2 b 3 c 4 d 5 e -> :5
        ZRANGESTORE dst z 1 3 -> :3
        ZRANGE dst 0 -1 WITHSCORES -> ['b' '2' 'c' '3' 'd' '4']
        ZRANGESTORE dst z 2 4 BYSCORE REV -> :0
        ZRANGESTORE dst z 4 2 BYSCORE REV LIMIT 0 2 -> :2
        ZRANGE dst 0 -1 WITHSCORES -> ['c' '3' 'd' '4']
        ZRANGESTORE dst none 0 -1 -> :0
        EXISTS dst -> :0
        ZRANGESTORE s z 0 0 -> :1
        TYPE s -> +zset
        ZRANGESTORE dst z 0 -1 WITHSCORES -> -ERR syntax error
        ZRANGESTORE z z 1 2 -> :2
        ZRANGE z 0 -1 -> ['b' 'c']
        ",
    );
    script.call(&[b"HELLO", b"3"]);
    script.run(
        "
        ZRANGE z 0 -1 -> ['b' 'c']
        ZRANGE z 0 -1 WITHSCORES -> [['b' ,2] ['c' ,3]]
        ZREVRANGE z 0 0 WITHSCORES -> [['c' ,3]]
        ",
    );
}

#[test]
fn removing_and_taking() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        ZADD z 1 a 2 b 3 c 4 d 5 e 6 f 7 g 8 h -> :8
        ZREM z a none -> :1
        ZREM none a -> :0
        ZREM s a -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZREMRANGEBYRANK z 0 0 -> :1
        ZREMRANGEBYRANK z -1 -1 -> :1
        ZREMRANGEBYRANK z 5 1 -> :0
        ZREMRANGEBYRANK z x 1 -> -ERR value is not an integer or out of range
        ZREMRANGEBYRANK none 0 -1 -> :0
        ZREMRANGEBYSCORE z (3 4 -> :1
        ZREMRANGEBYSCORE z a 4 -> -ERR min or max is not a float
        ZRANGE z 0 -1 -> ['c' 'e' 'f' 'g']
        ZREMRANGEBYSCORE z -inf +inf -> :4
        EXISTS z -> :0
        ZADD l 0 a 0 b 0 c 0 d -> :4
        ZREMRANGEBYLEX l [b (d -> :2
        ZREMRANGEBYLEX l b d -> -ERR min or max not valid string range item
        ZRANGE l 0 -1 -> ['a' 'd']
        ZREMRANGEBYLEX l - + -> :2
        EXISTS l -> :0
        ZADD z 1 a -> :1
        ZREM z a a -> :1
        EXISTS z -> :0
        ZADD p 1 a 2 b 3 c 4 d 5 e 6 f -> :6
        ZPOPMIN p -> ['a' '1']
        ZPOPMAX p -> ['f' '6']
        ZPOPMIN p 2 -> ['b' '2' 'c' '3']
        ZPOPMAX p 0 -> []
        ZPOPMIN p -1 -> -ERR value is out of range, must be positive
        ZPOPMIN p x -> -ERR value is out of range, must be positive
        ZPOPMIN p 1 2 -> -ERR syntax error
        ZPOPMAX p 100 -> ['e' '5' 'd' '4']
        EXISTS p -> :0
        ZPOPMIN p -> []
        ZPOPMIN s -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZPOPMIN p 0 -> []
        ",
    );
}

#[test]
fn taking_from_many_keys() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        ZADD q 1 a 2 b 3 c 4 d -> :4
        ZMPOP 2 none q MIN -> ['q' [['a' '1']]]
        ZMPOP 1 q MAX COUNT 2 -> ['q' [['d' '4'] ['c' '3']]]
        ZMPOP 1 none MIN -> nil
        ZMPOP 2 s q MIN -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZMPOP 0 q MIN -> -ERR numkeys should be greater than 0
        ZMPOP x q MIN -> -ERR numkeys should be greater than 0
        ZMPOP 1 q FOO -> -ERR syntax error
        ZMPOP 2 q MIN -> -ERR syntax error
        ZMPOP 1 q MIN COUNT 0 -> -ERR count should be greater than 0
        ZMPOP 1 q MIN COUNT -> -ERR syntax error
        ZMPOP 1 q MIN COUNT 1 COUNT 1 -> -ERR syntax error
        ZMPOP 1 q MIN COUNT 10 -> ['q' [['b' '2']]]
        EXISTS q -> :0
        ZADD p 1 a 2 b 3 c 4 d 5 e 6 f -> :6
        ",
    );
    script.call(&[b"HELLO", b"3"]);
    script.run(
        "
        ZPOPMIN p -> ['a' ,1]
        ZPOPMAX p 1 -> [['f' ,6]]
        ZPOPMIN p 2 -> [['b' ,2] ['c' ,3]]
        ZMPOP 1 p MIN -> ['p' [['d' ,4]]]
        ZMPOP 1 none MIN -> _
        ZPOPMIN none -> []
        ",
    );
}

#[test]
fn combining_sets() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        SET str v -> +OK
        ZADD a 1 x 2 y 3 z -> :3
        ZADD b 10 y 20 z 30 w -> :3
        ZUNION 2 a b -> ['x' 'y' 'z' 'w']
        ZUNION 2 a b WITHSCORES -> ['x' '1' 'y' '12' 'z' '23' 'w' '30']
        ZUNION 2 a b WEIGHTS 2 3 WITHSCORES -> ['x' '2' 'y' '34' 'z' '66' 'w' '90']
        ZUNION 2 a b AGGREGATE MIN WITHSCORES -> ['x' '1' 'y' '2' 'z' '3' 'w' '30']
        ZUNION 2 a b AGGREGATE max WEIGHTS 1 -1 WITHSCORES -> ['w' '-30' 'x' '1' 'y' '2' 'z' '3']
        ZUNION 1 none -> []
        ZUNION 3 a a none WITHSCORES -> ['x' '2' 'y' '4' 'z' '6']
        ZINTER 2 a b WITHSCORES -> ['y' '12' 'z' '23']
        ZINTER 2 a none -> []
        ZINTER 2 a b WEIGHTS 0.5 2 AGGREGATE MAX WITHSCORES -> ['y' '20' 'z' '40']
        ZINTER 2 a a WITHSCORES -> ['x' '2' 'y' '4' 'z' '6']
        ZDIFF 2 a b -> ['x']
        ZDIFF 2 a b WITHSCORES -> ['x' '1']
        ZDIFF 2 b none WITHSCORES -> ['y' '10' 'z' '20' 'w' '30']
        ZDIFF 1 a WEIGHTS 1 -> -ERR syntax error
        ZINTERCARD 2 a b -> :2
        ZINTERCARD 2 a b LIMIT 1 -> :1
        ZINTERCARD 2 a b LIMIT 0 -> :2
        ZINTERCARD 2 a b LIMIT -1 -> -ERR LIMIT can't be negative
        ZINTERCARD 2 a b WEIGHTS 1 1 -> -ERR syntax error
        ZINTERCARD 0 a -> -ERR at least 1 input key is needed for 'zintercard' command
        ",
    );
}

#[test]
fn stored_combinations() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        SET str v -> +OK
        ZADD a 1 x 2 y 3 z -> :3
        ZADD b 10 y 20 z 30 w -> :3
        ZUNIONSTORE d 2 a b -> :4
        ZRANGE d 0 -1 WITHSCORES -> ['x' '1' 'y' '12' 'z' '23' 'w' '30']
        ZINTERSTORE d 2 a b -> :2
        ZRANGE d 0 -1 WITHSCORES -> ['y' '12' 'z' '23']
        ZDIFFSTORE d 2 a b -> :1
        ZRANGE d 0 -1 WITHSCORES -> ['x' '1']
        ZINTERSTORE d 2 a none -> :0
        EXISTS d -> :0
        ZUNIONSTORE a 2 a b WEIGHTS 1 2 -> :4
        ZRANGE a 0 -1 WITHSCORES -> ['x' '1' 'y' '22' 'z' '43' 'w' '60']
        ZUNIONSTORE d 2 a b WITHSCORES -> -ERR syntax error
        ZUNION 0 a -> -ERR at least 1 input key is needed for 'zunion' command
        ZUNION x a -> -ERR value is not an integer or out of range
        ZUNION 3 a b -> -ERR syntax error
        ZUNION 2 a b WEIGHTS 1 -> -ERR syntax error
        ZUNION 2 a b WEIGHTS 1 x -> -ERR weight value is not a float
        ZUNION 2 a b AGGREGATE -> -ERR syntax error
        ZUNION 2 a b AGGREGATE foo -> -ERR syntax error
        ZUNION 2 a str -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZUNION 2 a str FOO -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZUNIONSTORE str 1 a -> :4
        TYPE str -> +zset
        ZADD inf inf x -> :1
        ZADD minf -inf x -> :1
        ZUNION 2 inf minf WITHSCORES -> ['x' '0']
        ZUNION 1 inf WEIGHTS 0 WITHSCORES -> ['x' '0']
        ZINTER 2 inf minf WEIGHTS 0 1 WITHSCORES -> ['x' '-inf']
        ",
    );
    script.call(&[b"HELLO", b"3"]);
    script.run(
        "
        ZUNION 2 a b WITHSCORES -> [['x' ,1] ['y' ,32] ['z' ,63] ['w' ,90]]
        ZINTER 2 a b -> ['y' 'z' 'w']
        ZDIFF 2 a b WITHSCORES -> [['x' ,1]]
        ",
    );
}

#[test]
fn random_elements_and_scans() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        ZADD z 1 a -> :1
        ZRANDMEMBER z -> 'a'
        ZRANDMEMBER z 5 -> ['a']
        ZRANDMEMBER z -3 -> ['a' 'a' 'a']
        ZRANDMEMBER z 2 WITHSCORES -> ['a' '1']
        ZRANDMEMBER z 0 -> []
        ZRANDMEMBER z 1 FOO -> -ERR syntax error
        ZRANDMEMBER z x -> -ERR value is not an integer or out of range
        ",
    );
    script.check(
        "ZRANDMEMBER z -9223372036854775808",
        "-ERR value is out of range, value must between -9223372036854775807 and \
         9223372036854775807",
    );
    script.run(
        "
        ZRANDMEMBER z 9223372036854775807 WITHSCORES -> -ERR value is out of range
        ZRANDMEMBER none -> nil
        ZRANDMEMBER none 3 -> []
        ZRANDMEMBER s -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZADD z 0.5 b 1e20 c -> :2
        ZSCAN z 0 -> ['0' ['b' '0.5' 'a' '1' 'c' '1e+20']]
        ZSCAN z 0 MATCH b* -> ['0' ['b' '0.5']]
        ZSCAN z 0 COUNT 100 MATCH c -> ['0' ['c' '1e+20']]
        ZSCAN none 0 -> ['0' []]
        ZSCAN none 0 FOO -> ['0' []]
        ZSCAN z x -> -ERR invalid cursor
        ZSCAN z 0 COUNT 0 -> -ERR syntax error
        ZSCAN z 0 COUNT x -> -ERR value is not an integer or out of range
        ZSCAN z 0 FOO 1 -> -ERR syntax error
        ZSCAN z 0 MATCH -> -ERR syntax error
        ZSCAN s 0 -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ",
    );
    script.call(&[b"HELLO", b"3"]);
    script.run(
        "
        ZRANDMEMBER z -1 WITHSCORES FOO -> -ERR syntax error
        ZSCAN z 0 MATCH c -> ['0' ['c' '1e+20']]
        ZADD one 1.5 m -> :1
        ZRANDMEMBER one 1 WITHSCORES -> [['m' ,1.5]]
        ZRANDMEMBER one -2 WITHSCORES -> [['m' ,1.5] ['m' ,1.5]]
        ",
    );
}
