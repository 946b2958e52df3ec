//! HEXPIRE, HPEXPIRE, HEXPIREAT, HPEXPIREAT, HPERSIST, and HTTL, HPTTL, HEXPIRETIME, HPEXPIRETIME:
//! until when single fields of a hash are there.
//!
//! Owns setting, removing and telling the deadlines of fields, and how fields are named.

use bytes::Bytes;
use cellar_storage::{KeyLocks, Snapshot};

use super::access::Locked;
use super::deadline::{TimeForm, invalid_expire_time};
use super::expiry::Conditions;
use super::hashes::{commit, slices};
use super::string_value::integer;
use crate::collections::hash::{Hash, HashRules};
use crate::command::{CommandError, Cx};
use crate::events::EventClass;
use crate::number::parse_i64;
use crate::resp::{Args, ReplyBuf};

/// The latest deadline of a field, as in Redis, in milliseconds since the Unix epoch: 46 bits.
const DEADLINE_MS_MAX: u64 = (1 << 46) - 1;

/// There is no such field.
const ABSENT: i64 = -2;
/// The field is there for ever.
const UNLIMITED: i64 = -1;

/// How a number of fields that is none is refused: by most commands, and by those of HEXPIRE's
/// kind.
pub(super) const BAD_COUNT: &str = "ERR Number of fields must be a positive integer";
const BAD_COUNT_OF_EXPIRE: &str = "ERR Parameter `numFields` should be greater than 0";

/// The fields in `FIELDS numfields field [field ...]`.
pub(super) fn fields<'a>(
    words: &'a [Bytes],
    bad_count: &'static str,
) -> Result<&'a [Bytes], CommandError> {
    let missing = "ERR Mandatory argument FIELDS is missing or not at the right position";
    let missing = CommandError::other(missing);
    let [word, count, fields @ ..] = words else {
        return Err(missing);
    };
    if !word.eq_ignore_ascii_case(b"fields") {
        return Err(missing);
    }
    let count = parse_i64(count).filter(|count| *count > 0);
    let count = count.ok_or(CommandError::other(bad_count))?;
    if count.unsigned_abs() != fields.len() as u64 {
        return Err(CommandError::other(
            "ERR The `numfields` parameter must match the number of arguments",
        ));
    }
    Ok(fields)
}

/// The deadline that an argument gives to fields; one that has passed removes them.
pub(super) fn deadline(
    form: TimeForm,
    argument: &[u8],
    (now_ms, command): (u64, &'static str),
) -> Result<u64, CommandError> {
    let amount = integer(argument)?;
    if amount < 0 {
        return Err(CommandError::other("ERR invalid expire time, must be >= 0"));
    }
    let deadline = form.deadline(amount, now_ms).map(i64::unsigned_abs);
    let deadline = deadline.filter(|deadline| *deadline <= DEADLINE_MS_MAX);
    deadline.ok_or_else(|| invalid_expire_time(command))
}

/// What was done to the fields of a hash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Some got another deadline.
    pub(super) is_updated: bool,
    /// Some were removed, because theirs had passed.
    pub(super) is_removed: bool,
}

impl Done {
    /// Tells it, and that the hash is gone with its last field if it is.
    pub(super) fn tell(self, cx: &Cx, key: &[u8], is_gone: bool) {
        if self.is_updated {
            cx.notify(EventClass::Hash, "hexpire", cx.db(), key);
        }
        if self.is_removed {
            cx.notify(EventClass::Hash, "hdel", cx.db(), key);
        }
        if is_gone {
            cx.notify_gone(key);
        }
    }
}

/// Gives a field that is there a deadline, or removes it where that has passed.
pub(super) async fn limit(
    hash: &mut Hash,
    (field, deadline_ms): (&[u8], u64),
    rules: HashRules,
    done: &mut Done,
) -> Result<(), CommandError> {
    if deadline_ms <= rules.now_ms {
        hash.elements.remove(field).await?;
        done.is_removed = true;
    } else {
        hash.set_deadline(field, deadline_ms, rules).await?;
        done.is_updated = true;
    }
    Ok(())
}

/// Writes a hash back and tells what became of its fields.
pub(super) async fn save(
    cx: &Cx,
    args: &Args,
    (locks, hash): (&KeyLocks, Hash),
    done: Done,
) -> Result<(), CommandError> {
    if done == Done::default() {
        return Ok(());
    }
    let is_gone = hash.elements.is_empty();
    commit(cx, args, locks, hash).await?;
    done.tell(cx, &args[1], is_gone);
    Ok(())
}

/// Declares the handler of a command that sets the deadlines of fields.
macro_rules! expire_commands {
    ($($(#[$doc:meta])* $name:ident = $form:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) async fn $name(
            cx: &Cx,
            args: &Args,
            at: Locked<'_>,
            reply: &mut ReplyBuf,
        ) -> Result<(), CommandError> {
            expire(cx, args, at, (TimeForm::$form, stringify!($name), reply)).await
        }
    )*};
}

expire_commands! {
    /// `HEXPIRE key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]`
    hexpire = SECONDS;
    /// `HPEXPIRE key milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]`
    hpexpire = MILLISECONDS;
    /// `HEXPIREAT key unix-time-seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]`
    hexpireat = UNIX_SECONDS;
    /// `HPEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT] FIELDS numfields field
    /// [field ...]`
    hpexpireat = UNIX_MILLISECONDS;
}

async fn expire(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    (form, command, reply): (TimeForm, &'static str, &mut ReplyBuf),
) -> Result<(), CommandError> {
    let rules = HashRules::of(cx);
    let mut hash = Hash::load(cx, at.found)?;
    let deadline_ms = deadline(form, &args[2], (rules.now_ms, command))?;
    let conditions = Conditions::parse(&args[3..4]).ok();
    let first = if conditions.is_some() { 4 } else { 3 };
    let fields = fields(&args[first..], BAD_COUNT_OF_EXPIRE)?;
    let conditions = conditions.unwrap_or_default();
    hash.elements.prefetch(slices(fields)).await?;
    let (mut answers, mut done) = (Vec::with_capacity(fields.len()), Done::default());
    for field in fields {
        let Some(present_ms) = hash.elements.deadline(field).await? else {
            answers.push(ABSENT);
            continue;
        };
        let present_ms = Some(present_ms).filter(|present_ms| *present_ms > 0);
        if !conditions.allow(present_ms, deadline_ms.cast_signed()) {
            answers.push(0);
            continue;
        }
        limit(&mut hash, (field, deadline_ms), rules, &mut done).await?;
        answers.push(if deadline_ms <= rules.now_ms { 2 } else { 1 });
        hash.elements.rest().await;
    }
    save(cx, args, (at.locks, hash), done).await?;
    answer(reply, &answers);
    Ok(())
}

fn answer(reply: &mut ReplyBuf, numbers: &[i64]) {
    reply.array(numbers.len());
    for number in numbers {
        reply.integer(*number);
    }
}

/// `HPERSIST key FIELDS numfields field [field ...]`
pub(crate) async fn hpersist(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let rules = HashRules::of(cx);
    let mut hash = Hash::load(cx, at.found)?;
    let fields = fields(&args[2..], BAD_COUNT)?;
    hash.elements.prefetch(slices(fields)).await?;
    let mut answers = Vec::with_capacity(fields.len());
    for field in fields {
        answers.push(match hash.elements.deadline(field).await? {
            None => ABSENT,
            Some(0) => UNLIMITED,
            Some(_) => {
                hash.set_deadline(field, 0, rules).await?;
                1
            }
        });
        hash.elements.rest().await;
    }
    if answers.contains(&1) {
        commit(cx, args, at.locks, hash).await?;
        cx.notify(EventClass::Hash, "hpersist", cx.db(), &args[1]);
    }
    answer(reply, &answers);
    Ok(())
}

/// Declares the handler of a command that tells the deadlines of fields.
macro_rules! tell_commands {
    ($($(#[$doc:meta])* $name:ident = $tell:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) async fn $name(
            cx: &Cx,
            args: &Args,
            found: Option<Snapshot>,
            reply: &mut ReplyBuf,
        ) -> Result<(), CommandError> {
            tell(cx, args, found, (reply, $tell)).await
        }
    )*};
}

tell_commands! {
    /// `HTTL key FIELDS numfields field [field ...]`
    httl = |deadline_ms, now_ms| (deadline_ms - now_ms).div_ceil(1000);
    /// `HPTTL key FIELDS numfields field [field ...]`
    hpttl = |deadline_ms, now_ms| deadline_ms - now_ms;
    /// `HEXPIRETIME key FIELDS numfields field [field ...]`
    hexpiretime = |deadline_ms, _| deadline_ms.div_ceil(1000);
    /// `HPEXPIRETIME key FIELDS numfields field [field ...]`
    hpexpiretime = |deadline_ms, _| deadline_ms;
}

async fn tell(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    (reply, tell): (&mut ReplyBuf, fn(u64, u64) -> u64),
) -> Result<(), CommandError> {
    let mut hash = Hash::load(cx, found)?;
    let fields = fields(&args[2..], BAD_COUNT)?;
    hash.elements.prefetch(slices(fields)).await?;
    let now_ms = hash.elements.timing().map_or(0, |timing| timing.now_ms);
    let mut answers = Vec::with_capacity(fields.len());
    for field in fields {
        answers.push(match hash.elements.deadline(field).await? {
            None => ABSENT,
            Some(0) => UNLIMITED,
            Some(deadline_ms) => tell(deadline_ms, now_ms).cast_signed(),
        });
    }
    answer(reply, &answers);
    Ok(())
}
