//! XPENDING.
//!
//! Owns its arguments. Must never write.

use bytes::Bytes;
use cellar_storage::Snapshot;

use super::arguments::{end_id, start_id};
use super::{answer_id, group_of, open};
use crate::collections::stream::{EntryId, Group, Stream};
use crate::command::{CommandError, Cx};
use crate::commands::string_value::integer;
use crate::resp::{Args, ReplyBuf};

/// Arguments of the long form, the name of the command included.
const LIST_COUNT: std::ops::RangeInclusive<usize> = 6..=9;

/// What is listed.
struct List {
    idle_ms_min: u64,
    ids: (EntryId, EntryId),
    count: u64,
    consumer: Option<Bytes>,
}

impl List {
    fn parse(args: &Args) -> Result<Self, CommandError> {
        if !LIST_COUNT.contains(&args.len()) {
            return Err(CommandError::Syntax);
        }
        let (mut idle_ms_min, mut at) = (0, 3);
        if args[3].eq_ignore_ascii_case(b"idle") {
            idle_ms_min = integer(&args[4])?.max(0).unsigned_abs();
            if args.len() < 8 {
                return Err(CommandError::Syntax);
            }
            at += 2;
        }
        let count = integer(&args[at + 2])?.max(0).unsigned_abs();
        Ok(Self {
            idle_ms_min,
            ids: (start_id(&args[at])?, end_id(&args[at + 1])?),
            count,
            consumer: args.get(at + 3).cloned(),
        })
    }
}

/// `XPENDING key group [[IDLE min-idle-time] start end count [consumer]]`
pub(crate) async fn xpending(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let list = match args.len() {
        3 => None,
        _ => Some(List::parse(args)?),
    };
    let mut stream = open(found)?;
    let (stream, group) = group_of(&mut stream, (&args[1], &args[2]), "").await?;
    match list {
        None => summarize(stream, &group, reply).await,
        Some(list) => {
            let now_ms = cx.shared.clock.unix_ms();
            answer_list(stream, &group, &list, (now_ms, reply)).await
        }
    }
}

async fn summarize(
    stream: &mut Stream,
    group: &Group,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    reply.array(4);
    let count = stream.pending_count(group).await?;
    reply.integer(count.cast_signed());
    let Some((first, last)) = stream.pending_edges(group).await? else {
        reply.null();
        reply.null();
        reply.null_array();
        return Ok(());
    };
    answer_id(reply, first);
    answer_id(reply, last);
    let mut counts = Vec::new();
    for consumer in stream.consumers(group).await? {
        let count = stream.owned_count(group, &consumer).await?;
        if count > 0 {
            counts.push((consumer.name, count));
        }
    }
    reply.array(counts.len());
    for (name, count) in counts {
        reply.array(2);
        reply.bulk_bytes(name);
        reply.bulk(count.to_string().as_bytes());
    }
    Ok(())
}

async fn answer_list(
    stream: &mut Stream,
    group: &Group,
    list: &List,
    (now_ms, reply): (u64, &mut ReplyBuf),
) -> Result<(), CommandError> {
    let consumer = match &list.consumer {
        Some(name) => {
            let Some(consumer) = stream.consumer(group, name).await? else {
                reply.array(0);
                return Ok(());
            };
            Some(consumer)
        }
        None => None,
    };
    // all that is found is answered, unless it is too young
    let count_max = if list.idle_ms_min == 0 {
        list.count
    } else {
        u64::MAX
    };
    let range = (list.ids.0, list.ids.1, count_max);
    let mut walk = stream.walk_pending(group, consumer.as_ref(), range).await?;
    let mut found = Vec::new();
    'all: while (found.len() as u64) < list.count
        && let Some(next) = stream.next_pending(&mut walk).await?
    {
        for pending in next {
            let idle_ms = now_ms.saturating_sub(pending.delivered_ms);
            if idle_ms < list.idle_ms_min {
                continue;
            }
            found.push(pending);
            if found.len() as u64 == list.count {
                break 'all;
            }
        }
        stream.forget();
    }
    reply.array(found.len());
    for pending in &found {
        reply.array(4);
        answer_id(reply, pending.id);
        reply.bulk_bytes(stream.name_of(group, pending).await?);
        let idle_ms = now_ms.saturating_sub(pending.delivered_ms);
        reply.integer(idle_ms.cast_signed());
        reply.integer(pending.delivery_count.cast_signed());
    }
    Ok(())
}
