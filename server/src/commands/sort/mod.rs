//! SORT and SORT_RO: the elements of a list, set or sorted set in order, or what other keys hold
//! for them.
//!
//! ```text
//!  elements of the key --> weights (themselves, or BY other keys) --> order --> LIMIT
//!                                        --> GET other keys --> answered, or a list STOREd
//! ```
//!
//! Owns the steps. Elements are taken at one moment; the values that patterns lead to are read one
//! after another, 32 on their way at a time. Lets others run throughout.

mod elements;
mod options;
mod order;
mod patterns;
mod weights;

use bytes::Bytes;
use cellar_storage::{KeyLocks, Snapshot, ValueType, WriteBatch};

use crate::collections::list::List;
use crate::collections::pace::{Pace, let_go};
use crate::command::{CommandError, Cx, Pending};
use crate::commands::lists::value::{limit, tell};
use crate::commands::read::find;
use crate::resp::{Args, ReplyBuf};
use elements::load;
use options::{Options, parse};
use patterns::{Pattern, resolve};

/// `SORT key [BY pattern] [LIMIT offset count] [GET pattern ...] [ASC | DESC] [ALPHA]
/// [STORE destination]`
pub fn sort(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let options = parse(&args[2..], true)?;
        match options.destination.clone() {
            Some(destination) => sort_to(&cx, &args[1], options, &destination).await,
            None => answer(&cx, &args[1], options).await,
        }
    })
}

/// `SORT_RO key [BY pattern] [LIMIT offset count] [GET pattern ...] [ASC | DESC] [ALPHA]`
pub fn sort_ro(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let options = parse(&args[2..], false)?;
        answer(&cx, &args[1], options).await
    })
}

async fn answer(cx: &Cx, key: &Bytes, options: Options) -> Result<ReplyBuf, CommandError> {
    let mut reply = cx.reply();
    let found = if options.reads_other_keys() {
        // the commands behind it must not run before those are read
        let found = cx.store.get(cx.db(), key).await?;
        cx.note_lookup(key, found.is_some());
        found
    } else {
        find(cx, key).await?
    };
    let results = results(cx, found, options).await?;
    reply.array(results.len());
    let mut pace = Pace::default();
    for result in results {
        match result {
            Some(value) => reply.bulk_bytes(value),
            None => reply.null(),
        }
        pace.step().await;
    }
    Ok(reply)
}

/// Sorts into a list. Where patterns lead to other keys, these are read before any key is locked:
/// one of them may be the destination, or wait behind it.
async fn sort_to(
    cx: &Cx,
    key: &Bytes,
    options: Options,
    destination: &Bytes,
) -> Result<ReplyBuf, CommandError> {
    let targets = [(cx.db(), &key[..]), (cx.db(), &destination[..])];
    let (locks, results) = if options.reads_other_keys() {
        let found = cx.store.get(cx.db(), key).await?;
        let results = results(cx, found, options).await?;
        (cx.store.lock(&targets[1..]).await, results)
    } else {
        let locks = cx.store.lock(&targets).await;
        let found = cx.store.get_locked(&locks, cx.db(), key).await?;
        (locks, results(cx, found, options).await?)
    };
    let count = results.len();
    store(cx, &locks, destination, results).await?;
    let mut reply = cx.reply();
    reply.integer(count.cast_signed() as i64);
    Ok(reply)
}

/// Puts a list of the results in the place of whatever the destination held.
async fn store(
    cx: &Cx,
    locks: &KeyLocks,
    destination: &Bytes,
    results: Vec<Option<Bytes>>,
) -> Result<(), CommandError> {
    let items: Vec<Bytes> = results.into_iter().map(Option::unwrap_or_default).collect();
    let is_empty = items.is_empty();
    let list = List::of(&items, limit(cx)).await?;
    let mut batch = WriteBatch::new();
    list.put(&cx.store, &mut batch, (cx.db(), destination))
        .await?;
    let outcome = cx.store.commit_locked(locks, batch).await?;
    let_go(items).await;
    if !is_empty {
        tell(cx, "sortstore", destination);
    } else if outcome.removed > 0 {
        cx.notify_gone(destination);
    }
    Ok(())
}

/// What is answered or stored for a key that holds `found`.
async fn results(
    cx: &Cx,
    found: Option<Snapshot>,
    mut options: Options,
) -> Result<Vec<Option<Bytes>>, CommandError> {
    let is_set = found.as_ref().map(Snapshot::value_type) == Some(ValueType::Set);
    let is_kept = options.destination.is_some() || cx.session.is_inner();
    if is_set && !options.is_sorted && is_kept {
        // a set has no order of its own that could be stored, or that a script could rely on
        (options.is_sorted, options.is_alpha) = (true, true);
    }
    let elements = match found {
        Some(found) => load(cx, found, &options).await?,
        None => Vec::new(),
    };
    // no value is held from here on: what patterns lead to may have to wait for its keys
    let elements = if options.is_sorted {
        let weighed = weights::weigh(cx, elements, &options).await?;
        let sorted = order::sort(weighed, &options).await;
        let range = options.limit.range(sorted.len());
        let (mut kept, mut pace) = (Vec::with_capacity(range.len()), Pace::default());
        for (rank, weighed) in sorted.into_iter().enumerate() {
            if range.contains(&rank) {
                kept.push(weighed.element);
            }
            pace.step().await;
        }
        kept
    } else {
        elements
    };
    resolve(cx, elements, &options.get).await
}
