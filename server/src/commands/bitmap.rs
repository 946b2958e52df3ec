//! SETBIT, GETBIT, BITCOUNT, BITPOS: single bits and runs of them.
//!
//! Owns their arguments. Reads large values in pieces and rewrites one byte of them.

use std::ops::Range;

use bytes::Bytes;
use cellar_storage::{Encoding, Lookup, Snapshot, ValueType};

use super::bits::{self, Unit, parse_offset, parse_unit};
use super::chunks::{Chunks, read_range};
use super::read::{find, find_string};
use super::string_value::{expect_string, integer};
use crate::command::{Attempt, CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::number::parse_i64;
use crate::resp::{Args, ReplyBuf};

/// `SETBIT key offset value`
pub fn setbit(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let offset = parse_offset(&args[2], 1, cx.shared.bulk_bytes_max())?;
        let is_set = parse_bit(&args[3])?;
        let (db, key) = (cx.db(), &args[1]);
        let locks = cx.store.lock(&[(db, key)]).await;
        let found = expect_string(cx.store.get_locked(&locks, db, key).await?)?;
        let byte_at = offset / 8;
        let old_byte = match &found {
            Some(value) => byte_of(value, byte_at).await?,
            None => None,
        };
        let old = old_byte.unwrap_or(0);
        let mask = 0x80 >> (offset % 8);
        let new = if is_set { old | mask } else { old & !mask };
        let is_new = found.is_none();
        let is_raw = found.is_some_and(|value| value.encoding() == Encoding::Raw);
        if old_byte != Some(new) || !is_raw {
            cx.store
                .write_range(&locks, db, key, byte_at, &[new])
                .await?;
        }
        if old_byte != Some(new) {
            cx.notify_write(EventClass::String, "setbit", key, is_new);
        }
        let mut reply = cx.reply();
        reply.integer(i64::from(old & mask != 0));
        Ok(reply)
    })
}

fn parse_bit(argument: &[u8]) -> Result<bool, CommandError> {
    match parse_i64(argument) {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        _ => Err(CommandError::other(
            "ERR bit is not an integer or out of range",
        )),
    }
}

async fn byte_of(value: &Snapshot, at: u64) -> Result<Option<u8>, CommandError> {
    Ok(read_range(value, at, at + 1).await?.first().copied())
}

/// `GETBIT key offset`, where no key lock is in the way.
pub fn try_getbit(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<Attempt, CommandError> {
    let offset = parse_offset(&args[2], 1, cx.shared.bulk_bytes_max())?;
    let later = match cx.store.lookup(cx.db(), &args[1]) {
        Lookup::Locked => return Ok(Attempt::Wait),
        Lookup::Absent => {
            cx.note_lookup(&args[1], false);
            reply.integer(0);
            return Ok(Attempt::Done);
        }
        Lookup::Ready(value) if value.value_type() == ValueType::String => {
            if let Some(whole) = value.inline() {
                cx.note_lookup(&args[1], true);
                let byte = whole.get((offset / 8) as usize).copied();
                reply.integer(bit_of(byte, offset));
                return Ok(Attempt::Done);
            }
            Box::pin(answer_getbit(cx.clone(), Some(value), offset)) as Pending
        }
        Lookup::Ready(_) => return Err(CommandError::WrongType),
        Lookup::Pending(read) => {
            let cx = cx.clone();
            Box::pin(async move { answer_getbit(cx, read.await?, offset).await })
        }
    };
    cx.linearized();
    Ok(Attempt::Later(later))
}

/// GETBIT, waiting for what is in its way.
pub fn getbit(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let offset = parse_offset(&args[2], 1, cx.shared.bulk_bytes_max())?;
        let found = find(&cx, &args[1]).await?;
        answer_getbit(cx, found, offset).await
    })
}

async fn answer_getbit(
    cx: Cx,
    found: Option<Snapshot>,
    offset: u64,
) -> Result<ReplyBuf, CommandError> {
    let byte = match expect_string(found)? {
        Some(value) => byte_of(&value, offset / 8).await?,
        None => None,
    };
    let mut reply = cx.reply();
    reply.integer(bit_of(byte, offset));
    Ok(reply)
}

fn bit_of(byte: Option<u8>, offset: u64) -> i64 {
    i64::from(byte.unwrap_or(0) >> (7 - offset % 8) & 1)
}

/// `BITCOUNT key [start end [BYTE | BIT]]`
pub fn bitcount(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut count = 0;
        // an absent key answers before its range is looked at
        if let Some(value) = find_string(&cx, &args[1]).await? {
            let span = count_span(&args, value.len())?;
            let bytes = bits::bytes_of(&span);
            let mut chunks = Chunks::new(&value, bytes.start, bytes.end);
            while let Some((at, chunk)) = chunks.next().await? {
                count += bits::count(&chunk, at * 8, &span);
            }
        }
        let mut reply = cx.reply();
        reply.integer(count.cast_signed());
        Ok(reply)
    })
}

fn count_span(args: &[Bytes], len: u64) -> Result<Range<u64>, CommandError> {
    let (start, end, unit) = match args {
        [_, _] => return Ok(Unit::Byte.span(0, -1, len)),
        [_, _, start, end] => (integer(start)?, integer(end)?, None),
        [_, _, start, end, unit] => (integer(start)?, integer(end)?, Some(unit)),
        _ => return Err(CommandError::Syntax),
    };
    if start < 0 && end < 0 && start > end {
        return Ok(0..0);
    }
    let unit = unit.map_or(Ok(Unit::Byte), parse_unit)?;
    Ok(unit.span(start, end, len))
}

/// `BITPOS key bit [start [end [BYTE | BIT]]]`
pub fn bitpos(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let wanted = match integer(&args[2])? {
            0 => false,
            1 => true,
            _ => return Err(CommandError::other("ERR The bit argument must be 1 or 0.")),
        };
        let position = match find_string(&cx, &args[1]).await? {
            Some(value) => find_bit(&value, wanted, &args[3..]).await?,
            // an absent key is endless zeros, and answers before its range is looked at
            None if wanted => None,
            None => Some(0),
        };
        let mut reply = cx.reply();
        reply.integer(position.map_or(-1, u64::cast_signed));
        Ok(reply)
    })
}

async fn find_bit(
    value: &Snapshot,
    wanted: bool,
    range: &[Bytes],
) -> Result<Option<u64>, CommandError> {
    let len = value.len();
    let span = match range {
        [] => Unit::Byte.span(0, -1, len),
        [start] => Unit::Byte.span(integer(start)?, -1, len),
        [start, end] => Unit::Byte.span(integer(start)?, integer(end)?, len),
        [start, end, unit] => {
            let (start, unit) = (integer(start)?, parse_unit(unit)?);
            unit.span(start, integer(end)?, len)
        }
        _ => return Err(CommandError::Syntax),
    };
    let bytes = bits::bytes_of(&span);
    let mut chunks = Chunks::new(value, bytes.start, bytes.end);
    while let Some((at, chunk)) = chunks.next().await? {
        let found = bits::find(&chunk, at * 8, &span, wanted);
        if found.is_some() {
            return Ok(found);
        }
    }
    // without an end the value goes on with zeros
    let has_end = range.len() >= 2;
    Ok((!wanted && !has_end && !span.is_empty()).then_some(len * 8))
}
