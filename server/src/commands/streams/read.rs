//! XREAD and XREADGROUP.
//!
//! Owns what they deliver; waiting is in `blocking`. Nobody takes anything from others but within a
//! group.

use std::cell::RefCell;

use bytes::Bytes;
use cellar_storage::{KeyLocks, ValueType, WriteBatch};

use super::read_options::{After, ReadOptions, Reader};
use super::{answer_entry, answer_id, group_of, open_locked, see_consumer, tell_consumer};
use crate::blocking::{Attempt, Served, Wish, serve};
use crate::collections::stream::{Consumer, EntryId, Group, Pending as Delivery, Stream};
use crate::collections::tree::Direction;
use crate::command::{CommandError, Cx, Pending};
use crate::resp::{Args, Protocol, ReplyBuf};

/// Ids of a consumer's history that are read at a time.
const HISTORY_AT_ONCE: u64 = 64;

/// What the client sees behind the error that ends its wait: what it waited for was there.
const IS_GONE: &str = ": it no longer exists";

/// `XREAD [COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]`
pub(crate) fn xread(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let read = Read::new(&args, false)?;
        if let Some(timeout_ms) = read.options.block_ms {
            return read.wait(&cx, timeout_ms).await;
        }
        let names: Vec<_> = read.keys().iter().map(|key| (cx.db(), &key[..])).collect();
        let locks = cx.store.lock_shared(&names).await;
        let mut streams = read.open(&cx, &locks).await?;
        for (key, stream) in read.keys().iter().zip(&streams) {
            cx.note_lookup(key, stream.is_some());
        }
        cx.linearized();
        let mut told = Told::new(&cx);
        read.answer(&mut streams, &mut told).await?;
        Ok(told.finish())
    })
}

/// `XREADGROUP GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK] STREAMS key
/// [key ...] id [id ...]`
pub(crate) fn xreadgroup(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let read = Read::new(&args, true)?;
        if let Some(timeout_ms) = read.options.block_ms {
            return read.wait(&cx, timeout_ms).await;
        }
        let names: Vec<_> = read.keys().iter().map(|key| (cx.db(), &key[..])).collect();
        let locks = cx.store.lock(&names).await;
        let told = read.consume(&cx, &locks, true).await?;
        Ok(told.finish())
    })
}

/// One command.
struct Read<'a> {
    args: &'a Args,
    options: ReadOptions,
    /// From where on each stream is read, once that is known.
    after: RefCell<Vec<After>>,
}

/// Streams that have something are told one after another.
struct Told {
    count: usize,
    entries: ReplyBuf,
    empty: ReplyBuf,
}

impl Told {
    fn new(cx: &Cx) -> Self {
        Self {
            count: 0,
            entries: cx.reply(),
            empty: cx.reply(),
        }
    }

    /// The next stream's key; an array of its entries follows.
    fn begin(&mut self, key: &[u8]) -> &mut ReplyBuf {
        self.count += 1;
        if self.entries.protocol() == Protocol::Resp2 {
            self.entries.array(2);
        }
        self.entries.bulk(key);
        &mut self.entries
    }

    fn finish(self) -> ReplyBuf {
        let mut reply = self.empty;
        if self.count == 0 {
            reply.null_array();
            return reply;
        }
        if reply.protocol() == Protocol::Resp2 {
            reply.array(self.count);
        } else {
            reply.map(self.count);
        }
        reply.append(self.entries);
        reply
    }
}

impl<'a> Read<'a> {
    fn new(args: &'a Args, is_group: bool) -> Result<Self, CommandError> {
        Ok(Self {
            args,
            options: ReadOptions::parse(args, is_group)?,
            after: RefCell::default(),
        })
    }

    fn keys(&self) -> &'a [Bytes] {
        &self.args[self.options.keys.clone()]
    }

    fn ids(&self) -> &'a [Bytes] {
        &self.args[self.options.keys.end..]
    }

    async fn wait(&self, cx: &Cx, timeout_ms: u64) -> Result<ReplyBuf, CommandError> {
        if cx.session.is_inner() {
            let name = String::from_utf8_lossy(&self.args[0]).to_ascii_lowercase();
            return Err(CommandError::other(format!(
                "ERR {name} command is not allowed with BLOCK option from scripts"
            )));
        }
        let is_group = self.options.reader.is_some();
        let wish = Wish {
            keys: self.keys(),
            destination: None,
            value_type: ValueType::Stream,
            timeout_ms,
            heeds_loss: is_group,
        };
        let served = serve(cx, &wish, async |attempt: &Attempt<'_>| {
            self.attempt(cx, attempt).await
        });
        let told = served.await?;
        Ok(told.unwrap_or_else(|| Told::new(cx)).finish())
    }

    async fn attempt(
        &self,
        cx: &Cx,
        attempt: &Attempt<'_>,
    ) -> Result<Option<Served<Told>>, CommandError> {
        let told = if self.options.reader.is_some() {
            let is_first = self.after.borrow().is_empty();
            let is_for_others = self.keys().iter().any(|key| attempt.is_for_others(key));
            if is_first && is_for_others && self.wants_only_new() {
                self.check_groups(cx, attempt.locks).await?;
                return Ok(None);
            }
            self.consume(cx, attempt.locks, is_first).await?
        } else {
            let mut streams = self.open(cx, attempt.locks).await?;
            let mut told = Told::new(cx);
            self.answer(&mut streams, &mut told).await?;
            told
        };
        Ok((told.count > 0).then_some(Served {
            value: told,
            emptied: None,
        }))
    }

    /// Makes sure that all groups are there; what they have is left to others.
    async fn check_groups(&self, cx: &Cx, locks: &KeyLocks) -> Result<(), CommandError> {
        let reader = self.options.reader.as_ref();
        let reader = reader.expect("XREADGROUP names a group");
        for key in self.keys() {
            find_group(cx, locks, (key, &reader.group), true).await?;
        }
        self.parse_ids()
    }

    fn wants_only_new(&self) -> bool {
        self.ids().iter().all(|id| &id[..] == b">")
    }

    fn parse_ids(&self) -> Result<(), CommandError> {
        let is_group = self.options.reader.is_some();
        let after = self.ids().iter().map(|id| After::parse(id, is_group));
        *self.after.borrow_mut() = after.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// From where on a stream is read without a group: `$` is what it has come to at first.
    fn after(&self, index: usize, stream: Option<&Stream>) -> Result<EntryId, CommandError> {
        let mut known = self.after.borrow_mut();
        if known.len() <= index {
            let after = match After::parse(&self.ids()[index], false)? {
                After::Last => After::Id(stream.map_or(EntryId::ZERO, Stream::last_id)),
                after @ (After::Delivered | After::Id(_)) => after,
            };
            known.push(after);
        }
        match known[index] {
            After::Id(id) => Ok(id),
            After::Last | After::Delivered => Err(CommandError::Syntax),
        }
    }

    /// The streams, without a group.
    async fn open(&self, cx: &Cx, locks: &KeyLocks) -> Result<Vec<Option<Stream>>, CommandError> {
        let mut streams = Vec::with_capacity(self.keys().len());
        for (index, key) in self.keys().iter().enumerate() {
            let stream = open_locked(cx, locks, key).await?;
            self.after(index, stream.as_ref())?;
            streams.push(stream);
        }
        Ok(streams)
    }

    /// Tells what streams have, without a group.
    async fn answer(
        &self,
        streams: &mut [Option<Stream>],
        told: &mut Told,
    ) -> Result<(), CommandError> {
        for (index, stream) in streams.iter_mut().enumerate() {
            let after = self.after(index, stream.as_ref())?;
            let (Some(stream), Some(start)) = (stream, after.next()) else {
                continue;
            };
            if stream.len() == 0 || after >= stream.last_id() {
                continue;
            }
            let ranks = stream.ranks(start, EntryId::MAX).await?;
            let ranks = ranks.start
                ..ranks
                    .end
                    .min(ranks.start.saturating_add(self.options.count));
            if !ranks.is_empty() {
                let reply = told.begin(&self.keys()[index]);
                super::range::answer_entries(stream, ranks, Direction::Forward, reply).await?;
            }
        }
        Ok(())
    }

    /// Delivers what streams have to a consumer. `is_first`: the consumer is seen although there is
    /// nothing for it.
    async fn consume(
        &self,
        cx: &Cx,
        locks: &KeyLocks,
        is_first: bool,
    ) -> Result<Told, CommandError> {
        let reader = self.options.reader.as_ref();
        let reader = reader.expect("XREADGROUP names a group");
        let mut streams = Vec::with_capacity(self.keys().len());
        for (key, id) in self.keys().iter().zip(self.ids()) {
            let (stream, group) = find_group(cx, locks, (key, &reader.group), is_first).await?;
            streams.push((stream, group, After::parse(id, true)?));
        }
        self.parse_ids()?;
        let (mut told, mut batch) = (Told::new(cx), WriteBatch::new());
        let mut created = Vec::new();
        for (index, (key, (stream, group, after))) in self.keys().iter().zip(streams).enumerate() {
            // a key that is named twice has changed
            let is_repeated = self.keys()[..index].contains(key);
            let (mut stream, mut group) = (stream, group);
            if is_repeated {
                cx.store
                    .commit_locked(locks, std::mem::take(&mut batch))
                    .await?;
                (stream, group) = find_group(cx, locks, (key, &reader.group), is_first).await?;
            }
            let name = &reader.consumer;
            let (consumer, is_new) = see_consumer(cx, &mut stream, &mut group, name).await?;
            let mut delivery = Deliveries {
                stream: &mut stream,
                group,
                consumer,
                now_ms: cx.shared.clock.unix_ms(),
                count: self.options.count,
            };
            let is_told = delivery.run((key, after), reader, &mut told).await?;
            if is_told || is_first {
                delivery.keep().await?;
                stream.put(&cx.store, &mut batch, (cx.db(), key)).await?;
                if is_new {
                    created.push(key);
                }
            }
        }
        cx.store.commit_locked(locks, batch).await?;
        for key in created {
            tell_consumer(cx, key);
        }
        Ok(told)
    }
}

/// The group that is read, and its stream.
async fn find_group(
    cx: &Cx,
    locks: &KeyLocks,
    (key, group): (&Bytes, &Bytes),
    is_first: bool,
) -> Result<(Stream, Group), CommandError> {
    let suffix = if is_first { "" } else { IS_GONE };
    let mut stream = match open_locked(cx, locks, key).await {
        Err(CommandError::WrongType) if !is_first => {
            let text = CommandError::WrongType.to_string();
            return Err(CommandError::other(text + ": the stream no longer exists"));
        }
        found => found?,
    };
    let context = format!(" in XREADGROUP with GROUP option{suffix}");
    let (_, group) = group_of(&mut stream, (key, group), &context).await?;
    let stream = stream.expect("a stream that has a group");
    Ok((stream, group))
}

/// What one stream delivers to a consumer.
struct Deliveries<'s> {
    stream: &'s mut Stream,
    group: Group,
    consumer: Consumer,
    now_ms: u64,
    count: u64,
}

impl Deliveries<'_> {
    /// Tells what there is. False: nothing.
    async fn run(
        &mut self,
        (key, after): (&Bytes, After),
        reader: &Reader,
        told: &mut Told,
    ) -> Result<bool, CommandError> {
        match after {
            After::Id(id) => {
                self.history(id, told.begin(key)).await?;
                Ok(true)
            }
            After::Delivered | After::Last => self.news(key, reader.no_ack, told).await,
        }
    }

    /// Delivers entries that the group was not offered yet.
    async fn news(
        &mut self,
        key: &Bytes,
        no_ack: bool,
        told: &mut Told,
    ) -> Result<bool, CommandError> {
        let last = self.group.last_id;
        let Some(start) = last.next().filter(|_| last < self.stream.last_id()) else {
            return Ok(false);
        };
        let ranks = self.stream.ranks(start, EntryId::MAX).await?;
        let ranks = ranks.start..ranks.end.min(ranks.start.saturating_add(self.count));
        if ranks.is_empty() {
            return Ok(false);
        }
        let reply = told.begin(key);
        reply.array((ranks.end - ranks.start) as usize);
        let mut entries = self.stream.entries(ranks, Direction::Forward).await?;
        while let Some(next) = self.stream.next(&mut entries).await? {
            for entry in &next {
                self.stream.note_delivered(&mut self.group, entry.id);
                answer_entry(reply, entry);
                if !no_ack {
                    let pending = Delivery::first(entry.id, self.now_ms);
                    self.deliver(&pending).await?;
                    self.consumer.active_ms = Some(self.now_ms);
                }
            }
            tokio::task::yield_now().await;
        }
        Ok(true)
    }

    async fn deliver(&mut self, pending: &Delivery) -> Result<(), CommandError> {
        self.stream
            .deliver(&mut self.group, &self.consumer, pending)
            .await
    }

    /// Delivers again what the consumer has pending behind an id.
    async fn history(&mut self, after: EntryId, reply: &mut ReplyBuf) -> Result<(), CommandError> {
        let mut next = after.next();
        let mut left = self.count;
        let mut body = ReplyBuf::new(reply.protocol());
        let mut count = 0;
        while let Some(start) = next.filter(|_| left > 0) {
            let wanted = (start, left.min(HISTORY_AT_ONCE));
            let ids = self
                .stream
                .owned_ids(&self.group, &self.consumer, wanted)
                .await?;
            for id in &ids {
                self.tell_again(*id, &mut body).await?;
            }
            left -= ids.len() as u64;
            count += ids.len();
            next = ids.last().and_then(|last| last.next());
            tokio::task::yield_now().await;
        }
        reply.array(count);
        reply.append(body);
        Ok(())
    }

    /// Tells of an entry that is pending; of one that is gone, that it is.
    async fn tell_again(&mut self, id: EntryId, reply: &mut ReplyBuf) -> Result<(), CommandError> {
        let Some(entry) = self.stream.entry(id).await? else {
            reply.array(2);
            answer_id(reply, id);
            reply.null_array();
            return Ok(());
        };
        answer_entry(reply, &entry);
        let Some(old) = self.stream.pending(&self.group, id).await? else {
            return Ok(());
        };
        self.deliver(&old.again(self.now_ms)).await
    }

    /// Stores what has become of the group and the consumer.
    async fn keep(self) -> Result<(), CommandError> {
        self.stream.put_group(&self.group).await?;
        self.stream.put_consumer(&self.group, &self.consumer).await
    }
}
