//! ZRANGE and the commands that it replaced: ranges by rank, score or member.
//!
//! Owns their options and which elements they mean. A range costs what it returns.

use bytes::Bytes;
use cellar_storage::Snapshot;

use super::bounds::{Cuts, member_cuts, score_cuts};
use super::{element, elements_head, open};
use crate::collections::sorted_set::{Elements, SortedSet};
use crate::collections::tree::Direction;
use crate::command::{CommandError, Cx};
use crate::commands::long_reply;
use crate::commands::ranks::ranks;
use crate::commands::string_value::integer;
use crate::resp::{Args, ReplyBuf};

/// What a command leaves to its options.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// By what; by rank unless an option says otherwise.
    by: Option<By>,
    /// In which direction; forward unless an option says otherwise.
    direction: Option<Direction>,
    /// Whether the range is stored, which rules scores in the reply out.
    stores: bool,
}

/// What bounds are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Member,
}

impl Kind {
    /// All options of ZRANGE.
    const FREE: Self = Self {
        by: None,
        direction: None,
        stores: false,
    };
    /// Those of ZRANGESTORE.
    pub(super) const STORED: Self = Self {
        stores: true,
        ..Self::FREE
    };

    const fn of(by: By, direction: Direction) -> Self {
        Self {
            by: Some(by),
            direction: Some(direction),
            stores: false,
        }
    }
}

/// Options as they were written.
struct Options {
    by: By,
    direction: Direction,
    has_scores: bool,
    offset: i64,
    limit: i64,
}

/// A range, as it was asked for.
pub(super) struct Request {
    bounds: Bounds,
    direction: Direction,
    has_scores: bool,
    offset: i64,
    limit: i64,
}

enum Bounds {
    Ranks(i64, i64),
    Cuts(Cuts),
}

/// Elements of a set: `count` of them, from `rank` on in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) rank: u64,
    pub(super) count: u64,
    pub(super) direction: Direction,
}

/// `ZRANGE key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]`
pub(crate) async fn zrange(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let request = Request::parse(&args[2..], Kind::FREE)?;
    range(open(cx, found)?, &request, reply).await
}

/// `ZREVRANGE key start stop [WITHSCORES]`
pub(crate) async fn zrevrange(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let request = Request::parse(&args[2..], Kind::of(By::Rank, Direction::Backward))?;
    range(open(cx, found)?, &request, reply).await
}

/// `ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count]`
pub(crate) async fn zrangebyscore(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let request = Request::parse(&args[2..], Kind::of(By::Score, Direction::Forward))?;
    range(open(cx, found)?, &request, reply).await
}

/// `ZREVRANGEBYSCORE key max min [WITHSCORES] [LIMIT offset count]`
pub(crate) async fn zrevrangebyscore(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let request = Request::parse(&args[2..], Kind::of(By::Score, Direction::Backward))?;
    range(open(cx, found)?, &request, reply).await
}

/// `ZRANGEBYLEX key min max [LIMIT offset count]`
pub(crate) async fn zrangebylex(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let request = Request::parse(&args[2..], Kind::of(By::Member, Direction::Forward))?;
    range(open(cx, found)?, &request, reply).await
}

/// `ZREVRANGEBYLEX key max min [LIMIT offset count]`
pub(crate) async fn zrevrangebylex(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let request = Request::parse(&args[2..], Kind::of(By::Member, Direction::Backward))?;
    range(open(cx, found)?, &request, reply).await
}

async fn range(
    set: Option<SortedSet>,
    request: &Request,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let Some(mut set) = set else {
        reply.array(0);
        return Ok(());
    };
    let run = request.run(&mut set).await?;
    elements_head(reply, run.count, request.has_scores);
    let elements = set.elements(run.rank, run.count, run.direction).await?;
    let elements = RunElements {
        set,
        elements,
        has_scores: request.has_scores,
        left: run.count,
    };
    long_reply::answer(elements, reply).await
}

/// The elements of a run.
struct RunElements {
    set: SortedSet,
    elements: Elements,
    has_scores: bool,
    left: u64,
}

impl long_reply::Elements for RunElements {
    async fn encode_next(&mut self, reply: &mut ReplyBuf) -> Result<bool, CommandError> {
        if self.left == 0 {
            return Ok(false);
        }
        let Some(next) = self.elements.next(&mut self.set).await? else {
            return Ok(false);
        };
        for found in &next {
            element(reply, found, self.has_scores);
        }
        self.left -= next.len() as u64;
        if self.left > 0 {
            tokio::task::yield_now().await;
        }
        Ok(true)
    }

    async fn pin(&mut self) {
        self.set.pin().await;
    }
}

impl Request {
    /// Bounds and the options behind them.
    pub(super) fn parse(arguments: &[Bytes], kind: Kind) -> Result<Self, CommandError> {
        let options = parse_options(&arguments[2..], kind)?;
        let (first, last) = (&arguments[0], &arguments[1]);
        let (min, max) = match options.direction {
            Direction::Forward => (first, last),
            Direction::Backward => (last, first),
        };
        let bounds = match options.by {
            By::Rank => Bounds::Ranks(integer(first)?, integer(last)?),
            By::Score => Bounds::Cuts(score_cuts(min, max)?),
            By::Member => Bounds::Cuts(member_cuts(min, max)?),
        };
        Ok(Self {
            bounds,
            direction: options.direction,
            has_scores: options.has_scores,
            offset: options.offset,
            limit: options.limit,
        })
    }

    /// Which elements of a set are meant.
    pub(super) async fn run(&self, set: &mut SortedSet) -> Result<Run, CommandError> {
        let all = set.count();
        let (ranks, skipped) = match &self.bounds {
            Bounds::Ranks(first, last) => {
                let ranks = ranks(*first, *last, all);
                let ranks = match self.direction {
                    Direction::Forward => ranks,
                    Direction::Backward => all - ranks.end..all - ranks.start,
                };
                (ranks, 0)
            }
            Bounds::Cuts((start, end)) => (set.ranks((start, end)).await?, self.offset),
        };
        let count = ranks.end - ranks.start;
        // Redis passes all elements over where the offset is negative
        let skipped = u64::try_from(skipped).unwrap_or(count).min(count);
        let left = count - skipped;
        let count = u64::try_from(self.limit).map_or(left, |limit| left.min(limit));
        let rank = match self.direction {
            Direction::Forward => ranks.start + skipped,
            Direction::Backward => (ranks.end - skipped).saturating_sub(1),
        };
        Ok(Run {
            rank,
            count,
            direction: self.direction,
        })
    }
}

fn parse_options(options: &[Bytes], kind: Kind) -> Result<Options, CommandError> {
    let (mut by, mut direction) = (kind.by, kind.direction);
    let (mut has_scores, mut offset, mut limit) = (false, 0, -1);
    let mut rest = options;
    while let Some((word, behind)) = rest.split_first() {
        rest = behind;
        match word.to_ascii_lowercase().as_slice() {
            b"withscores" if !kind.stores => has_scores = true,
            b"limit" if rest.len() >= 2 => {
                (offset, limit) = (integer(&rest[0])?, integer(&rest[1])?);
                rest = &rest[2..];
            }
            b"rev" if direction.is_none() => direction = Some(Direction::Backward),
            b"bylex" if by.is_none() => by = Some(By::Member),
            b"byscore" if by.is_none() => by = Some(By::Score),
            _ => return Err(CommandError::Syntax),
        }
    }
    let (by, direction) = (
        by.unwrap_or(By::Rank),
        direction.unwrap_or(Direction::Forward),
    );
    if limit != -1 && by == By::Rank {
        return Err(CommandError::other(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        ));
    }
    if has_scores && by == By::Member {
        return Err(CommandError::other(
            "ERR syntax error, WITHSCORES not supported in combination with BYLEX",
        ));
    }
    Ok(Options {
        by,
        direction,
        has_scores,
        offset,
        limit,
    })
}
