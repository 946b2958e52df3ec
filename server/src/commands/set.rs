//! SET, SETNX, SETEX, PSETEX, GETSET: they give a key one new value.
//!
//! Owns when such a write needs to know the old value. Where it does not, nothing is read.

use bytes::Bytes;
use cellar_storage::{Attempt as Written, Outcome, Peek, Snapshot, WriteBatch};

use super::deadline::TimeForm;
use super::read::{is_absent, now};
use super::string_options::{Grammar, Lifetime, StringOptions};
use super::string_value::{encoding_of, expect_string, integer};
use crate::command::{Attempt, CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::resp::{Args, ReplyBuf};

/// `SET key value [NX | XX] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]`, where nothing has
/// to be waited for.
pub fn try_set(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<Attempt, CommandError> {
    if args.len() == 3 {
        return overwrite(cx, args, &args[2], None, reply);
    }
    let options = Grammar::Set.parse(&args[3..])?;
    let expiry_ms = Grammar::Set.deadline(options.lifetime, cx.store.clock().unix_ms())?;
    if options.answers_old || options.lifetime == Lifetime::Keep {
        return Ok(Attempt::Wait);
    }
    if !options.only_if_absent && !options.only_if_present {
        return overwrite(cx, args, &args[2], expiry_ms, reply);
    }
    let is_present = match cx.store.try_peek(cx.db(), &args[1]) {
        Peek::Absent => false,
        Peek::Present(_) => true,
        Peek::Unsure => return Ok(Attempt::Wait),
    };
    if !options.allow(is_present) {
        reply.null();
        return Ok(Attempt::Done);
    }
    match now(cx.store.commit(conditional(cx, args, &options, expiry_ms))) {
        Some(outcome) => {
            let outcome = outcome?;
            if outcome.applied {
                let is_new = options.only_if_absent;
                tell(cx, &args[1], is_new, expiry_ms.is_some());
            }
            answer_condition(outcome, reply);
            Ok(Attempt::Done)
        }
        None => Ok(Attempt::Wait),
    }
}

/// SET, waiting for what is in its way.
pub fn set(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let options = Grammar::Set.parse(&args[3..])?;
        let expiry_ms = Grammar::Set.deadline(options.lifetime, cx.store.clock().unix_ms())?;
        let mut reply = cx.reply();
        if options.answers_old || options.lifetime == Lifetime::Keep {
            set_by_old_value(&cx, &args, &options, expiry_ms, &mut reply).await?;
        } else {
            let batch = conditional(&cx, &args, &options, expiry_ms);
            let outcome = commit(&cx, &args[1], batch, expiry_ms.is_some()).await?;
            answer_condition(outcome, &mut reply);
        }
        Ok(reply)
    })
}

/// SET with GET or KEEPTTL: what is written or answered depends on what the key holds.
async fn set_by_old_value(
    cx: &Cx,
    args: &Args,
    options: &StringOptions<'_>,
    mut expiry_ms: Option<u64>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let locks = cx.store.lock(&[(cx.db(), &args[1])]).await;
    let mut old = cx.store.get_locked(&locks, cx.db(), &args[1]).await?;
    if options.answers_old {
        old = expect_string(old)?;
        cx.note_lookup(&args[1], old.is_some());
    }
    if let Some(old) = old.as_mut().filter(|_| options.answers_old) {
        // the pages of a large value go with it: they are held before it is replaced
        old.pin(0..old.len()).await?;
    }
    let is_allowed = options.allow(old.is_some());
    if is_allowed {
        let has_new_expiry = expiry_ms.is_some();
        if options.lifetime == Lifetime::Keep {
            expiry_ms = old.as_ref().and_then(Snapshot::expiry_ms);
        }
        let batch = one_value(cx, args, &args[2], expiry_ms);
        cx.store.commit_locked(&locks, batch).await?;
        tell(cx, &args[1], old.is_none(), has_new_expiry);
    }
    match old {
        Some(old) if options.answers_old => reply.snapshot(old),
        None if options.answers_old => reply.null(),
        _ if is_allowed => reply.ok(),
        _ => reply.null(),
    }
    Ok(())
}

/// `SETNX key value`, where nothing has to be waited for.
pub fn try_setnx(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<Attempt, CommandError> {
    match cx.store.try_peek(cx.db(), &args[1]) {
        Peek::Present(_) => {
            reply.integer(0);
            return Ok(Attempt::Done);
        }
        Peek::Unsure => return Ok(Attempt::Wait),
        Peek::Absent => {}
    }
    let mut batch = one_value(cx, args, &args[2], None);
    batch.only_if_absent();
    match now(cx.store.commit(batch)) {
        Some(outcome) => {
            let is_set = outcome?.applied;
            if is_set {
                tell(cx, &args[1], true, false);
            }
            reply.integer(i64::from(is_set));
            Ok(Attempt::Done)
        }
        None => Ok(Attempt::Wait),
    }
}

/// SETNX, waiting for what is in its way.
pub fn setnx(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut batch = one_value(&cx, &args, &args[2], None);
        batch.only_if_absent();
        let outcome = commit(&cx, &args[1], batch, false).await?;
        let mut reply = cx.reply();
        reply.integer(i64::from(outcome.applied));
        Ok(reply)
    })
}

/// `SETEX key seconds value`, where nothing has to be waited for.
pub fn try_setex(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<Attempt, CommandError> {
    let expiry_ms = expiry_argument(cx, args, TimeForm::SECONDS, "setex")?;
    overwrite(cx, args, &args[3], Some(expiry_ms), reply)
}

/// SETEX, waiting for what is in its way.
pub fn setex(cx: Cx, args: Args) -> Pending {
    Box::pin(overwrite_with_expiry(cx, args, TimeForm::SECONDS, "setex"))
}

/// `PSETEX key milliseconds value`, where nothing has to be waited for.
pub fn try_psetex(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<Attempt, CommandError> {
    let expiry_ms = expiry_argument(cx, args, TimeForm::MILLISECONDS, "psetex")?;
    overwrite(cx, args, &args[3], Some(expiry_ms), reply)
}

/// PSETEX, waiting for what is in its way.
pub fn psetex(cx: Cx, args: Args) -> Pending {
    Box::pin(overwrite_with_expiry(
        cx,
        args,
        TimeForm::MILLISECONDS,
        "psetex",
    ))
}

async fn overwrite_with_expiry(
    cx: Cx,
    args: Args,
    form: TimeForm,
    command: &'static str,
) -> Result<ReplyBuf, CommandError> {
    let expiry_ms = expiry_argument(&cx, &args, form, command)?;
    let batch = one_value(&cx, &args, &args[3], Some(expiry_ms));
    commit(&cx, &args[1], batch, true).await?;
    let mut reply = cx.reply();
    reply.ok();
    Ok(reply)
}

/// The deadline in argument 2 of SETEX and PSETEX.
fn expiry_argument(
    cx: &Cx,
    args: &Args,
    form: TimeForm,
    command: &'static str,
) -> Result<u64, CommandError> {
    form.positive_deadline(integer(&args[2])?, cx.store.clock().unix_ms(), command)
}

/// `GETSET key value`
pub fn getset(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let options = StringOptions {
            only_if_absent: false,
            only_if_present: false,
            answers_old: true,
            lifetime: Lifetime::Unsaid,
        };
        let mut reply = cx.reply();
        set_by_old_value(&cx, &args, &options, None, &mut reply).await?;
        Ok(reply)
    })
}

/// Writes a value whatever the key holds, and answers OK.
fn overwrite(
    cx: &Cx,
    args: &Args,
    value: &Bytes,
    expiry_ms: Option<u64>,
    reply: &mut ReplyBuf,
) -> Result<Attempt, CommandError> {
    if cx.tells(EventClass::New) {
        // whether the key is new has to be found out under its lock
        return Ok(Attempt::Wait);
    }
    match cx
        .store
        .try_set(cx.db(), &args[1], value, encoding_of(value), expiry_ms)
    {
        Written::Done => {
            tell(cx, &args[1], false, expiry_ms.is_some());
            reply.ok();
            Ok(Attempt::Done)
        }
        Written::Blocked => Ok(Attempt::Wait),
        Written::Failed(error) => Err(error.into()),
    }
}

/// Commits a batch that sets one key, and tells of it.
async fn commit(
    cx: &Cx,
    key: &[u8],
    batch: WriteBatch,
    has_expiry: bool,
) -> Result<Outcome, CommandError> {
    let (outcome, is_new) = if cx.tells(EventClass::New) {
        let locks = cx.store.lock(&[(cx.db(), key)]).await;
        let is_new = is_absent(cx, key).await?;
        (cx.store.commit_locked(&locks, batch).await?, is_new)
    } else {
        (cx.store.commit(batch).await?, false)
    };
    if outcome.applied {
        tell(cx, key, is_new, has_expiry);
    }
    Ok(outcome)
}

/// Tells that a key was set, and that it was given a deadline.
fn tell(cx: &Cx, key: &[u8], is_new: bool, has_expiry: bool) {
    cx.notify_write(EventClass::String, "set", key, is_new);
    if has_expiry {
        cx.notify(EventClass::Generic, "expire", cx.db(), key);
    }
}

/// A batch that gives the key in argument 1 a value.
fn one_value(cx: &Cx, args: &Args, value: &Bytes, expiry_ms: Option<u64>) -> WriteBatch {
    let mut batch = WriteBatch::new();
    batch.set(
        cx.db(),
        args[1].clone(),
        value.clone(),
        encoding_of(value),
        expiry_ms,
    );
    batch
}

/// SET's batch under NX or XX.
fn conditional(
    cx: &Cx,
    args: &Args,
    options: &StringOptions<'_>,
    expiry_ms: Option<u64>,
) -> WriteBatch {
    let mut batch = one_value(cx, args, &args[2], expiry_ms);
    if options.only_if_absent {
        batch.only_if_absent();
    }
    if options.only_if_present {
        batch.only_if_present();
    }
    batch
}

fn answer_condition(outcome: Outcome, reply: &mut ReplyBuf) {
    if outcome.applied {
        reply.ok();
    } else {
        reply.null();
    }
}
