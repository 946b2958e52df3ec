//! EVAL, EVALSHA, their read-only forms, and SCRIPT.
//!
//! Owns their arguments and texts. How a script runs is in `scripting`.

use bytes::Bytes;

use crate::command::{CommandError, Cx, Pending};
use crate::number::parse_i64;
use crate::resp::{Args, ReplyBuf};
use crate::scripting::{self, Kill, Request, Sha1, Subject};

/// `EVAL script numkeys [key ...] [arg ...]`
pub fn eval(cx: Cx, args: Args) -> Pending {
    Box::pin(async move { evaluate(&cx, args, false).await })
}

/// `EVAL_RO script numkeys [key ...] [arg ...]`
pub fn eval_ro(cx: Cx, args: Args) -> Pending {
    Box::pin(async move { evaluate(&cx, args, true).await })
}

async fn evaluate(cx: &Cx, args: Args, is_readonly: bool) -> Result<ReplyBuf, CommandError> {
    let (keys, arguments) = split(&args)?;
    let (name, text) = (Sha1::of(&args[1]), args[1].clone());
    if !cx.shared.scripts.sources.has(name) {
        scripting::check(cx, name, &text).await?;
    }
    cx.shared.scripts.sources.note_evaluated(name, &text);
    let request = Request {
        subject: Subject::Script(name, text),
        command: args,
        keys,
        arguments,
        is_readonly,
    };
    scripting::run(cx, request).await
}

/// `EVALSHA sha1 numkeys [key ...] [arg ...]`
pub fn evalsha(cx: Cx, args: Args) -> Pending {
    Box::pin(async move { evaluate_named(&cx, args, false).await })
}

/// `EVALSHA_RO sha1 numkeys [key ...] [arg ...]`
pub fn evalsha_ro(cx: Cx, args: Args) -> Pending {
    Box::pin(async move { evaluate_named(&cx, args, true).await })
}

async fn evaluate_named(cx: &Cx, args: Args, is_readonly: bool) -> Result<ReplyBuf, CommandError> {
    let name = Sha1::parse(&args[1]);
    let found = name.and_then(|name| Some((name, cx.shared.scripts.sources.find(name)?)));
    // a name of another length is told before the keys are looked at, as Redis does
    let missing = "NOSCRIPT No matching script. Please use EVAL.";
    if name.is_none() {
        return Err(CommandError::other(missing));
    }
    let (keys, arguments) = split(&args)?;
    let (name, text) = found.ok_or_else(|| CommandError::other(missing))?;
    let request = Request {
        subject: Subject::Script(name, text),
        command: args,
        keys,
        arguments,
        is_readonly,
    };
    scripting::run(cx, request).await
}

/// The keys, as many as are told, and the arguments behind them.
fn split(args: &Args) -> Result<(Vec<Bytes>, Vec<Bytes>), CommandError> {
    split_at(args, parse_i64(&args[2]).ok_or(CommandError::NotInteger)?)
}

pub(super) fn split_at(args: &Args, count: i64) -> Result<(Vec<Bytes>, Vec<Bytes>), CommandError> {
    let count = usize::try_from(count)
        .map_err(|_| CommandError::other("ERR Number of keys can't be negative"))?;
    let (keys, arguments) = args[3..].split_at_checked(count).ok_or_else(|| {
        CommandError::other("ERR Number of keys can't be greater than number of args")
    })?;
    Ok((keys.to_vec(), arguments.to_vec()))
}

/// `SCRIPT LOAD script`
pub fn load(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let (name, text) = (Sha1::of(&args[2]), &args[2]);
        scripting::check(&cx, name, text).await?;
        cx.shared.scripts.sources.load(name, text);
        let mut reply = cx.reply();
        reply.bulk(name.to_hex().as_bytes());
        Ok(reply)
    })
}

/// `SCRIPT EXISTS sha1 [sha1 ...]`
pub fn exists(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let sources = &cx.shared.scripts.sources;
    reply.array(args.len() - 2);
    for name in &args[2..] {
        let is_there = Sha1::parse(name).is_some_and(|name| sources.has(name));
        reply.integer(i64::from(is_there));
    }
    Ok(())
}

/// `SCRIPT FLUSH [ASYNC | SYNC]`
pub fn flush(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let is_known =
        |word: &Bytes| word.eq_ignore_ascii_case(b"async") || word.eq_ignore_ascii_case(b"sync");
    match &args[2..] {
        [] => {}
        [mode] if is_known(mode) => {}
        _ => {
            let text = "ERR SCRIPT FLUSH only support SYNC|ASYNC option";
            return Err(CommandError::other(text));
        }
    }
    cx.shared.scripts.sources.flush();
    reply.ok();
    Ok(())
}

/// `SCRIPT KILL`
pub fn kill(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    end_running(cx, false)?;
    reply.ok();
    Ok(())
}

/// Ends what has run for so long that others are answered BUSY.
pub(super) fn end_running(cx: &Cx, is_function: bool) -> Result<(), CommandError> {
    let running = &cx.shared.scripts.running;
    match running.kill(is_function) {
        Kill::Done => Ok(()),
        Kill::Other => running.refuse(),
        Kill::Idle => Err(CommandError::other(
            "NOTBUSY No scripts in execution right now.",
        )),
        Kill::Refused => Err(CommandError::other(
            "UNKILLABLE Sorry the script already executed write commands against the dataset. \
             You can either wait the script termination or kill the server in a hard way using \
             the SHUTDOWN NOSAVE command.",
        )),
    }
}

/// `SCRIPT DEBUG YES | SYNC | NO`
pub fn debug(_: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    match args[2].to_ascii_lowercase().as_slice() {
        b"no" => {
            reply.ok();
            Ok(())
        }
        b"yes" | b"sync" => Err(CommandError::other(
            "ERR the debugger of scripts is not available",
        )),
        _ => Err(CommandError::other("ERR Use SCRIPT DEBUG YES/SYNC/NO")),
    }
}
