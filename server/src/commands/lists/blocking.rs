//! BLPOP, BRPOP, BLMPOP, BLMOVE, BRPOPLPUSH: those that wait until a list has something.
//!
//! Owns their arguments; waiting and turns are in `blocking`.

use bytes::Bytes;
use cellar_storage::ValueType;

use super::moves::{Move, move_one};
use super::pops::{PopSpec, Popped, answer_one, answer_popped, parse_pops, pop_first};
use super::value::parse_end;
use crate::blocking::{Wish, parse_timeout_s, serve};
use crate::collections::list::End;
use crate::command::{CommandError, Cx, Pending};
use crate::resp::{Args, ReplyBuf};

/// `BLPOP key [key ...] timeout`
pub fn blpop(cx: Cx, args: Args) -> Pending {
    pop(cx, args, End::Left)
}

/// `BRPOP key [key ...] timeout`
pub fn brpop(cx: Cx, args: Args) -> Pending {
    pop(cx, args, End::Right)
}

fn pop(cx: Cx, args: Args, end: End) -> Pending {
    Box::pin(async move {
        let keys = &args[1..args.len() - 1];
        let timeout_ms = parse_timeout(&cx, &args[args.len() - 1])?;
        let popped = wait_to_pop(&cx, keys, (end, 1), timeout_ms).await?;
        Ok(reply(&cx, popped, answer_one))
    })
}

/// `BLMPOP timeout numkeys key [key ...] LEFT | RIGHT [COUNT count]`
pub fn blmpop(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let PopSpec { keys, end, count } = parse_pops(&args, 2)?;
        let timeout_ms = parse_timeout(&cx, &args[1])?;
        let popped = wait_to_pop(&cx, &args[keys], (end, count), timeout_ms).await?;
        let mut reply = cx.reply();
        match popped {
            Some(popped) => answer_popped(&mut reply, popped).await,
            None => reply.null_array(),
        }
        Ok(reply)
    })
}

fn parse_timeout(cx: &Cx, text: &[u8]) -> Result<u64, CommandError> {
    parse_timeout_s(text, cx.shared.clock.unix_ms())
}

async fn wait_to_pop(
    cx: &Cx,
    keys: &[Bytes],
    pops: (End, u64),
    timeout_ms: u64,
) -> Result<Option<Popped>, CommandError> {
    let wish = Wish {
        keys,
        destination: None,
        value_type: ValueType::List,
        timeout_ms,
        heeds_loss: false,
    };
    let attempt = async |attempt: &crate::blocking::Attempt<'_>| {
        let is_reserved = |key: &Bytes| attempt.is_for_others(key);
        pop_first(cx, attempt.locks, keys, pops, is_reserved).await
    };
    serve(cx, &wish, attempt).await
}

fn reply<T>(cx: &Cx, found: Option<T>, answer: fn(&mut ReplyBuf, T)) -> ReplyBuf {
    let mut reply = cx.reply();
    match found {
        Some(found) => answer(&mut reply, found),
        None => reply.null_array(),
    }
    reply
}

/// `BLMOVE source destination LEFT | RIGHT LEFT | RIGHT timeout`
pub fn blmove(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let (from, to) = (parse_end(&args[3])?, parse_end(&args[4])?);
        let timeout_ms = parse_timeout(&cx, &args[5])?;
        wait_to_move(&cx, &args, (from, to), timeout_ms).await
    })
}

/// `BRPOPLPUSH source destination timeout`
pub fn brpoplpush(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let timeout_ms = parse_timeout(&cx, &args[3])?;
        wait_to_move(&cx, &args, (End::Right, End::Left), timeout_ms).await
    })
}

async fn wait_to_move(
    cx: &Cx,
    args: &Args,
    (from, to): (End, End),
    timeout_ms: u64,
) -> Result<ReplyBuf, CommandError> {
    let step = Move {
        source: &args[1],
        destination: &args[2],
        from,
        to,
    };
    let wish = Wish {
        keys: &args[1..2],
        destination: Some(step.destination),
        value_type: ValueType::List,
        timeout_ms,
        heeds_loss: false,
    };
    let attempt = async |attempt: &crate::blocking::Attempt<'_>| {
        let is_reserved = |key: &Bytes| attempt.is_for_others(key);
        move_one(cx, attempt.locks, &step, is_reserved).await
    };
    let moved = serve(cx, &wish, attempt).await?;
    if moved.is_none() && !cx.may_block() {
        let mut reply = cx.reply();
        reply.null();
        return Ok(reply);
    }
    Ok(reply(cx, moved, ReplyBuf::bulk_bytes))
}
