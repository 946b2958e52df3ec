//! The libraries of scripts: JSON, MessagePack, C structures, bits.
//!
//! Owns the corners. The replies are those of Redis 7.0.15, which ran the same scripts.

use crate::scripts::check_all;

#[test]
fn json() {
    check_all(JSON);
}

const JSON: &[(&str, &str)] = &[
    (
        "return cjson.decode(\"{\")",
        "-ERR user_script:1: Expected object key string but found T_END at character 2 scr\
             ipt: 11c9a27f0575c57ad53dea0235e50ac048d289a5, on @user_script:1.",
    ),
    (
        "return cjson.encode({1,2,a=1})",
        "'{\\\"1\\\":1,\\\"2\\\":2,\\\"a\\\":1}'",
    ),
    (
        "return cjson.encode({a={b={1,2,3}},c=\"x/y\\\"\\n\\t\\1\",d=1.5,e=true,f=cjson.nu\
             ll})",
        "'{\\\"a\\\":{\\\"b\\\":[1,2,3]},\\\"c\\\":\\\"x\\\\/y\\\\\\\"\\\\n\\\\t\\\\u0001\
             \\\",\\\"e\\\":true,\\\"d\\\":1.5,\\\"f\\\":null}'",
    ),
    ("return cjson.encode({})", "'{}'"),
    (
        "return cjson.encode({[1]=1,[100]=2})",
        "-ERR user_script:1: Cannot serialise table: excessively sparse array script: 10e3\
             fc1ba99d624fff4384f90d3b886b1456f226, on @user_script:1.",
    ),
    (
        "return cjson.encode(1/0)",
        "-ERR user_script:1: Cannot serialise number: must not be NaN or Inf script: 08ffd\
             aa5e7f117332da21c3b5222c2ede9492c60, on @user_script:1.",
    ),
    (
        "return cjson.encode(function() end)",
        "-ERR user_script:1: Cannot serialise function: type not supported script: c660057\
             3aa08cdf0af5da6e0ef682db69a3acc00, on @user_script:1.",
    ),
    (
        "return cjson.encode({0.1, 1e20, 123456789012345678, -0.5, 1e-7})",
        "'[0.1,1e+20,1.2345678901235e+17,-0.5,1e-07]'",
    ),
    (
        "return cjson.decode('[1,2')",
        "-ERR user_script:1: Expected comma or array end but found T_END at character 5 sc\
             ript: c107001b5ba2ff860ee2557f64da37c4767ef4bd, on @user_script:1.",
    ),
    (
        "return cjson.decode('[1 2]')",
        "-ERR user_script:1: Expected comma or array end but found T_NUMBER at character \
             4 script: cae89247ef27d42d411c61ae44ff3af6ab258d99, on @user_script:1.",
    ),
    (
        "return cjson.decode('{\"a\" 1}')",
        "-ERR user_script:1: Expected colon but found T_NUMBER at character 6 script: 3486\
             ee24bfdfc100c738c73355e99954ef01d92f, on @user_script:1.",
    ),
    (
        "return cjson.decode('{\"a\":1 \"b\"}')",
        "-ERR user_script:1: Expected comma or object end but found T_STRING at character \
             8 script: ed604cfa816fcbf85760ca2c8a390a51415cd1aa, on @user_script:1.",
    ),
    (
        "return cjson.decode('\"\\\\x\"')",
        "-ERR user_script:1: Expected value but found invalid escape code at character 2 s\
             cript: e15fa517a0e30bc5ba472a9403d98fe6c88ca8e5, on @user_script:1.",
    ),
    (
        "return cjson.decode('\"abc')",
        "-ERR user_script:1: Expected value but found unexpected end of string at characte\
             r 5 script: 30d67c6fb8e066eef4796bfcc59cee500c381744, on @user_script:1.",
    ),
    (
        "return cjson.decode('nul')",
        "-ERR user_script:1: Expected value but found invalid token at character 1 script\
             : 5586fdf8c512d9c8a68678c91a0de23617e84e25, on @user_script:1.",
    ),
    (
        "return cjson.decode('1 2')",
        "-ERR user_script:1: Expected the end but found T_NUMBER at character 3 script: 14\
             08d9a9f8459030a4a353692b905ad7a0ddb424, on @user_script:1.",
    ),
    (
        "return cjson.decode('')",
        "-ERR user_script:1: Expected value but found T_END at character 1 script: 7ff8cf8\
             6abed928f4d61a01dcc9713f0117b180a, on @user_script:1.",
    ),
    (
        "return cjson.decode('\"\\\\ud800\"')",
        "-ERR user_script:1: Expected value but found invalid unicode escape code at chara\
             cter 2 script: 614364f6c9d9a8370605ddedbdbe5d726346f810, on @user_script:1.",
    ),
    ("return tostring(cjson.decode('0x10'))", "'16'"),
    ("return tostring(cjson.decode('-1.5e-3'))", "'-0.0015'"),
    (
        "return cjson.decode()",
        "-ERR user_script:1: bad argument #1 to 'decode' (expected 1 argument) script: 537\
             8278d59343caf5c3375a655dfea5e69ab8a74, on @user_script:1.",
    ),
    (
        "return cjson.encode()",
        "-ERR user_script:1: bad argument #1 to 'encode' (expected 1 argument) script: fc5\
             93ea31f478c7ed65c77495cc63edeb9153530, on @user_script:1.",
    ),
    (
        "local t={} local c=t for i=1,1100 do c.a={} c=c.a end return cjson.encode(t)",
        "-ERR user_script:1: Cannot serialise, excessive nesting (1001) script: e4407c8621\
             4dd137a4a988f63ec1655ec311777f, on @user_script:1.",
    ),
    (
        "return cjson.decode(string.rep('[',1100)..string.rep(']',1100))",
        "-ERR user_script:1: Found too many nested data structures (1001) at character 100\
             1 script: 09302832ddce7dfb7969e61e3c4e80950f0f3f64, on @user_script:1.",
    ),
    ("return {cjson.encode_sparse_array()}", "[nil :2 :10]"),
    (
        "cjson.encode_sparse_array(true,2,10) return cjson.encode({[1]=1,[100]=2})",
        "'{\\\"1\\\":1,\\\"100\\\":2}'",
    ),
    (
        "return {cjson.encode_max_depth(), cjson.decode_max_depth(), cjson.encode_number_p\
             recision()}",
        "[:1000 :1000 :14]",
    ),
];

#[test]
fn message_pack() {
    check_all(MESSAGE_PACK);
}

const MESSAGE_PACK: &[(&str, &str)] = &[
    (
        "return cmsgpack.pack({1,2,{a=1}})",
        "'\\x93\\x01\\x02\\x81\\xa1a\\x01'",
    ),
    ("return {cmsgpack.unpack_one(\"\\1\\2\\3\")}", "[:1 :1]"),
    ("return {cmsgpack.unpack_one(\"\\1\\2\\3\",2)}", "[:-1 :3]"),
    (
        "return {cmsgpack.unpack_limit(\"\\1\\2\\3\",2)}",
        "[:2 :1 :2]",
    ),
    (
        "return cmsgpack.unpack(\"\\146\\1\")",
        "-ERR user_script:1: Missing bytes in input. script: 73ff6be127f76ff1376cc16b9ac47\
             3f8aeb9615d, on @user_script:1.",
    ),
    (
        "return cmsgpack.unpack(\"\\193\")",
        "-ERR user_script:1: Bad data format in input. script: a99d585a2d17143fda650a31dda\
             2654607544580, on @user_script:1.",
    ),
    (
        "return cmsgpack.pack()",
        "-ERR user_script:1: bad argument #0 to 'pack' (MessagePack pack needs input.) scr\
             ipt: 6bc235afa55de88253e203cc5fe5844792e25209, on @user_script:1.",
    ),
    (
        "return {cmsgpack.unpack_one(\"a\",5)}",
        "-ERR user_script:1: Start offset 5 greater than input length 1. script: 07bccc555\
             801ced5265f38ccffc428203be8b2f9, on @user_script:1.",
    ),
    (
        "return {cmsgpack.unpack_one(\"a\",-5)}",
        "-ERR user_script:1: Invalid request to unpack with offset of -5 and limit of 1. s\
             cript: 29d9d41e8e81894350184cad2f302d96b8d4bf3b, on @user_script:1.",
    ),
];

#[test]
fn structures() {
    check_all(STRUCTURES);
}

const STRUCTURES: &[(&str, &str)] = &[
    ("return struct.pack(\">I2\",1)", "'\\x00\\x01'"),
    (
        "return struct.pack(\">hiI3Bs\", 1, -2, 3, 255, \"abc\")",
        "'\\x00\\x01\\xff\\xff\\xff\\xfe\\x00\\x00\\x03\\xffabc\\x00'",
    ),
    (
        "return {struct.unpack(\">hiI3Bs\", struct.pack(\">hiI3Bs\", 1, -2, 3, 255, \"abc\
             \"))}",
        "[:1 :-2 :3 :255 'abc' :15]",
    ),
    (
        "return struct.pack(\"<!4bi!xd f\", 1, 2, 1.5, 2.5)",
        "'\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\
             \\x00\\x00\\x00\\x00\\x00\\x00\\xf8?\\x00\\x00 @'",
    ),
    (
        "return {struct.unpack(\"bc0\", struct.pack(\"bc0\", 3, \"abc\"))}",
        "['abc' :5]",
    ),
    (
        "return {struct.size(\"bhild\"), struct.size(\"!bhild\")}",
        "[:23 :24]",
    ),
    (
        "return struct.size(\"s\")",
        "-ERR user_script:1: bad argument #1 to 'size' (option 's' has no fixed size) scri\
             pt: 0bd68a9d1207d846fb74767b7aeafd360dbf42ba, on @user_script:1.",
    ),
    (
        "return struct.pack(\"z\",1)",
        "-ERR user_script:1: bad argument #1 to 'pack' (invalid format option 'z') script\
             : 65a5d6fe5cb0325689ecfc5b22baa992edcaf478, on @user_script:1.",
    ),
    (
        "return struct.unpack(\"i\",\"a\")",
        "-ERR user_script:1: bad argument #2 to 'unpack' (data string too short) script: d\
             838136fe7c843a1f1f2c528f5c916127cf222c6, on @user_script:1.",
    ),
    (
        "return struct.pack(\"i33\",1)",
        "-ERR user_script:1: integral size 33 is larger than limit of 32 script: cdc26c6c0\
             c562d57753b17dd8bc07b86c745eef3, on @user_script:1.",
    ),
    (
        "return struct.pack(\"!3i\",1)",
        "-ERR user_script:1: alignment 3 is not a power of 2 script: 75fbda3eb341cf0659d58\
             96142ee086043f3c8fc, on @user_script:1.",
    ),
    (
        "return struct.unpack(\"s\",\"abc\")",
        "-ERR user_script:1: unfinished string in data script: deb020a1d6a892885e434e8200f\
             352d447f0aec2, on @user_script:1.",
    ),
    (
        "return struct.pack(\"c5\",\"abc\")",
        "-ERR user_script:1: bad argument #3 to 'pack' (string too short) script: 4833f564\
             dec725c5f766b8ef059ad494c1750a61, on @user_script:1.",
    ),
];

#[test]
fn bits() {
    check_all(BITS);
}

const BITS: &[(&str, &str)] = &[
    ("return bit.tohex(255)", "'000000ff'"),
    (
        "return bit.band()",
        "-ERR user_script:1: bad argument #1 to 'band' (number expected, got no value) scr\
             ipt: 5cf53f885283a4f44a8fe7ad7e7fccaed4113e62, on @user_script:1.",
    ),
    (
        "return bit.band(\"x\")",
        "-ERR user_script:1: bad argument #1 to 'band' (number expected, got string) scrip\
             t: ead7262ed91b4659715ea2e3311e15f614ee3667, on @user_script:1.",
    ),
];
