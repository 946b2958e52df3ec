//! SADD, SREM, SMEMBERS, SISMEMBER, SMISMEMBER, SCARD, SMOVE.
//!
//! Owns the members of sets as clients add and read them.

use bytes::Bytes;
use cellar_storage::{KeyLocks, Snapshot, WriteBatch};

use super::access::Locked;
use super::hashes::{ELEMENTS_PER_TURN, slices};
use super::long_reply;
use crate::collections::dict::Part;
use crate::collections::elements::Stream;
use crate::collections::set::{Set, SetRules};
use crate::command::{CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::resp::{Args, ReplyBuf};

/// `SADD key member [member ...]`
pub(crate) async fn sadd(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let (rules, members) = (SetRules::of(cx), &args[2..]);
    let is_new = at.found.is_none();
    let mut set = Set::for_members(Set::load(at.found)?, members, rules);
    set.elements.prefetch(slices(members)).await?;
    let mut added = 0;
    for (index, chunk) in members.chunks(ELEMENTS_PER_TURN).enumerate() {
        if index > 0 {
            tokio::task::yield_now().await;
        }
        for member in chunk {
            added += i64::from(set.add(member, rules).await?);
        }
    }
    if added > 0 {
        commit(cx, &args[1], at.locks, set).await?;
        cx.notify_write(EventClass::Set, "sadd", &args[1], is_new);
    }
    reply.integer(added);
    Ok(())
}

/// Writes a changed set as the value of a key.
pub(super) async fn commit(
    cx: &Cx,
    key: &Bytes,
    locks: &KeyLocks,
    set: Set,
) -> Result<(), CommandError> {
    let mut batch = WriteBatch::new();
    set.put(cx, &mut batch, key).await?;
    cx.store.commit_locked(locks, batch).await?;
    Ok(())
}

/// `SREM key member [member ...]`
pub(crate) async fn srem(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let Some(mut set) = Set::load(at.found)? else {
        reply.integer(0);
        return Ok(());
    };
    set.elements.prefetch(slices(&args[2..])).await?;
    let mut removed = 0;
    for (index, chunk) in args[2..].chunks(ELEMENTS_PER_TURN).enumerate() {
        if index > 0 {
            tokio::task::yield_now().await;
        }
        for member in chunk {
            removed += i64::from(set.elements.remove(member).await?);
        }
    }
    if removed > 0 {
        let is_gone = set.elements.is_empty();
        commit(cx, &args[1], at.locks, set).await?;
        cx.notify(EventClass::Set, "srem", cx.db(), &args[1]);
        if is_gone {
            cx.notify_gone(&args[1]);
        }
    }
    reply.integer(removed);
    Ok(())
}

/// `SMEMBERS key`
pub(crate) async fn smembers(
    _: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let Some(set) = Set::load(found)? else {
        reply.set(0);
        return Ok(());
    };
    reply.set(set.elements.len() as usize);
    let stream = Stream::new(Part::Keys);
    long_reply::answer(AllMembers { set, stream }, reply).await
}

struct AllMembers {
    set: Set,
    stream: Stream,
}

impl long_reply::Elements for AllMembers {
    async fn encode_next(&mut self, reply: &mut ReplyBuf) -> Result<bool, CommandError> {
        let Some(pairs) = self.set.elements.next(&mut self.stream).await? else {
            return Ok(false);
        };
        for pair in pairs {
            reply.bulk_bytes(pair.key);
        }
        self.set.elements.rest().await;
        Ok(true)
    }

    async fn pin(&mut self) {
        self.set.elements.pin().await;
    }
}

/// `SISMEMBER key member`
pub(crate) async fn sismember(
    _: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let is_member = match Set::load(found)? {
        Some(mut set) => set.elements.contains(&args[2]).await?,
        None => false,
    };
    reply.integer(i64::from(is_member));
    Ok(())
}

/// `SMISMEMBER key member [member ...]`
pub(crate) async fn smismember(
    _: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let mut set = Set::load(found)?;
    reply.array(args.len() - 2);
    for chunk in args[2..].chunks(ELEMENTS_PER_TURN) {
        if let Some(set) = &mut set {
            set.elements.rest().await;
            set.elements.forget();
            set.elements.prefetch(slices(chunk)).await?;
        }
        for member in chunk {
            let is_member = match &mut set {
                Some(set) => set.elements.contains(member).await?,
                None => false,
            };
            reply.integer(i64::from(is_member));
        }
    }
    Ok(())
}

/// `SCARD key`
pub(crate) async fn scard(
    _: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let count = Set::load(found)?.map_or(0, |set| set.elements.len());
    reply.integer(count.cast_signed());
    Ok(())
}

/// `SMOVE source destination member`
pub(crate) fn smove(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let is_moved = move_member(&cx, &args).await?;
        let mut reply = cx.reply();
        reply.integer(i64::from(is_moved));
        Ok(reply)
    })
}

async fn move_member(cx: &Cx, args: &Args) -> Result<bool, CommandError> {
    let (from, to, member) = (&args[1], &args[2], &args[3]);
    let locks = cx.store.lock(&[(cx.db(), from), (cx.db(), to)]).await;
    let source = cx.store.get_locked(&locks, cx.db(), from).await?;
    let Some(mut source) = Set::load(source)? else {
        return Ok(false);
    };
    let target = cx.store.get_locked(&locks, cx.db(), to).await?;
    let is_new = target.is_none();
    let target = Set::load(target)?;
    if from == to {
        return source.elements.contains(member).await;
    }
    if !source.elements.remove(member).await? {
        return Ok(false);
    }
    let rules = SetRules::of(cx);
    let mut target = Set::for_members(target, std::slice::from_ref(member), rules);
    let is_added = target.add(member, rules).await?;
    let is_gone = source.elements.is_empty();
    let mut batch = WriteBatch::new();
    source.put(cx, &mut batch, from).await?;
    if is_added {
        target.put(cx, &mut batch, to).await?;
    }
    cx.store.commit_locked(&locks, batch).await?;
    cx.notify(EventClass::Set, "srem", cx.db(), from);
    if is_gone {
        cx.notify_gone(from);
    }
    if is_added {
        cx.notify_write(EventClass::Set, "sadd", to, is_new);
    }
    Ok(true)
}
