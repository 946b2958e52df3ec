//! ZREM, ZREMRANGEBYRANK, ZREMRANGEBYSCORE, ZREMRANGEBYLEX.
//!
//! Owns their portions.

use super::bounds::{Cuts, member_cuts, score_cuts};
use super::{CHANGES_PER_PORTION, LockedSet};
use crate::command::{CommandError, Cx};
use crate::commands::access::Locked;
use crate::commands::ranks::ranks;
use crate::commands::string_value::integer;
use crate::resp::{Args, ReplyBuf};

/// `ZREM key member [member ...]`
pub(crate) async fn zrem(
    cx: &Cx,
    args: &Args,
    locked: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let mut locked = LockedSet::of(cx, locked, &args[1])?;
    let mut removed = 0;
    let mut portions = args[2..].chunks(CHANGES_PER_PORTION).peekable();
    while let (Some(set), Some(portion)) = (&mut locked.set, portions.next()) {
        set.prefetch(portion.iter().map(|member| &member[..]))
            .await?;
        for member in portion {
            removed += i64::from(set.remove(member).await?.is_some());
        }
        if portions.peek().is_some() {
            locked = locked.go_on(cx).await?;
        }
    }
    if removed > 0 {
        locked.save(cx, "zrem").await?;
    }
    reply.integer(removed);
    Ok(())
}

/// What a range is of.
enum Range {
    Ranks(i64, i64),
    Cuts(Cuts),
}

/// `ZREMRANGEBYRANK key start stop`
pub(crate) async fn zremrangebyrank(
    cx: &Cx,
    args: &Args,
    locked: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let range = Range::Ranks(integer(&args[2])?, integer(&args[3])?);
    let locked = LockedSet::of(cx, locked, &args[1])?;
    remove(cx, locked, (range, "zremrangebyrank"), reply).await
}

/// `ZREMRANGEBYSCORE key min max`
pub(crate) async fn zremrangebyscore(
    cx: &Cx,
    args: &Args,
    locked: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let range = Range::Cuts(score_cuts(&args[2], &args[3])?);
    let locked = LockedSet::of(cx, locked, &args[1])?;
    remove(cx, locked, (range, "zremrangebyscore"), reply).await
}

/// `ZREMRANGEBYLEX key min max`
pub(crate) async fn zremrangebylex(
    cx: &Cx,
    args: &Args,
    locked: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let range = Range::Cuts(member_cuts(&args[2], &args[3])?);
    let locked = LockedSet::of(cx, locked, &args[1])?;
    remove(cx, locked, (range, "zremrangebylex"), reply).await
}

async fn remove(
    cx: &Cx,
    mut locked: LockedSet<'_>,
    (range, event): (Range, &'static str),
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let Some(set) = &mut locked.set else {
        reply.integer(0);
        return Ok(());
    };
    let ranks = match range {
        Range::Ranks(first, last) => ranks(first, last, set.count()),
        Range::Cuts((start, end)) => set.ranks((&start, &end)).await?,
    };
    let count = ranks.end - ranks.start;
    if count > 0 && count == set.count() {
        locked.remove(cx, event).await?;
    } else if count > 0 {
        let mut left = count;
        while let Some(set) = locked.set.as_mut().filter(|_| left > 0) {
            let portion = left.min(CHANGES_PER_PORTION as u64);
            set.remove_ranks(ranks.start..ranks.start + portion).await?;
            left -= portion;
            if left > 0 {
                locked = locked.go_on(cx).await?;
            }
        }
        locked.save(cx, event).await?;
    }
    reply.integer(count.cast_signed());
    Ok(())
}
