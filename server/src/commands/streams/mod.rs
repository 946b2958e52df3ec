//! The commands on streams, by what they do.
//!
//! Owns how they reach the stream of a key, write it back, and answer an entry. Work on many
//! entries is done in portions, between which others get a turn.

mod ack;
mod add;
mod arguments;
mod claim;
mod delete;
mod groups;
mod info;
mod pending;
mod range;
mod read;
mod read_options;
mod trim;

pub(crate) use ack::xack;
pub(crate) use add::xadd;
pub(crate) use claim::{xautoclaim, xclaim};
pub(crate) use delete::{xdel, xsetid};
pub(crate) use groups::{
    xgroup_create, xgroup_createconsumer, xgroup_delconsumer, xgroup_destroy, xgroup_setid,
};
pub(crate) use info::{xinfo_consumers, xinfo_groups, xinfo_stream};
pub(crate) use pending::xpending;
pub(crate) use range::{xlen, xrange, xrevrange};
pub(crate) use read::{xread, xreadgroup};
pub(crate) use read_options::refuse_block;
pub(crate) use trim::xtrim;

use std::io::Write;

use bytes::Bytes;
use cellar_storage::{KeyLocks, Snapshot, WriteBatch};

use crate::collections::pace;
use crate::collections::stream::{Consumer, Entry, EntryId, Group, NodeLimits, Stream};
use crate::command::{CommandError, Cx};
use crate::config::Threshold;
use crate::events::EventClass;
use crate::resp::ReplyBuf;

/// Ids that a command handles before others get a turn: some microseconds each.
const IDS_PER_TURN: usize = 64;

/// The stream that a key holds.
fn open(found: Option<Snapshot>) -> Result<Option<Stream>, CommandError> {
    found.map(Stream::open).transpose()
}

/// The stream of a locked key.
async fn open_locked(
    cx: &Cx,
    locks: &KeyLocks,
    key: &[u8],
) -> Result<Option<Stream>, CommandError> {
    open(cx.store.get_locked(locks, cx.db(), key).await?)
}

/// Stores a changed stream under its key's lock.
async fn save(cx: &Cx, locks: &KeyLocks, key: &Bytes, stream: Stream) -> Result<(), CommandError> {
    let mut batch = WriteBatch::new();
    stream.put(&cx.store, &mut batch, (cx.db(), key)).await?;
    cx.store.commit_locked(locks, batch).await?;
    Ok(())
}

/// Tells of a change of a stream.
fn tell(cx: &Cx, event: &'static str, key: &[u8]) {
    cx.notify(EventClass::Stream, event, cx.db(), key);
}

/// How large the nodes of streams are.
fn node_limits(cx: &Cx) -> NodeLimits {
    let threshold = |which| cx.shared.config.fast.threshold(which).max(0).unsigned_abs();
    NodeLimits {
        entries: threshold(Threshold::StreamNodeEntries),
        bytes: threshold(Threshold::StreamNodeBytes),
    }
}

/// Lets others run after every so many ids.
async fn let_others_run(index: usize) {
    pace::every(IDS_PER_TURN, index).await;
}

/// Answers an id.
fn answer_id(reply: &mut ReplyBuf, id: EntryId) {
    // 20 digits twice and a dash
    let mut text = [0; 41];
    let mut rest = &mut text[..];
    write!(rest, "{id}").expect("an id fits");
    let left = rest.len();
    reply.bulk(&text[..text.len() - left]);
}

/// Answers an entry: its id, and its fields and values.
fn answer_entry(reply: &mut ReplyBuf, entry: &Entry) {
    reply.array(2);
    answer_id(reply, entry.id);
    reply.array(entry.len());
    for part in entry.parts() {
        reply.bulk_bytes(part);
    }
}

/// The consumer with this name, seen now; it is created where there is none. True: it was.
async fn see_consumer(
    cx: &Cx,
    stream: &mut Stream,
    group: &mut Group,
    name: &Bytes,
) -> Result<(Consumer, bool), CommandError> {
    let now_ms = cx.shared.clock.unix_ms();
    if let Some(mut consumer) = stream.consumer(group, name).await? {
        consumer.seen_ms = now_ms;
        return Ok((consumer, false));
    }
    let consumer = stream.create_consumer(group, name, now_ms).await?;
    Ok((consumer, true))
}

/// Tells that a consumer was created.
fn tell_consumer(cx: &Cx, key: &[u8]) {
    tell(cx, "xgroup-createconsumer", key);
}

/// The group of a stream that has to be there.
async fn group_of<'s>(
    stream: &'s mut Option<Stream>,
    (key, name): (&[u8], &[u8]),
    context: &str,
) -> Result<(&'s mut Stream, Group), CommandError> {
    if let Some(stream) = stream
        && let Some(group) = stream.group(name).await?
    {
        return Ok((stream, group));
    }
    let (key, name) = (String::from_utf8_lossy(key), String::from_utf8_lossy(name));
    Err(CommandError::other(format!(
        "NOGROUP No such key '{key}' or consumer group '{name}'{context}"
    )))
}
