//! XADD.
//!
//! Owns which id an entry gets.

use super::arguments::NewId;
use super::trim::Options;
use super::{answer_id, node_limits, open, save, tell};
use crate::collections::stream::{EntryId, Stream};
use crate::command::{CommandError, Cx};
use crate::commands::access::Locked;
use crate::events::EventClass;
use crate::resp::{Args, ReplyBuf};

/// `XADD key [NOMKSTREAM] [(MAXLEN | MINID) [= | ~] threshold [LIMIT count]] (* | id) field value
/// [field value ...]`
pub(crate) async fn xadd(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let options = Options::parse(args, true)?;
    let arity = || CommandError::arity("xadd");
    let (new_id, place) = options.id.ok_or_else(arity)?;
    let parts = &args[place + 1..];
    if parts.is_empty() || parts.len() % 2 == 1 {
        return Err(arity());
    }
    if new_id == NewId::Exactly(EntryId::ZERO) {
        let text = "ERR The ID specified in XADD must be greater than 0-0";
        return Err(CommandError::other(text));
    }
    let is_new = at.found.is_none();
    let mut stream = match open(at.found)? {
        Some(stream) => stream,
        None if options.no_mkstream => {
            reply.null();
            return Ok(());
        }
        None => Stream::new(),
    };
    let id = resolve(new_id, stream.last_id(), cx.shared.clock.unix_ms())?;
    let limits = node_limits(cx);
    stream.append(id, parts, limits).await?;
    let removed = match options.trim(limits) {
        Some(trim) => stream.trim(trim).await?,
        None => 0,
    };
    save(cx, at.locks, &args[1], stream).await?;
    cx.notify_write(EventClass::Stream, "xadd", &args[1], is_new);
    if removed > 0 {
        tell(cx, "xtrim", &args[1]);
    }
    answer_id(reply, id);
    Ok(())
}

/// The id of an entry behind `last`.
fn resolve(new: NewId, last: EntryId, now_ms: u64) -> Result<EntryId, CommandError> {
    if last == EntryId::MAX {
        return Err(CommandError::other(
            "ERR The stream has exhausted the last possible ID, unable to add more items",
        ));
    }
    let id = match new {
        NewId::Any => last.next_at(now_ms),
        NewId::At(ms) if ms == last.ms => last.next().filter(|id| id.ms == ms),
        NewId::At(ms) => Some(EntryId { ms, seq: 0 }),
        NewId::Exactly(id) => Some(id),
    };
    id.filter(|id| *id > last).ok_or_else(|| {
        CommandError::other(
            "ERR The ID specified in XADD is equal or smaller than the target stream top item",
        )
    })
}
