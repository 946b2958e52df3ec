//! DEL, UNLINK, EXISTS, TOUCH, TYPE, RANDOMKEY: keys whatever they hold.
//!
//! Owns removal and existence. None of them reads a value.

use std::collections::BTreeSet;

use cellar_storage::{Db, Peek, ValueType, WriteBatch};
use smallvec::SmallVec;

use super::read::{is_absent, now};
use crate::command::{Attempt, CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::resp::{Args, ReplyBuf};

/// Keys of an EXISTS whose presence is noted without a heap allocation.
const KEYS_INLINE: usize = 16;

/// `DEL key [key ...]` and `UNLINK key [key ...]`, where nothing has to be waited for. Removing a
/// value of any size takes the same time, so that the two are one.
pub fn try_del(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<Attempt, CommandError> {
    if tells_names(cx) {
        return Ok(Attempt::Wait);
    }
    match now(cx.store.commit(removals(cx, args))) {
        Some(outcome) => {
            reply.integer(outcome?.removed.cast_signed());
            Ok(Attempt::Done)
        }
        None => Ok(Attempt::Wait),
    }
}

/// DEL, waiting for what is in its way.
pub fn del(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let removed = if tells_names(&cx) {
            remove_by_name(&cx, &args).await?
        } else {
            cx.store.commit(removals(&cx, &args)).await?.removed
        };
        let mut reply = cx.reply();
        reply.integer(removed.cast_signed());
        Ok(reply)
    })
}

/// Whether anybody asked for the names of keys that go.
fn tells_names(cx: &Cx) -> bool {
    cx.tells(EventClass::Generic) || cx.tells(EventClass::Expired)
}

/// Removes keys and tells which of them were there.
async fn remove_by_name(cx: &Cx, args: &Args) -> Result<u64, CommandError> {
    let keys: Vec<(Db, &[u8])> = args[1..].iter().map(|key| (cx.db(), &key[..])).collect();
    for (db, key) in &keys {
        // what has expired goes, and is told of, while no lock is in its way
        cx.store.peek(*db, key).await?;
    }
    let locks = cx.store.lock(&keys).await;
    let mut present = BTreeSet::new();
    for (_, key) in &keys {
        if !is_absent(cx, key).await? {
            present.insert(*key);
        }
    }
    let outcome = cx.store.commit_locked(&locks, removals(cx, args)).await?;
    for (db, key) in &keys {
        // of a key that is named twice only the first removal does anything
        if present.remove(key) {
            cx.notify(EventClass::Generic, "del", *db, key);
        }
    }
    Ok(outcome.removed)
}

fn removals(cx: &Cx, args: &Args) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for key in &args[1..] {
        batch.remove(cx.db(), key.clone());
    }
    batch
}

/// `EXISTS key [key ...]`, where the index alone tells. A key that is named twice counts twice.
pub fn try_exists(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<Attempt, CommandError> {
    let mut found: SmallVec<[bool; KEYS_INLINE]> = SmallVec::new();
    for key in &args[1..] {
        match cx.store.try_peek(cx.db(), key) {
            Peek::Absent => found.push(false),
            Peek::Present(_) => found.push(true),
            Peek::Unsure => return Ok(Attempt::Wait),
        }
    }
    for (key, found) in args[1..].iter().zip(&found) {
        cx.note_lookup(key, *found);
    }
    let count = found.iter().filter(|found| **found).count();
    reply.integer(count.cast_signed() as i64);
    Ok(Attempt::Done)
}

/// EXISTS, waiting for what is in its way.
pub fn exists(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut count = 0;
        for key in &args[1..] {
            let found = cx.store.peek(cx.db(), key).await?.is_some();
            cx.note_lookup(key, found);
            count += i64::from(found);
        }
        let mut reply = cx.reply();
        reply.integer(count);
        Ok(reply)
    })
}

/// `TOUCH key [key ...]`
pub fn touch(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut count = 0;
        for key in &args[1..] {
            let found = cx.store.peek(cx.db(), key).await?.is_some();
            if found {
                cx.store.touch(cx.db(), key);
            }
            cx.note_lookup(key, found);
            count += i64::from(found);
        }
        let mut reply = cx.reply();
        reply.integer(count);
        Ok(reply)
    })
}

/// `TYPE key`, where the index alone tells.
pub fn try_type(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<Attempt, CommandError> {
    let found = match cx.store.try_peek(cx.db(), &args[1]) {
        Peek::Absent => None,
        Peek::Present(value_type) => Some(value_type),
        Peek::Unsure => return Ok(Attempt::Wait),
    };
    cx.note_lookup(&args[1], found.is_some());
    reply.simple(found.map_or("none", type_name));
    Ok(Attempt::Done)
}

/// TYPE, waiting for what is in its way.
pub fn type_of(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let found = cx.store.peek(cx.db(), &args[1]).await?;
        cx.note_lookup(&args[1], found.is_some());
        let mut reply = cx.reply();
        reply.simple(found.map_or("none", type_name));
        Ok(reply)
    })
}

/// All types with the names that TYPE answers and SCAN takes.
pub(super) const TYPE_NAMES: [(ValueType, &str); 6] = [
    (ValueType::String, "string"),
    (ValueType::List, "list"),
    (ValueType::Set, "set"),
    (ValueType::SortedSet, "zset"),
    (ValueType::Hash, "hash"),
    (ValueType::Stream, "stream"),
];

fn type_name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::String => TYPE_NAMES[0].1,
        ValueType::List => TYPE_NAMES[1].1,
        ValueType::Set => TYPE_NAMES[2].1,
        ValueType::SortedSet => TYPE_NAMES[3].1,
        ValueType::Hash | ValueType::TimedHash => TYPE_NAMES[4].1,
        ValueType::Stream => TYPE_NAMES[5].1,
    }
}

/// `RANDOMKEY`
pub fn randomkey(cx: Cx, _: Args) -> Pending {
    Box::pin(async move {
        let key = cx.store.random_key(cx.db()).await?;
        let mut reply = cx.reply();
        match key {
            Some(key) => reply.bulk_bytes(key),
            None => reply.null(),
        }
        Ok(reply)
    })
}

#[cfg(test)]
mod tests {
    use super::{TYPE_NAMES, type_name};

    #[test]
    fn type_names_stand_at_their_types() {
        for (value_type, name) in TYPE_NAMES {
            assert_eq!(type_name(value_type), name);
        }
    }
}
