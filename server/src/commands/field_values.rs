//! HGETEX, HSETEX, HGETDEL: fields read or set together with their deadlines, or read and removed.
//!
//! Owns their options.

use bytes::Bytes;

use super::access::Locked;
use super::deadline::TimeForm;
use super::field_expiry::{BAD_COUNT, Done, deadline, fields, limit, save};
use super::hashes::{commit, slices};
use crate::collections::hash::{Hash, HashRules};
use crate::command::{CommandError, Cx};
use crate::events::EventClass;
use crate::number::parse_i64;
use crate::resp::{Args, ReplyBuf};

/// The form of time that a word says.
fn time_form(word: &[u8]) -> Option<TimeForm> {
    match word.to_ascii_lowercase().as_slice() {
        b"ex" => Some(TimeForm::SECONDS),
        b"px" => Some(TimeForm::MILLISECONDS),
        b"exat" => Some(TimeForm::UNIX_SECONDS),
        b"pxat" => Some(TimeForm::UNIX_MILLISECONDS),
        _ => None,
    }
}

fn answer(reply: &mut ReplyBuf, values: Vec<Option<Bytes>>) {
    reply.array(values.len());
    for value in values {
        match value {
            Some(value) => reply.bulk_bytes(value),
            None => reply.null(),
        }
    }
}

/// `HGETDEL key FIELDS numfields field [field ...]`
pub(crate) async fn hgetdel(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let mut hash = Hash::load(cx, at.found)?;
    let fields = fields(&args[2..], BAD_COUNT)?;
    hash.elements.prefetch(slices(fields)).await?;
    let (mut values, mut done) = (Vec::with_capacity(fields.len()), Done::default());
    for field in fields {
        let value = hash.elements.get(field).await?;
        done.is_removed |= hash.elements.remove(field).await?;
        values.push(value);
        hash.elements.rest().await;
    }
    save(cx, args, (at.locks, hash), done).await?;
    answer(reply, values);
    Ok(())
}

/// `HGETEX key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds
/// | PERSIST] FIELDS numfields field [field ...]`
pub(crate) async fn hgetex(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let rules = HashRules::of(cx);
    let mut hash = Hash::load(cx, at.found)?;
    let is_persistent = args[2].eq_ignore_ascii_case(b"persist");
    let (deadline_ms, first) = match time_form(&args[2]) {
        Some(form) => {
            let now = (rules.now_ms, "hgetex");
            (Some(deadline(form, &args[3], now)?), 4)
        }
        None => (None, if is_persistent { 3 } else { 2 }),
    };
    let fields = fields(&args[first..], BAD_COUNT)?;
    hash.elements.prefetch(slices(fields)).await?;
    let mut values = Vec::with_capacity(fields.len());
    let (mut done, mut is_persisted) = (Done::default(), false);
    for field in fields {
        // one after another, as Redis does: a field may be named twice
        values.push(hash.elements.get(field).await?);
        match (hash.elements.deadline(field).await?, deadline_ms) {
            (Some(_), Some(deadline_ms)) => {
                limit(&mut hash, (field, deadline_ms), rules, &mut done).await?;
            }
            (Some(1..), None) if is_persistent => {
                hash.set_deadline(field, 0, rules).await?;
                is_persisted = true;
            }
            (Some(_) | None, _) => {}
        }
        hash.elements.rest().await;
    }
    if is_persisted {
        commit(cx, args, at.locks, hash).await?;
        cx.notify(EventClass::Hash, "hpersist", cx.db(), &args[1]);
    } else {
        save(cx, args, (at.locks, hash), done).await?;
    }
    answer(reply, values);
    Ok(())
}

/// What HSETEX is told beside fields and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Options {
    /// FXX: all fields have to be there, or FNX: none.
    presence: Option<bool>,
    deadline_ms: Option<u64>,
    keeps_deadlines: bool,
}

impl Options {
    /// The options, and where the fields and values begin.
    fn parse(args: &Args, now_ms: u64) -> Result<(Self, usize), CommandError> {
        let mut options = Self::default();
        let mut at = 2;
        while let Some(word) = args.get(at) {
            let lower = word.to_ascii_lowercase();
            let is_lifetime = lower == b"keepttl" || time_form(&lower).is_some();
            if is_lifetime && (options.keeps_deadlines || options.deadline_ms.is_some()) {
                return Err(CommandError::other(
                    "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified",
                ));
            }
            match (lower.as_slice(), time_form(&lower)) {
                (b"fields", _) => return Ok((options, at + 1)),
                (b"fxx" | b"fnx", _) if options.presence.is_some() => {
                    return Err(CommandError::other(
                        "ERR Only one of FXX or FNX arguments can be specified",
                    ));
                }
                (b"fxx", _) => options.presence = Some(true),
                (b"fnx", _) => options.presence = Some(false),
                (b"keepttl", _) => options.keeps_deadlines = true,
                (_, Some(form)) => {
                    at += 1;
                    let argument = args.get(at).ok_or(CommandError::arity("hsetex"))?;
                    let deadline_ms = deadline(form, argument, (now_ms, "hsetex"))?;
                    options.deadline_ms = Some(deadline_ms);
                }
                (_, None) => {
                    let word = String::from_utf8_lossy(word);
                    return Err(CommandError::other(format!("ERR unknown argument: {word}")));
                }
            }
            at += 1;
        }
        Err(CommandError::arity("hsetex"))
    }
}

/// Fields and values behind `FIELDS`.
fn pairs(words: &[Bytes]) -> Result<&[[Bytes; 2]], CommandError> {
    let [count, rest @ ..] = words else {
        return Err(CommandError::arity("hsetex"));
    };
    let count = parse_i64(count).filter(|count| *count > 0);
    let count = count.ok_or(CommandError::other("ERR invalid number of fields"))?;
    let (pairs, odd) = rest.as_chunks::<2>();
    if !odd.is_empty() || pairs.len() as u64 != count.unsigned_abs() {
        return Err(CommandError::arity("hsetex"));
    }
    Ok(pairs)
}

/// `HSETEX key [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds |
/// PXAT unix-time-milliseconds | KEEPTTL] FIELDS numfields field value [field value ...]`
pub(crate) async fn hsetex(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let rules = HashRules::of(cx);
    let is_new = at.found.is_none();
    let mut hash = Hash::load(cx, at.found)?;
    let (options, first) = Options::parse(args, rules.now_ms)?;
    let pairs = pairs(&args[first..])?;
    let fields = pairs.iter().map(|[field, _]| &field[..]);
    hash.elements.prefetch(fields).await?;
    if let Some(wanted) = options.presence {
        for [field, _] in pairs {
            if hash.elements.contains(field).await? != wanted {
                reply.integer(0);
                return Ok(());
            }
        }
    }
    hash.expect(&args[first + 1..], rules);
    let mut done = Done::default();
    for [field, value] in pairs {
        let pair = (&field[..], &value[..]);
        if options.keeps_deadlines {
            hash.update(pair, rules).await?;
        } else {
            hash.set(pair, rules).await?;
        }
        if let Some(deadline_ms) = options.deadline_ms {
            limit(&mut hash, (field, deadline_ms), rules, &mut done).await?;
        }
        hash.elements.rest().await;
    }
    let is_gone = hash.elements.is_empty();
    commit(cx, args, at.locks, hash).await?;
    cx.notify_write(EventClass::Hash, "hset", &args[1], is_new);
    done.tell(cx, &args[1], is_gone);
    reply.integer(1);
    Ok(())
}
