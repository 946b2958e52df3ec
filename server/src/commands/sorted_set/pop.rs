//! ZPOPMIN, ZPOPMAX, ZMPOP: elements taken from an end.
//!
//! Owns their replies and portions.

use bytes::Bytes;
use cellar_storage::KeyLocks;

use super::{CHANGES_PER_PORTION, LockedSet, answer_elements, let_others_run};
use crate::collections::sorted_set::Element;
use crate::command::{CommandError, Cx, Pending};
use crate::commands::access::Locked;
use crate::number::parse_i64;
use crate::resp::{Args, Protocol, ReplyBuf};

/// Which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The lowest scores.
    Min,
    /// The highest scores.
    Max,
}

impl End {
    /// What is told of elements taken from it.
    fn event(self) -> &'static str {
        match self {
            Self::Min => "zpopmin",
            Self::Max => "zpopmax",
        }
    }

    /// The end that `MIN` or `MAX` names.
    pub(crate) fn parse(word: &[u8]) -> Result<Self, CommandError> {
        if word.eq_ignore_ascii_case(b"min") {
            Ok(Self::Min)
        } else if word.eq_ignore_ascii_case(b"max") {
            Ok(Self::Max)
        } else {
            Err(CommandError::Syntax)
        }
    }
}

/// `ZPOPMIN key [count]`
pub(crate) async fn zpopmin(
    cx: &Cx,
    args: &Args,
    locked: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    pop_one_key(cx, args, (locked, End::Min), reply).await
}

/// `ZPOPMAX key [count]`
pub(crate) async fn zpopmax(
    cx: &Cx,
    args: &Args,
    locked: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    pop_one_key(cx, args, (locked, End::Max), reply).await
}

async fn pop_one_key(
    cx: &Cx,
    args: &Args,
    (locked, end): (Locked<'_>, End),
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let count = match &args[2..] {
        [] => None,
        [count] => {
            let error = "ERR value is out of range, must be positive";
            Some(positive(count, 0, error)?)
        }
        _ => return Err(CommandError::Syntax),
    };
    let locked = LockedSet::of(cx, locked, &args[1])?;
    let popped = take(cx, locked, end, count.unwrap_or(1)).await?;
    if count.is_none() && reply.protocol() == Protocol::Resp3 {
        // one element stands alone in every protocol
        reply.array(popped.len() * 2);
        for Element { score, member } in &popped {
            reply.bulk(member);
            reply.double(*score);
        }
    } else {
        answer_elements(reply, &popped, true).await;
    }
    Ok(())
}

/// A number from `min` up; everything else is answered with `error`.
pub(crate) fn positive(
    argument: &[u8],
    min: i64,
    error: &'static str,
) -> Result<u64, CommandError> {
    match parse_i64(argument) {
        Some(number) if number >= min => Ok(number.unsigned_abs()),
        Some(_) | None => Err(CommandError::other(error)),
    }
}

/// Takes at most `count` elements from an end, and writes what is left.
pub(crate) async fn take(
    cx: &Cx,
    mut locked: LockedSet<'_>,
    end: End,
    count: u64,
) -> Result<Vec<Element>, CommandError> {
    let mut popped = Vec::new();
    while let Some(set) = &mut locked.set
        && (popped.len() as u64) < count
        && set.count() > 0
    {
        let left = count - popped.len() as u64;
        let portion = left.min(set.count()).min(CHANGES_PER_PORTION as u64);
        let ranks = match end {
            End::Min => 0..portion,
            End::Max => set.count() - portion..set.count(),
        };
        let mut elements = set.collect(ranks.clone()).await?;
        if end == End::Max {
            elements.reverse();
        }
        popped.extend(elements);
        set.remove_ranks(ranks).await?;
        if (popped.len() as u64) < count {
            locked = locked.go_on(cx).await?;
        }
    }
    if !popped.is_empty() {
        locked.save(cx, end.event()).await?;
    }
    Ok(popped)
}

/// What ZMPOP was told.
pub(crate) struct PopArguments {
    /// Its keys.
    pub(crate) keys: Vec<Bytes>,
    /// From which end.
    pub(crate) end: End,
    /// Elements at most.
    pub(crate) count: u64,
}

/// `numkeys key [key ...] MIN | MAX [COUNT count]`
pub(crate) fn parse_pop(arguments: &[Bytes]) -> Result<PopArguments, CommandError> {
    let key_count = positive(&arguments[0], 1, "ERR numkeys should be greater than 0")?;
    let key_count = usize::try_from(key_count).unwrap_or(usize::MAX);
    let rest = &arguments[1..];
    if key_count >= rest.len() {
        return Err(CommandError::Syntax);
    }
    let (keys, rest) = rest.split_at(key_count);
    let end = End::parse(&rest[0])?;
    let count = match &rest[1..] {
        [] => 1,
        [word, count] if word.eq_ignore_ascii_case(b"count") => {
            positive(count, 1, "ERR count should be greater than 0")?
        }
        [word, count, ..] if word.eq_ignore_ascii_case(b"count") => {
            positive(count, 1, "ERR count should be greater than 0")?;
            return Err(CommandError::Syntax);
        }
        _ => return Err(CommandError::Syntax),
    };
    Ok(PopArguments {
        keys: keys.to_vec(),
        end,
        count,
    })
}

/// `ZMPOP numkeys key [key ...] MIN | MAX [COUNT count]`
pub(crate) fn zmpop(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let arguments = parse_pop(&args[1..])?;
        let keys: Vec<_> = arguments
            .keys
            .iter()
            .map(|key| (cx.db(), &key[..]))
            .collect();
        let locks = cx.store.lock(&keys).await;
        let mut reply = cx.reply();
        match pop_first(&cx, &locks, &arguments).await? {
            Some((key, elements)) => answer_key_and_elements(&mut reply, &key, &elements).await,
            None => reply.null_array(),
        }
        Ok(reply)
    })
}

/// Takes elements from the first of the locked keys that has any.
pub(crate) async fn pop_first(
    cx: &Cx,
    locks: &KeyLocks,
    arguments: &PopArguments,
) -> Result<Option<(Bytes, Vec<Element>)>, CommandError> {
    for key in &arguments.keys {
        let locked = LockedSet::find(cx, locks, key).await?;
        if locked.set.is_some() {
            let elements = take(cx, locked, arguments.end, arguments.count).await?;
            return Ok(Some((key.clone(), elements)));
        }
    }
    Ok(None)
}

/// A key and the elements taken from it, as pairs in every protocol.
pub(crate) async fn answer_key_and_elements(
    reply: &mut ReplyBuf,
    key: &[u8],
    elements: &[Element],
) {
    reply.array(2);
    reply.bulk(key);
    reply.array(elements.len());
    for (index, Element { score, member }) in elements.iter().enumerate() {
        reply.array(2);
        reply.bulk(member);
        reply.double(*score);
        let_others_run(index).await;
    }
}
