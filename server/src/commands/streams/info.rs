//! XINFO STREAM, GROUPS, CONSUMERS.
//!
//! Owns their replies. Must never write.

use bytes::Bytes;
use cellar_storage::Snapshot;

use super::groups::{bad_subcommand, no_group};
use super::range::answer_entries;
use super::{answer_entry, answer_id};
use crate::collections::stream::{Consumer, EntryId, Group, Stream};
use crate::collections::tree::Direction;
use crate::command::{CommandError, Cx, Pending};
use crate::commands::read::find;
use crate::commands::string_value::integer;
use crate::resp::{Args, ReplyBuf};

/// Entries, and pending ones of each group and consumer, that FULL shows where the client does not
/// say how many.
const FULL_COUNT: u64 = 10;

fn open(found: Option<Snapshot>) -> Result<Stream, CommandError> {
    Stream::open(found.ok_or(CommandError::NoSuchKey)?)
}

async fn find_stream(cx: &Cx, key: &Bytes) -> Result<Stream, CommandError> {
    open(find(cx, key).await?)
}

/// `XINFO STREAM key [FULL [COUNT count]]`
pub(crate) fn xinfo_stream(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let mut stream = find_stream(&cx, &args[2]).await?;
        match parse_full(&args)? {
            None => answer_short(&mut stream, &mut reply).await?,
            Some(count) => answer_full(&mut stream, count, &mut reply).await?,
        }
        Ok(reply)
    })
}

/// How many of everything FULL shows; nothing where it is not asked for.
fn parse_full(args: &Args) -> Result<Option<u64>, CommandError> {
    let is = |word: &[u8], name: &[u8]| word.eq_ignore_ascii_case(name);
    match &args[3..] {
        [] => Ok(None),
        [full] if is(full, b"full") => Ok(Some(FULL_COUNT)),
        [full, word, count] if is(full, b"full") && is(word, b"count") => {
            let count = u64::try_from(integer(count)?).unwrap_or(FULL_COUNT);
            Ok(Some(if count == 0 { u64::MAX } else { count }))
        }
        _ => Err(bad_subcommand(args)),
    }
}

fn label(reply: &mut ReplyBuf, name: &str) {
    reply.bulk(name.as_bytes());
}

fn number(reply: &mut ReplyBuf, name: &str, number: u64) {
    label(reply, name);
    reply.integer(number.cast_signed());
}

fn id(reply: &mut ReplyBuf, name: &str, id: EntryId) {
    label(reply, name);
    answer_id(reply, id);
}

fn optional(reply: &mut ReplyBuf, name: &str, value: Option<u64>) {
    label(reply, name);
    match value {
        Some(value) => reply.integer(value.cast_signed()),
        None => reply.null(),
    }
}

/// What both forms begin with: seven pairs.
async fn answer_head(stream: &mut Stream, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let node_count = stream.node_count().await?;
    number(reply, "length", stream.len());
    number(reply, "radix-tree-keys", node_count);
    // the nodes' keys and the root
    number(reply, "radix-tree-nodes", node_count + 1);
    id(reply, "last-generated-id", stream.last_id());
    id(reply, "max-deleted-entry-id", stream.max_deleted_id());
    number(reply, "entries-added", stream.entries_added());
    id(reply, "recorded-first-entry-id", stream.first_id());
    Ok(())
}

async fn answer_short(stream: &mut Stream, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.map(10);
    answer_head(stream, reply).await?;
    let group_count = stream.group_count().await?;
    number(reply, "groups", group_count);
    let last = stream.len().saturating_sub(1);
    for (name, rank) in [("first-entry", 0), ("last-entry", last)] {
        label(reply, name);
        match stream.entry_at(rank).await? {
            Some(entry) => answer_entry(reply, &entry),
            None => reply.null(),
        }
    }
    Ok(())
}

async fn answer_full(
    stream: &mut Stream,
    count: u64,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    reply.map(9);
    answer_head(stream, reply).await?;
    label(reply, "entries");
    let ranks = 0..stream.len().min(count);
    answer_entries(stream, ranks, Direction::Forward, reply).await?;
    label(reply, "groups");
    let groups = stream.groups().await?;
    reply.array(groups.len());
    for group in &groups {
        answer_group(stream, group, count, reply).await?;
    }
    Ok(())
}

async fn answer_group(
    stream: &mut Stream,
    group: &Group,
    count: u64,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    reply.map(7);
    label(reply, "name");
    reply.bulk(&group.name);
    id(reply, "last-delivered-id", group.last_id);
    optional(reply, "entries-read", group.entries_read);
    optional(reply, "lag", stream.lag(group));
    let pending_count = stream.pending_count(group).await?;
    number(reply, "pel-count", pending_count);
    label(reply, "pending");
    reply.array(pending_count.min(count) as usize);
    for pending in stream.pending_from(group, EntryId::ZERO, count).await? {
        reply.array(4);
        answer_id(reply, pending.id);
        reply.bulk_bytes(stream.name_of(group, &pending).await?);
        reply.integer(pending.delivered_ms.cast_signed());
        reply.integer(pending.delivery_count.cast_signed());
    }
    label(reply, "consumers");
    let consumers = stream.consumers(group).await?;
    reply.array(consumers.len());
    for consumer in &consumers {
        answer_consumer(stream, (group, consumer), count, reply).await?;
    }
    Ok(())
}

async fn answer_consumer(
    stream: &mut Stream,
    (group, consumer): (&Group, &Consumer),
    count: u64,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    reply.map(5);
    label(reply, "name");
    reply.bulk(&consumer.name);
    number(reply, "seen-time", consumer.seen_ms);
    label(reply, "active-time");
    reply.integer(consumer.active_ms.map_or(-1, u64::cast_signed));
    let pending_count = stream.owned_count(group, consumer).await?;
    number(reply, "pel-count", pending_count);
    label(reply, "pending");
    let ids = stream
        .owned_ids(group, consumer, (EntryId::ZERO, count))
        .await?;
    reply.array(ids.len());
    for id in ids {
        let pending = stream.pending(group, id).await?;
        let (delivered_ms, delivery_count) =
            pending.map_or((0, 0), |found| (found.delivered_ms, found.delivery_count));
        reply.array(3);
        answer_id(reply, id);
        reply.integer(delivered_ms.cast_signed());
        reply.integer(delivery_count.cast_signed());
    }
    tokio::task::yield_now().await;
    Ok(())
}

/// `XINFO GROUPS key`
pub(crate) fn xinfo_groups(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let mut stream = find_stream(&cx, &args[2]).await?;
        let groups = stream.groups().await?;
        reply.array(groups.len());
        for group in &groups {
            let consumer_count = stream.consumer_count(group).await?;
            let pending_count = stream.pending_count(group).await?;
            reply.map(6);
            label(&mut reply, "name");
            reply.bulk(&group.name);
            number(&mut reply, "consumers", consumer_count);
            number(&mut reply, "pending", pending_count);
            id(&mut reply, "last-delivered-id", group.last_id);
            optional(&mut reply, "entries-read", group.entries_read);
            optional(&mut reply, "lag", stream.lag(group));
        }
        Ok(reply)
    })
}

/// `XINFO CONSUMERS key group`
pub(crate) fn xinfo_consumers(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let mut stream = find_stream(&cx, &args[2]).await?;
        let group = stream.group(&args[3]).await?;
        let group = group.ok_or_else(|| no_group(&args[2], &args[3]))?;
        let now_ms = cx.shared.clock.unix_ms();
        let consumers = stream.consumers(&group).await?;
        reply.array(consumers.len());
        for consumer in &consumers {
            let pending_count = stream.owned_count(&group, consumer).await?;
            let active_ms = consumer.active_ms.map(|ms| now_ms.saturating_sub(ms));
            reply.map(4);
            label(&mut reply, "name");
            reply.bulk(&consumer.name);
            number(&mut reply, "pending", pending_count);
            let idle_ms = now_ms.saturating_sub(consumer.seen_ms);
            number(&mut reply, "idle", idle_ms);
            label(&mut reply, "inactive");
            reply.integer(active_ms.map_or(-1, u64::cast_signed));
        }
        Ok(reply)
    })
}
