//! LMOVE and RPOPLPUSH: an element from one list to another, or round the same one.
//!
//! Owns the move, which is one batch: no reader sees the element in both lists or in none.

use bytes::Bytes;
use cellar_storage::{KeyLocks, WriteBatch};

use super::pops::tell_popped;
use super::value::{new_list, open_locked, parse_end, tell_pushed};
use crate::blocking::Served;
use crate::collections::list::End;
use crate::command::{CommandError, Cx, Pending};
use crate::resp::Args;

/// A move: its lists, and the end that an element leaves and the one where it arrives.
pub(super) struct Move<'a> {
    pub(super) source: &'a Bytes,
    pub(super) destination: &'a Bytes,
    pub(super) from: End,
    pub(super) to: End,
}

/// `LMOVE source destination LEFT | RIGHT LEFT | RIGHT`
pub fn lmove(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let (from, to) = (parse_end(&args[3])?, parse_end(&args[4])?);
        move_now(&cx, &args, from, to).await
    })
}

/// `RPOPLPUSH source destination`
pub fn rpoplpush(cx: Cx, args: Args) -> Pending {
    Box::pin(async move { move_now(&cx, &args, End::Right, End::Left).await })
}

async fn move_now(
    cx: &Cx,
    args: &Args,
    from: End,
    to: End,
) -> Result<crate::resp::ReplyBuf, CommandError> {
    let mut reply = cx.reply();
    let step = Move {
        source: &args[1],
        destination: &args[2],
        from,
        to,
    };
    let targets = [step.source, step.destination].map(|key| (cx.db(), &key[..]));
    let locks = cx.store.lock(&targets).await;
    match move_one(cx, &locks, &step, |_| false).await? {
        Some(moved) => reply.bulk_bytes(moved.value),
        None => reply.null(),
    }
    Ok(reply)
}

/// Moves an element, if there is one in the source. Nothing also where the source is reserved.
pub(super) async fn move_one(
    cx: &Cx,
    locks: &KeyLocks,
    step: &Move<'_>,
    is_reserved: impl Fn(&Bytes) -> bool,
) -> Result<Option<Served<Bytes>>, CommandError> {
    let Some(mut source) = open_locked(cx, locks, step.source).await? else {
        return Ok(None);
    };
    if is_reserved(step.source) {
        return Ok(None);
    }
    let mut batch = WriteBatch::new();
    let mut is_new = false;
    let item = if step.source == step.destination {
        let items = source.pop(step.from, 1).await?;
        source.push(step.to, &items).await?;
        items
    } else {
        let destination = open_locked(cx, locks, step.destination).await?;
        is_new = destination.is_none();
        let mut destination = destination.unwrap_or_else(|| new_list(cx));
        let items = source.pop(step.from, 1).await?;
        destination.push(step.to, &items).await?;
        let target = (cx.db(), step.destination);
        destination.put(&cx.store, &mut batch, target).await?;
        items
    };
    let is_empty = source.is_empty();
    let target = (cx.db(), step.source);
    source.put(&cx.store, &mut batch, target).await?;
    cx.store.commit_locked(locks, batch).await?;
    tell_pushed(cx, step.destination, step.to, is_new);
    tell_popped(cx, step.source, step.from, is_empty);
    let emptied = is_empty.then(|| step.source.clone());
    let value = item.into_iter().next().unwrap_or_default();
    Ok(Some(Served { value, emptied }))
}
