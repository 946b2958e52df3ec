//! HyperLogLogs: counts, merges, and values that are none.

use crate::script::Script;

#[test]
fn different_elements_are_counted() {
    Script::start().run(
        "
        PFADD h a b c d e f g -> :1
        PFADD h a -> :0
        GETRANGE h 0 3 -> 'HYLL'
        GETRANGE h 15 15 -> '\\x80'
        PFCOUNT h -> :7
        GETRANGE h 15 15 -> '\\x00'
        PFADD h a b -> :0
        GETRANGE h 15 15 -> '\\x00'
        PFADD h h -> :1
        GETRANGE h 15 15 -> '\\x80'
        PFCOUNT h -> :8
        PFADD h -> :0
        PFADD none -> :1
        PFADD none -> :0
        PFCOUNT none -> :0
        PFCOUNT absent -> :0
        TYPE h -> +string
        ",
    );
}

#[test]
fn merges_count_an_element_once() {
    Script::start().run(
        "
        PFADD a 1 2 3 4 -> :1
        PFADD b 3 4 5 -> :1
        PFCOUNT a b absent -> :5
        EXPIRE b 1000 -> :1
        PFMERGE b a absent -> +OK
        TTL b -> :1000
        PFCOUNT b -> :5
        PFMERGE c -> +OK
        PFCOUNT c -> :0
        PFMERGE c a b -> +OK
        PFCOUNT c -> :5
        ",
    );
}

#[test]
fn forms_and_what_is_none() {
    Script::start().run(
        "
        PFADD h a b c -> :1
        PFDEBUG ENCODING h -> +sparse
        PFDEBUG TODENSE h -> :1
        PFDEBUG TODENSE h -> :0
        PFDEBUG ENCODING h -> +dense
        PFDEBUG DECODE h -> -ERR HLL encoding is not sparse
        STRLEN h -> :12304
        PFCOUNT h -> :3
        PFMERGE m h -> +OK
        PFDEBUG ENCODING m -> +dense
        PFDEBUG ENCODING absent -> -ERR The specified key does not exist
        CONFIG SET hll-sparse-max-bytes 20 -> +OK
        PFADD d a b c -> :1
        PFDEBUG ENCODING d -> +dense
        PFSELFTEST -> +OK
        SET s foo -> +OK
        PFADD s a -> -WRONGTYPE Key is not a valid HyperLogLog string value.
        PFCOUNT s h -> -WRONGTYPE Key is not a valid HyperLogLog string value.
        PFMERGE h s -> -WRONGTYPE Key is not a valid HyperLogLog string value.
        SET s HYLL -> +OK
        PFCOUNT s -> -WRONGTYPE Key is not a valid HyperLogLog string value.
        ",
    );
}
