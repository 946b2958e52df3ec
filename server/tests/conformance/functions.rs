//! Libraries of functions: FUNCTION and FCALL.
//!
//! Owns the corners. The replies are those of Redis 7.0.15, given the same requests.

use crate::script::Script;

#[test]
fn libraries_of_functions() {
    let mut server = Script::start();
    for (words, expected) in LIBRARIES_OF_FUNCTIONS {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        server.check_words(&words, expected);
    }
}

const LIBRARIES_OF_FUNCTIONS: &[(&[&str], &str)] = &[
    (&["function", "list"], "[]"),
    (&["function", "load", "x"], "-ERR Missing library metadata"),
    (
        &["function", "load", "#!lua\nx"],
        "-ERR Library name was not given",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=a\nredis.register_function(\"f\", function() return 1 end)",
        ],
        "'a'",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=a\nredis.register_function(\"f\", function() return 1 end)",
        ],
        "-ERR Library 'a' already exists",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=b\nredis.register_function(\"f\", function() return 1 end)",
        ],
        "-ERR Function f already exists",
    ),
    (
        &["function", "load", "#!lua name=c\nlocal x = 1"],
        "-ERR No functions registered",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=c\nredis.call(\"get\",\"a\")",
        ],
        "-ERR Error registering functions: ERR user_function:2: Script attempted to acces\
             s nonexistent global variable 'call'",
    ),
    (
        &["function", "load", "#!lua name=c\nx=1"],
        "-ERR Error registering functions: ERR user_function:2: Attempt to modify a readon\
             ly table",
    ),
    (
        &["function", "load", "#!js name=c\nx=1"],
        "-ERR Engine 'js' not found",
    ),
    (
        &["function", "load", "#!lua name=c-d\nx=1"],
        "-ERR Library names can only contain letters, numbers, or underscores(_) and must \
             be at least one character long",
    ),
    (
        &["function", "load", "#!lua name=c foo=1\nx=1"],
        "-ERR Invalid metadata value given: foo=1",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=c\nredis.register_function(\"g\")",
        ],
        "-ERR Error registering functions: ERR calling redis.register_function with a sing\
             le argument is only applicable to Lua table (representing named arguments).",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=c\nredis.register_function(\"g-h\", function() end)",
        ],
        "-ERR Error registering functions: ERR Library names can only contain letters, num\
             bers, or underscores(_) and must be at least one character long",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=c\nredis.register_function{function_name=\"g\", callback=function() r\
              eturn redis.call(\"set\",\"a\",\"b\") end, flags={\"no-writes\"}, description=\"\
              D\"}",
        ],
        "'c'",
    ),
    (&["fcall", "f", "0"], ":1"),
    (
        &["fcall", "g", "0"],
        "-ERR Write commands are not allowed from read-only scripts. script: g, on @user_f\
             unction:2.",
    ),
    (
        &["fcall_ro", "f", "0"],
        "-ERR Can not execute a script with write flag using *_ro command.",
    ),
    (
        &["fcall_ro", "g", "0"],
        "-ERR Write commands are not allowed from read-only scripts. script: g, on @user_f\
             unction:2.",
    ),
    (&["fcall", "nope", "0"], "-ERR Function not found"),
    (&["fcall", "f", "x"], "-ERR Bad number of keys provided"),
    (
        &["fcall", "f", "1"],
        "-ERR Number of keys can't be greater than number of args",
    ),
    (&["function", "delete", "nope"], "-ERR Library not found"),
    (
        &["function", "stats"],
        "['running_script' nil 'engines' ['LUA' ['libraries_count' :2 'functions_count' :2\
             ]]]",
    ),
    (
        &["function", "list", "withcode"],
        "[['library_name' 'a' 'engine' 'LUA' 'functions' [['name' 'f' 'description' nil 'f\
             lags' []]] 'library_code' '#!lua name=a\\nredis.register_function(\\\"f\\\", func\
             tion() return 1 end)'] ['library_name' 'c' 'engine' 'LUA' 'functions' [['name' 'g\
             ' 'description' 'D' 'flags' [+no-writes]]] 'library_code' '#!lua name=c\\nredis.r\
             egister_function{function_name=\\\"g\\\", callback=function() return redis.call(\
             \\\"set\\\",\\\"a\\\",\\\"b\\\") end, flags={\\\"no-writes\\\"}, description=\\\"\
             D\\\"}']]",
    ),
    (
        &["function", "list", "libraryname", "a*"],
        "[['library_name' 'a' 'engine' 'LUA' 'functions' [['name' 'f' 'description' nil 'f\
             lags' []]]]]",
    ),
    (&["function", "list", "foo"], "-ERR Unknown argument foo"),
    (
        &["function", "restore", "x"],
        "-ERR DUMP payload version or checksum are wrong",
    ),
    (
        &["function", "restore", "x", "foo"],
        "-ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
    ),
    (
        &["function", "kill"],
        "-NOTBUSY No scripts in execution right now.",
    ),
    (
        &["function", "flush", "x"],
        "-ERR FUNCTION FLUSH only supports SYNC|ASYNC option",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=d\nredis.register_function{function_name=\"k\", callback=function() e\
              nd, flags={\"bad\"}}",
        ],
        "-ERR Error registering functions: ERR unknown flag given",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=d\nredis.register_function{function_name=\"k\", callback=1}",
        ],
        "-ERR Error registering functions: ERR callback argument given to redis.register_f\
             unction must be a function",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=d\nredis.register_function{function_name=\"k\", foo=1}",
        ],
        "-ERR Error registering functions: ERR unknown argument given to redis.register_fu\
             nction",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=d\nredis.register_function(1,2,3)",
        ],
        "-ERR Error registering functions: ERR wrong number of arguments to redis.register\
             _function",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=d\nredis.register_function(\"k\", 1)",
        ],
        "-ERR Error registering functions: ERR second argument to redis.register_function \
             must be a function",
    ),
    (
        &["function", "load", "#!lua name=d\nreturn x"],
        "-ERR Error registering functions: ERR user_function:2: Script attempted to acces\
             s nonexistent global variable 'x'",
    ),
    (
        &["function", "load", "#!lua name=d\nif"],
        "-ERR Error compiling function: user_function:2: unexpected symbol near '<eof>'",
    ),
    (
        &[
            "function",
            "load",
            "#!lua name=d\nredis.register_function(\"e\", function() return x.y end)",
        ],
        "'d'",
    ),
    (
        &["fcall", "e", "0"],
        "-ERR user_function:2: Script attempted to access nonexistent global variable 'x' \
             script: e, on @user_function:2.",
    ),
    (&["eval", "return redis.register_function", "0"], "nil"),
    (
        &[
            "function",
            "load",
            "#!lua name=u\nredis.register_function(\"d\", function() end) redis.register_func\
              tion(\"d\", function() end)",
        ],
        "-ERR Error registering functions: ERR Function already exists in the library",
    ),
    (
        &[
            "function",
            "load",
            "replace",
            "#!lua name=a\nredis.register_function(\"f\", function(k,a) return {k,a} end)",
        ],
        "'a'",
    ),
    (&["fcall", "f", "1", "a", "b"], "[['a'] ['b']]"),
    (&["function", "delete", "a"], "+OK"),
    (&["fcall", "f", "0"], "-ERR Function not found"),
    (&["function", "flush"], "+OK"),
    (&["function", "list"], "[]"),
];
