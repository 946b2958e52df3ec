//! LSET, LINSERT, LREM, LTRIM: changes in the middle of lists.
//!
//! Owns their arguments.

use std::ops::Range;

use bytes::Bytes;
use cellar_storage::KeyLocks;

use super::reads::{place, symmetric};
use super::value::{open, save, tell};
use crate::collections::list::List;
use crate::collections::tree::Direction;
use crate::command::{CommandError, Cx};
use crate::commands::access::Locked;
use crate::commands::ranks::ranks;
use crate::commands::string_value::integer;
use crate::resp::{Args, ReplyBuf};

/// `LSET key index element`
pub(crate) async fn lset(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let mut list = open(cx, at.found)?.ok_or(CommandError::NoSuchKey)?;
    let index = place(integer(&args[2])?, list.len());
    let index = index.ok_or(CommandError::other("ERR index out of range"))?;
    list.replace(index, &args[3]).await?;
    save(cx, at.locks, &args[1], list).await?;
    tell(cx, "lset", &args[1]);
    reply.ok();
    Ok(())
}

/// `LINSERT key BEFORE | AFTER pivot element`
pub(crate) async fn linsert(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let key = &args[1];
    let behind = if args[2].eq_ignore_ascii_case(b"after") {
        1
    } else if args[2].eq_ignore_ascii_case(b"before") {
        0
    } else {
        return Err(CommandError::Syntax);
    };
    let Some(mut list) = open(cx, at.found)? else {
        reply.integer(0);
        return Ok(());
    };
    let Some(pivot) = list.position(&args[3]).await? else {
        reply.integer(-1);
        return Ok(());
    };
    list.insert(pivot + behind, &args[4]).await?;
    let len = list.len();
    save(cx, at.locks, key, list).await?;
    tell(cx, "linsert", key);
    reply.integer(len.cast_signed());
    Ok(())
}

/// `LREM key count element`
pub(crate) async fn lrem(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let count = symmetric(&args[2])?;
    let Some(mut list) = open(cx, at.found)? else {
        reply.integer(0);
        return Ok(());
    };
    let (count, direction) = match count {
        0 => (u64::MAX, Direction::Forward),
        1.. => (count.unsigned_abs(), Direction::Forward),
        _ => (count.unsigned_abs(), Direction::Backward),
    };
    let removed = list.remove_equal(&args[3], count, direction).await?;
    if removed > 0 {
        save_shrunk(cx, at.locks, &args[1], list, "lrem").await?;
    }
    reply.integer(removed.cast_signed());
    Ok(())
}

/// `LTRIM key start stop`
pub(crate) async fn ltrim(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let (start, end) = (integer(&args[2])?, integer(&args[3])?);
    if let Some(mut list) = open(cx, at.found)? {
        let kept = ranks(start, end, list.len());
        trim(&mut list, kept).await?;
        save_shrunk(cx, at.locks, &args[1], list, "ltrim").await?;
    }
    reply.ok();
    Ok(())
}

/// Stores a list of which elements were removed, perhaps all, and tells of it.
async fn save_shrunk(
    cx: &Cx,
    locks: &KeyLocks,
    key: &Bytes,
    list: List,
    event: &'static str,
) -> Result<(), CommandError> {
    let is_empty = save(cx, locks, key, list).await?;
    tell(cx, event, key);
    if is_empty {
        cx.notify_gone(key);
    }
    Ok(())
}

/// Keeps these elements only.
async fn trim(list: &mut List, kept: Range<u64>) -> Result<(), CommandError> {
    let len = list.len();
    if kept.end < len {
        list.remove(kept.end..len).await?;
    }
    if kept.start > 0 {
        list.remove(0..kept.start).await?;
    }
    Ok(())
}
