//! XDEL, XSETID.
//!
//! Owns their arguments.

use super::arguments::{strict_id, strict_ids};
use super::{let_others_run, open, save, tell};
use crate::collections::stream::EntryId;
use crate::command::{CommandError, Cx};
use crate::commands::access::Locked;
use crate::commands::string_value::integer;
use crate::resp::{Args, ReplyBuf};

/// `XDEL key id [id ...]`
pub(crate) async fn xdel(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let Some(mut stream) = open(at.found)? else {
        reply.integer(0);
        return Ok(());
    };
    let ids = strict_ids(&args[2..])?;
    let mut removed = 0;
    for (index, id) in ids.into_iter().enumerate() {
        removed += i64::from(stream.remove(id).await?);
        let_others_run(index).await;
    }
    if removed > 0 {
        save(cx, at.locks, &args[1], stream).await?;
        tell(cx, "xdel", &args[1]);
    }
    reply.integer(removed);
    Ok(())
}

/// What XSETID sets.
struct Settings {
    last_id: EntryId,
    entries_added: Option<u64>,
    max_deleted_id: EntryId,
}

/// `XSETID key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]`
pub(crate) async fn xsetid(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let settings = parse_settings(args)?;
    let Some(mut stream) = open(at.found)? else {
        return Err(CommandError::NoSuchKey);
    };
    let last_id = settings.last_id;
    if stream.top_id().await?.is_some_and(|top| last_id < top) {
        return Err(CommandError::other(
            "ERR The ID specified in XSETID is smaller than the target stream top item",
        ));
    }
    let len = stream.len();
    if len > 0 && settings.entries_added.is_some_and(|added| added < len) {
        return Err(CommandError::other(
            "ERR The entries_added specified in XSETID is smaller than the target stream length",
        ));
    }
    stream.set_last_id(last_id, settings.entries_added, settings.max_deleted_id);
    save(cx, at.locks, &args[1], stream).await?;
    tell(cx, "xsetid", &args[1]);
    reply.ok();
    Ok(())
}

fn parse_settings(args: &Args) -> Result<Settings, CommandError> {
    let mut settings = Settings {
        last_id: strict_id(&args[2], 0)?,
        entries_added: None,
        max_deleted_id: EntryId::ZERO,
    };
    let (options, rest) = args[3..].as_chunks::<2>();
    for [word, value] in options {
        if word.eq_ignore_ascii_case(b"entriesadded") {
            let added = u64::try_from(integer(value)?)
                .map_err(|_| CommandError::other("ERR entries_added must be positive"))?;
            settings.entries_added = Some(added);
        } else if word.eq_ignore_ascii_case(b"maxdeletedid") {
            settings.max_deleted_id = strict_id(value, 0)?;
            if settings.last_id < settings.max_deleted_id {
                return Err(CommandError::other(
                    "ERR The ID specified in XSETID is smaller than the provided \
                     max_deleted_entry_id",
                ));
            }
        } else {
            return Err(CommandError::Syntax);
        }
    }
    if rest.is_empty() {
        Ok(settings)
    } else {
        Err(CommandError::Syntax)
    }
}
