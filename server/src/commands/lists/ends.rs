//! LPUSH, RPUSH, LPUSHX, RPUSHX, LPOP, RPOP, LMPOP: the ends of lists.
//!
//! Owns their options.

use super::pops::{PopSpec, answer_items, answer_popped, parse_pops, pop_first, tell_popped};
use super::value::{new_list, open_locked, parse_from, save, tell_pushed};
use crate::collections::list::End;
use crate::command::{CommandError, Cx, Pending};
use crate::resp::Args;

/// `LPUSH key element [element ...]`
pub fn lpush(cx: Cx, args: Args) -> Pending {
    push(cx, args, End::Left, false)
}

/// `RPUSH key element [element ...]`
pub fn rpush(cx: Cx, args: Args) -> Pending {
    push(cx, args, End::Right, false)
}

/// `LPUSHX key element [element ...]`
pub fn lpushx(cx: Cx, args: Args) -> Pending {
    push(cx, args, End::Left, true)
}

/// `RPUSHX key element [element ...]`
pub fn rpushx(cx: Cx, args: Args) -> Pending {
    push(cx, args, End::Right, true)
}

fn push(cx: Cx, args: Args, end: End, must_exist: bool) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let key = &args[1];
        let locks = cx.store.lock(&[(cx.db(), key)]).await;
        let found = open_locked(&cx, &locks, key).await?;
        let is_new = found.is_none();
        if is_new && must_exist {
            reply.integer(0);
            return Ok(reply);
        }
        let mut list = found.unwrap_or_else(|| new_list(&cx));
        list.push(end, &args[2..]).await?;
        let len = list.len();
        save(&cx, &locks, key, list).await?;
        tell_pushed(&cx, key, end, is_new);
        reply.integer(len.cast_signed());
        Ok(reply)
    })
}

/// `LPOP key [count]`
pub fn lpop(cx: Cx, args: Args) -> Pending {
    pop(cx, args, End::Left)
}

/// `RPOP key [count]`
pub fn rpop(cx: Cx, args: Args) -> Pending {
    pop(cx, args, End::Right)
}

fn pop(cx: Cx, args: Args, end: End) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
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
        let locks = cx.store.lock(&[(cx.db(), key)]).await;
        let Some(mut list) = open_locked(&cx, &locks, key).await? else {
            match count {
                Some(_) => reply.null_array(),
                None => reply.null(),
            }
            return Ok(reply);
        };
        if count == Some(0) {
            reply.array(0);
            return Ok(reply);
        }
        let mut items = list.pop(end, count.unwrap_or(1)).await?;
        let is_empty = save(&cx, &locks, key, list).await?;
        tell_popped(&cx, key, end, is_empty);
        match count {
            Some(_) => answer_items(&mut reply, items),
            None => reply.bulk_bytes(items.pop().unwrap_or_default()),
        }
        Ok(reply)
    })
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
            Some(popped) => answer_popped(&mut reply, popped.value),
            None => reply.null_array(),
        }
        Ok(reply)
    })
}
