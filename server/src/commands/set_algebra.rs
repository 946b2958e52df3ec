//! SINTER, SINTERCARD, SINTERSTORE, SUNION, SUNIONSTORE, SDIFF, SDIFFSTORE.
//!
//! Owns the algebra. What is held in memory are the members of the smallest or first set; the
//! others are asked for them or, where that reads less, gone over.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use cellar_storage::{KeyLocks, WriteBatch};

use super::hashes::{ELEMENTS_PER_TURN, slices};
use super::read::is_absent;
use crate::collections::dict::Part;
use crate::collections::elements::{Elements, Stream};
use crate::collections::pace::{Pace, let_go};
use crate::collections::set::{Set, SetForm, SetRules};
use crate::command::{CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::number::parse_i64;
use crate::resp::{Args, ReplyBuf};

/// Members that are handled in memory before others may run: up to 100 ns each.
const MEMBERS_PER_TURN: usize = 1024;

/// What is made of several sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algebra {
    /// What all of them have.
    Intersection,
    /// What any of them has.
    Union,
    /// What only the first one has.
    Difference,
}

impl Algebra {
    /// The event of the command that stores it.
    const fn event(self) -> &'static str {
        match self {
            Self::Intersection => "sinterstore",
            Self::Union => "sunionstore",
            Self::Difference => "sdiffstore",
        }
    }
}

/// `SINTER key [key ...]`
pub(crate) fn sinter(cx: Cx, args: Args) -> Pending {
    answer(cx, args, Algebra::Intersection)
}

/// `SUNION key [key ...]`
pub(crate) fn sunion(cx: Cx, args: Args) -> Pending {
    answer(cx, args, Algebra::Union)
}

/// `SDIFF key [key ...]`
pub(crate) fn sdiff(cx: Cx, args: Args) -> Pending {
    answer(cx, args, Algebra::Difference)
}

/// `SINTERSTORE destination key [key ...]`
pub(crate) fn sinterstore(cx: Cx, args: Args) -> Pending {
    store(cx, args, Algebra::Intersection)
}

/// `SUNIONSTORE destination key [key ...]`
pub(crate) fn sunionstore(cx: Cx, args: Args) -> Pending {
    store(cx, args, Algebra::Union)
}

/// `SDIFFSTORE destination key [key ...]`
pub(crate) fn sdiffstore(cx: Cx, args: Args) -> Pending {
    store(cx, args, Algebra::Difference)
}

fn answer(cx: Cx, args: Args, algebra: Algebra) -> Pending {
    Box::pin(async move {
        // begun here: a HELLO behind this command must not change the form of its reply
        let mut reply = cx.reply();
        let members = combine_shared(&cx, (&args[1..], algebra)).await?;
        answer_members(&members, &mut reply).await;
        let_go(members).await;
        Ok(reply)
    })
}

/// Answers a set, however large.
pub(super) async fn answer_members(members: &[Bytes], reply: &mut ReplyBuf) {
    reply.set(members.len());
    for (index, chunk) in members.chunks(MEMBERS_PER_TURN).enumerate() {
        if index > 0 {
            tokio::task::yield_now().await;
        }
        for member in chunk {
            reply.bulk_bytes(member.clone());
        }
    }
}

/// `SINTERCARD numkeys key [key ...] [LIMIT limit]`
pub(crate) fn sintercard(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let (keys, limit) = parse_card(&args)?;
        let members = combine_shared(&cx, (keys, Algebra::Intersection)).await?;
        reply.integer((members.len() as u64).min(limit).cast_signed());
        let_go(members).await;
        Ok(reply)
    })
}

/// The keys and the limit of SINTERCARD.
fn parse_card(args: &[Bytes]) -> Result<(&[Bytes], u64), CommandError> {
    let count = parse_i64(&args[1]).and_then(|count| usize::try_from(count).ok());
    let count = count
        .filter(|count| *count > 0)
        .ok_or(CommandError::other("ERR numkeys should be greater than 0"))?;
    let (keys, options) = args[2..]
        .split_at_checked(count)
        .ok_or(CommandError::other(
            "ERR Number of keys can't be greater than number of args",
        ))?;
    let mut limit = u64::MAX;
    let (pairs, rest) = options.as_chunks::<2>();
    for [option, value] in pairs {
        if !option.eq_ignore_ascii_case(b"limit") {
            return Err(CommandError::Syntax);
        }
        let value = parse_i64(value).and_then(|value| u64::try_from(value).ok());
        let value = value.ok_or(CommandError::other("ERR LIMIT can't be negative"))?;
        limit = if value == 0 { u64::MAX } else { value };
    }
    if rest.is_empty() {
        Ok((keys, limit))
    } else {
        Err(CommandError::Syntax)
    }
}

/// Combines sets that nobody changes meanwhile.
async fn combine_shared(
    cx: &Cx,
    (keys, algebra): (&[Bytes], Algebra),
) -> Result<Vec<Bytes>, CommandError> {
    let names: Vec<_> = keys.iter().map(|key| (cx.db(), &key[..])).collect();
    let locks = cx.store.lock_shared(&names).await;
    let sets = load(cx, &locks, keys).await?;
    for (key, set) in keys.iter().zip(&sets) {
        cx.note_lookup(key, set.is_some());
    }
    cx.linearized();
    combine(sets, algebra).await
}

async fn load(cx: &Cx, locks: &KeyLocks, keys: &[Bytes]) -> Result<Vec<Option<Set>>, CommandError> {
    let mut sets = Vec::with_capacity(keys.len());
    for key in keys {
        let found = cx.store.get_locked(locks, cx.db(), key).await?;
        sets.push(Set::load(found)?);
    }
    Ok(sets)
}

/// The members that the combined sets have.
async fn combine(sets: Vec<Option<Set>>, algebra: Algebra) -> Result<Vec<Bytes>, CommandError> {
    match algebra {
        Algebra::Union => unite(sets.into_iter().flatten().collect()).await,
        Algebra::Difference => {
            let mut sets = sets.into_iter();
            match sets.next().flatten() {
                Some(first) => sift(first, sets.flatten().collect(), false).await,
                None => Ok(Vec::new()),
            }
        }
        Algebra::Intersection => {
            let sets: Option<Vec<Set>> = sets.into_iter().collect();
            let mut sets = sets.unwrap_or_default();
            sets.sort_by_key(|set| set.elements.len());
            let mut sets = sets.into_iter();
            match sets.next() {
                Some(smallest) => sift(smallest, sets.collect(), true).await,
                None => Ok(Vec::new()),
            }
        }
    }
}

async fn unite(sets: Vec<Set>) -> Result<Vec<Bytes>, CommandError> {
    // all room at once: a table that grows moves everything in one go
    let count: u64 = sets.iter().map(|set| set.elements.len()).sum();
    let mut seen = HashSet::with_capacity(count as usize);
    let mut members = Vec::with_capacity(count as usize);
    for mut set in sets {
        let mut stream = Stream::new(Part::Keys);
        while let Some(pairs) = set.elements.next(&mut stream).await? {
            for pair in pairs {
                if seen.insert(pair.key.clone()) {
                    members.push(pair.key);
                }
            }
            set.elements.rest().await;
        }
    }
    let_go(seen).await;
    Ok(members)
}

/// Of a set, the members that all others have, or that none of them has.
async fn sift(set: Set, others: Vec<Set>, are_members: bool) -> Result<Vec<Bytes>, CommandError> {
    let mut members = unite(vec![set]).await?;
    for other in others {
        let mut elements = other.elements;
        members = if members.len() < elements.page_count() as usize {
            ask(&mut elements, members, are_members).await?
        } else {
            compare(&mut elements, members, are_members).await?
        };
    }
    Ok(members)
}

/// Asks a set for each of a few members.
async fn ask(
    elements: &mut Elements,
    members: Vec<Bytes>,
    are_members: bool,
) -> Result<Vec<Bytes>, CommandError> {
    let mut kept = Vec::new();
    for chunk in members.chunks(ELEMENTS_PER_TURN) {
        elements.prefetch(slices(chunk)).await?;
        for member in chunk {
            if elements.contains(member).await? == are_members {
                kept.push(member.clone());
            }
        }
        elements.forget();
        tokio::task::yield_now().await;
    }
    let_go(members).await;
    Ok(kept)
}

/// Goes over a set that has fewer pages than there are members to ask for.
async fn compare(
    elements: &mut Elements,
    members: Vec<Bytes>,
    are_members: bool,
) -> Result<Vec<Bytes>, CommandError> {
    let mut numbers = HashMap::with_capacity(members.len());
    for (number, member) in members.iter().enumerate() {
        numbers.insert(member.clone(), number);
        if number % MEMBERS_PER_TURN == MEMBERS_PER_TURN - 1 {
            tokio::task::yield_now().await;
        }
    }
    let mut is_met = vec![false; members.len()];
    let mut stream = Stream::new(Part::Keys);
    while let Some(pairs) = elements.next(&mut stream).await? {
        for pair in pairs {
            if let Some(number) = numbers.get(&pair.key) {
                is_met[*number] = true;
            }
        }
        elements.rest().await;
    }
    let_go(numbers).await;
    let (mut kept, mut pace) = (Vec::new(), Pace::default());
    for (member, is_met) in members.into_iter().zip(is_met) {
        if is_met == are_members {
            kept.push(member);
        }
        pace.step().await;
    }
    Ok(kept)
}

fn store(cx: Cx, args: Args, algebra: Algebra) -> Pending {
    Box::pin(async move {
        let names: Vec<_> = args[1..].iter().map(|key| (cx.db(), &key[..])).collect();
        let locks = cx.store.lock(&names).await;
        let sets = load(&cx, &locks, &args[2..]).await?;
        let form = first_form(&sets, algebra);
        let members = combine(sets, algebra).await?;
        let rules = SetRules::of(&cx);
        let mut result = Set::collect(&members, form, rules).await?;
        if algebra == Algebra::Intersection {
            result.note_integers(&members, rules);
        }
        let is_new = is_absent(&cx, &args[1]).await?;
        let mut batch = WriteBatch::new();
        result.put(&cx, &mut batch, &args[1]).await?;
        let outcome = cx.store.commit_locked(&locks, batch).await?;
        if !members.is_empty() {
            cx.notify_write(EventClass::Set, algebra.event(), &args[1], is_new);
        } else if outcome.removed > 0 {
            cx.notify_gone(&args[1]);
        }
        let mut reply = cx.reply();
        reply.integer(members.len().cast_signed() as i64);
        let_go(members).await;
        Ok(reply)
    })
}

/// The form with which Redis begins to collect a result.
fn first_form(sets: &[Option<Set>], algebra: Algebra) -> SetForm {
    let smallest = sets.iter().flatten().min_by_key(|set| set.elements.len());
    match (algebra, smallest.map(Set::form)) {
        (Algebra::Union | Algebra::Difference, _)
        | (Algebra::Intersection, Some(SetForm::Intset)) => SetForm::Intset,
        (Algebra::Intersection, Some(SetForm::Listpack | SetForm::Hashtable) | None) => {
            SetForm::Listpack
        }
    }
}
