//! ZRANDMEMBER: elements by chance.
//!
//! Owns the choice: ranks, each as likely as any other.

use std::collections::BTreeSet;

use cellar_storage::Snapshot;

use super::{element, elements_head, let_others_run, open};
use crate::collections::sorted_set::{Element, SortedSet};
use crate::command::{CommandError, Cx};
use crate::number::parse_i64;
use crate::resp::{Args, ReplyBuf};

/// Elements of one answer at most where they may repeat: Redis goes on until its memory ends.
const REPEATED_MAX: u64 = 1 << 24;

/// `ZRANDMEMBER key [count [WITHSCORES]]`
pub(crate) async fn zrandmember(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let Some(count) = args.get(2) else {
        match open(cx, found)? {
            Some(mut set) => {
                let rank = below(cx, set.count());
                reply.bulk(&at(&mut set, rank).await?.member);
            }
            None => reply.null(),
        }
        return Ok(());
    };
    let (count, has_scores) = parse_count(count, args)?;
    match open(cx, found)? {
        Some(mut set) if count > 0 => distinct(cx, &mut set, (count, has_scores), reply).await,
        Some(mut set) if count < 0 => {
            let count = count.unsigned_abs();
            repeated(cx, &mut set, (count, has_scores), reply).await
        }
        Some(_) | None => {
            reply.array(0);
            Ok(())
        }
    }
}

/// So many elements, each drawn from all.
async fn repeated(
    cx: &Cx,
    set: &mut SortedSet,
    (count, has_scores): (u64, bool),
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    if count > REPEATED_MAX {
        return Err(CommandError::OutOfRange);
    }
    elements_head(reply, count, has_scores);
    for index in 0..count {
        let rank = below(cx, set.count());
        element(reply, &at(set, rank).await?, has_scores);
        let_others_run(index as usize).await;
    }
    Ok(())
}

fn parse_count(count: &[u8], args: &Args) -> Result<(i64, bool), CommandError> {
    let count = match parse_i64(count) {
        Some(i64::MIN) => {
            let max = i64::MAX;
            return Err(CommandError::other(format!(
                "ERR value is out of range, value must between -{max} and {max}"
            )));
        }
        Some(count) => count,
        None => return Err(CommandError::NotInteger),
    };
    match &args[3..] {
        [] => Ok((count, false)),
        [word] if word.eq_ignore_ascii_case(b"withscores") => {
            if count.unsigned_abs() > i64::MAX.unsigned_abs() / 2 {
                return Err(CommandError::OutOfRange);
            }
            Ok((count, true))
        }
        _ => Err(CommandError::Syntax),
    }
}

/// At most `count` elements, no one twice.
async fn distinct(
    cx: &Cx,
    set: &mut SortedSet,
    (count, has_scores): (i64, bool),
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let all = set.count();
    let count = count.unsigned_abs().min(all);
    elements_head(reply, count, has_scores);
    let mut chosen = BTreeSet::new();
    // Floyd's choice: each step adds one rank, whatever was drawn before
    for last in all - count..all {
        let rank = below(cx, last + 1);
        if !chosen.insert(rank) {
            chosen.insert(last);
        }
        let_others_run(chosen.len()).await;
    }
    for (index, rank) in chosen.into_iter().enumerate() {
        element(reply, &at(set, rank).await?, has_scores);
        let_others_run(index).await;
    }
    Ok(())
}

/// A random number below `bound`, which is not 0.
fn below(cx: &Cx, bound: u64) -> u64 {
    // the high half of a product: off by less than bound / 2^64 from an even chance
    let product = u128::from(cx.store.random_u64()) * u128::from(bound);
    (product >> 64) as u64
}

/// The element of a rank that exists.
async fn at(set: &mut SortedSet, rank: u64) -> Result<Element, CommandError> {
    let found = set.collect(rank..rank + 1).await?.pop();
    found.ok_or_else(|| crate::collections::Malformed("the count of a sorted set").into())
}
