//! GET, GETDEL, GETEX, STRLEN, MGET, MSET, MSETNX.
//!
//! Owns reading whole strings and writing several at once.

use std::collections::BTreeSet;

use cellar_storage::{Db, Lookup, Outcome, Snapshot, ValueType, WriteBatch};
use smallvec::SmallVec;

use super::read::{is_absent, now};
use super::string_options::{Grammar, Lifetime, StringOptions};
use super::string_value::{encoding_of, expect_string};
use crate::command::{Attempt, CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::resp::{Args, ReplyBuf};

/// Keys of an MGET whose lookups are held without a heap allocation.
const LOOKUPS_INLINE: usize = 8;

/// `GET key`
pub fn answer_get(
    _: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    match expect_string(found)? {
        Some(value) => reply.snapshot(value),
        None => reply.null(),
    }
    Ok(())
}

/// `STRLEN key`
pub fn answer_strlen(
    _: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let len = expect_string(found)?.map_or(0, |value| value.len());
    reply.integer(len.cast_signed());
    Ok(())
}

/// `GETDEL key`
pub fn getdel(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let locks = cx.store.lock(&[(cx.db(), &args[1])]).await;
        let found = cx.store.get_locked(&locks, cx.db(), &args[1]).await?;
        let found = expect_string(found)?;
        cx.note_lookup(&args[1], found.is_some());
        let mut reply = cx.reply();
        if let Some(value) = found {
            reply.snapshot(value);
            // the pages of a large value go with its key: they are held before it goes
            reply.pin_values().await?;
            let mut batch = WriteBatch::new();
            batch.remove(cx.db(), args[1].clone());
            cx.store.commit_locked(&locks, batch).await?;
            cx.notify_gone(&args[1]);
        } else {
            reply.null();
        }
        Ok(reply)
    })
}

/// `GETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST]`
pub fn getex(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let options = Grammar::Getex.parse(&args[2..])?;
        let locks = cx.store.lock(&[(cx.db(), &args[1])]).await;
        let found = cx.store.get_locked(&locks, cx.db(), &args[1]).await?;
        let found = expect_string(found)?;
        cx.note_lookup(&args[1], found.is_some());
        let mut reply = cx.reply();
        let Some(mut value) = found else {
            reply.null();
            return Ok(reply);
        };
        value.pin(0..value.len()).await?;
        match next_life(&cx, &options, &value)? {
            NextLife::Same => {}
            NextLife::Over => {
                let mut batch = WriteBatch::new();
                batch.remove(cx.db(), args[1].clone());
                cx.store.commit_locked(&locks, batch).await?;
                cx.notify_gone(&args[1]);
            }
            NextLife::Until(expiry_ms) => {
                cx.store
                    .set_expiry(&locks, cx.db(), &args[1], expiry_ms)
                    .await?;
                let event = expiry_ms.map_or("persist", |_| "expire");
                cx.notify(EventClass::Generic, event, cx.db(), &args[1]);
            }
        }
        reply.snapshot(value);
        Ok(reply)
    })
}

/// What GETEX does to the key that it has read.
enum NextLife {
    Same,
    Over,
    Until(Option<u64>),
}

fn next_life(
    cx: &Cx,
    options: &StringOptions<'_>,
    value: &Snapshot,
) -> Result<NextLife, CommandError> {
    let now_ms = cx.store.clock().unix_ms();
    let deadline = Grammar::Getex.deadline(options.lifetime, now_ms)?;
    Ok(match (options.lifetime, deadline) {
        (_, Some(deadline)) if deadline <= now_ms => NextLife::Over,
        (_, Some(deadline)) => NextLife::Until(Some(deadline)),
        (Lifetime::Persist, None) if value.expiry_ms().is_some() => NextLife::Until(None),
        (_, None) => NextLife::Same,
    })
}

/// `MGET key [key ...]`, where no key is locked. All keys are looked up at one moment, and the
/// device reads which that begins overlap.
pub fn try_mget(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<Attempt, CommandError> {
    let keys: SmallVec<[&[u8]; LOOKUPS_INLINE]> = args[1..].iter().map(|key| &key[..]).collect();
    let lookups = cx.store.lookup_many(cx.db(), &keys);
    if lookups
        .iter()
        .any(|lookup| matches!(lookup, Lookup::Locked))
    {
        return Ok(Attempt::Wait);
    }
    if lookups
        .iter()
        .any(|lookup| matches!(lookup, Lookup::Pending(_)))
    {
        cx.linearized();
        return Ok(Attempt::Later(answer_mget(
            cx.clone(),
            args.clone(),
            lookups,
        )));
    }
    reply.array(lookups.len());
    for (lookup, key) in lookups.into_iter().zip(&args[1..]) {
        let found = match lookup {
            Lookup::Ready(value) => Some(value),
            Lookup::Absent | Lookup::Pending(_) | Lookup::Locked => None,
        };
        answer_mget_value(cx, key, found, reply);
    }
    Ok(Attempt::Done)
}

/// MGET once all its lookups are done.
fn answer_mget(cx: Cx, args: Args, lookups: Vec<Lookup>) -> Pending {
    // begun here: a HELLO behind this command must not change the form of its reply
    let mut reply = cx.reply();
    Box::pin(async move {
        reply.array(lookups.len());
        for (lookup, key) in lookups.into_iter().zip(&args[1..]) {
            let found = match lookup {
                Lookup::Ready(value) => Some(value),
                Lookup::Pending(read) => read.await?,
                Lookup::Absent | Lookup::Locked => None,
            };
            answer_mget_value(&cx, key, found, &mut reply);
        }
        Ok(reply)
    })
}

/// MGET where a key is locked: under the locks of all keys, so that it sees one moment.
pub fn mget(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let keys: SmallVec<[(Db, &[u8]); LOOKUPS_INLINE]> =
            args[1..].iter().map(|key| (cx.db(), &key[..])).collect();
        let locks = cx.store.lock(&keys).await;
        let mut reply = cx.reply();
        reply.array(keys.len());
        for (db, key) in keys {
            let found = cx.store.get_locked(&locks, db, key).await?;
            answer_mget_value(&cx, key, found, &mut reply);
        }
        reply.pin_values().await?;
        drop(locks);
        Ok(reply)
    })
}

/// A key that holds no string answers null, as an absent one does.
fn answer_mget_value(cx: &Cx, key: &[u8], found: Option<Snapshot>, reply: &mut ReplyBuf) {
    cx.note_lookup(key, found.is_some());
    match found {
        Some(value) if value.value_type() == ValueType::String => reply.snapshot(value),
        Some(_) | None => reply.null(),
    }
}

/// `MSET key value [key value ...]`, where nothing has to be waited for.
pub fn try_mset(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<Attempt, CommandError> {
    let batch = pairs(cx, args, "mset")?;
    if cx.tells(EventClass::New) {
        return Ok(Attempt::Wait);
    }
    match now(cx.store.commit(batch)) {
        Some(outcome) => {
            outcome?;
            tell_set(cx, args, BTreeSet::new());
            reply.ok();
            Ok(Attempt::Done)
        }
        None => Ok(Attempt::Wait),
    }
}

/// MSET, waiting for what is in its way.
pub fn mset(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let batch = pairs(&cx, &args, "mset")?;
        if cx.tells(EventClass::New) {
            let keys: Vec<(Db, &[u8])> = keys_of_pairs(&args).map(|key| (cx.db(), key)).collect();
            let locks = cx.store.lock(&keys).await;
            let mut new_keys = BTreeSet::new();
            for (_, key) in keys {
                if is_absent(&cx, key).await? {
                    new_keys.insert(key);
                }
            }
            cx.store.commit_locked(&locks, batch).await?;
            tell_set(&cx, &args, new_keys);
        } else {
            cx.store.commit(batch).await?;
            tell_set(&cx, &args, BTreeSet::new());
        }
        let mut reply = cx.reply();
        reply.ok();
        Ok(reply)
    })
}

/// `MSETNX key value [key value ...]`
pub fn msetnx(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut batch = pairs(&cx, &args, "msetnx")?;
        batch.only_if_absent();
        let Outcome { applied, .. } = cx.store.commit(batch).await?;
        if applied {
            tell_set(&cx, &args, keys_of_pairs(&args).collect());
        }
        let mut reply = cx.reply();
        reply.integer(i64::from(applied));
        Ok(reply)
    })
}

/// Tells of the keys of MSET and MSETNX in their order; each new one came to be once.
fn tell_set(cx: &Cx, args: &Args, mut new_keys: BTreeSet<&[u8]>) {
    for key in keys_of_pairs(args) {
        let is_new = new_keys.remove(key);
        cx.notify_write(EventClass::String, "set", key, is_new);
    }
}

fn keys_of_pairs(args: &Args) -> impl Iterator<Item = &[u8]> {
    args[1..].iter().step_by(2).map(|key| &key[..])
}

/// The batch of MSET and MSETNX; of a key that is named twice the last value stays.
fn pairs(cx: &Cx, args: &Args, command: &'static str) -> Result<WriteBatch, CommandError> {
    let (pairs, rest) = args[1..].as_chunks::<2>();
    if !rest.is_empty() {
        return Err(CommandError::arity(command));
    }
    let mut batch = WriteBatch::new();
    for [key, value] in pairs {
        batch.set(
            cx.db(),
            key.clone(),
            value.clone(),
            encoding_of(value),
            None,
        );
    }
    Ok(batch)
}
