//! How commands on collections reach the one key that they read or change.
//!
//! Owns the two ways to run such a command: to its end without waiting, which a compact value in
//! memory allows, and as a coroutine. Its code is the same in both. Must never know a type.

use cellar_storage::{KeyLocks, Lookup, Snapshot};

use super::read::{find, now};
use crate::command::{Attempt, CommandError, Cx, Pending};
use crate::resp::{Args, ReplyBuf};

/// The key in argument 1 under its exclusive lock.
pub(crate) struct Locked<'l> {
    /// The lock.
    pub(crate) locks: &'l KeyLocks,
    /// What the key holds.
    pub(crate) found: Option<Snapshot>,
}

/// Runs a command that changes the key in argument 1, if nothing has to be waited for. It writes
/// its reply last, after its commit.
pub(crate) fn attempt_change(
    cx: &Cx,
    args: &Args,
    reply: &mut ReplyBuf,
    change: &impl AsyncFn(&Cx, &Args, Locked<'_>, &mut ReplyBuf) -> Result<(), CommandError>,
) -> Result<Attempt, CommandError> {
    let Some(locks) = now(cx.store.lock(&[(cx.db(), &args[1])])) else {
        return Ok(Attempt::Wait);
    };
    let Some(found) = now(cx.store.get_locked(&locks, cx.db(), &args[1])) else {
        return Ok(Attempt::Wait);
    };
    let found = found?;
    if found.as_ref().is_some_and(|found| found.root().is_some()) {
        // its pages would be asked for twice
        return Ok(Attempt::Wait);
    }
    let locked = Locked {
        locks: &locks,
        found,
    };
    match now(change(cx, args, locked, reply)) {
        Some(outcome) => outcome.map(|()| Attempt::Done),
        None => Ok(Attempt::Wait),
    }
}

/// Runs a command that changes the key in argument 1, waiting for what is in its way.
pub(crate) fn change(
    cx: Cx,
    args: Args,
    run: impl AsyncFn(&Cx, &Args, Locked<'_>, &mut ReplyBuf) -> Result<(), CommandError> + 'static,
) -> Pending {
    Box::pin(async move {
        let locks = cx.store.lock(&[(cx.db(), &args[1])]).await;
        let found = cx.store.get_locked(&locks, cx.db(), &args[1]).await?;
        let locked = Locked {
            locks: &locks,
            found,
        };
        let mut reply = cx.reply();
        run(&cx, &args, locked, &mut reply).await?;
        Ok(reply)
    })
}

/// The handler of a command that changes the key in argument 1.
macro_rules! changes {
    ($change:path) => {
        $crate::command::Handler::Try(
            |cx, args, reply| $crate::commands::access::attempt_change(cx, args, reply, &$change),
            |cx, args| $crate::commands::access::change(cx, args, $change),
        )
    };
}
pub(crate) use changes;

/// Runs a command that reads the key in argument 1: at once where its value is one record that is
/// in memory.
pub(crate) fn attempt_read(
    cx: &Cx,
    args: &Args,
    reply: &mut ReplyBuf,
    read: impl AsyncFn(&Cx, &Args, Option<Snapshot>, &mut ReplyBuf) -> Result<(), CommandError>
    + 'static,
) -> Result<Attempt, CommandError> {
    let found = match cx.store.lookup(cx.db(), &args[1]) {
        Lookup::Absent => None,
        Lookup::Ready(found) if found.root().is_none() => Some(found),
        Lookup::Ready(found) => {
            cx.note_lookup(&args[1], true);
            cx.linearized();
            return Ok(later(cx, args, async move |cx, args, reply| {
                read(cx, args, Some(found), reply).await
            }));
        }
        Lookup::Pending(lookup) => {
            cx.linearized();
            return Ok(later(cx, args, async move |cx, args, reply| {
                let found = lookup.await?;
                cx.note_lookup(&args[1], found.is_some());
                read(cx, args, found, reply).await
            }));
        }
        Lookup::Locked => return Ok(Attempt::Wait),
    };
    let mark = reply.mark();
    let is_found = found.is_some();
    let Some(outcome) = now(read(cx, args, found, reply)) else {
        reply.truncate(mark);
        return Ok(Attempt::Wait);
    };
    cx.note_lookup(&args[1], is_found);
    outcome.map(|()| Attempt::Done)
}

fn later(
    cx: &Cx,
    args: &Args,
    rest: impl AsyncFnOnce(&Cx, &Args, &mut ReplyBuf) -> Result<(), CommandError> + 'static,
) -> Attempt {
    let (cx, args) = (cx.clone(), args.clone());
    // begun here: a HELLO behind this command must not change the form of its reply
    let mut reply = cx.reply();
    Attempt::Later(Box::pin(async move {
        rest(&cx, &args, &mut reply).await?;
        Ok(reply)
    }))
}

/// Runs a command that reads the key in argument 1, waiting for whoever has it locked.
pub(crate) fn read(
    cx: Cx,
    args: Args,
    read: impl AsyncFn(&Cx, &Args, Option<Snapshot>, &mut ReplyBuf) -> Result<(), CommandError>
    + 'static,
) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let found = find(&cx, &args[1]).await?;
        read(&cx, &args, found, &mut reply).await?;
        Ok(reply)
    })
}

/// The handler of a command that reads the key in argument 1.
macro_rules! reads {
    ($read:path) => {
        $crate::command::Handler::Try(
            |cx, args, reply| $crate::commands::access::attempt_read(cx, args, reply, $read),
            |cx, args| $crate::commands::access::read(cx, args, $read),
        )
    };
}
pub(crate) use reads;
