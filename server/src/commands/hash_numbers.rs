//! HINCRBY, HINCRBYFLOAT: numbers kept in the fields of hashes.
//!
//! Owns their arithmetic's errors.

use super::access::Locked;
use super::hashes::commit;
use super::string_value::integer;
use crate::collections::hash::{Hash, HashRules};
use crate::command::{CommandError, Cx};
use crate::events::EventClass;
use crate::number::{LongDouble, parse_i64};
use crate::resp::{Args, ReplyBuf};

/// `HINCRBY key field increment`
pub(crate) async fn hincrby(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let increment = integer(&args[3])?;
    let is_new = at.found.is_none();
    let mut hash = Hash::load(cx, at.found)?;
    let old = match hash.elements.get(&args[2]).await? {
        Some(text) => {
            parse_i64(&text).ok_or(CommandError::other("ERR hash value is not an integer"))?
        }
        None => 0,
    };
    let sum = old.checked_add(increment).ok_or(CommandError::other(
        "ERR increment or decrement would overflow",
    ))?;
    let mut digits = itoa::Buffer::new();
    let text = digits.format(sum).as_bytes();
    hash.update((&args[2], text), HashRules::of(cx)).await?;
    commit(cx, args, at.locks, hash).await?;
    cx.notify_write(EventClass::Hash, "hincrby", &args[1], is_new);
    reply.integer(sum);
    Ok(())
}

/// `HINCRBYFLOAT key field increment`
pub(crate) async fn hincrbyfloat(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let increment = match LongDouble::parse(&args[3]).ok_or(CommandError::NotFloat)? {
        LongDouble::Infinite => return Err(CommandError::other("ERR value is NaN or Infinity")),
        finite @ LongDouble::Finite { .. } => finite,
    };
    let is_new = at.found.is_none();
    let mut hash = Hash::load(cx, at.found)?;
    let not_float = CommandError::other("ERR hash value is not a float");
    let old = match hash.elements.get(&args[2]).await? {
        Some(text) => LongDouble::parse(&text).ok_or(not_float)?,
        None => LongDouble::parse(b"0").ok_or(not_float)?,
    };
    let sum = old.plus(increment).ok_or(CommandError::other(
        "ERR increment would produce NaN or Infinity",
    ))?;
    let text = sum.format();
    hash.update((&args[2], text.as_bytes()), HashRules::of(cx))
        .await?;
    commit(cx, args, at.locks, hash).await?;
    cx.notify_write(EventClass::Hash, "hincrbyfloat", &args[1], is_new);
    reply.bulk(text.as_bytes());
    Ok(())
}
