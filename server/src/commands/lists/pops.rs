//! Popping from the first of several lists that has something.
//!
//! Owns the arguments and replies that LMPOP, BLMPOP and BLPOP share.

use std::ops::Range;

use bytes::Bytes;
use cellar_storage::KeyLocks;

use super::value::{open_locked, parse_end, parse_from, save, tell};
use crate::blocking::Served;
use crate::collections::list::End;
use crate::collections::pace::Pace;
use crate::command::{CommandError, Cx};
use crate::resp::{Args, ReplyBuf};

/// What is popped, and from where.
pub(super) struct PopSpec {
    /// Which arguments are keys.
    pub(super) keys: Range<usize>,
    /// At which end.
    pub(super) end: End,
    /// How many elements at most.
    pub(super) count: u64,
}

/// What was popped.
pub(super) struct Popped {
    key: Bytes,
    items: Vec<Bytes>,
}

/// Reads `numkeys key [key ...] LEFT | RIGHT [COUNT count]` from argument `at` on.
pub(super) fn parse_pops(args: &Args, at: usize) -> Result<PopSpec, CommandError> {
    let key_count = parse_from(&args[at], 1, "ERR numkeys should be greater than 0")?;
    let end_at = (at as u64 + 1).saturating_add(key_count);
    let Some(end_at) = usize::try_from(end_at).ok().filter(|at| *at < args.len()) else {
        return Err(CommandError::Syntax);
    };
    let end = parse_end(&args[end_at])?;
    let count = match &args[end_at + 1..] {
        [] => 1,
        [option, count, rest @ ..] if option.eq_ignore_ascii_case(b"count") => {
            let count = parse_from(count, 1, "ERR count should be greater than 0")?;
            if !rest.is_empty() {
                return Err(CommandError::Syntax);
            }
            count
        }
        [..] => return Err(CommandError::Syntax),
    };
    Ok(PopSpec {
        keys: at + 1..end_at,
        end,
        count,
    })
}

/// Pops from the first list that has something. Nothing also where that one is reserved.
pub(super) async fn pop_first(
    cx: &Cx,
    locks: &KeyLocks,
    keys: &[Bytes],
    (end, count): (End, u64),
    is_reserved: impl Fn(&Bytes) -> bool,
) -> Result<Option<Served<Popped>>, CommandError> {
    for key in keys {
        let Some(mut list) = open_locked(cx, locks, key).await? else {
            continue;
        };
        if is_reserved(key) {
            return Ok(None);
        }
        let items = list.pop(end, count).await?;
        let is_empty = save(cx, locks, key, list).await?;
        tell_popped(cx, key, end, is_empty);
        let key = key.clone();
        return Ok(Some(Served {
            emptied: is_empty.then(|| key.clone()),
            value: Popped { key, items },
        }));
    }
    Ok(None)
}

/// Tells of elements that were popped, and of the key that is gone with its last one.
pub(super) fn tell_popped(cx: &Cx, key: &Bytes, end: End, is_empty: bool) {
    let event = match end {
        End::Left => "lpop",
        End::Right => "rpop",
    };
    tell(cx, event, key);
    if is_empty {
        cx.notify_gone(key);
    }
}

/// Answers several elements.
pub(super) async fn answer_items(reply: &mut ReplyBuf, items: Vec<Bytes>) {
    reply.array(items.len());
    let mut pace = Pace::default();
    for item in items {
        reply.bulk_bytes(item);
        pace.step().await;
    }
}

/// Answers a key and the elements popped from it.
pub(super) async fn answer_popped(reply: &mut ReplyBuf, popped: Popped) {
    reply.array(2);
    reply.bulk_bytes(popped.key);
    answer_items(reply, popped.items).await;
}

/// Answers a key and the one element popped from it.
pub(super) fn answer_one(reply: &mut ReplyBuf, mut popped: Popped) {
    reply.array(2);
    reply.bulk_bytes(popped.key);
    reply.bulk_bytes(popped.items.pop().unwrap_or_default());
}
