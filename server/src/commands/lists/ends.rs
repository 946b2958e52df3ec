//! LPUSH, RPUSH, LPUSHX, RPUSHX, LPOP, RPOP, LMPOP: the ends of lists.
//!
//! Owns their options.

use super::pops::{PopSpec, answer_items, answer_popped, parse_pops, pop_first, tell_popped};
use super::value::{new_list, open, parse_from, save, tell_pushed};
use crate::collections::list::End;
use crate::command::{CommandError, Cx, Pending};
use crate::commands::access::Locked;
use crate::resp::{Args, ReplyBuf};

/// `LPUSH key element [element ...]`
pub(crate) async fn lpush(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    push(cx, args, at, (End::Left, false), reply).await
}

/// `RPUSH key element [element ...]`
pub(crate) async fn rpush(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    push(cx, args, at, (End::Right, false), reply).await
}

/// `LPUSHX key element [element ...]`
pub(crate) async fn lpushx(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    push(cx, args, at, (End::Left, true), reply).await
}

/// `RPUSHX key element [element ...]`
pub(crate) async fn rpushx(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    push(cx, args, at, (End::Right, true), reply).await
}

async fn push(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    (end, must_exist): (End, bool),
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let is_new = at.found.is_none();
    if is_new && must_exist {
        reply.integer(0);
        return Ok(());
    }
    let mut list = open(cx, at.found)?.unwrap_or_else(|| new_list(cx));
    list.push(end, &args[2..]).await?;
    let len = list.len();
    save(cx, at.locks, &args[1], list).await?;
    tell_pushed(cx, &args[1], end, is_new);
    reply.integer(len.cast_signed());
    Ok(())
}

/// `LPOP key [count]`
pub(crate) async fn lpop(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    pop(cx, args, at, End::Left, reply).await
}

/// `RPOP key [count]`
pub(crate) async fn rpop(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    pop(cx, args, at, End::Right, reply).await
}

async fn pop(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    end: End,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let key = &args[1];
    if args.len() > 3 {
        return Err(CommandError::arity(match end {
            End::Left => "lpop",
            End::Right => "rpop",
        }));
    }
    let complaint = "ERR value is out of range, must be positive";
    let count = args.get(2).map(|text| parse_from(text, 0, complaint));
    let count = count.transpose()?;
    let Some(mut list) = open(cx, at.found)? else {
        match count {
            Some(_) => reply.null_array(),
            None => reply.null(),
        }
        return Ok(());
    };
    if count == Some(0) {
        reply.array(0);
        return Ok(());
    }
    let mut items = list.pop(end, count.unwrap_or(1)).await?;
    let is_empty = save(cx, at.locks, key, list).await?;
    tell_popped(cx, key, end, is_empty);
    match count {
        Some(_) => answer_items(reply, items).await,
        None => reply.bulk_bytes(items.pop().unwrap_or_default()),
    }
    Ok(())
}

/// `LMPOP numkeys key [key ...] LEFT | RIGHT [COUNT count]`
pub fn lmpop(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let PopSpec { keys, end, count } = parse_pops(&args, 1)?;
        let keys = &args[keys];
        let targets: Vec<_> = keys.iter().map(|key| (cx.db(), &key[..])).collect();
        let locks = cx.store.lock(&targets).await;
        match pop_first(&cx, &locks, keys, (end, count), |_| false).await? {
            Some(popped) => answer_popped(&mut reply, popped.value).await,
            None => reply.null_array(),
        }
        Ok(reply)
    })
}
