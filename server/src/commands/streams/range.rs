//! XLEN, XRANGE, XREVRANGE.
//!
//! Owns their arguments. Must never write.

use std::ops::Range;

use cellar_storage::Snapshot;

use super::arguments::{end_id, start_id};
use super::{answer_entry, open};
use crate::collections::stream::Stream;
use crate::collections::tree::Direction;
use crate::command::{CommandError, Cx};
use crate::commands::string_value::integer;
use crate::resp::{Args, ReplyBuf};

/// `XLEN key`
pub(crate) async fn xlen(
    _: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let len = open(found)?.map_or(0, |stream| stream.len());
    reply.integer(len.cast_signed());
    Ok(())
}

/// `XRANGE key start end [COUNT count]`
pub(crate) async fn xrange(
    _: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    range(args, found, Direction::Forward, reply).await
}

/// `XREVRANGE key end start [COUNT count]`
pub(crate) async fn xrevrange(
    _: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    range(args, found, Direction::Backward, reply).await
}

async fn range(
    args: &Args,
    found: Option<Snapshot>,
    direction: Direction,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let (start, end) = match direction {
        Direction::Forward => (&args[2], &args[3]),
        Direction::Backward => (&args[3], &args[2]),
    };
    let (start, end) = (start_id(start)?, end_id(end)?);
    let mut count = None;
    let (options, rest) = args[4..].as_chunks::<2>();
    for [word, value] in options {
        if !word.eq_ignore_ascii_case(b"count") {
            return Err(CommandError::Syntax);
        }
        count = Some(integer(value)?.max(0).unsigned_abs());
    }
    if !rest.is_empty() {
        return Err(CommandError::Syntax);
    }
    let Some(mut stream) = open(found)? else {
        reply.array(0);
        return Ok(());
    };
    if count == Some(0) {
        reply.null_array();
        return Ok(());
    }
    let ranks = stream.ranks(start, end).await?;
    let ranks = clip(ranks, count.unwrap_or(u64::MAX), direction);
    answer_entries(&mut stream, ranks, direction, reply).await
}

/// At most `count` ranks of these, the first ones in a direction.
fn clip(ranks: Range<u64>, count: u64, direction: Direction) -> Range<u64> {
    match direction {
        Direction::Forward => ranks.start..ranks.end.min(ranks.start.saturating_add(count)),
        Direction::Backward => ranks.start.max(ranks.end.saturating_sub(count))..ranks.end,
    }
}

/// An array of the entries of these ranks, which all exist.
pub(super) async fn answer_entries(
    stream: &mut Stream,
    ranks: Range<u64>,
    direction: Direction,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    reply.array((ranks.end - ranks.start) as usize);
    let mut entries = stream.entries(ranks, direction).await?;
    while let Some(next) = stream.next(&mut entries).await? {
        for entry in &next {
            answer_entry(reply, entry);
        }
        stream.forget();
    }
    Ok(())
}
