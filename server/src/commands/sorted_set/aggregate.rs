//! ZUNION, ZINTER, ZDIFF, ZINTERCARD, ZUNIONSTORE, ZINTERSTORE, ZDIFFSTORE.
//!
//! Owns their arguments and replies.

use bytes::Bytes;
use cellar_storage::KeyLocks;

use super::combine::{Aggregate, Operation, Source, combine, in_order};
use super::pop::positive;
use super::store::store;
use super::{answer_elements, limits};
use crate::command::{CommandError, Cx, Pending};
use crate::commands::string_value::integer;
use crate::number::parse_double;
use crate::resp::Args;

/// One of the commands.
#[derive(Debug, Clone, Copy)]
struct Kind {
    name: &'static str,
    operation: Operation,
    target: Target,
}

/// What becomes of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// It is answered.
    Reply,
    /// It is stored under the first key.
    Key,
    /// It is counted.
    Count,
}

/// The arguments behind the keys.
struct Options {
    aggregate: Aggregate,
    has_scores: bool,
    limit: u64,
}

/// `ZUNION numkeys key [key ...] [WEIGHTS ...] [AGGREGATE SUM | MIN | MAX] [WITHSCORES]`
pub(crate) fn zunion(cx: Cx, args: Args) -> Pending {
    run(cx, args, ("zunion", Operation::Union, Target::Reply))
}

/// `ZINTER numkeys key [key ...] [WEIGHTS ...] [AGGREGATE SUM | MIN | MAX] [WITHSCORES]`
pub(crate) fn zinter(cx: Cx, args: Args) -> Pending {
    run(cx, args, ("zinter", Operation::Intersection, Target::Reply))
}

/// `ZDIFF numkeys key [key ...] [WITHSCORES]`
pub(crate) fn zdiff(cx: Cx, args: Args) -> Pending {
    run(cx, args, ("zdiff", Operation::Difference, Target::Reply))
}

/// `ZUNIONSTORE destination numkeys key [key ...] [WEIGHTS ...] [AGGREGATE SUM | MIN | MAX]`
pub(crate) fn zunionstore(cx: Cx, args: Args) -> Pending {
    run(cx, args, ("zunionstore", Operation::Union, Target::Key))
}

/// `ZINTERSTORE destination numkeys key [key ...] [WEIGHTS ...] [AGGREGATE SUM | MIN | MAX]`
pub(crate) fn zinterstore(cx: Cx, args: Args) -> Pending {
    run(
        cx,
        args,
        ("zinterstore", Operation::Intersection, Target::Key),
    )
}

/// `ZDIFFSTORE destination numkeys key [key ...]`
pub(crate) fn zdiffstore(cx: Cx, args: Args) -> Pending {
    run(cx, args, ("zdiffstore", Operation::Difference, Target::Key))
}

/// `ZINTERCARD numkeys key [key ...] [LIMIT limit]`
pub(crate) fn zintercard(cx: Cx, args: Args) -> Pending {
    run(
        cx,
        args,
        ("zintercard", Operation::Intersection, Target::Count),
    )
}

fn run(
    cx: Cx,
    args: Args,
    (name, operation, target): (&'static str, Operation, Target),
) -> Pending {
    let kind = Kind {
        name,
        operation,
        target,
    };
    Box::pin(async move {
        let numkeys_at = if target == Target::Key { 2 } else { 1 };
        let (keys, options) = split_keys(&args[numkeys_at..], kind)?;
        let locks = lock(&cx, &args, keys, target).await;
        let mut sources = Vec::with_capacity(keys.len());
        for key in keys {
            sources.push(open_source(&cx, &locks, key).await?);
        }
        let options = parse_options(options, &mut sources, kind)?;
        let enough = if options.limit == 0 {
            u64::MAX
        } else {
            options.limit
        };
        let scores = combine(sources, operation, options.aggregate, enough).await?;
        let mut reply = cx.reply();
        match target {
            Target::Count => reply.integer(scores.len().cast_signed() as i64),
            Target::Key => {
                let elements = in_order(scores).await;
                reply.integer(store(&cx, &locks, &args[1], (elements, name)).await?);
            }
            Target::Reply => {
                let elements = in_order(scores).await;
                answer_elements(&mut reply, &elements, options.has_scores).await;
            }
        }
        Ok(reply)
    })
}

/// `numkeys key [key ...]`, and what follows.
fn split_keys(arguments: &[Bytes], kind: Kind) -> Result<(&[Bytes], &[Bytes]), CommandError> {
    let key_count = integer(&arguments[0])?;
    if key_count < 1 {
        return Err(CommandError::other(format!(
            "ERR at least 1 input key is needed for '{}' command",
            kind.name
        )));
    }
    let rest = &arguments[1..];
    let key_count = usize::try_from(key_count).unwrap_or(usize::MAX);
    rest.split_at_checked(key_count).ok_or(CommandError::Syntax)
}

async fn lock(cx: &Cx, args: &Args, keys: &[Bytes], target: Target) -> KeyLocks {
    let mut all: Vec<_> = keys.iter().map(|key| (cx.db(), &key[..])).collect();
    if target == Target::Key {
        all.push((cx.db(), &args[1]));
        cx.store.lock(&all).await
    } else {
        cx.store.lock_shared(&all).await
    }
}

async fn open_source(cx: &Cx, locks: &KeyLocks, key: &Bytes) -> Result<Source, CommandError> {
    let found = cx.store.get_locked(locks, cx.db(), key).await?;
    Source::open(found, limits(cx))
}

fn parse_options(
    mut rest: &[Bytes],
    sources: &mut [Source],
    kind: Kind,
) -> Result<Options, CommandError> {
    let mut options = Options {
        aggregate: Aggregate::default(),
        has_scores: false,
        limit: 0,
    };
    let has_weights = kind.operation != Operation::Difference && kind.target != Target::Count;
    while let Some((word, behind)) = rest.split_first() {
        rest = match word.to_ascii_lowercase().as_slice() {
            b"weights" if has_weights && behind.len() >= sources.len() => {
                parse_weights(behind, sources)?
            }
            b"aggregate" if has_weights && !behind.is_empty() => {
                options.aggregate = Aggregate::parse(&behind[0]).ok_or(CommandError::Syntax)?;
                &behind[1..]
            }
            b"withscores" if kind.target == Target::Reply => {
                options.has_scores = true;
                behind
            }
            b"limit" if kind.target == Target::Count && !behind.is_empty() => {
                options.limit = positive(&behind[0], 0, "ERR LIMIT can't be negative")?;
                &behind[1..]
            }
            _ => return Err(CommandError::Syntax),
        };
    }
    Ok(options)
}

fn parse_weights<'a>(
    rest: &'a [Bytes],
    sources: &mut [Source],
) -> Result<&'a [Bytes], CommandError> {
    let (weights, rest) = rest.split_at(sources.len());
    for (source, weight) in sources.iter_mut().zip(weights) {
        source.weight =
            parse_double(weight).ok_or(CommandError::other("ERR weight value is not a float"))?;
    }
    Ok(rest)
}
