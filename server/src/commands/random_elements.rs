//! HRANDFIELD, SRANDMEMBER, SPOP: elements chosen at random.
//!
//! Owns how several are chosen: with repetition by drawing again and again; without it by drawing
//! until enough different ones came, or, of many, by going over all of them once.

use std::collections::HashSet;

use bytes::Bytes;
use cellar_storage::{KeyLocks, Snapshot};

use super::access::Locked;
use super::hashes::{ELEMENTS_PER_TURN, slices};
use super::set_algebra::answer_members;
use super::sets::commit;
use super::string_value::integer;
use crate::collections::dict::{Pair, Part};
use crate::collections::elements::{Elements, Stream};
use crate::collections::hash::Hash;
use crate::collections::set::{Set, SetForm, SetRules};
use crate::command::{CommandError, Cx};
use crate::events::EventClass;
use crate::number::parse_i64;
use crate::resp::{Args, Protocol, ReplyBuf};

/// Of at least one in so many elements, all are gone over: drawing would meet many twice, and read
/// as many pages.
const WALK_ONE_IN: u64 = 3;

/// Where fewer than one in so many members stay, SPOP makes a new set of them, as Redis does.
const REBUILD_ONE_IN: u64 = 5;

/// Random elements that are drawn at once.
const DRAWS_PER_TURN: usize = 64;

/// `HRANDFIELD key [count [WITHVALUES]]`
pub(crate) async fn hrandfield(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let [_, _, options @ ..] = &args[..] else {
        return Err(CommandError::Syntax);
    };
    let Some(count) = options.first() else {
        return answer_one(cx, seen(cx, found).await?, reply).await;
    };
    let count = signed_count(count)?;
    let part = match &options[1..] {
        [] => Part::Keys,
        [word] if word.eq_ignore_ascii_case(b"withvalues") => Part::Both,
        _ => return Err(CommandError::Syntax),
    };
    if part == Part::Both && count.unsigned_abs() > i64::MAX.unsigned_abs() / 2 {
        return Err(CommandError::OutOfRange);
    }
    answer_many(cx, seen(cx, found).await?, (count, part), reply).await
}

/// The fields of a hash, those left out whose deadline has passed: they must not be drawn.
async fn seen(cx: &Cx, found: Option<Snapshot>) -> Result<Elements, CommandError> {
    let mut elements = Hash::load(cx, found)?.elements;
    elements.remove_late(usize::MAX).await?;
    Ok(elements)
}

/// `SRANDMEMBER key [count]`
pub(crate) async fn srandmember(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let load = |found| -> Result<Elements, CommandError> {
        let set = Set::load(found)?;
        Ok(set
            .unwrap_or_else(|| Set::empty(SetForm::Listpack))
            .elements)
    };
    match &args[2..] {
        [] => answer_one(cx, load(found)?, reply).await,
        [count] => {
            let count = signed_count(count)?;
            answer_many(cx, load(found)?, (count, Part::Keys), reply).await
        }
        _ => Err(CommandError::Syntax),
    }
}

fn signed_count(argument: &Bytes) -> Result<i64, CommandError> {
    let count = integer(argument)?;
    if count == i64::MIN {
        let max = i64::MAX;
        return Err(CommandError::other(format!(
            "ERR value is out of range, value must between -{max} and {max}"
        )));
    }
    Ok(count)
}

async fn answer_one(
    cx: &Cx,
    mut elements: Elements,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let random = || cx.store.random_u64();
    match elements.draw((1, Part::Keys), random).await?.pop() {
        Some(pair) => reply.bulk_bytes(pair.key),
        None => reply.null(),
    }
    Ok(())
}

/// Answers a positive number of different elements, or a negative one of elements that may repeat.
async fn answer_many(
    cx: &Cx,
    mut elements: Elements,
    (count, part): (i64, Part),
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    if elements.is_empty() {
        reply.array(0);
        return Ok(());
    }
    let wanted = count.unsigned_abs();
    if count >= 0 {
        let wanted = wanted.min(elements.len());
        begin(wanted, part, reply);
        return choose(cx, &mut elements, (wanted, part), |pair, is_chosen| {
            if is_chosen {
                answer(pair, part, reply);
            }
        })
        .await;
    }
    begin(wanted, part, reply);
    let mut left = wanted;
    while left > 0 {
        let wanted = left.min(DRAWS_PER_TURN as u64) as usize;
        let random = || cx.store.random_u64();
        let pairs = elements.draw((wanted, part), random).await?;
        left -= pairs.len() as u64;
        for pair in pairs {
            answer(pair, part, reply);
        }
        if left > 0 {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// The head of an array of elements. With values RESP3 has an array for each pair.
fn begin(count: u64, part: Part, reply: &mut ReplyBuf) {
    let is_flat = part == Part::Both && reply.protocol() == Protocol::Resp2;
    reply.array(count as usize * if is_flat { 2 } else { 1 });
}

fn answer(pair: Pair, part: Part, reply: &mut ReplyBuf) {
    if part == Part::Both && reply.protocol() == Protocol::Resp3 {
        reply.array(2);
    }
    reply.bulk_bytes(pair.key);
    if part == Part::Both {
        reply.bulk_bytes(pair.value);
    }
}

/// Chooses `wanted` different elements, at most as many as there are, and hands them to `take`.
/// Where it goes over all elements it hands the others to it as well, as not chosen.
async fn choose(
    cx: &Cx,
    elements: &mut Elements,
    (wanted, part): (u64, Part),
    mut take: impl FnMut(Pair, bool),
) -> Result<(), CommandError> {
    if elements.is_compact() || wanted.saturating_mul(WALK_ONE_IN) > elements.len() {
        return choose_from_all(cx, elements, (wanted, part), take).await;
    }
    let mut chosen = HashSet::with_capacity(wanted as usize);
    while (chosen.len() as u64) < wanted {
        let left = (wanted - chosen.len() as u64).min(DRAWS_PER_TURN as u64) as usize;
        let random = || cx.store.random_u64();
        for pair in elements.draw((left, part), random).await? {
            // a copy: it must not keep the page of each element in memory
            if chosen.insert(Bytes::copy_from_slice(&pair.key)) {
                take(pair, true);
            }
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Selection sampling (Knuth, The Art of Computer Programming, 3.4.2, algorithm S).
async fn choose_from_all(
    cx: &Cx,
    elements: &mut Elements,
    (wanted, part): (u64, Part),
    mut take: impl FnMut(Pair, bool),
) -> Result<(), CommandError> {
    let (mut wanted, mut left) = (wanted, elements.len());
    let mut stream = Stream::new(part);
    while let Some(pairs) = elements.next(&mut stream).await? {
        for pair in pairs {
            let is_chosen = left > 0 && cx.store.random_u64() % left < wanted;
            wanted -= u64::from(is_chosen);
            left = left.saturating_sub(1);
            take(pair, is_chosen);
        }
        elements.rest().await;
    }
    Ok(())
}

/// `SPOP key [count]`
pub(crate) async fn spop(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let count = match &args[2..] {
        [] => None,
        [count] => {
            let count = parse_i64(count).and_then(|count| u64::try_from(count).ok());
            Some(count.ok_or(CommandError::other(
                "ERR value is out of range, must be positive",
            ))?)
        }
        _ => return Err(CommandError::Syntax),
    };
    let Some(mut set) = Set::load(at.found)? else {
        match count {
            None => reply.null(),
            Some(_) => reply.set(0),
        }
        return Ok(());
    };
    let wanted = count.unwrap_or(1).min(set.elements.len());
    if wanted == 0 {
        reply.set(0);
        return Ok(());
    }
    let is_rebuilt = (set.elements.len() - wanted) * REBUILD_ONE_IN <= wanted;
    let (mut popped, mut kept) = (Vec::new(), Vec::new());
    let keep = |pair: Pair, is_chosen: bool| {
        if is_chosen {
            popped.push(pair.key);
        } else if is_rebuilt {
            kept.push(pair.key);
        }
    };
    choose(cx, &mut set.elements, (wanted, Part::Keys), keep).await?;
    if count.is_some() && is_rebuilt {
        set = rebuild(cx, &set, &kept).await?;
    } else {
        remove(&mut set.elements, &popped).await?;
    }
    finish(cx, args, at.locks, set).await?;
    match (count, popped.pop()) {
        (None, Some(member)) => reply.bulk_bytes(member),
        (_, last) => {
            popped.extend(last);
            answer_members(&popped, reply).await;
        }
    }
    Ok(())
}

/// A set of the members that stay of a large one: it may be said to be compact again.
async fn rebuild(cx: &Cx, set: &Set, kept: &[Bytes]) -> Result<Set, CommandError> {
    let rules = SetRules::of(cx);
    let form = match (set.form(), kept.first()) {
        (SetForm::Hashtable, Some(first)) if parse_i64(first).is_some() => SetForm::Intset,
        (SetForm::Hashtable, _) => SetForm::Listpack,
        (form @ (SetForm::Intset | SetForm::Listpack), _) => form,
    };
    Ok(Set::collect(kept, form, rules).await?.in_place_of(set))
}

async fn remove(elements: &mut Elements, members: &[Bytes]) -> Result<(), CommandError> {
    elements.prefetch(slices(members)).await?;
    for (index, member) in members.iter().enumerate() {
        elements.remove(member).await?;
        if index % ELEMENTS_PER_TURN == ELEMENTS_PER_TURN - 1 {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

async fn finish(cx: &Cx, args: &Args, locks: &KeyLocks, set: Set) -> Result<(), CommandError> {
    let is_gone = set.elements.is_empty();
    commit(cx, &args[1], locks, set).await?;
    cx.notify(EventClass::Set, "spop", cx.db(), &args[1]);
    if is_gone {
        cx.notify_gone(&args[1]);
    }
    Ok(())
}
