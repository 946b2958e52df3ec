//! EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT, PERSIST, and TTL, PTTL, EXPIRETIME, PEXPIRETIME.
//!
//! Owns setting, removing and telling the deadline of a key of any type.

use bytes::Bytes;
use cellar_storage::{Snapshot, WriteBatch};

use super::deadline::{TimeForm, invalid_expire_time};
use super::string_value::integer;
use crate::command::{CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::resp::{Args, ReplyBuf};

/// NX, XX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// Only where the key has no deadline.
    Without,
    /// Only where it has one.
    With,
}

/// GT, LT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Only where the new deadline is later than the present one.
    Later,
    /// Only where it is sooner.
    Sooner,
}

/// When a new deadline is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Conditions {
    presence: Option<Presence>,
    order: Option<Order>,
}

impl Conditions {
    pub(super) fn parse(options: &[Bytes]) -> Result<Self, CommandError> {
        let (mut nx, mut xx, mut gt, mut lt) = (false, false, false, false);
        for option in options {
            match option.to_ascii_lowercase().as_slice() {
                b"nx" => nx = true,
                b"xx" => xx = true,
                b"gt" => gt = true,
                b"lt" => lt = true,
                _ => {
                    let option = String::from_utf8_lossy(option);
                    return Err(CommandError::other(format!(
                        "ERR Unsupported option {option}"
                    )));
                }
            }
        }
        if nx && (xx || gt || lt) {
            return Err(CommandError::other(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        let order = match (gt, lt) {
            (true, true) => {
                return Err(CommandError::other(
                    "ERR GT and LT options at the same time are not compatible",
                ));
            }
            (true, false) => Some(Order::Later),
            (false, true) => Some(Order::Sooner),
            (false, false) => None,
        };
        let presence = match (nx, xx) {
            (true, _) => Some(Presence::Without),
            (false, true) => Some(Presence::With),
            (false, false) => None,
        };
        Ok(Self { presence, order })
    }

    fn are_none(self) -> bool {
        self == Self::default()
    }

    /// Whether a key with this present deadline may get the new one. No deadline is later than
    /// every deadline.
    pub(super) fn allow(self, present_ms: Option<u64>, deadline_ms: i64) -> bool {
        let present = present_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
        let presence = match self.presence {
            None => true,
            Some(Presence::Without) => present.is_none(),
            Some(Presence::With) => present.is_some(),
        };
        let order = match self.order {
            None => true,
            Some(Order::Later) => present.is_some_and(|present| deadline_ms > present),
            Some(Order::Sooner) => present.is_none_or(|present| deadline_ms < present),
        };
        presence && order
    }
}

/// `EXPIRE key seconds [NX | XX | GT | LT]`
pub fn expire(cx: Cx, args: Args) -> Pending {
    Box::pin(set_deadline(cx, args, TimeForm::SECONDS, "expire"))
}

/// `PEXPIRE key milliseconds [NX | XX | GT | LT]`
pub fn pexpire(cx: Cx, args: Args) -> Pending {
    Box::pin(set_deadline(cx, args, TimeForm::MILLISECONDS, "pexpire"))
}

/// `EXPIREAT key unix-time-seconds [NX | XX | GT | LT]`
pub fn expireat(cx: Cx, args: Args) -> Pending {
    Box::pin(set_deadline(cx, args, TimeForm::UNIX_SECONDS, "expireat"))
}

/// `PEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT]`
pub fn pexpireat(cx: Cx, args: Args) -> Pending {
    Box::pin(set_deadline(
        cx,
        args,
        TimeForm::UNIX_MILLISECONDS,
        "pexpireat",
    ))
}

async fn set_deadline(
    cx: Cx,
    args: Args,
    form: TimeForm,
    command: &'static str,
) -> Result<ReplyBuf, CommandError> {
    let conditions = Conditions::parse(&args[3..])?;
    let now_ms = cx.store.clock().unix_ms();
    let deadline_ms = form
        .deadline(integer(&args[2])?, now_ms)
        .ok_or_else(|| invalid_expire_time(command))?;
    let is_set = apply_deadline(&cx, &args[1], conditions, deadline_ms).await?;
    let mut reply = cx.reply();
    reply.integer(i64::from(is_set));
    Ok(reply)
}

/// Gives a key its deadline, or removes it where that has passed. False: absent, or a condition
/// does not hold.
async fn apply_deadline(
    cx: &Cx,
    key: &Bytes,
    conditions: Conditions,
    deadline_ms: i64,
) -> Result<bool, CommandError> {
    let db = cx.db();
    let locks = cx.store.lock(&[(db, key)]).await;
    if !conditions.are_none() {
        let present = cx.store.get_locked(&locks, db, key).await?;
        if !present.is_some_and(|found| conditions.allow(found.expiry_ms(), deadline_ms)) {
            return Ok(false);
        }
    }
    match u64::try_from(deadline_ms) {
        Ok(deadline_ms) if deadline_ms > cx.store.clock().unix_ms() => {
            let deadline_ms = Some(deadline_ms);
            let is_set = cx.store.set_expiry(&locks, db, key, deadline_ms).await?;
            if is_set {
                cx.notify(EventClass::Generic, "expire", db, key);
            }
            Ok(is_set)
        }
        Ok(_) | Err(_) => {
            let mut batch = WriteBatch::new();
            batch.remove(db, key.clone());
            let is_removed = cx.store.commit_locked(&locks, batch).await?.removed > 0;
            if is_removed {
                cx.notify(EventClass::Generic, "del", db, key);
            }
            Ok(is_removed)
        }
    }
}

/// `PERSIST key`
pub fn persist(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let (db, key) = (cx.db(), &args[1]);
        let locks = cx.store.lock(&[(db, key)]).await;
        let found = cx.store.get_locked(&locks, db, key).await?;
        let is_removed = found.is_some_and(|found| found.expiry_ms().is_some())
            && cx.store.set_expiry(&locks, db, key, None).await?;
        if is_removed {
            cx.notify(EventClass::Generic, "persist", db, key);
        }
        let mut reply = cx.reply();
        reply.integer(i64::from(is_removed));
        Ok(reply)
    })
}

/// `TTL key`
pub fn answer_ttl(
    cx: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    answer(found, reply, |expiry_ms| {
        to_seconds(remaining_ms(cx, expiry_ms))
    });
    Ok(())
}

/// `PTTL key`
pub fn answer_pttl(
    cx: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    answer(found, reply, |expiry_ms| remaining_ms(cx, expiry_ms));
    Ok(())
}

/// `EXPIRETIME key`
pub fn answer_expiretime(
    _: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    answer(found, reply, to_seconds);
    Ok(())
}

/// `PEXPIRETIME key`
pub fn answer_pexpiretime(
    _: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    answer(found, reply, |expiry_ms| expiry_ms);
    Ok(())
}

/// -2 for an absent key, -1 for one without a deadline, else what `tell` makes of the deadline.
fn answer(found: Option<Snapshot>, reply: &mut ReplyBuf, tell: impl FnOnce(u64) -> u64) {
    reply.integer(match found.map(|found| found.expiry_ms()) {
        None => -2,
        Some(None) => -1,
        Some(Some(expiry_ms)) => i64::try_from(tell(expiry_ms)).unwrap_or(i64::MAX),
    });
}

fn remaining_ms(cx: &Cx, expiry_ms: u64) -> u64 {
    expiry_ms.saturating_sub(cx.store.clock().unix_ms())
}

/// Rounds to the nearest second.
fn to_seconds(ms: u64) -> u64 {
    ms.saturating_add(500) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Conditions, String> {
        let words: Vec<_> = text
            .split_whitespace()
            .map(|w| Bytes::from(w.to_owned()))
            .collect();
        Conditions::parse(&words).map_err(|error| error.to_string())
    }

    fn check(options: &str, present_ms: Option<u64>, deadline_ms: i64, expected: bool) {
        let conditions = parse(options).unwrap();
        let allowed = conditions.allow(present_ms, deadline_ms);
        assert_eq!(allowed, expected, "{options} {present_ms:?} {deadline_ms}");
    }

    #[test]
    fn conditions_compare_deadlines() {
        check("", None, 5, true);
        check("nx", None, 5, true);
        check("nx", Some(9), 5, false);
        check("xx", None, 5, false);
        check("XX", Some(9), 5, true);
        check("gt", None, 5, false);
        check("gt", Some(5), 5, false);
        check("gt", Some(5), 6, true);
        check("lt", None, 5, true);
        check("lt", Some(5), 5, false);
        check("lt", Some(5), -1, true);
        check("xx lt", None, 5, false);
    }

    #[test]
    fn conditions_exclude_each_other() {
        let nx = "ERR NX and XX, GT or LT options at the same time are not compatible";
        let gt = "ERR GT and LT options at the same time are not compatible";
        for text in ["nx xx", "gt nx", "lt nx", "nx gt lt"] {
            assert_eq!(parse(text), Err(nx.into()), "{text}");
        }
        assert_eq!(parse("lt gt"), Err(gt.into()));
        assert_eq!(parse("nx foo"), Err("ERR Unsupported option foo".into()));
        assert!(parse("xx gt").is_ok());
    }

    #[test]
    fn seconds_are_rounded() {
        assert_eq!(to_seconds(499), 0);
        assert_eq!(to_seconds(500), 1);
        assert_eq!(to_seconds(u64::MAX), u64::MAX / 1000);
    }
}
