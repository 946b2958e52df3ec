//! LSET, LINSERT, LREM, LTRIM: changes in the middle of lists.
//!
//! Owns their arguments.

use std::ops::Range;

use bytes::Bytes;
use cellar_storage::KeyLocks;

use super::reads::{place, symmetric};
use super::value::{open_locked, save, tell};
use crate::collections::list::List;
use crate::collections::tree::Direction;
use crate::command::{CommandError, Cx, Pending};
use crate::commands::ranks::ranks;
use crate::commands::string_value::integer;
use crate::resp::Args;

/// `LSET key index element`
pub fn lset(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let key = &args[1];
        let locks = cx.store.lock(&[(cx.db(), key)]).await;
        let list = open_locked(&cx, &locks, key).await?;
        let mut list = list.ok_or(CommandError::NoSuchKey)?;
        let index = place(integer(&args[2])?, list.len());
        let index = index.ok_or(CommandError::other("ERR index out of range"))?;
        list.replace(index, &args[3]).await?;
        save(&cx, &locks, key, list).await?;
        tell(&cx, "lset", key);
        reply.ok();
        Ok(reply)
    })
}

/// `LINSERT key BEFORE | AFTER pivot element`
pub fn linsert(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let key = &args[1];
        let behind = if args[2].eq_ignore_ascii_case(b"after") {
            1
        } else if args[2].eq_ignore_ascii_case(b"before") {
            0
        } else {
            return Err(CommandError::Syntax);
        };
        let locks = cx.store.lock(&[(cx.db(), key)]).await;
        let Some(mut list) = open_locked(&cx, &locks, key).await? else {
            reply.integer(0);
            return Ok(reply);
        };
        let Some(pivot) = list.position(&args[3]).await? else {
            reply.integer(-1);
            return Ok(reply);
        };
        list.insert(pivot + behind, &args[4]).await?;
        let len = list.len();
        save(&cx, &locks, key, list).await?;
        tell(&cx, "linsert", key);
        reply.integer(len.cast_signed());
        Ok(reply)
    })
}

/// `LREM key count element`
pub fn lrem(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let key = &args[1];
        let count = symmetric(&args[2])?;
        let locks = cx.store.lock(&[(cx.db(), key)]).await;
        let Some(mut list) = open_locked(&cx, &locks, key).await? else {
            reply.integer(0);
            return Ok(reply);
        };
        let (count, direction) = match count {
            0 => (u64::MAX, Direction::Forward),
            1.. => (count.unsigned_abs(), Direction::Forward),
            _ => (count.unsigned_abs(), Direction::Backward),
        };
        let removed = list.remove_equal(&args[3], count, direction).await?;
        if removed > 0 {
            save_shrunk(&cx, &locks, key, list, "lrem").await?;
        }
        reply.integer(removed.cast_signed());
        Ok(reply)
    })
}

/// `LTRIM key start stop`
pub fn ltrim(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let key = &args[1];
        let (start, end) = (integer(&args[2])?, integer(&args[3])?);
        let locks = cx.store.lock(&[(cx.db(), key)]).await;
        if let Some(mut list) = open_locked(&cx, &locks, key).await? {
            let kept = ranks(start, end, list.len());
            trim(&mut list, kept).await?;
            save_shrunk(&cx, &locks, key, list, "ltrim").await?;
        }
        reply.ok();
        Ok(reply)
    })
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
