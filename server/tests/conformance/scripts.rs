//! Scripts: what they return and raise, and SCRIPT.
//!
//! Owns the corners. The replies are those of Redis 7.0.15, which ran the same scripts.

use crate::script::Script;

/// Runs each script with two keys and two arguments on an empty database.
#[track_caller]
pub(crate) fn check_all(scripts: &[(&str, &str)]) {
    let mut server = Script::start();
    for (script, expected) in scripts {
        server.call(&[b"FLUSHALL"]);
        let words: [&[u8]; 7] = [b"EVAL", script.as_bytes(), b"2", b"k1", b"k2", b"a1", b"a2"];
        server.check_words(&words, expected);
    }
}

#[test]
fn the_language_and_its_sandbox() {
    check_all(THE_LANGUAGE_AND_ITS_SANDBOX);
}

const THE_LANGUAGE_AND_ITS_SANDBOX: &[(&str, &str)] = &[
    ("return 1", ":1"),
    (
        "return x",
        "-ERR user_script:1: Script attempted to access nonexistent global variable 'x' sc\
             ript: 03c387736bb5cc009ff35151572cee04677aa374, on @user_script:1.",
    ),
    (
        "x=1",
        "-ERR user_script:1: Attempt to modify a readonly table script: 7caf6056913504f050\
             8c65faf2dc3f94ff65bcfd, on @user_script:1.",
    ),
    (
        "error(\"boo\")",
        "-ERR user_script:1: boo script: 1edbcab56ef034bd9153538f890f38aef61d3b7b, on @use\
             r_script:1.",
    ),
    ("return {err=\"xx\"}", "-xx"),
    ("return {1,2,nil,4}", "[:1 :2]"),
    ("return 3.99", ":3"),
    ("return {double=3.5}", "'3.5'"),
    (
        "string.x=1",
        "-ERR user_script:1: Attempt to modify a readonly table script: 0200261db1e7771c26\
             6e77366576961c8f228af1, on @user_script:1.",
    ),
    (
        "rawset(_G,\"a\",1)",
        "-ERR Attempt to modify a readonly table script: 20906b23bbc2d9165def3202033e65f1b\
             cb9d43f, on @user_script:1.",
    ),
    (
        "setmetatable(_G,{})",
        "-ERR Attempt to modify a readonly table script: e8f1b52cec0990f58c59b37010d130cfd\
             ce9e1a5, on @user_script:1.",
    ),
    ("return getmetatable(_G)", "[]"),
    ("return tostring(math.floor(3.7))", "'3'"),
    (
        "error({err=\"My table\"})",
        "-My table script: 7f52dc3b741970ed851ba655e4ded8b32c62922e, on @user_script:1.",
    ),
    (
        "error(nil)",
        "-ERR nil script: c402aa49952c86c38f35fb311d54977d08f3bf01, on @user_script:1.",
    ),
    ("return loadstring(\"return 1\")()", ":1"),
    ("return _VERSION", "'Lua 5.1'"),
    (
        "return print",
        "-ERR user_script:1: Script attempted to access nonexistent global variable 'print\
             ' script: df4c752a7558004676bbee87e38b92e0b9056d68, on @user_script:1.",
    ),
    (
        "return tostring(getmetatable(\"\").__index == string)",
        "'true'",
    ),
    (
        "return math.random(0)",
        "-ERR user_script:1: bad argument #1 to 'random' (interval is empty) script: 008bc\
             b60f86ee36d26c67b641b46674578d9cba0, on @user_script:1.",
    ),
    ("return {ok=\"fine\"}", "+fine"),
    ("return true", ":1"),
    ("return {false,true}", "[nil :1]"),
    (
        "return {1.5, \"x\", {2, {3}}, true, false, \"y\"}",
        "[:1 'x' [:2 [:3]] :1 nil 'y']",
    ),
    ("return loadstring(\"x x\")", "nil"),
    (
        "error(\"x\",0)",
        "-ERR x script: 30c50906f9c7735a6ac0d4f8b24229c1436672e7, on @user_script:1.",
    ),
    (
        "error(\"x\",2)",
        "-ERR x script: 5e058260241df3d25878a356e9eb47a42b519755, on @user_script:1.",
    ),
    (
        "error({err=\"XX\"},2)",
        "-XX script: acbfad283ad171cfaeda5396a61f20591c3e63a8, on @user_script:1.",
    ),
    (
        "local function f() error({err=\"XX y\"}) end f()",
        "-XX y script: 3cfd1c6cac2086c14000a314b7d232d79f3530e9, on @user_script:1.",
    ),
    (
        "return (\"x\"):bad()",
        "-ERR user_script:1: attempt to call method 'bad' (a nil value) script: 14fd46be6c\
             0c55e3992b786e2e961b239f3b446a, on @user_script:1.",
    ),
    (
        "local t=nil; return t.x",
        "-ERR user_script:1: attempt to index local 't' (a nil value) script: 8a168f767e02\
             9c17e797bfba7f6372859975d27b, on @user_script:1.",
    ),
    ("return {pcall(error,\"x\")}", "[nil 'x']"),
    ("return 9007199254740993", ":9007199254740992"),
    ("return 1e300", ":-9223372036854775808"),
    ("return {map={a=1}}", "['a' :1]"),
    ("return {set={a=true}}", "['a']"),
    ("return {big_number=\"123\"}", "'123'"),
    (
        "return {verbatim_string={format=\"txt\",string=\"hi\"}}",
        "'hi'",
    ),
    (
        "return {KEYS[1],KEYS[2],ARGV[1],ARGV[2],#KEYS,KEYS[3]}",
        "['k1' 'k2' 'a1' 'a2' :2]",
    ),
    (
        "if",
        "-ERR Error compiling script (new function): user_script:1: unexpected symbol nea\
             r '<eof>'",
    ),
    (
        "for k,v in pairs(string) do if k == \"rep\" then return \"found\" end end",
        "'found'",
    ),
    ("return tostring(rawget(_G,\"KEYS\")==KEYS)", "'true'"),
    ("return select('#', unpack({1,2,3}))", ":3"),
    (
        "local co=coroutine.create(function() error(\"in co\") end) local ok,e=coroutine.r\
             esume(co) return {tostring(ok),e}",
        "['false' 'user_script:1: in co']",
    ),
    ("return tostring(tonumber(\"0x10\"))", "'16'"),
    (
        "return string.format(\"%5.2f %s %d\", 3.14159, \"x\", 42)",
        "' 3.14 x 42'",
    ),
    ("return table.concat({1,2,3},\",\")", "'1,2,3'"),
    (
        "local t={5,2,8} table.sort(t, function(a,b) return a>b end) return t",
        "[:8 :5 :2]",
    ),
    ("return (\"abc\"):upper()", "'ABC'"),
    (
        "return {string.gsub(\"hello\",\"l\",\"x\")}",
        "['hexxo' :2]",
    ),
    ("return load(function() return nil end)", "nil"),
    (
        "return pcall(function() undefined_fn() end) and 1 or 0",
        ":0",
    ),
    (
        "local ok,e=pcall(function() undefined_fn() end) return e",
        "'user_script:1: Script attempted to access nonexistent global variable \\'undefin\
             ed_fn\\''",
    ),
    (
        "KEYS = {} return 1",
        "-ERR user_script:1: Attempt to modify a readonly table script: 64a01918c827abcc0d\
             9fc12b1b56bc165cdf91df, on @user_script:1.",
    ),
    ("KEYS[1]='z' return KEYS[1]", "'z'"),
    (
        "local x <const> = 1",
        "-ERR Error compiling script (new function): user_script:1: unexpected symbol nea\
             r '<'",
    ),
    (
        "goto a",
        "-ERR Error compiling script (new function): user_script:1: '=' expected near 'a'",
    ),
    ("return string.rep(\"x\", -1)", "''"),
    (
        "return assert(false, \"msg\")",
        "-ERR user_script:1: msg script: 9c84e8d142a9497d820bc79462bba04b8e89bd22, on @use\
             r_script:1.",
    ),
    (
        "assert(nil)",
        "-ERR user_script:1: assertion failed! script: 37b3ba7b72066bd421bc6610b809dfbd593\
             fb892, on @user_script:1.",
    ),
    (
        "return tostring(1e15)..tostring(2^53)",
        "'1e+159.007199254741e+15'",
    ),
];

#[test]
fn commands_called_by_scripts() {
    check_all(COMMANDS_CALLED_BY_SCRIPTS);
}

const COMMANDS_CALLED_BY_SCRIPTS: &[(&str, &str)] = &[
    (
        "return redis.call(\"nope\")",
        "-ERR Unknown Redis command called from script script: 8a08f4b52efaa2014867874031e\
             0f420f142f6b5, on @user_script:1.",
    ),
    (
        "return redis.call(\"set\",\"a\")",
        "-ERR Wrong number of args calling Redis command from script script: 6784ac7eceb98\
             2019b6d0d7f572eee7dad611374, on @user_script:1.",
    ),
    (
        "return redis.call(\"subscribe\",\"x\")",
        "-ERR This Redis command is not allowed from script script: e7d45421cfe07574789e1c\
             13ccf1015b1d648fe6, on @user_script:1.",
    ),
    (
        "return redis.pcall(\"incr\",\"a\",\"b\").err",
        "'ERR Wrong number of args calling Redis command from script'",
    ),
    (
        "local ok,e=pcall(redis.call,\"nope\") return {type(e),e}",
        "['string' 'ERR Unknown Redis command called from script']",
    ),
    (
        "return redis.call()",
        "-ERR Please specify at least one argument for this redis lib call script: 0a907e1\
             429221a4d85516cab7fd219a82a9439d8, on @user_script:1.",
    ),
    (
        "return redis.call({})",
        "-ERR Lua redis lib command arguments must be strings or integers script: 80747816\
             df1f4411f7c442b928fce6a814214839, on @user_script:1.",
    ),
    (
        "redis.call(\"set\",\"a\",\"b\") return redis.call(\"incr\",\"a\")",
        "-ERR value is not an integer or out of range script: fc9ef88d6302514c22f7db7112ae\
             fcb9a7178c14, on @user_script:1.",
    ),
    (
        "redis.call(\"set\",\"a\",\"b\") return redis.pcall(\"incr\",\"a\")",
        "-ERR value is not an integer or out of range",
    ),
    (
        "redis.call(\"set\",\"a\",\"b\") local ok,e=pcall(function() return redis.call(\"i\
             ncr\",\"a\") end) return {type(e),type(e)==\"table\" and e.err or e}",
        "['string' 'ERR value is not an integer or out of range']",
    ),
    ("return redis.call(\"get\",\"nokey\")", "nil"),
    (
        "return redis.pcall(\"nope\")",
        "-ERR Unknown Redis command called from script",
    ),
    (
        "return redis.pcall()",
        "-ERR Please specify at least one argument for this redis lib call",
    ),
    (
        "local function f()\n redis.call(\"incr\",\"a\",1) end\n f()",
        "-ERR Wrong number of args calling Redis command from script script: 43db8ac7bceb3\
             1ec7e1f6402608382af6df74a2b, on @user_script:2.",
    ),
    ("return redis.call(\"set\",\"k\",\"v\")", "+OK"),
    ("return redis.call(\"set\",\"k\",\"v\").ok", "'OK'"),
    (
        "return redis.call(\"eval\",\"return 1\",0)",
        "-ERR This Redis command is not allowed from script script: e5084e7bcd2fb5da5f7764\
             a118cb0e1f801776b7, on @user_script:1.",
    ),
    (
        "redis.setresp(3) return redis.call(\"hgetall\",\"x\")",
        "[]",
    ),
    (
        "redis.call(\"hset\",\"h\",\"a\",\"1\") redis.setresp(3) return redis.call(\"hgeta\
             ll\",\"h\").map.a",
        "'1'",
    ),
    (
        "redis.call(\"sadd\",\"h\",\"a\",\"b\") redis.setresp(3) return cjson.encode(redis\
             .call(\"smembers\",\"h\"))",
        "'{\\\"set\\\":{\\\"a\\\":true,\\\"b\\\":true}}'",
    ),
    (
        "redis.setresp(3) return {tostring(redis.call(\"get\",\"x\"))}",
        "['nil']",
    ),
    (
        "redis.call(\"set\",\"k\",0.1) return redis.call(\"get\",\"k\")",
        "'0.10000000000000001'",
    ),
    (
        "redis.call(\"set\",\"k\",1e20) return redis.call(\"get\",\"k\")",
        "'1e+20'",
    ),
    (
        "redis.call(\"set\",\"k\",100) return redis.call(\"get\",\"k\")",
        "'100'",
    ),
    (
        "redis.call(\"select\",1) redis.call(\"set\",\"x\",\"y\") return redis.call(\"get\
             \",\"x\")",
        "'y'",
    ),
    ("return redis.call(\"ping\")", "+PONG"),
    (
        "return redis.call(\"multi\")",
        "-ERR This Redis command is not allowed from script script: 211a39902cf76b98677003\
             ff6f4c16cf0d1d5d6b, on @user_script:1.",
    ),
    (
        "return redis.call(\"config\",\"foo\")",
        "-ERR Unknown Redis command called from script script: fbfc77e4ed57144bead356c113d\
             f0865255fdfd9, on @user_script:1.",
    ),
    ("return redis.call(\"publish\",\"a\",\"b\")", ":0"),
    (
        "redis.call(\"zadd\",\"z\",1,\"a\",2.5,\"b\") return redis.call(\"zrange\",\"z\",0\
             ,-1,\"withscores\")",
        "['a' '1' 'b' '2.5']",
    ),
    (
        "redis.call(\"zadd\",\"z\",1,\"a\",2.5,\"b\") redis.setresp(3) return cjson.encode\
             (redis.call(\"zscore\",\"z\",\"b\"))",
        "'{\\\"double\\\":2.5}'",
    ),
    (
        "local co=coroutine.wrap(function() return redis.call(\"set\",\"a\",\"b\") end) re\
             turn co()",
        "+OK",
    ),
    (
        "return redis.call(\"get\")",
        "-ERR Wrong number of args calling Redis command from script script: ad9cf9305028b\
             e601cfd2abed4ce895eb41a4a6f, on @user_script:1.",
    ),
    (
        "return redis.call(\"incr\",\"k1\") + redis.call(\"incr\",\"k1\")",
        ":3",
    ),
    (
        "return redis.call(1)",
        "-ERR Unknown Redis command called from script script: 9bdfc0557e68d76a6a10c85f455\
             de0f93ee495a7, on @user_script:1.",
    ),
    ("return redis.call(\"echo\", 12.5)", "'12.5'"),
];

#[test]
fn functions_of_redis() {
    check_all(FUNCTIONS_OF_REDIS);
}

const FUNCTIONS_OF_REDIS: &[(&str, &str)] = &[
    ("return redis.error_reply(\"My Err\")", "-My Err"),
    ("return redis.error_reply(\"MyErr\")", "-ERR MyErr"),
    (
        "return redis.sha1hex()",
        "-ERR wrong number of arguments script: 3c7ce947ae74a835cc575b6ee87fb27503cb7ba4, \
             on @user_script:1.",
    ),
    (
        "return redis.sha1hex(\"abc\")",
        "'a9993e364706816aba3e25717850c26c9cd0d89d'",
    ),
    (
        "return redis.log()",
        "-ERR redis.log() requires two arguments or more. script: 28e28bf25123668ac541f5ee\
             c91bf7ad3d2fe0bd, on @user_script:1.",
    ),
    (
        "return redis.setresp(4)",
        "-ERR RESP version must be 2 or 3. script: 921c0a48021d97dfd5884aeea41875972c7804d\
             9, on @user_script:1.",
    ),
    ("return redis.status_reply(\"x y\")", "+x y"),
    (
        "return redis.status_reply()",
        "-ERR wrong number or type of arguments",
    ),
    ("return redis.error_reply(\"-X y\")", "-X y"),
    ("return redis.acl_check_cmd(\"get\",\"a\")", ":1"),
    ("return redis.breakpoint()", "nil"),
    ("return redis.replicate_commands()", ":1"),
    ("redis.set_repl(redis.REPL_ALL)", "nil"),
    (
        "redis.set_repl(99)",
        "-ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE\
             . script: d771ce5945d8966ba7b2527e297070ef439fb0b8, on @user_script:1.",
    ),
    ("return redis.log(redis.LOG_DEBUG,\"x\")", "nil"),
    (
        "return redis.log(\"a\",\"x\")",
        "-ERR First argument must be a number (log level). script: d88f8e6f700cda5c06478a1\
             28a065a906f666f1d, on @user_script:1.",
    ),
    ("redis.setresp(3) return true", ":1"),
    ("redis.setresp(3) return false", ":0"),
    (
        "return redis.acl_check_cmd()",
        "-ERR Please specify at least one argument for this redis lib call script: 1124f33\
             ad66e7866b4e0c1499a4c20fb5eb9c180, on @user_script:1.",
    ),
    (
        "return redis.setresp()\n",
        "-ERR redis.setresp() requires one argument. script: 9258e1932d94e80c7fd3910d9451b\
             ca35c535d1e, on @user_script:1.",
    ),
];

#[test]
fn scripts_and_their_names() {
    let mut server = Script::start();
    for (words, expected) in SCRIPTS_AND_THEIR_NAMES {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        server.check_words(&words, expected);
    }
}

const SCRIPTS_AND_THEIR_NAMES: &[(&[&str], &str)] = &[
    (
        &["eval", "return 1", "x"],
        "-ERR value is not an integer or out of range",
    ),
    (
        &["eval", "return 1", "-1"],
        "-ERR Number of keys can't be negative",
    ),
    (
        &["eval", "return 1", "2", "a"],
        "-ERR Number of keys can't be greater than number of args",
    ),
    (
        &["evalsha", "abc", "0"],
        "-NOSCRIPT No matching script. Please use EVAL.",
    ),
    (
        &["evalsha", "ffffffffffffffffffffffffffffffffffffffff", "0"],
        "-NOSCRIPT No matching script. Please use EVAL.",
    ),
    (
        &["script", "flush", "foo"],
        "-ERR SCRIPT FLUSH only support SYNC|ASYNC option",
    ),
    (
        &["script", "kill"],
        "-NOTBUSY No scripts in execution right now.",
    ),
    (
        &["script", "debug", "foo"],
        "-ERR Use SCRIPT DEBUG YES/SYNC/NO",
    ),
    (&["script", "debug", "no"], "+OK"),
    (
        &["script", "load", "return 7"],
        "'59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9'",
    ),
    (
        &["evalsha", "59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9", "0"],
        ":7",
    ),
    (
        &[
            "script",
            "exists",
            "59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9",
            "abc",
        ],
        "[:1 :0]",
    ),
    (&["script", "flush"], "+OK"),
    (
        &[
            "script",
            "exists",
            "59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9",
        ],
        "[:0]",
    ),
    (
        &["script", "load", "if"],
        "-ERR Error compiling script (new function): user_script:1: unexpected symbol nea\
             r '<eof>'",
    ),
    (
        &["eval_ro", "return redis.call(\"set\",\"a\",\"b\")", "0"],
        "-ERR Write commands are not allowed from read-only scripts. script: 554a95710d45e\
             a243cdf37846a5028cfac292109, on @user_script:1.",
    ),
    (&["eval_ro", "return redis.call(\"get\",\"a\")", "0"], "nil"),
    (
        &[
            "eval",
            "#!lua flags=no-writes\nreturn redis.call(\"set\",\"a\",\"b\")",
            "0",
        ],
        "-ERR Write commands are not allowed from read-only scripts. script: fd62e2d5b0fa7\
             f778ebeeae125841af41328b852, on @user_script:2.",
    ),
    (
        &["eval_ro", "#!lua\nreturn 1", "0"],
        "-ERR Can not execute a script with write flag using *_ro command.",
    ),
    (
        &["eval", "#!lua\nreturn x", "0"],
        "-ERR user_script:2: Script attempted to access nonexistent global variable 'x' sc\
             ript: 58b72ca6d006e3bafbb8cc006de4820497ce9cf8, on @user_script:2.",
    ),
    (
        &["eval", "#!lua flags=bad\nreturn x", "0"],
        "-ERR Unexpected flag in script shebang: bad",
    ),
    (
        &["eval", "#!js\nreturn x", "0"],
        "-ERR Unexpected engine in script shebang: #!js",
    ),
    (&["eval", "#!lua", "0"], "-ERR Invalid script shebang"),
    (
        &["eval", "return {KEYS[1], ARGV[1]}", "1", "k", "v"],
        "['k' 'v']",
    ),
];
