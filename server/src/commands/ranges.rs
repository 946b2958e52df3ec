//! GETRANGE, SUBSTR, SETRANGE, APPEND: parts of strings.
//!
//! Owns Redis's index arithmetic. Must never hold a whole large value.

use std::ops::Range;

use cellar_storage::{Encoding, Snapshot, WriteBatch};

use super::string_value::{check_length, encoding_of, expect_string, integer};
use crate::command::{CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::resp::{Args, ReplyBuf};

/// `GETRANGE key start end` and `SUBSTR key start end`
pub fn answer_getrange(
    _: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let (start, end) = (integer(&args[2])?, integer(&args[3])?);
    match expect_string(found)? {
        Some(value) => {
            let range = clip(start, end, value.len());
            reply.snapshot_range(value, range);
        }
        None => reply.bulk(b""),
    }
    Ok(())
}

/// The bytes from `start` to `end` of a value of `len` bytes; below 0 both count from its end.
fn clip(start: i64, end: i64, len: u64) -> Range<u64> {
    if start < 0 && end < 0 && start > end {
        return 0..0;
    }
    let from_end = |index: i64| {
        if index < 0 {
            len.saturating_sub(index.unsigned_abs())
        } else {
            index.unsigned_abs()
        }
    };
    let (start, end) = (from_end(start), from_end(end).saturating_add(1).min(len));
    if start < end { start..end } else { 0..0 }
}

/// `SETRANGE key offset value`
pub fn setrange(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let offset = integer(&args[2])?;
        let data = &args[3];
        let Ok(offset) = u64::try_from(offset) else {
            return Err(CommandError::other("ERR offset is out of range"));
        };
        let locks = cx.store.lock(&[(cx.db(), &args[1])]).await;
        let found = cx.store.get_locked(&locks, cx.db(), &args[1]).await?;
        let found = expect_string(found)?;
        let is_new = found.is_none();
        let mut len = found.map_or(0, |value| value.len());
        if !data.is_empty() {
            check_length(&cx, offset, data)?;
            len = cx
                .store
                .write_range(&locks, cx.db(), &args[1], offset, data)
                .await?;
            cx.notify_write(EventClass::String, "setrange", &args[1], is_new);
        }
        let mut reply = cx.reply();
        reply.integer(len.cast_signed());
        Ok(reply)
    })
}

/// `APPEND key value`
pub fn append(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let data = &args[2];
        let locks = cx.store.lock(&[(cx.db(), &args[1])]).await;
        let found = cx.store.get_locked(&locks, cx.db(), &args[1]).await?;
        let found = expect_string(found)?;
        let is_new = found.is_none();
        let len = if let Some(value) = found {
            check_length(&cx, value.len(), data)?;
            if data.is_empty() && value.encoding() == Encoding::Raw {
                value.len()
            } else {
                cx.store
                    .write_range(&locks, cx.db(), &args[1], value.len(), data)
                    .await?
            }
        } else {
            let mut batch = WriteBatch::new();
            batch.set(
                cx.db(),
                args[1].clone(),
                data.clone(),
                encoding_of(data),
                None,
            );
            cx.store.commit_locked(&locks, batch).await?;
            data.len() as u64
        };
        cx.notify_write(EventClass::String, "append", &args[1], is_new);
        let mut reply = cx.reply();
        reply.integer(len.cast_signed());
        Ok(reply)
    })
}

#[cfg(test)]
mod tests {
    use super::clip;

    fn check(start: i64, end: i64, expected: &str) {
        let text = "This is a string";
        let range = clip(start, end, text.len() as u64);
        let found = &text[range.start as usize..range.end as usize];
        assert_eq!(found, expected, "{start} {end}");
    }

    #[test]
    fn clips_as_redis_does() {
        check(0, 3, "This");
        check(-3, -1, "ing");
        check(0, -1, "This is a string");
        check(10, 100, "string");
        check(5, 3, "");
        check(-1, -3, "");
        check(100, 200, "");
        check(-100, 1, "Th");
        // an end before the beginning counts as the first byte
        check(0, -100, "T");
        check(-200, -100, "T");
        check(i64::MIN, i64::MAX, "This is a string");
        check(i64::MAX, i64::MAX, "");
        assert_eq!(clip(0, -1, 0), 0..0);
    }
}
