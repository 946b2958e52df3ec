//! The three shapes of a command's handler.
//!
//! Owns only their types.

use std::future::Future;
use std::pin::Pin;

use super::{CommandEntry, CommandError, Cx};
use crate::resp::{Args, ReplyBuf};

/// What a handler that may wait returns: its whole reply. It starts with `cx.reply()`.
pub type Pending = Pin<Box<dyn Future<Output = Result<ReplyBuf, CommandError>>>>;

/// A handler that may wait.
pub type AsyncHandler = fn(Cx, Args) -> Pending;

/// How far a handler came without waiting.
pub enum Attempt {
    /// The reply is written.
    Done,
    /// The lookups are done and their device reads submitted; nothing was written to the reply, and
    /// this is the rest of the command. A read-only handler has called [`Cx::linearized`].
    Later(Pending),
    /// Something is in the way: nothing was written to the reply, no state was changed, and the
    /// second function has to do the command.
    Wait,
}

/// A command's code. A handler that returns an error may have written to the reply before: the
/// dispatcher takes that back and writes the error.
#[derive(Clone, Copy)]
pub enum Handler {
    /// Never waits.
    Now(fn(&Cx, &Args, &mut ReplyBuf) -> Result<(), CommandError>),
    /// Tries without waiting, and allocates no future unless it has to wait: the hot path.
    Try(
        fn(&Cx, &Args, &mut ReplyBuf) -> Result<Attempt, CommandError>,
        AsyncHandler,
    ),
    /// May wait.
    Wait(AsyncHandler),
    /// A command that only has subcommands.
    Subcommands,
}

/// Runs a command to its end, wherever it has to wait: its reply.
pub(crate) async fn run_to_end(
    cx: &Cx,
    entry: &CommandEntry,
    args: Args,
) -> Result<ReplyBuf, CommandError> {
    let mut reply = cx.reply();
    let attempt = match entry.spec.handler {
        Handler::Now(run) => run(cx, &args, &mut reply).map(|()| Attempt::Done)?,
        Handler::Try(run, _) => run(cx, &args, &mut reply)?,
        Handler::Wait(_) => Attempt::Wait,
        Handler::Subcommands => unreachable!("resolve leads to a subcommand"),
    };
    match attempt {
        Attempt::Done => Ok(reply),
        Attempt::Later(rest) => rest.await,
        Attempt::Wait => match entry.spec.handler {
            Handler::Try(_, run) | Handler::Wait(run) => run(cx.clone(), args).await,
            Handler::Now(_) | Handler::Subcommands => unreachable!("these never wait"),
        },
    }
}
