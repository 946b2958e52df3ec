//! XCLAIM and XAUTOCLAIM: what is pending for one consumer becomes pending for another.
//!
//! Owns their arguments and which deliveries change hands. What is pending of an entry that is gone
//! from the stream is removed.

use bytes::Bytes;
use cellar_storage::KeyLocks;

use super::arguments::{start_id, strict_id};
use super::{
    answer_entry, answer_id, group_of, let_others_run, open, save, see_consumer, tell_consumer,
};
use crate::collections::stream::{Consumer, Entry, EntryId, Group, Pending, Stream};
use crate::command::{CommandError, Cx};
use crate::commands::access::Locked;
use crate::number::parse_i64;
use crate::resp::{Args, ReplyBuf};

/// Deliveries that XAUTOCLAIM looks at for each that it may answer.
const LOOKS_PER_CLAIM: u64 = 10;

/// What XAUTOCLAIM answers at most, where the client does not say.
const AUTOCLAIM_COUNT: u64 = 100;

/// What the client may say: so many ids have a size in bytes.
const AUTOCLAIM_COUNT_MAX: i64 = i64::MAX / 16;

/// Deliveries that XAUTOCLAIM reads at a time.
const READ_AT_ONCE: u64 = 64;

/// How deliveries change.
struct Terms {
    idle_ms_min: u64,
    /// When they count as delivered.
    delivered_ms: u64,
    /// How often they count as delivered.
    delivery_count: Option<u64>,
    /// Whether what is not pending becomes so.
    is_forced: bool,
    /// Whether ids are answered and nothing counts as a delivery.
    is_just_id: bool,
}

/// A group whose deliveries one of its consumers claims.
struct Claims<'s> {
    stream: &'s mut Stream,
    group: Group,
    consumer: Consumer,
    is_new_consumer: bool,
    now_ms: u64,
}

impl<'s> Claims<'s> {
    async fn begin(
        cx: &Cx,
        (stream, mut group): (&'s mut Stream, Group),
        name: &Bytes,
    ) -> Result<Self, CommandError> {
        let (consumer, is_new_consumer) = see_consumer(cx, stream, &mut group, name).await?;
        Ok(Self {
            stream,
            group,
            consumer,
            is_new_consumer,
            now_ms: cx.shared.clock.unix_ms(),
        })
    }

    /// Claims one delivery of an entry that is there. False: it was delivered too recently.
    async fn claim(&mut self, mut pending: Pending, terms: &Terms) -> Result<bool, CommandError> {
        if self.now_ms.saturating_sub(pending.delivered_ms) < terms.idle_ms_min {
            return Ok(false);
        }
        pending.delivered_ms = terms.delivered_ms;
        match terms.delivery_count {
            Some(count) => pending.delivery_count = count,
            None if terms.is_just_id => {}
            None => pending.delivery_count = pending.delivery_count.saturating_add(1),
        }
        self.stream
            .deliver(&mut self.group, &self.consumer, &pending)
            .await?;
        self.consumer.active_ms = Some(self.now_ms);
        Ok(true)
    }

    /// Stores what has become of the group and the consumer.
    async fn keep(self) -> Result<bool, CommandError> {
        self.stream.put_group(&self.group).await?;
        self.stream
            .put_consumer(&self.group, &self.consumer)
            .await?;
        Ok(self.is_new_consumer)
    }
}

/// Stores the stream and tells of a consumer that was created.
async fn finish(
    cx: &Cx,
    (locks, key): (&KeyLocks, &Bytes),
    (stream, is_new_consumer): (Option<Stream>, bool),
) -> Result<(), CommandError> {
    let stream = stream.expect("a stream with a group");
    save(cx, locks, key, stream).await?;
    if is_new_consumer {
        tell_consumer(cx, key);
    }
    Ok(())
}

fn answer(reply: &mut ReplyBuf, entry: &Entry, terms: &Terms) {
    if terms.is_just_id {
        answer_id(reply, entry.id);
    } else {
        answer_entry(reply, entry);
    }
}

fn parse_idle(text: &[u8], complaint: &'static str) -> Result<u64, CommandError> {
    let idle = parse_i64(text).ok_or_else(|| CommandError::other(complaint))?;
    Ok(idle.max(0).unsigned_abs())
}

/// The options of XCLAIM, which follow its ids.
struct ClaimOptions {
    ids: Vec<EntryId>,
    terms: Terms,
    last_id: EntryId,
}

impl ClaimOptions {
    fn parse(args: &Args, now_ms: u64) -> Result<Self, CommandError> {
        let complaint = "ERR Invalid min-idle-time argument for XCLAIM";
        let mut terms = Terms {
            idle_ms_min: parse_idle(&args[4], complaint)?,
            delivered_ms: now_ms,
            delivery_count: None,
            is_forced: false,
            is_just_id: false,
        };
        let ids = args[5..].iter().map_while(|text| strict_id(text, 0).ok());
        let ids: Vec<EntryId> = ids.collect();
        let mut last_id = EntryId::ZERO;
        let mut rest = args[5 + ids.len()..].iter();
        while let Some(word) = rest.next() {
            if word.eq_ignore_ascii_case(b"force") {
                terms.is_forced = true;
                continue;
            } else if word.eq_ignore_ascii_case(b"justid") {
                terms.is_just_id = true;
                continue;
            }
            let value = rest.as_slice().first();
            let value = value.ok_or_else(|| unrecognized(word))?;
            terms.take(word, value, now_ms, &mut last_id)?;
            rest.next();
        }
        Ok(Self {
            ids,
            terms,
            last_id,
        })
    }
}

impl Terms {
    /// Takes an option that has a value.
    fn take(
        &mut self,
        word: &[u8],
        value: &[u8],
        now_ms: u64,
        last_id: &mut EntryId,
    ) -> Result<(), CommandError> {
        let number = |complaint| parse_i64(value).ok_or_else(|| CommandError::other(complaint));
        // a time in the future, or before all times, is a client's bad arithmetic
        let sane = |ms: Option<u64>| ms.filter(|ms| *ms <= now_ms).unwrap_or(now_ms);
        if word.eq_ignore_ascii_case(b"idle") {
            let idle_ms = number("ERR Invalid IDLE option argument for XCLAIM")?;
            let since = now_ms.cast_signed().checked_sub(idle_ms);
            self.delivered_ms = sane(since.and_then(|ms| u64::try_from(ms).ok()));
        } else if word.eq_ignore_ascii_case(b"time") {
            let ms = number("ERR Invalid TIME option argument for XCLAIM")?;
            self.delivered_ms = sane(u64::try_from(ms).ok());
        } else if word.eq_ignore_ascii_case(b"retrycount") {
            let count = number("ERR Invalid RETRYCOUNT option argument for XCLAIM")?;
            self.delivery_count = u64::try_from(count).ok();
        } else if word.eq_ignore_ascii_case(b"lastid") {
            *last_id = strict_id(value, 0)?;
        } else {
            return Err(unrecognized(word));
        }
        Ok(())
    }
}

fn unrecognized(word: &[u8]) -> CommandError {
    let word = String::from_utf8_lossy(word);
    CommandError::other(format!("ERR Unrecognized XCLAIM option '{word}'"))
}

/// `XCLAIM key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds]
/// [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]`
pub(crate) async fn xclaim(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let mut found = open(at.found)?;
    let (stream, mut group) = group_of(&mut found, (&args[1], &args[2]), "").await?;
    let options = ClaimOptions::parse(args, cx.shared.clock.unix_ms())?;
    group.last_id = group.last_id.max(options.last_id);
    let mut claims = Claims::begin(cx, (stream, group), &args[3]).await?;
    let mut claimed = Vec::new();
    for (index, id) in options.ids.iter().enumerate() {
        claimed.extend(claim_one(&mut claims, *id, &options.terms).await?);
        let_others_run(index).await;
    }
    let is_new_consumer = claims.keep().await?;
    finish(cx, (at.locks, &args[1]), (found, is_new_consumer)).await?;
    reply.array(claimed.len());
    for entry in &claimed {
        answer(reply, entry, &options.terms);
    }
    Ok(())
}

/// Claims the delivery of one entry, if there is one: the entry.
async fn claim_one(
    claims: &mut Claims<'_>,
    id: EntryId,
    terms: &Terms,
) -> Result<Option<Entry>, CommandError> {
    let Some(entry) = claims.stream.entry(id).await? else {
        claims.stream.acknowledge(&claims.group, id).await?;
        return Ok(None);
    };
    let pending = match claims.stream.pending(&claims.group, id).await? {
        Some(pending) => pending,
        None if terms.is_forced => Pending::forced(id),
        None => return Ok(None),
    };
    let is_claimed = claims.claim(pending, terms).await?;
    Ok(is_claimed.then_some(entry))
}

/// `XAUTOCLAIM key group consumer min-idle-time start [COUNT count] [JUSTID]`
pub(crate) async fn xautoclaim(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let (start, count, terms) = parse_autoclaim(args, cx.shared.clock.unix_ms())?;
    let mut found = open(at.found)?;
    let (stream, group) = group_of(&mut found, (&args[1], &args[2]), "").await?;
    let mut claims = Claims::begin(cx, (stream, group), &args[3]).await?;
    let mut sweep = Sweep {
        next: Some(start),
        looks: count.saturating_mul(LOOKS_PER_CLAIM),
        left: count,
        claimed: Vec::new(),
        gone: Vec::new(),
    };
    sweep.run(&mut claims, &terms).await?;
    let is_new_consumer = claims.keep().await?;
    finish(cx, (at.locks, &args[1]), (found, is_new_consumer)).await?;
    reply.array(3);
    answer_id(reply, sweep.next.unwrap_or(EntryId::ZERO));
    reply.array(sweep.claimed.len());
    for entry in &sweep.claimed {
        answer(reply, entry, &terms);
    }
    reply.array(sweep.gone.len());
    for id in &sweep.gone {
        answer_id(reply, *id);
    }
    Ok(())
}

fn parse_autoclaim(args: &Args, now_ms: u64) -> Result<(EntryId, u64, Terms), CommandError> {
    let complaint = "ERR Invalid min-idle-time argument for XAUTOCLAIM";
    let mut terms = Terms {
        idle_ms_min: parse_idle(&args[4], complaint)?,
        delivered_ms: now_ms,
        delivery_count: None,
        is_forced: false,
        is_just_id: false,
    };
    let start = start_id(&args[5])?;
    let mut count = AUTOCLAIM_COUNT;
    let mut rest = args[6..].iter();
    while let Some(word) = rest.next() {
        if word.eq_ignore_ascii_case(b"count")
            && let Some(value) = rest.next()
        {
            let value = parse_i64(value).filter(|value| (1..=AUTOCLAIM_COUNT_MAX).contains(value));
            let value = value.ok_or_else(|| CommandError::other("ERR COUNT must be > 0"))?;
            count = value.unsigned_abs();
        } else if word.eq_ignore_ascii_case(b"justid") {
            terms.is_just_id = true;
        } else {
            return Err(CommandError::Syntax);
        }
    }
    Ok((start, count, terms))
}

/// XAUTOCLAIM on its way through what is pending.
struct Sweep {
    /// Where to go on: nothing at the end.
    next: Option<EntryId>,
    /// Deliveries to look at, at most.
    looks: u64,
    /// Ids to answer, at most.
    left: u64,
    claimed: Vec<Entry>,
    gone: Vec<EntryId>,
}

impl Sweep {
    async fn run(&mut self, claims: &mut Claims<'_>, terms: &Terms) -> Result<(), CommandError> {
        while let Some(start) = self.next {
            // one more than may be looked at, to know where to go on
            let wanted = self.looks.saturating_add(1).min(READ_AT_ONCE);
            let next = claims
                .stream
                .pending_from(&claims.group, start, wanted)
                .await?;
            let is_end = (next.len() as u64) < wanted;
            for pending in next {
                self.next = Some(pending.id);
                if self.looks == 0 || self.left == 0 {
                    return Ok(());
                }
                self.looks -= 1;
                self.look(claims, pending, terms).await?;
                self.next = pending.id.next();
            }
            if is_end {
                self.next = None;
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn look(
        &mut self,
        claims: &mut Claims<'_>,
        pending: Pending,
        terms: &Terms,
    ) -> Result<(), CommandError> {
        let Some(entry) = claims.stream.entry(pending.id).await? else {
            claims.stream.acknowledge(&claims.group, pending.id).await?;
            self.gone.push(pending.id);
            self.left -= 1;
            return Ok(());
        };
        if claims.claim(pending, terms).await? {
            self.claimed.push(entry);
            self.left -= 1;
        }
        Ok(())
    }
}
