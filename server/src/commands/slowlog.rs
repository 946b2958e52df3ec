//! SLOWLOG: the last commands that took long.
//!
//! Owns the layout of its replies.

use crate::command::{CommandError, Cx};
use crate::number::parse_i64;
use crate::resp::{Args, ReplyBuf};

/// Entries that SLOWLOG GET answers unless told otherwise.
const COUNT_DEFAULT: usize = 10;

/// `SLOWLOG GET [count]`
pub fn get(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let count = match args.get(2) {
        None => COUNT_DEFAULT,
        Some(text) => parse_count(text)?,
    };
    let slowlog = cx.shared.slowlog.lock();
    let entries = slowlog.entries();
    let count = count.min(entries.len());
    reply.array(count);
    for entry in entries.take(count) {
        reply.array(6);
        reply.integer(entry.id.cast_signed());
        reply.integer(entry.unix_seconds.cast_signed());
        reply.integer(entry.us.cast_signed());
        reply.bulk_array(&entry.args);
        reply.bulk(entry.peer.as_bytes());
        reply.bulk(&entry.client_name);
    }
    Ok(())
}

fn parse_count(text: &[u8]) -> Result<usize, CommandError> {
    match parse_i64(text) {
        Some(-1) => Ok(usize::MAX),
        Some(count) if count >= 0 => Ok(count.unsigned_abs() as usize),
        _ => Err(CommandError::other(
            "ERR count should be greater than or equal to -1",
        )),
    }
}

/// `SLOWLOG LEN`
pub fn len(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.integer(cx.shared.slowlog.lock().entries().len().cast_signed() as i64);
    Ok(())
}

/// `SLOWLOG RESET`
pub fn reset(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    cx.shared.slowlog.lock().clear();
    reply.ok();
    Ok(())
}
