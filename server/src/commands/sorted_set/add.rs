//! ZADD and ZINCRBY: elements and their scores.
//!
//! Owns the options and what each element comes to.

use bytes::Bytes;

use super::{CHANGES_PER_PORTION, LockedSet, limits};
use crate::collections::sorted_set::SortedSet;
use crate::command::{CommandError, Cx};
use crate::commands::access::Locked;
use crate::number::parse_double;
use crate::resp::{Args, ReplyBuf};

/// What ZADD was told beside elements.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each option")]
pub(crate) struct Options {
    /// NX
    pub(crate) only_new: bool,
    /// XX
    pub(crate) only_present: bool,
    /// GT
    only_greater: bool,
    /// LT
    only_less: bool,
    /// CH
    pub(crate) counts_changed: bool,
    /// INCR
    increments: bool,
}

/// What an element came to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Done {
    /// The options forbid it.
    Nothing,
    Added(f64),
    Updated(f64),
    /// It had this score.
    Same(f64),
}

/// What all elements of a command came to.
#[derive(Debug, Default)]
struct Total {
    added: i64,
    updated: i64,
    /// The last score that was set or found.
    score: Option<f64>,
}

impl Total {
    fn note(&mut self, done: Done) {
        match done {
            Done::Nothing => return,
            Done::Added(_) => self.added += 1,
            Done::Updated(_) => self.updated += 1,
            Done::Same(_) => {}
        }
        let (Done::Added(score) | Done::Updated(score) | Done::Same(score)) = done else {
            return;
        };
        self.score = Some(score);
    }
}

/// `ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]`
pub(crate) async fn zadd(
    cx: &Cx,
    args: &Args,
    locked: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let (options, pairs) = parse_options(&args[2..], Options::default())?;
    let elements = parse_elements(pairs)?;
    add(cx, &args[1], locked, (&elements, options), reply).await
}

/// `ZINCRBY key increment member`
pub(crate) async fn zincrby(
    cx: &Cx,
    args: &Args,
    locked: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let options = Options {
        increments: true,
        ..Options::default()
    };
    let (options, pairs) = parse_options(&args[2..], options)?;
    let elements = parse_elements(pairs)?;
    add(cx, &args[1], locked, (&elements, options), reply).await
}

/// Adds elements, at least one, and answers as ZADD does.
pub(crate) async fn add(
    cx: &Cx,
    key: &Bytes,
    locked: Locked<'_>,
    (elements, options): (&[(f64, &Bytes)], Options),
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let locked = LockedSet::of(cx, locked, key)?;
    let total = add_elements(cx, locked, elements, options).await?;
    match total.score {
        Some(score) if options.increments => reply.double(score),
        None if options.increments => reply.null(),
        _ if options.counts_changed => reply.integer(total.added + total.updated),
        _ => reply.integer(total.added),
    }
    Ok(())
}

fn parse_options(
    mut rest: &[Bytes],
    mut options: Options,
) -> Result<(Options, &[Bytes]), CommandError> {
    while let Some((word, behind)) = rest.split_first() {
        match word.to_ascii_lowercase().as_slice() {
            b"nx" => options.only_new = true,
            b"xx" => options.only_present = true,
            b"gt" => options.only_greater = true,
            b"lt" => options.only_less = true,
            b"ch" => options.counts_changed = true,
            b"incr" => options.increments = true,
            _ => break,
        }
        rest = behind;
    }
    if rest.is_empty() || !rest.len().is_multiple_of(2) {
        return Err(CommandError::Syntax);
    }
    let Options {
        only_new,
        only_greater,
        only_less,
        ..
    } = options;
    if only_new && options.only_present {
        return Err(CommandError::other(
            "ERR XX and NX options at the same time are not compatible",
        ));
    }
    if (only_new && (only_greater || only_less)) || (only_greater && only_less) {
        return Err(CommandError::other(
            "ERR GT, LT, and/or NX options at the same time are not compatible",
        ));
    }
    if options.increments && rest.len() > 2 {
        return Err(CommandError::other(
            "ERR INCR option supports a single increment-element pair",
        ));
    }
    Ok((options, rest))
}

/// Scores and members; all scores are looked at before anything is changed.
fn parse_elements(pairs: &[Bytes]) -> Result<Vec<(f64, &Bytes)>, CommandError> {
    let (pairs, _) = pairs.as_chunks::<2>();
    pairs
        .iter()
        .map(|[score, member]| {
            let score = parse_double(score).ok_or(CommandError::NotFloat)?;
            Ok((score, member))
        })
        .collect()
}

async fn add_elements(
    cx: &Cx,
    mut locked: LockedSet<'_>,
    elements: &[(f64, &Bytes)],
    options: Options,
) -> Result<Total, CommandError> {
    let mut total = Total::default();
    match &mut locked.set {
        Some(set) => set.expect(elements.len(), 0),
        None if options.only_present => return Ok(total),
        None => {
            let member_bytes = elements[0].1.len();
            locked.set = Some(SortedSet::new(limits(cx), elements.len(), member_bytes));
        }
    }
    let mut portions = elements.chunks(CHANGES_PER_PORTION).peekable();
    while let Some(portion) = portions.next() {
        let set = locked.set.as_mut().expect("it is there from here on");
        set.prefetch(portion.iter().map(|(_, member)| &member[..]))
            .await?;
        for (score, member) in portion {
            let done = add_element(set, (*score, member), options, cx).await?;
            total.note(done);
        }
        if portions.peek().is_some() {
            locked = locked.go_on(cx).await?;
        }
    }
    if total.added + total.updated > 0 {
        let event = if options.increments { "zincr" } else { "zadd" };
        locked.save(cx, event).await?;
    }
    Ok(total)
}

async fn add_element(
    set: &mut SortedSet,
    (mut score, member): (f64, &Bytes),
    options: Options,
    cx: &Cx,
) -> Result<Done, CommandError> {
    let old = set.score(member).await?;
    let Some(present) = old else {
        if options.only_present {
            return Ok(Done::Nothing);
        }
        set.set(member, (None, score), cx.store.random_u64())
            .await?;
        return Ok(Done::Added(score));
    };
    if options.only_new {
        return Ok(Done::Nothing);
    }
    if options.increments {
        score += present;
        if score.is_nan() {
            return Err(CommandError::other(
                "ERR resulting score is not a number (NaN)",
            ));
        }
    }
    if (options.only_less && score >= present) || (options.only_greater && score <= present) {
        return Ok(Done::Nothing);
    }
    if compare(score, present).is_eq() {
        return Ok(Done::Same(score));
    }
    set.set(member, (old, score), cx.store.random_u64()).await?;
    Ok(Done::Updated(score))
}

fn compare(a: f64, b: f64) -> std::cmp::Ordering {
    a.partial_cmp(&b).expect("a score is a number")
}
