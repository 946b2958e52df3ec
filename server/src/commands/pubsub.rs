//! SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE, their ends, PUBLISH, SPUBLISH and PUBSUB.
//!
//! Owns the confirmations. They go the way of messages, through the client's own inbox: so a
//! client reads them in order with its messages, and CLIENT REPLY does not keep them back.

use bytes::Bytes;

use crate::client::ClientFlag;
use crate::command::{CommandError, Cx};
use crate::keyspace::is_match;
use crate::pubsub::Kind;
use crate::resp::{Args, ReplyBuf};

/// `SUBSCRIBE channel [channel ...]`
pub fn subscribe(cx: &Cx, args: &Args, _: &mut ReplyBuf) -> Result<(), CommandError> {
    add(cx, Kind::Channel, &args[1..]);
    Ok(())
}

/// `PSUBSCRIBE pattern [pattern ...]`
pub fn psubscribe(cx: &Cx, args: &Args, _: &mut ReplyBuf) -> Result<(), CommandError> {
    add(cx, Kind::Pattern, &args[1..]);
    Ok(())
}

/// `SSUBSCRIBE shardchannel [shardchannel ...]`
pub fn ssubscribe(cx: &Cx, args: &Args, _: &mut ReplyBuf) -> Result<(), CommandError> {
    add(cx, Kind::Shard, &args[1..]);
    Ok(())
}

/// `UNSUBSCRIBE [channel [channel ...]]`
pub fn unsubscribe(cx: &Cx, args: &Args, _: &mut ReplyBuf) -> Result<(), CommandError> {
    remove(cx, Kind::Channel, &args[1..]);
    Ok(())
}

/// `PUNSUBSCRIBE [pattern [pattern ...]]`
pub fn punsubscribe(cx: &Cx, args: &Args, _: &mut ReplyBuf) -> Result<(), CommandError> {
    remove(cx, Kind::Pattern, &args[1..]);
    Ok(())
}

/// `SUNSUBSCRIBE [shardchannel [shardchannel ...]]`
pub fn sunsubscribe(cx: &Cx, args: &Args, _: &mut ReplyBuf) -> Result<(), CommandError> {
    remove(cx, Kind::Shard, &args[1..]);
    Ok(())
}

fn add(cx: &Cx, kind: Kind, names: &[Bytes]) {
    for name in names {
        // a copy: a slice would keep the whole read buffer in memory
        let name = Bytes::copy_from_slice(name);
        let subscriptions = cx.session.subscriptions();
        let is_new = subscriptions.borrow_mut().insert(kind, name.clone());
        note(cx);
        // before the first message of the channel
        confirm(cx, kind, kind.subscribed(), Some(&name));
        if is_new {
            cx.shared
                .channels
                .subscribe(kind, name, cx.session.client());
        }
    }
}

fn remove(cx: &Cx, kind: Kind, names: &[Bytes]) {
    let subscriptions = cx.session.subscriptions();
    let all;
    let names = if names.is_empty() {
        all = subscriptions.borrow().names(kind);
        if all.is_empty() {
            confirm(cx, kind, kind.unsubscribed(), None);
        }
        &all
    } else {
        names
    };
    for name in names {
        if subscriptions.borrow_mut().remove(kind, name) {
            let id = cx.session.id();
            cx.shared.channels.unsubscribe(kind, name, id);
        }
        note(cx);
        confirm(cx, kind, kind.unsubscribed(), Some(name));
    }
}

/// Ends all subscriptions of a client that goes or resets, and tells it nothing.
pub(crate) fn leave(cx: &Cx) {
    let subscriptions = cx.session.subscriptions().take();
    if subscriptions.is_empty() {
        return;
    }
    for kind in Kind::ALL {
        for name in subscriptions.names(kind) {
            let id = cx.session.id();
            cx.shared.channels.unsubscribe(kind, &name, id);
        }
    }
    note(cx);
}

/// Shows the client's subscriptions to others.
fn note(cx: &Cx) {
    let subscriptions = cx.session.subscriptions().borrow();
    let client = cx.session.client();
    client.note_subscriptions(&subscriptions);
    let is_any = !subscriptions.is_empty();
    client.flags().set(ClientFlag::Pubsub, is_any);
}

fn confirm(cx: &Cx, kind: Kind, word: &str, name: Option<&[u8]>) {
    let count = cx.session.subscriptions().borrow().told_count(kind);
    let mut push = cx.reply();
    push.push(3);
    push.bulk(word.as_bytes());
    match name {
        Some(name) => push.bulk(name),
        None => push.null(),
    }
    push.integer(count.cast_signed() as i64);
    cx.session.push(push.into_bytes());
}

/// `PUBLISH channel message`
pub fn publish(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let mut delivery = cx.delivery();
    let count = cx
        .shared
        .channels
        .publish(&args[1], &args[2], &mut delivery);
    reply.integer(count.cast_signed() as i64);
    Ok(())
}

/// `SPUBLISH shardchannel message`
pub fn spublish(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let mut delivery = cx.delivery();
    let count = cx
        .shared
        .channels
        .publish_shard(&args[1], &args[2], &mut delivery);
    reply.integer(count.cast_signed() as i64);
    Ok(())
}

/// `PUBSUB CHANNELS [pattern]`
pub fn channels(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    list(cx, args, reply, false)
}

/// `PUBSUB SHARDCHANNELS [pattern]`
pub fn shardchannels(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    list(cx, args, reply, true)
}

fn list(cx: &Cx, args: &Args, reply: &mut ReplyBuf, is_shard: bool) -> Result<(), CommandError> {
    if args.len() > 3 {
        return Err(wrong_arguments(args));
    }
    let pattern = args.get(2);
    let is_wanted = |name: &[u8]| pattern.is_none_or(|pattern| is_match(pattern, name));
    reply.bulk_array(&cx.shared.channels.list(is_shard, is_wanted));
    Ok(())
}

/// `PUBSUB NUMSUB [channel [channel ...]]`
pub fn numsub(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    count_subscribers(cx, args, reply, false);
    Ok(())
}

/// `PUBSUB SHARDNUMSUB [shardchannel [shardchannel ...]]`
pub fn shardnumsub(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    count_subscribers(cx, args, reply, true);
    Ok(())
}

fn count_subscribers(cx: &Cx, args: &Args, reply: &mut ReplyBuf, is_shard: bool) {
    reply.array((args.len() - 2) * 2);
    for name in &args[2..] {
        let count = cx.shared.channels.subscriber_count(is_shard, name);
        reply.bulk(name);
        reply.integer(count.cast_signed() as i64);
    }
}

/// `PUBSUB NUMPAT`
pub fn numpat(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let count = cx.shared.channels.count(Kind::Pattern);
    reply.integer(count.cast_signed() as i64);
    Ok(())
}

fn wrong_arguments(args: &Args) -> CommandError {
    let subcommand = String::from_utf8_lossy(&args[1]);
    CommandError::other(format!(
        "ERR unknown subcommand or wrong number of arguments for '{subcommand}'. Try PUBSUB HELP."
    ))
}
