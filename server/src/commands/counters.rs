//! INCR, DECR, INCRBY, DECRBY, INCRBYFLOAT: numbers kept as strings.
//!
//! Owns their arithmetic. A counter in memory is changed without waiting.

use bytes::Bytes;
use cellar_storage::{Encoding, Snapshot, WriteBatch};

use super::read::now;
use super::string_value::{encoding_of, expect_string, integer, read_up_to};
use crate::command::{Attempt, CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::number::{LongDouble, parse_i64};
use crate::resp::{Args, ReplyBuf};

/// Bytes beyond which a value is no 64-bit number.
const INTEGER_BYTES_MAX: u64 = 20;

/// Bytes beyond which a value is no float: Redis's bound on the text of one.
const FLOAT_BYTES_MAX: u64 = 5 * 1024;

/// How much a command adds.
type Increment = fn(&Args) -> Result<i64, CommandError>;

/// `INCR key`
pub fn one(_: &Args) -> Result<i64, CommandError> {
    Ok(1)
}

/// `DECR key`
pub fn minus_one(_: &Args) -> Result<i64, CommandError> {
    Ok(-1)
}

/// `INCRBY key increment`
pub fn amount(args: &Args) -> Result<i64, CommandError> {
    integer(&args[2])
}

/// `DECRBY key decrement`
pub fn minus_amount(args: &Args) -> Result<i64, CommandError> {
    integer(&args[2])?
        .checked_neg()
        .ok_or(CommandError::other("ERR decrement would overflow"))
}

/// The handler of a command that adds `$increment` to a counter.
macro_rules! counts {
    ($increment:path) => {
        $crate::command::Handler::Try(
            |cx, args, reply| $crate::commands::counters::try_add(cx, args, reply, $increment),
            |cx, args| $crate::commands::counters::add(cx, args, $increment),
        )
    };
}
pub(crate) use counts;

/// Adds to the counter in argument 1, where nothing has to be waited for.
pub(crate) fn try_add(
    cx: &Cx,
    args: &Args,
    reply: &mut ReplyBuf,
    increment: Increment,
) -> Result<Attempt, CommandError> {
    let increment = increment(args)?;
    let Some(locks) = now(cx.store.lock(&[(cx.db(), &args[1])])) else {
        return Ok(Attempt::Wait);
    };
    let Some(found) = now(cx.store.get_locked(&locks, cx.db(), &args[1])) else {
        return Ok(Attempt::Wait);
    };
    let found = found?;
    let is_new = found.is_none();
    let (sum, batch) = sum(cx, args, found, increment)?;
    match now(cx.store.commit_locked(&locks, batch)) {
        Some(outcome) => {
            outcome?;
            cx.notify_write(EventClass::String, "incrby", &args[1], is_new);
            reply.integer(sum);
            Ok(Attempt::Done)
        }
        None => Ok(Attempt::Wait),
    }
}

/// Adds to the counter in argument 1, waiting for what is in the way.
pub(crate) fn add(cx: Cx, args: Args, increment: Increment) -> Pending {
    Box::pin(async move {
        let increment = increment(&args)?;
        let locks = cx.store.lock(&[(cx.db(), &args[1])]).await;
        let found = cx.store.get_locked(&locks, cx.db(), &args[1]).await?;
        let is_new = found.is_none();
        let (sum, batch) = sum(&cx, &args, found, increment)?;
        cx.store.commit_locked(&locks, batch).await?;
        cx.notify_write(EventClass::String, "incrby", &args[1], is_new);
        let mut reply = cx.reply();
        reply.integer(sum);
        Ok(reply)
    })
}

/// The new number and the batch that writes it, with the expiry that the key has.
fn sum(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    increment: i64,
) -> Result<(i64, WriteBatch), CommandError> {
    let found = expect_string(found)?;
    let old = found.as_ref().map_or(Ok(0), stored_integer)?;
    let sum = old.checked_add(increment).ok_or(CommandError::other(
        "ERR increment or decrement would overflow",
    ))?;
    let text = Bytes::copy_from_slice(itoa::Buffer::new().format(sum).as_bytes());
    let expiry_ms = found.and_then(|old| old.expiry_ms());
    let mut batch = WriteBatch::new();
    batch.set(cx.db(), args[1].clone(), text, Encoding::Int, expiry_ms);
    Ok((sum, batch))
}

fn stored_integer(value: &Snapshot) -> Result<i64, CommandError> {
    match value.inline() {
        Some(text) if value.len() <= INTEGER_BYTES_MAX => {
            parse_i64(text).ok_or(CommandError::NotInteger)
        }
        Some(_) | None => Err(CommandError::NotInteger),
    }
}

/// `INCRBYFLOAT key increment`
pub fn incrbyfloat(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let locks = cx.store.lock(&[(cx.db(), &args[1])]).await;
        let found = cx.store.get_locked(&locks, cx.db(), &args[1]).await?;
        let found = expect_string(found)?;
        let old = match &found {
            Some(value) if value.len() > FLOAT_BYTES_MAX => return Err(CommandError::NotFloat),
            Some(value) => read_up_to(value, FLOAT_BYTES_MAX).await?,
            None => Bytes::from_static(b"0"),
        };
        let old = LongDouble::parse(&old).ok_or(CommandError::NotFloat)?;
        let increment = LongDouble::parse(&args[2]).ok_or(CommandError::NotFloat)?;
        let sum = old.plus(increment).ok_or(CommandError::other(
            "ERR increment would produce NaN or Infinity",
        ))?;
        let text = Bytes::from(sum.format());
        let is_new = found.is_none();
        let expiry_ms = found.and_then(|old| old.expiry_ms());
        let mut batch = WriteBatch::new();
        let encoding = float_encoding(&text);
        batch.set(cx.db(), args[1].clone(), text.clone(), encoding, expiry_ms);
        cx.store.commit_locked(&locks, batch).await?;
        cx.notify_write(EventClass::String, "incrbyfloat", &args[1], is_new);
        let mut reply = cx.reply();
        reply.bulk_bytes(text);
        Ok(reply)
    })
}

/// Redis does not look for whole numbers among the results of INCRBYFLOAT.
fn float_encoding(text: &[u8]) -> Encoding {
    match encoding_of(text) {
        Encoding::Int => Encoding::Embstr,
        other => other,
    }
}
