//! HSET, HSETNX, HMSET, HDEL, HGET, HMGET, HGETALL, HKEYS, HVALS, HLEN, HSTRLEN, HEXISTS.
//!
//! Owns the fields of hashes as clients set and read them.

use bytes::Bytes;
use cellar_storage::{KeyLocks, Snapshot, WriteBatch};

use super::access::Locked;
use super::long_reply;
use crate::collections::dict::Part;
use crate::collections::elements::Stream;
use crate::collections::hash::{Hash, HashRules};
use crate::command::{CommandError, Cx};
use crate::events::EventClass;
use crate::resp::{Args, ReplyBuf};

/// Elements that are handled before others may run: a field that is set in a page takes about a
/// microsecond.
pub(super) const ELEMENTS_PER_TURN: usize = 128;

/// `HSET key field value [field value ...]`
pub(crate) async fn hset(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let added = set_fields(cx, args, at, "hset").await?;
    reply.integer(added);
    Ok(())
}

/// `HMSET key field value [field value ...]`
pub(crate) async fn hmset(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    set_fields(cx, args, at, "hmset").await?;
    reply.ok();
    Ok(())
}

/// Sets fields; how many are new.
async fn set_fields(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    command: &'static str,
) -> Result<i64, CommandError> {
    let (pairs, rest) = args[2..].as_chunks::<2>();
    if !rest.is_empty() {
        return Err(CommandError::arity(command));
    }
    let rules = HashRules::of(cx);
    let is_new = at.found.is_none();
    let mut hash = Hash::load(cx, at.found)?;
    hash.expect(&args[2..], rules);
    let fields = pairs.iter().map(|[field, _]| &field[..]);
    hash.elements.prefetch(fields).await?;
    let mut added = 0;
    for (index, chunk) in pairs.chunks(ELEMENTS_PER_TURN).enumerate() {
        if index > 0 {
            tokio::task::yield_now().await;
        }
        for [field, value] in chunk {
            added += i64::from(hash.set((field, value), rules).await?);
        }
    }
    commit(cx, args, at.locks, hash).await?;
    cx.notify_write(EventClass::Hash, "hset", &args[1], is_new);
    Ok(added)
}

/// Writes a changed hash as the value of the key in argument 1.
pub(super) async fn commit(
    cx: &Cx,
    args: &Args,
    locks: &KeyLocks,
    hash: Hash,
) -> Result<(), CommandError> {
    let mut batch = WriteBatch::new();
    let earliest_ms = hash.earliest_ms();
    let is_sooner = hash.is_sooner();
    hash.put(cx, &mut batch, &args[1]).await?;
    cx.store.commit_locked(locks, batch).await?;
    if is_sooner {
        let agenda = &cx.shared.field_deadlines;
        agenda.note(earliest_ms, cx.db(), &args[1]);
    }
    Ok(())
}

/// `HSETNX key field value`
pub(crate) async fn hsetnx(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let rules = HashRules::of(cx);
    let is_new = at.found.is_none();
    let mut hash = Hash::load(cx, at.found)?;
    if hash.elements.contains(&args[2]).await? {
        reply.integer(0);
        return Ok(());
    }
    hash.set((&args[2], &args[3]), rules).await?;
    commit(cx, args, at.locks, hash).await?;
    cx.notify_write(EventClass::Hash, "hset", &args[1], is_new);
    reply.integer(1);
    Ok(())
}

/// `HDEL key field [field ...]`
pub(crate) async fn hdel(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let mut hash = Hash::load(cx, at.found)?;
    hash.elements.prefetch(slices(&args[2..])).await?;
    let mut removed = 0;
    for (index, chunk) in args[2..].chunks(ELEMENTS_PER_TURN).enumerate() {
        if index > 0 {
            tokio::task::yield_now().await;
        }
        for field in chunk {
            removed += i64::from(hash.elements.remove(field).await?);
        }
    }
    if removed > 0 {
        let is_gone = hash.elements.is_empty();
        commit(cx, args, at.locks, hash).await?;
        cx.notify(EventClass::Hash, "hdel", cx.db(), &args[1]);
        if is_gone {
            cx.notify_gone(&args[1]);
        }
    }
    reply.integer(removed);
    Ok(())
}

/// `HGET key field`
pub(crate) async fn hget(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    match Hash::load(cx, found)?.elements.get(&args[2]).await? {
        Some(value) => reply.bulk_bytes(value),
        None => reply.null(),
    }
    Ok(())
}

/// `HMGET key field [field ...]`
pub(crate) async fn hmget(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let mut hash = Hash::load(cx, found)?;
    reply.array(args.len() - 2);
    for (index, chunk) in args[2..].chunks(ELEMENTS_PER_TURN).enumerate() {
        if index > 0 {
            tokio::task::yield_now().await;
            hash.elements.forget();
        }
        hash.elements.prefetch(slices(chunk)).await?;
        for field in chunk {
            match hash.elements.get(field).await? {
                Some(value) => reply.bulk_bytes(value),
                None => reply.null(),
            }
        }
    }
    Ok(())
}

/// `HGETALL key`
pub(crate) async fn hgetall(
    cx: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let mut hash = Hash::load(cx, found)?;
    reply.map(hash.elements.count_seen().await? as usize);
    answer_all(hash, Part::Both, reply).await
}

/// `HKEYS key`
pub(crate) async fn hkeys(
    cx: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let mut hash = Hash::load(cx, found)?;
    reply.array(hash.elements.count_seen().await? as usize);
    answer_all(hash, Part::Keys, reply).await
}

/// `HVALS key`
pub(crate) async fn hvals(
    cx: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let mut hash = Hash::load(cx, found)?;
    reply.array(hash.elements.count_seen().await? as usize);
    answer_all(hash, Part::Values, reply).await
}

/// Fields and values of a hash, or one of the two.
struct AllFields {
    hash: Hash,
    stream: Stream,
    part: Part,
}

impl long_reply::Elements for AllFields {
    async fn encode_next(&mut self, reply: &mut ReplyBuf) -> Result<bool, CommandError> {
        let Some(pairs) = self.hash.elements.next(&mut self.stream).await? else {
            return Ok(false);
        };
        for pair in pairs {
            if self.part != Part::Values {
                reply.bulk_bytes(pair.key);
            }
            if self.part != Part::Keys {
                reply.bulk_bytes(pair.value);
            }
        }
        self.hash.elements.rest().await;
        Ok(true)
    }

    async fn pin(&mut self) {
        self.hash.elements.pin().await;
    }
}

async fn answer_all(hash: Hash, part: Part, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let stream = Stream::new(part);
    long_reply::answer(AllFields { hash, stream, part }, reply).await
}

/// `HLEN key`
pub(crate) async fn hlen(
    cx: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    reply.integer(Hash::load(cx, found)?.elements.len().cast_signed());
    Ok(())
}

/// `HSTRLEN key field`
pub(crate) async fn hstrlen(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let bytes = Hash::load(cx, found)?.elements.value_len(&args[2]).await?;
    reply.integer(bytes.unwrap_or(0).cast_signed());
    Ok(())
}

/// `HEXISTS key field`
pub(crate) async fn hexists(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let is_there = Hash::load(cx, found)?.elements.contains(&args[2]).await?;
    reply.integer(i64::from(is_there));
    Ok(())
}

/// The bytes of many arguments.
pub(super) fn slices(arguments: &[Bytes]) -> impl Iterator<Item = &[u8]> {
    arguments.iter().map(|argument| &argument[..])
}
