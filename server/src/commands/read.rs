//! How commands reach the one value that they answer from.
//!
//! Owns the path from a lookup to an answer: at once where the value is in memory, else with the
//! device read that the lookup began. Must never write.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use cellar_storage::{Lookup, Snapshot};

use super::string_value::expect_string;
use crate::command::{Attempt, CommandError, Cx, Pending};
use crate::resp::{Args, ReplyBuf};

/// What a command answers from what its key held.
pub(crate) type Answer =
    fn(&Cx, &Args, Option<Snapshot>, &mut ReplyBuf) -> Result<(), CommandError>;

/// Looks argument number `key` up and answers, without waiting where that is possible.
pub(crate) fn attempt(
    cx: &Cx,
    args: &Args,
    reply: &mut ReplyBuf,
    (key, answer): (usize, Answer),
) -> Result<Attempt, CommandError> {
    let found = match cx.store.lookup(cx.db(), &args[key]) {
        Lookup::Absent => None,
        Lookup::Ready(found) => Some(found),
        Lookup::Pending(read) => {
            cx.linearized();
            let (cx, args) = (cx.clone(), args.clone());
            // begun here: a HELLO behind this command must not change the form of its reply
            let mut reply = cx.reply();
            return Ok(Attempt::Later(Box::pin(async move {
                let found = read.await?;
                note(&cx, &args, key, found.is_some());
                answer(&cx, &args, found, &mut reply)?;
                Ok(reply)
            })));
        }
        Lookup::Locked => return Ok(Attempt::Wait),
    };
    note(cx, args, key, found.is_some());
    answer(cx, args, found, reply)?;
    Ok(Attempt::Done)
}

/// Looks argument number `key` up, waiting for whoever has it locked, and answers.
pub(crate) fn wait(cx: Cx, args: Args, (key, answer): (usize, Answer)) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let found = look_up(&cx, &args[key]).await?;
        note(&cx, &args, key, found.is_some());
        answer(&cx, &args, found, &mut reply)?;
        Ok(reply)
    })
}

/// The handler of a read-only command that answers from one key: argument number `$key`.
macro_rules! answers_from {
    ($key:expr, $answer:path) => {
        $crate::command::Handler::Try(
            |cx, args, reply| $crate::commands::read::attempt(cx, args, reply, ($key, $answer)),
            |cx, args| $crate::commands::read::wait(cx, args, ($key, $answer)),
        )
    };
}
pub(crate) use answers_from;

/// Notes a lookup. What a subcommand asks about a key is no read of it: no event tells that it
/// was missed.
fn note(cx: &Cx, args: &Args, key: usize, found: bool) {
    if key == 1 {
        cx.note_lookup(&args[key], found);
    } else {
        cx.count_lookup(found);
    }
}

/// What `key` holds. For a read-only command's only lookup: later commands may start from here on.
pub(super) async fn find(cx: &Cx, key: &Bytes) -> Result<Option<Snapshot>, CommandError> {
    let found = look_up(cx, key).await?;
    cx.note_lookup(key, found.is_some());
    Ok(found)
}

async fn look_up(cx: &Cx, key: &Bytes) -> Result<Option<Snapshot>, CommandError> {
    let found = match cx.store.lookup(cx.db(), key) {
        Lookup::Absent => None,
        Lookup::Ready(found) => Some(found),
        Lookup::Pending(read) => {
            cx.linearized();
            read.await?
        }
        Lookup::Locked => cx.store.get(cx.db(), key).await?,
    };
    cx.linearized();
    Ok(found)
}

/// Like [`find`], for a command on strings.
pub(super) async fn find_string(cx: &Cx, key: &Bytes) -> Result<Option<Snapshot>, CommandError> {
    expect_string(find(cx, key).await?)
}

/// Whether a key does not exist, for a command that holds its lock.
pub(super) async fn is_absent(cx: &Cx, key: &[u8]) -> Result<bool, CommandError> {
    Ok(cx.store.peek(cx.db(), key).await?.is_none())
}

/// The output of a future that need not wait, or nothing.
///
/// Used on the store's lock and commit: neither leaves anything behind when it is dropped while
/// it waits, because a commit obtains all its room before it reserves, and from there on does not
/// wait.
pub(super) fn now<F: Future>(future: F) -> Option<F::Output> {
    let future = pin!(future);
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
