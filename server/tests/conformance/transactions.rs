//! MULTI, EXEC, DISCARD, WATCH and UNWATCH.

use crate::script::Script;
use crate::socket::Reply;

#[test]
fn a_transaction_is_queued_and_run() {
    Script::start().run(
        "
        MULTI -> +OK
        SET a 1 -> +QUEUED
        INCR a -> +QUEUED
        GET a -> +QUEUED
        MGET a none -> +QUEUED
        EXEC -> [+OK :2 '2' ['2' nil]]
        GET a -> '2'
        MULTI -> +OK
        EXEC -> []
        MULTI -> +OK
        SET a 9 -> +QUEUED
        DISCARD -> +OK
        GET a -> '2'
        ",
    );
}

#[test]
fn commands_out_of_place_are_refused() {
    Script::start().run(
        "
        EXEC -> -ERR EXEC without MULTI
        DISCARD -> -ERR DISCARD without MULTI
        MULTI -> +OK
        MULTI -> -ERR MULTI calls can not be nested
        WATCH a -> -ERR WATCH inside MULTI is not allowed
        PING -> +QUEUED
        EXEC -> [+PONG]
        WATCH -> -ERR wrong number of arguments for 'watch' command
        MULTI x -> -ERR wrong number of arguments for 'multi' command
        EXEC -> -ERR EXEC without MULTI
        ",
    );
}

#[test]
fn a_refused_command_discards_all() {
    let mut script = Script::start();
    let aborted = "EXEC -> -EXECABORT Transaction discarded because of previous errors.";
    for refused in [
        "NOSUCH x -> -ERR unknown command 'NOSUCH', with args beginning with: 'x' ",
        "SET a -> -ERR wrong number of arguments for 'set' command",
        "CLIENT NOSUCH -> -ERR unknown subcommand 'NOSUCH'. Try CLIENT HELP.",
        "SAVE -> -ERR Command not allowed inside a transaction",
        "SHUTDOWN -> -ERR Command not allowed inside a transaction",
        "DISCARD x -> -ERR wrong number of arguments for 'discard' command",
    ] {
        script.run("MULTI -> +OK");
        script.run("SET a 1 -> +QUEUED");
        let (request, expected) = refused.split_once(" -> ").unwrap();
        script.check(request, expected);
        script.run("SET a 2 -> +QUEUED");
        script.run(aborted);
        script.run("GET a -> nil");
    }
    let text = "-EXECABORT Transaction discarded because of: \
                wrong number of arguments for 'exec' command";
    script.run("MULTI -> +OK");
    script.check("EXEC x", text);
    script.run("EXEC -> -ERR EXEC without MULTI");
    script.check("EXEC x", text);
}

#[test]
fn an_error_is_one_element_and_the_others_run() {
    Script::start().run(
        "
        MULTI -> +OK
        SET a text -> +QUEUED
        INCR a -> +QUEUED
        SET b 1 -> +QUEUED
        RENAME none c -> +QUEUED
        INCR b -> +QUEUED
        EXEC -> [+OK -ERR value is not an integer or out of range +OK -ERR no such key :2]
        MGET a b -> ['text' '2']
        ",
    );
}

#[test]
fn a_broken_watch_lets_nothing_run() {
    let mut script = Script::start();
    script.run(
        "
        SET w 1 -> +OK
        WATCH w -> +OK
        SET w 2 -> +OK
        MULTI -> +OK
        SET a 1 -> +QUEUED
        EXEC -> nil
        GET a -> nil
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> [+PONG]
        WATCH w -> +OK
        SET w 3 -> +OK
        UNWATCH -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> [+PONG]
        WATCH w -> +OK
        SET w 4 -> +OK
        MULTI -> +OK
        DISCARD -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> [+PONG]
        WATCH w -> +OK
        SET w 5 -> +OK
        MULTI -> +OK
        UNWATCH -> +QUEUED
        EXEC -> nil
        ",
    );
    script.call(&[b"HELLO", b"3"]);
    script.run(
        "
        WATCH w -> +OK
        DEL w -> :1
        MULTI -> +OK
        EXEC -> _
        ",
    );
}

#[test]
fn a_watch_lasts_until_exec() {
    Script::start().run(
        "
        WATCH w none w -> +OK
        MULTI -> +OK
        SET w 1 -> +QUEUED
        EXEC -> [+OK]
        SET w 2 -> +OK
        MULTI -> +OK
        GET w -> +QUEUED
        EXEC -> ['2']
        WATCH w -> +OK
        GET w -> '2'
        DEL none -> :0
        SETNX w 3 -> :0
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> [+PONG]
        WATCH w -> +OK
        EXPIRE w 1000 -> :1
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> nil
        WATCH none -> +OK
        SET none 1 -> +OK
        DEL none -> :1
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> nil
        ",
    );
}

#[test]
fn a_watch_remembers_its_database() {
    Script::start().run(
        "
        SELECT 1 -> +OK
        SET x 1 -> +OK
        WATCH x -> +OK
        SELECT 2 -> +OK
        SET x 2 -> +OK
        MULTI -> +OK
        GET x -> +QUEUED
        SELECT 1 -> +QUEUED
        GET x -> +QUEUED
        EXEC -> ['2' +OK '1']
        GET x -> '1'
        WATCH x -> +OK
        SELECT 2 -> +OK
        WATCH x -> +OK
        SET x 3 -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> nil
        ",
    );
}

#[test]
fn a_flush_breaks_watches_of_keys_that_were_there() {
    Script::start().run(
        "
        SET x 1 -> +OK
        WATCH x -> +OK
        FLUSHALL -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> nil
        WATCH x -> +OK
        SET other 1 -> +OK
        FLUSHDB -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> [+PONG]
        SET x 1 -> +OK
        WATCH x -> +OK
        SELECT 1 -> +OK
        SET y 1 -> +OK
        FLUSHDB -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> [+PONG]
        WATCH y -> +OK
        FLUSHALL -> +OK
        SET y 1 -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> nil
        ",
    );
}

#[test]
fn a_swap_breaks_watches_of_keys_on_either_side() {
    Script::start().run(
        "
        SET x 1 -> +OK
        WATCH x -> +OK
        SWAPDB 0 1 -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> nil
        WATCH x -> +OK
        SWAPDB 0 1 -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> nil
        WATCH none -> +OK
        SWAPDB 0 1 -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> [+PONG]
        ",
    );
}

#[test]
fn a_key_that_had_expired_before_breaks_nothing() {
    Script::start().run(
        "
        SET x 1 PX 1 -> +OK
        DEBUG SLEEP 0.02 -> +OK
        WATCH x -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> [+PONG]
        SET x 1 PX 1 -> +OK
        DEBUG SLEEP 0.02 -> +OK
        WATCH x -> +OK
        DEL x -> :0
        FLUSHDB -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> [+PONG]
        SET x 1 PX 30 -> +OK
        WATCH x -> +OK
        DEBUG SLEEP 0.06 -> +OK
        MULTI -> +OK
        PING -> +QUEUED
        EXEC -> nil
        ",
    );
}

#[test]
fn the_connection_changes_when_the_transaction_runs() {
    let mut script = Script::start();
    script.run(
        "
        MULTI -> +OK
        SELECT 1 -> +QUEUED
        SET z 1 -> +QUEUED
        SELECT 99 -> +QUEUED
        MOVE z 2 -> +QUEUED
        SELECT 2 -> +QUEUED
        GET z -> +QUEUED
        COPY z y DB 3 -> +QUEUED
        EXEC -> [+OK +OK -ERR DB index is out of range :1 +OK '1' :1]
        GET z -> '1'
        SELECT 3 -> +OK
        GET y -> '1'
        MULTI -> +OK
        SET z 1 -> +QUEUED
        RESET -> +RESET
        EXEC -> -ERR EXEC without MULTI
        GET z -> nil
        MULTI -> +OK
        GET z -> +QUEUED
        HELLO 3 -> +QUEUED
        GET z -> +QUEUED
        LCS z z IDX -> +QUEUED
        ",
    );
    let Reply::Many(b'*', Some(replies)) = script.call(&[b"EXEC"]) else {
        panic!("no array")
    };
    assert_eq!(replies[0], Reply::Bulk(b'$', None));
    assert!(matches!(&replies[1], Reply::Many(b'%', _)));
    assert_eq!(replies[2], Reply::Line(b'_', Vec::new()));
    assert!(matches!(&replies[3], Reply::Many(b'%', _)));
}

#[test]
fn nothing_blocks_inside() {
    let mut script = Script::start();
    script.run(
        "
        SET a 1 -> +OK
        MULTI -> +OK
        WAIT 1 0 -> +QUEUED
        SET a 2 -> +QUEUED
        MONITOR -> +QUEUED
        EXEC -> [:0 +OK -ERR MONITOR isn't allowed for DENY BLOCKING client]
        MULTI -> +OK
        WAITAOF 1 1 0 -> +QUEUED
        ",
    );
    // whether the write is durable by now is not known
    assert!(
        matches!(script.call(&[b"EXEC"]), Reply::Many(b'*', Some(replies)) if replies.len() == 1)
    );
}

#[test]
fn a_flush_inside_is_seen_inside() {
    Script::start().run(
        "
        SET a 1 -> +OK
        MULTI -> +OK
        INCR a -> +QUEUED
        FLUSHDB -> +QUEUED
        GET a -> +QUEUED
        SET b 1 -> +QUEUED
        DBSIZE -> +QUEUED
        SWAPDB 0 1 -> +QUEUED
        GET b -> +QUEUED
        SELECT 1 -> +QUEUED
        GET b -> +QUEUED
        EXEC -> [:2 +OK nil +OK :1 +OK nil +OK '1']
        ",
    );
}

#[test]
fn large_values_are_read_and_written_inside() {
    let mut script = Script::start();
    let large = vec![b'x'; 300_000];
    let words: [&[u8]; 3] = [b"SET", b"large", &large];
    script.run("MULTI -> +OK");
    script.call(&words);
    script.run(
        "
        APPEND large end -> +QUEUED
        STRLEN large -> +QUEUED
        GETRANGE large 299999 -1 -> +QUEUED
        SETRANGE large 0 begin -> +QUEUED
        GETRANGE large 0 6 -> +QUEUED
        COPY large copy -> +QUEUED
        DEL large -> +QUEUED
        GET large -> +QUEUED
        GETRANGE copy 299998 -1 -> +QUEUED
        EXEC -> [+OK :300003 :300003 'xend' :300003 'beginxx' :1 :1 nil 'xxend']
        STRLEN copy -> :300003
        ",
    );
}
