//! ZCARD, ZSCORE, ZMSCORE, ZRANK, ZREVRANK, ZCOUNT, ZLEXCOUNT: what one set says.
//!
//! Owns their replies. Must never write.

use cellar_storage::Snapshot;

use super::bounds::{Cuts, member_cuts, score_cuts};
use super::{let_others_run, open};
use crate::collections::sorted_set::SortedSet;
use crate::command::{CommandError, Cx};
use crate::resp::{Args, ReplyBuf};

/// `ZCARD key`
pub(crate) async fn zcard(
    cx: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let count = open(cx, found)?.map_or(0, |set| set.count());
    reply.integer(count.cast_signed());
    Ok(())
}

/// `ZSCORE key member`
pub(crate) async fn zscore(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let score = match open(cx, found)? {
        Some(mut set) => set.score(&args[2]).await?,
        None => None,
    };
    score_or_null(reply, score);
    Ok(())
}

/// `ZMSCORE key member [member ...]`
pub(crate) async fn zmscore(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let members = &args[2..];
    let mut found = open(cx, found)?;
    reply.array(members.len());
    if let Some(set) = &mut found {
        set.prefetch(members.iter().map(|member| &member[..]))
            .await?;
    }
    for (index, member) in members.iter().enumerate() {
        let score = match &mut found {
            Some(set) => set.score(member).await?,
            None => None,
        };
        score_or_null(reply, score);
        let_others_run(index).await;
    }
    Ok(())
}

fn score_or_null(reply: &mut ReplyBuf, score: Option<f64>) {
    match score {
        Some(score) => reply.double(score),
        None => reply.null(),
    }
}

/// `ZRANK key member [WITHSCORE]`
pub(crate) async fn zrank(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let has_score = parse_with_score(args, "zrank")?;
    let place = place_of(open(cx, found)?, &args[2]).await?;
    let place = place.map(|place| (place.before, place.score));
    answer_rank(reply, place, has_score);
    Ok(())
}

/// `ZREVRANK key member [WITHSCORE]`
pub(crate) async fn zrevrank(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let has_score = parse_with_score(args, "zrevrank")?;
    let place = place_of(open(cx, found)?, &args[2]).await?;
    let place = place.map(|place| (place.count.saturating_sub(place.before + 1), place.score));
    answer_rank(reply, place, has_score);
    Ok(())
}

fn parse_with_score(args: &Args, name: &'static str) -> Result<bool, CommandError> {
    match &args[3..] {
        [] => Ok(false),
        [word] if word.eq_ignore_ascii_case(b"withscore") => Ok(true),
        [_] => Err(CommandError::Syntax),
        _ => Err(CommandError::arity(name)),
    }
}

/// Where a member stands.
struct Place {
    /// Elements before it.
    before: u64,
    /// All elements.
    count: u64,
    score: f64,
}

async fn place_of(set: Option<SortedSet>, member: &[u8]) -> Result<Option<Place>, CommandError> {
    let Some(mut set) = set else {
        return Ok(None);
    };
    let Some(score) = set.score(member).await? else {
        return Ok(None);
    };
    Ok(Some(Place {
        before: set.rank(score, member).await?,
        count: set.count(),
        score,
    }))
}

fn answer_rank(reply: &mut ReplyBuf, place: Option<(u64, f64)>, has_score: bool) {
    match place {
        Some((rank, score)) if has_score => {
            reply.array(2);
            reply.integer(rank.cast_signed());
            reply.double(score);
        }
        Some((rank, _)) => reply.integer(rank.cast_signed()),
        None if has_score => reply.null_array(),
        None => reply.null(),
    }
}

/// `ZCOUNT key min max`
pub(crate) async fn zcount(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let cuts = score_cuts(&args[2], &args[3])?;
    count_between(open(cx, found)?, &cuts, reply).await
}

/// `ZLEXCOUNT key min max`
pub(crate) async fn zlexcount(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let cuts = member_cuts(&args[2], &args[3])?;
    count_between(open(cx, found)?, &cuts, reply).await
}

async fn count_between(
    set: Option<SortedSet>,
    cuts: &Cuts,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let count = match set {
        Some(mut set) => {
            let ranks = set.ranks((&cuts.0, &cuts.1)).await?;
            ranks.end - ranks.start
        }
        None => 0,
    };
    reply.integer(count.cast_signed());
    Ok(())
}
