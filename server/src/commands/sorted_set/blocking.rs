//! BZPOPMIN, BZPOPMAX, BZMPOP: those that wait until a sorted set has something.
//!
//! Owns their arguments; waiting and chances are in `blocking`.

use bytes::Bytes;
use cellar_storage::ValueType;

use super::LockedSet;
use super::pop::{End, PopArguments, answer_key_and_elements, parse_pop, take};
use crate::blocking::{Attempt, Served, Wish, parse_timeout_s, serve};
use crate::collections::sorted_set::{Element, SortedSet};
use crate::command::{CommandError, Cx, Pending};
use crate::resp::Args;

/// `BZPOPMIN key [key ...] timeout`
pub(crate) fn bzpopmin(cx: Cx, args: Args) -> Pending {
    pop(cx, args, End::Min)
}

/// `BZPOPMAX key [key ...] timeout`
pub(crate) fn bzpopmax(cx: Cx, args: Args) -> Pending {
    pop(cx, args, End::Max)
}

fn pop(cx: Cx, args: Args, end: End) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let timeout_ms = parse_timeout(&cx, &args[args.len() - 1])?;
        let pops = PopArguments {
            keys: args[1..args.len() - 1].to_vec(),
            end,
            count: 1,
        };
        match wait_to_pop(&cx, &pops, timeout_ms).await? {
            Some((key, elements)) => {
                reply.array(1 + 2 * elements.len());
                reply.bulk(&key);
                for Element { score, member } in &elements {
                    reply.bulk(member);
                    reply.double(*score);
                }
            }
            None => reply.null_array(),
        }
        Ok(reply)
    })
}

/// `BZMPOP timeout numkeys key [key ...] MIN | MAX [COUNT count]`
pub(crate) fn bzmpop(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let pops = parse_pop(&args[2..])?;
        let timeout_ms = parse_timeout(&cx, &args[1])?;
        match wait_to_pop(&cx, &pops, timeout_ms).await? {
            Some((key, elements)) => answer_key_and_elements(&mut reply, &key, &elements).await,
            None => reply.null_array(),
        }
        Ok(reply)
    })
}

fn parse_timeout(cx: &Cx, text: &[u8]) -> Result<u64, CommandError> {
    parse_timeout_s(text, cx.shared.clock.unix_ms())
}

type Popped = (Bytes, Vec<Element>);

async fn wait_to_pop(
    cx: &Cx,
    pops: &PopArguments,
    timeout_ms: u64,
) -> Result<Option<Popped>, CommandError> {
    let wish = Wish {
        keys: &pops.keys,
        destination: None,
        value_type: ValueType::SortedSet,
        timeout_ms,
        heeds_loss: false,
    };
    let attempt = async |attempt: &Attempt<'_>| try_pop(cx, pops, attempt).await;
    serve(cx, &wish, attempt).await
}

/// Pops from the first set that has something, unless that is for others.
async fn try_pop(
    cx: &Cx,
    pops: &PopArguments,
    attempt: &Attempt<'_>,
) -> Result<Option<Served<Popped>>, CommandError> {
    for key in &pops.keys {
        let locked = LockedSet::find(cx, attempt.locks, key).await?;
        let Some(count) = locked.set.as_ref().map(SortedSet::count) else {
            continue;
        };
        if attempt.is_for_others(key) {
            return Ok(None);
        }
        let elements = take(cx, locked, pops.end, pops.count).await?;
        let is_empty = elements.len() as u64 == count;
        return Ok(Some(Served {
            emptied: is_empty.then(|| key.clone()),
            value: (key.clone(), elements),
        }));
    }
    Ok(None)
}
