//! RENAME, RENAMENX, COPY, MOVE: a value under another key or in another database.
//!
//! Owns their options and conditions. Values of any size are moved by the store, never read here.

use bytes::Bytes;
use cellar_storage::{Db, KeyLocks, ValueType};

use super::string_value::integer;
use crate::command::{CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::resp::Args;

/// `RENAME key newkey`
pub fn rename(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let (from, to) = ((cx.db(), &args[1][..]), (cx.db(), &args[2][..]));
        let locks = cx.store.lock(&[from, to]).await;
        let is_present = if from == to {
            is_present(&cx, &locks, from).await?
        } else {
            cx.store.rename(&locks, from, to).await?
        };
        if !is_present {
            return Err(CommandError::NoSuchKey);
        }
        if from != to {
            note_fields(&cx, to).await?;
            tell_renamed(&cx, from, to);
        }
        let mut reply = cx.reply();
        reply.ok();
        Ok(reply)
    })
}

/// The new name came to be: what it held before was removed, as in Redis.
fn tell_renamed(cx: &Cx, (from_db, from): (Db, &[u8]), (to_db, to): (Db, &[u8])) {
    cx.notify(EventClass::New, "new", to_db, to);
    cx.notify(EventClass::Generic, "rename_from", from_db, from);
    cx.notify(EventClass::Generic, "rename_to", to_db, to);
}

/// The fields of a hash expire under its new name: whoever removes them has to look there.
async fn note_fields(cx: &Cx, (db, key): (Db, &[u8])) -> Result<(), CommandError> {
    if cx.store.peek(db, key).await? == Some(ValueType::TimedHash) {
        cx.shared.field_deadlines.note(0, db, key);
    }
    Ok(())
}

/// `RENAMENX key newkey`
pub fn renamenx(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let (from, to) = ((cx.db(), &args[1][..]), (cx.db(), &args[2][..]));
        let locks = cx.store.lock(&[from, to]).await;
        if !is_present(&cx, &locks, from).await? {
            return Err(CommandError::NoSuchKey);
        }
        let is_renamed =
            !is_present(&cx, &locks, to).await? && cx.store.rename(&locks, from, to).await?;
        if is_renamed {
            note_fields(&cx, to).await?;
            tell_renamed(&cx, from, to);
        }
        let mut reply = cx.reply();
        reply.integer(i64::from(is_renamed));
        Ok(reply)
    })
}

/// `COPY source destination [DB destination-db] [REPLACE]`
pub fn copy(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let (to_db, replaces) = parse_copy_options(&cx, &args[3..])?;
        let (from, to) = ((cx.db(), &args[1][..]), (to_db, &args[2][..]));
        if from == to {
            return Err(same_object());
        }
        let locks = cx.store.lock(&[from, to]).await;
        let may_write = replaces || !is_present(&cx, &locks, to).await?;
        let is_copied = may_write && cx.store.copy(&locks, from, to).await?;
        if is_copied {
            note_fields(&cx, to).await?;
            cx.notify(EventClass::New, "new", to_db, &args[2]);
            cx.notify(EventClass::Generic, "copy_to", to_db, &args[2]);
        } else if cx.tells(EventClass::KeyMiss) && !is_present(&cx, &locks, from).await? {
            cx.notify(EventClass::KeyMiss, "keymiss", cx.db(), &args[1]);
        }
        let mut reply = cx.reply();
        reply.integer(i64::from(is_copied));
        Ok(reply)
    })
}

fn parse_copy_options(cx: &Cx, options: &[Bytes]) -> Result<(Db, bool), CommandError> {
    let (mut db, mut replaces) = (cx.db(), false);
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        if option.eq_ignore_ascii_case(b"replace") {
            replaces = true;
        } else if option.eq_ignore_ascii_case(b"db") {
            db = parse_db(cx, rest.next().ok_or(CommandError::Syntax)?)?;
        } else {
            return Err(CommandError::Syntax);
        }
    }
    Ok((db, replaces))
}

/// `MOVE key db`
pub fn move_key(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let from = (cx.db(), &args[1][..]);
        let to = (parse_db(&cx, &args[2])?, &args[1][..]);
        if from == to {
            return Err(same_object());
        }
        let locks = cx.store.lock(&[from, to]).await;
        let is_moved =
            !is_present(&cx, &locks, to).await? && cx.store.rename(&locks, from, to).await?;
        if is_moved {
            note_fields(&cx, to).await?;
            cx.notify(EventClass::New, "new", to.0, to.1);
            cx.notify(EventClass::Generic, "move_from", from.0, from.1);
            cx.notify(EventClass::Generic, "move_to", to.0, to.1);
        }
        let mut reply = cx.reply();
        reply.integer(i64::from(is_moved));
        Ok(reply)
    })
}

/// A database number, with Redis's three ways to refuse one.
fn parse_db(cx: &Cx, argument: &Bytes) -> Result<Db, CommandError> {
    let number = i32::try_from(integer(argument)?).map_err(|_| {
        let (min, max) = (i32::MIN, i32::MAX);
        CommandError::other(format!(
            "ERR value is out of range, value must between {min} and {max}"
        ))
    })?;
    match u8::try_from(number) {
        Ok(number) if number < cx.shared.database_count() => Ok(Db(number)),
        Ok(_) | Err(_) => Err(CommandError::DbOutOfRange),
    }
}

/// Whether a locked key exists.
async fn is_present(
    cx: &Cx,
    locks: &KeyLocks,
    (db, key): (Db, &[u8]),
) -> Result<bool, CommandError> {
    Ok(cx.store.get_locked(locks, db, key).await?.is_some())
}

fn same_object() -> CommandError {
    CommandError::other("ERR source and destination objects are the same")
}
