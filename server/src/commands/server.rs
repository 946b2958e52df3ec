//! Commands about the whole server and its databases.
//!
//! Owns what SAVE, BGSAVE and BGREWRITEAOF mean for a log: a round of durability.

use cellar_storage::Db;

use super::connection::database;
use super::tracking;
use crate::command::{CommandError, Cx, Pending};
use crate::number::parse_i64;
use crate::resp::{Args, ReplyBuf};
use crate::shutdown::ShutdownMode;
use crate::version::{CELLAR_VERSION, REDIS_VERSION};

/// `DBSIZE`
pub fn dbsize(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.integer(cx.store.dbsize(cx.db()).cast_signed());
    Ok(())
}

/// `FLUSHDB [ASYNC | SYNC]`
pub fn flushdb(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        check_flush_option(&args)?;
        tracking::expect_flush(&cx);
        let outcome = cx.store.flush_db(cx.db()).await;
        tracking::tell_flushed(&cx);
        outcome?;
        Ok(ok(&cx))
    })
}

/// `FLUSHALL [ASYNC | SYNC]`
pub fn flushall(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        check_flush_option(&args)?;
        tracking::expect_flush(&cx);
        let outcome = cx.store.flush_all().await;
        tracking::tell_flushed(&cx);
        outcome?;
        Ok(ok(&cx))
    })
}

/// A flush takes constant time, so that both options mean the same.
fn check_flush_option(args: &Args) -> Result<(), CommandError> {
    match &args[1..] {
        [] => Ok(()),
        [option] if option.eq_ignore_ascii_case(b"async") => Ok(()),
        [option] if option.eq_ignore_ascii_case(b"sync") => Ok(()),
        _ => Err(CommandError::Syntax),
    }
}

fn ok(cx: &Cx) -> ReplyBuf {
    let mut reply = cx.reply();
    reply.ok();
    reply
}

/// `SWAPDB index1 index2`
pub fn swapdb(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let first = parse_database(&cx, &args[1], "ERR invalid first DB index")?;
        let second = parse_database(&cx, &args[2], "ERR invalid second DB index")?;
        cx.store.swap_db(first, second).await?;
        cx.shared.blocking.note_swapped();
        cx.shared.field_deadlines.forget();
        Ok(ok(&cx))
    })
}

fn parse_database(cx: &Cx, text: &[u8], complaint: &'static str) -> Result<Db, CommandError> {
    let index = parse_i64(text).ok_or_else(|| CommandError::other(complaint))?;
    database(cx, index)
}

/// `TIME`
pub fn time(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let unix_ms = cx.shared.clock.unix_ms();
    reply.array(2);
    reply.bulk((unix_ms / 1000).to_string().as_bytes());
    reply.bulk((unix_ms % 1000 * 1000).to_string().as_bytes());
    Ok(())
}

/// `LASTSAVE`: the last round of durability, or the start where there was none.
pub fn lastsave(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let last_ms = cx.shared.store_stats().last_sync_unix_ms;
    let unix_ms = last_ms.max(cx.shared.identity.started_unix_ms);
    reply.integer((unix_ms / 1000).cast_signed());
    Ok(())
}

/// `SAVE`
pub fn save(cx: Cx, _: Args) -> Pending {
    Box::pin(async move {
        let records = cx.shared.store_stats().records_written;
        cx.store.wait_durable(cx.store.published_lsn()).await?;
        cx.shared.note_saved(records);
        Ok(ok(&cx))
    })
}

/// `BGSAVE [SCHEDULE]`
pub fn bgsave(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    match &args[1..] {
        [] => {}
        [option] if option.eq_ignore_ascii_case(b"schedule") => {}
        _ => return Err(CommandError::Syntax),
    }
    cx.shared
        .note_saved(cx.shared.store_stats().records_written);
    start_round(cx);
    reply.simple("Background saving started");
    Ok(())
}

/// `BGREWRITEAOF`
pub fn bgrewriteaof(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    start_round(cx);
    reply.simple("Background append only file rewriting started");
    Ok(())
}

fn start_round(cx: &Cx) {
    let store = cx.store.clone();
    tokio::task::spawn_local(async move {
        if let Err(error) = store.wait_durable(store.published_lsn()).await {
            tracing::error!("making everything durable failed: {error}");
        }
    });
}

/// `SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]`
pub fn shutdown(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mode = parse_shutdown(&args)?;
        if mode != ShutdownMode::Nosave {
            cx.shared.scripts.running.refuse()?;
        }
        if mode == ShutdownMode::Save && !is_everything_durable(&cx).await {
            return Err(CommandError::other(
                "ERR Errors trying to SHUTDOWN. Check logs.",
            ));
        }
        tracing::info!(client = cx.session.id(), "told to stop by SHUTDOWN");
        // no reply: the connection closes
        cx.shared.shutdown.ask(mode);
        Ok(cx.reply())
    })
}

/// Whether everything written so far is durable, or can be made so.
async fn is_everything_durable(cx: &Cx) -> bool {
    let Some(store) = cx.store.attached() else {
        return true;
    };
    match store.wait_durable(store.published_lsn()).await {
        Ok(()) => true,
        Err(error) => {
            tracing::error!("not stopping: what was acknowledged may be lost: {error}");
            false
        }
    }
}

fn parse_shutdown(args: &Args) -> Result<ShutdownMode, CommandError> {
    let (mut is_nosave, mut is_save, mut is_force, mut is_abort, mut is_now) =
        (false, false, false, false, false);
    for option in &args[1..] {
        match option.to_ascii_lowercase().as_slice() {
            b"nosave" => is_nosave = true,
            b"save" => is_save = true,
            b"force" => is_force = true,
            // the server never waits for replicas
            b"now" => is_now = true,
            b"abort" => is_abort = true,
            _ => return Err(CommandError::Syntax),
        }
    }
    if (is_nosave && is_save) || (is_abort && (is_nosave || is_save || is_force || is_now)) {
        return Err(CommandError::Syntax);
    }
    if is_abort {
        // an end that was asked for cannot be taken back: connections close at once
        return Err(CommandError::other("ERR No shutdown in progress."));
    }
    Ok(match (is_nosave, is_force) {
        (true, _) => ShutdownMode::Nosave,
        (false, true) => ShutdownMode::Force,
        (false, false) => ShutdownMode::Save,
    })
}

/// `LOLWUT [VERSION version]`
pub fn lolwut(_: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let text = format!("Cellar {CELLAR_VERSION}\nRedis ver. {REDIS_VERSION}\n");
    reply.verbatim("txt", &text);
    Ok(())
}

/// `ROLE`: always a primary without replicas.
pub fn role(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.array(3);
    reply.bulk(b"master");
    reply.integer(cx.shared.store_stats().lsn_durable.cast_signed());
    reply.array(0);
    Ok(())
}

/// `REPLICAOF NO ONE`: the only form that there is, and it changes nothing.
pub fn replicaof(_: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    if !args[1].eq_ignore_ascii_case(b"no") || !args[2].eq_ignore_ascii_case(b"one") {
        return Err(CommandError::other("ERR replication is not available"));
    }
    reply.ok();
    Ok(())
}
