//! How commands reach a list and store it again.
//!
//! Owns that an empty list is a key that does not exist.

use bytes::Bytes;
use cellar_storage::{KeyLocks, Snapshot, WriteBatch};

use crate::collections::list::{End, List, ListpackLimit};
use crate::command::{CommandError, Cx};
use crate::config::Threshold;
use crate::events::EventClass;

/// Up to where Redis would call a list a listpack.
pub(in crate::commands) fn limit(cx: &Cx) -> ListpackLimit {
    ListpackLimit::of(cx.shared.config.fast.threshold(Threshold::ListSize))
}

/// A list without elements, for a key that does not exist.
pub(super) fn new_list(cx: &Cx) -> List {
    List::new(limit(cx))
}

/// The list that a key holds.
pub(super) fn open(cx: &Cx, found: Option<Snapshot>) -> Result<Option<List>, CommandError> {
    found.map(|found| List::open(found, limit(cx))).transpose()
}

/// The list of a locked key.
pub(super) async fn open_locked(
    cx: &Cx,
    locks: &KeyLocks,
    key: &[u8],
) -> Result<Option<List>, CommandError> {
    open(cx, cx.store.get_locked(locks, cx.db(), key).await?)
}

/// Stores a changed list under its key's lock; true: it is empty, and its key is gone.
pub(super) async fn save(
    cx: &Cx,
    locks: &KeyLocks,
    key: &Bytes,
    list: List,
) -> Result<bool, CommandError> {
    let is_empty = list.is_empty();
    let mut batch = WriteBatch::new();
    list.put(&cx.store, &mut batch, (cx.db(), key)).await?;
    cx.store.commit_locked(locks, batch).await?;
    Ok(is_empty)
}

/// Tells of what was done to a list.
pub(in crate::commands) fn tell(cx: &Cx, event: &'static str, key: &Bytes) {
    cx.notify(EventClass::List, event, cx.db(), key);
}

/// Tells of elements that were pushed.
pub(super) fn tell_pushed(cx: &Cx, key: &Bytes, end: End, is_new: bool) {
    let event = match end {
        End::Left => "lpush",
        End::Right => "rpush",
    };
    cx.notify_write(EventClass::List, event, key, is_new);
}

/// The `LEFT | RIGHT` of a command.
pub(super) fn parse_end(text: &[u8]) -> Result<End, CommandError> {
    if text.eq_ignore_ascii_case(b"left") {
        Ok(End::Left)
    } else if text.eq_ignore_ascii_case(b"right") {
        Ok(End::Right)
    } else {
        Err(CommandError::Syntax)
    }
}

/// A number from `min` on; everything else is refused with `complaint`.
pub(super) fn parse_from(
    text: &[u8],
    min: i64,
    complaint: &'static str,
) -> Result<u64, CommandError> {
    match crate::number::parse_i64(text) {
        Some(number) if number >= min => Ok(number.unsigned_abs()),
        Some(_) | None => Err(CommandError::other(complaint)),
    }
}
