//! Sorted sets as results: ZRANGESTORE, and what the aggregating commands store.
//!
//! Owns how a result takes the place of whatever a key held.

use bytes::Bytes;
use cellar_storage::{KeyLocks, WriteBatch};

use super::range::{Kind, Request};
use super::{LockedSet, limits, notify, save};
use crate::collections::sorted_set::{Element, ListpackLimits, SortedSet};
use crate::collections::tree::Direction;
use crate::command::{CommandError, Cx, Pending};
use crate::resp::Args;

/// `ZRANGESTORE dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]`
pub(crate) fn zrangestore(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let request = Request::parse(&args[3..], Kind::STORED)?;
        let keys = [(cx.db(), &args[1][..]), (cx.db(), &args[2][..])];
        let locks = cx.store.lock(&keys).await;
        let source = LockedSet::find(&cx, &locks, &args[2]).await?;
        let mut elements = Vec::new();
        if let Some(mut set) = source.set {
            let run = request.run(&mut set).await?;
            let mut way = set.elements(run.rank, run.count, run.direction).await?;
            while let Some(next) = way.next(&mut set).await? {
                elements.extend(next);
                tokio::task::yield_now().await;
            }
            forget_minus_zeros(&mut elements, limits(&cx));
            if run.direction == Direction::Backward {
                elements.reverse();
            }
        }
        let count = store(&cx, &locks, &args[1], (elements, "zrangestore")).await?;
        let mut reply = cx.reply();
        reply.integer(count);
        Ok(reply)
    })
}

/// Redis adds what it stores one by one, in the order of the range, to a listpack, which has no
/// minus zero, until that becomes a skip list.
fn forget_minus_zeros(elements: &mut [Element], limits: ListpackLimits) {
    let fits = |(index, element): &(usize, &mut Element)| {
        (*index as u64) < limits.entries && element.member.len() as u64 <= limits.member_bytes
    };
    for (_, element) in elements.iter_mut().enumerate().take_while(fits) {
        element.score += 0.0;
    }
}

/// Sets a locked key to a set of these elements, in order, and tells of it as `event`; removes it
/// where there are none. Returns their number.
pub(crate) async fn store(
    cx: &Cx,
    locks: &KeyLocks,
    key: &Bytes,
    (elements, event): (Vec<Element>, &'static str),
) -> Result<i64, CommandError> {
    let count = elements.len();
    if count == 0 {
        let mut batch = WriteBatch::new();
        batch.remove(cx.db(), key.clone());
        if cx.store.commit_locked(locks, batch).await?.removed > 0 {
            cx.notify_gone(key);
        }
        return Ok(0);
    }
    let set = SortedSet::build(limits(cx), elements, cx.store.random_u64()).await?;
    save(cx, locks, (key, None), set).await?;
    notify(cx, event, key);
    Ok(count.cast_signed() as i64)
}
