//! Groups, their consumers and what these have pending, as items of two runs.
//!
//! ```text
//! members  1, group, consumer              name
//!          2, group's name                 group, last id, entries read, next consumer, top
//!          3, group, consumer's name       consumer, seen, active
//! pending  1, group, id                    consumer, delivered, deliveries
//!          2, group, consumer, id
//! ```
//!
//! Left is an item's key, in which groups and consumers are numbers whose bytes sort; right what
//! is kept under it. A group's *top* is the greatest id that was ever pending in it, so that what
//! is new need not be looked for. Groups and consumers have numbers, so that what is pending names
//! neither; none is given twice. Owns that layout.

use std::ops::Range;

use bytes::Bytes;

use super::EntryId;
use super::cut::{Cut, push_name};
use crate::collections::Malformed;

/// Kinds of keys among members.
const CONSUMER_NAME: u8 = 1;
const GROUP: u8 = 2;
const CONSUMER: u8 = 3;

/// Kinds of keys among what is pending.
const PENDING: u8 = 1;
const OWNED: u8 = 2;

/// A consumer group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// What clients call it.
    pub(crate) name: Bytes,
    pub(super) number: u32,
    /// The last entry that was delivered to any of its consumers.
    pub(crate) last_id: EntryId,
    /// How many entries were delivered, as far as that is known.
    pub(crate) entries_read: Option<u64>,
    pub(super) next_consumer: u32,
    /// Nothing behind it is pending.
    pub(super) top_pending: EntryId,
}

/// A consumer of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Consumer {
    /// What clients call it.
    pub(crate) name: Bytes,
    pub(super) number: u32,
    /// When it last tried to get something, in milliseconds since the Unix epoch.
    pub(crate) seen_ms: u64,
    /// When it last got something.
    pub(crate) active_ms: Option<u64>,
}

/// An entry that was delivered and not acknowledged. It may be gone from the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The entry's id.
    pub(crate) id: EntryId,
    pub(super) consumer: u32,
    /// When it was last delivered, in milliseconds since the Unix epoch.
    pub(crate) delivered_ms: u64,
    /// How often it was delivered.
    pub(crate) delivery_count: u64,
}

fn prefix(kind: u8, numbers: &[u32]) -> Vec<u8> {
    let mut key = vec![kind];
    for number in numbers {
        key.extend_from_slice(&number.to_be_bytes());
    }
    key
}

/// All keys that begin with a prefix: it, and the first one behind them.
fn all_of(kind: u8, numbers: &[u32]) -> Range<Vec<u8>> {
    let start = prefix(kind, numbers);
    let mut end = start.clone();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            break;
        }
    }
    start..end
}

impl Group {
    pub(super) fn key(name: &[u8]) -> Vec<u8> {
        let mut key = prefix(GROUP, &[]);
        push_name(&mut key, name);
        key
    }

    /// The keys of all groups.
    pub(super) fn all() -> Range<Vec<u8>> {
        all_of(GROUP, &[])
    }

    /// What is kept under the key.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut rest = self.number.to_le_bytes().to_vec();
        rest.extend_from_slice(&self.last_id.encode());
        rest.extend_from_slice(&self.entries_read.unwrap_or(u64::MAX).to_le_bytes());
        rest.extend_from_slice(&self.next_consumer.to_le_bytes());
        rest.extend_from_slice(&self.top_pending.encode());
        rest
    }

    pub(super) fn decode(item: &Bytes) -> Result<Self, Malformed> {
        let mut cut = Cut::new(item, Malformed("a group of a stream"));
        cut.u8()?;
        let group = Self {
            name: cut.name()?,
            number: cut.u32()?,
            last_id: cut.id()?,
            entries_read: cut.optional_u64()?,
            next_consumer: cut.u32()?,
            top_pending: cut.id()?,
        };
        cut.end()?;
        Ok(group)
    }
}

impl Consumer {
    pub(super) fn key(group: u32, name: &[u8]) -> Vec<u8> {
        let mut key = prefix(CONSUMER, &[group]);
        push_name(&mut key, name);
        key
    }

    /// The keys of all consumers of a group.
    pub(super) fn all(group: u32) -> Range<Vec<u8>> {
        all_of(CONSUMER, &[group])
    }

    /// The key of a consumer's name.
    pub(super) fn name_key(group: u32, consumer: u32) -> Vec<u8> {
        prefix(CONSUMER_NAME, &[group, consumer])
    }

    /// The keys of all names of a group's consumers.
    pub(super) fn all_names(group: u32) -> Range<Vec<u8>> {
        all_of(CONSUMER_NAME, &[group])
    }

    /// What is kept under the key.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut rest = self.number.to_le_bytes().to_vec();
        rest.extend_from_slice(&self.seen_ms.to_le_bytes());
        rest.extend_from_slice(&self.active_ms.unwrap_or(u64::MAX).to_le_bytes());
        rest
    }

    pub(super) fn decode(item: &Bytes) -> Result<Self, Malformed> {
        let mut cut = Cut::new(item, Malformed("a consumer of a stream"));
        cut.u8()?;
        cut.ordered_u32()?;
        let consumer = Self {
            name: cut.name()?,
            number: cut.u32()?,
            seen_ms: cut.u64()?,
            active_ms: cut.optional_u64()?,
        };
        cut.end()?;
        Ok(consumer)
    }
}

impl Pending {
    pub(super) fn key(group: u32, id: EntryId) -> Vec<u8> {
        let mut key = prefix(PENDING, &[group]);
        key.extend_from_slice(&id.encode());
        key
    }

    /// The keys of all that is pending in a group.
    pub(super) fn all(group: u32) -> Range<Vec<u8>> {
        all_of(PENDING, &[group])
    }

    /// The key by which a consumer finds that something is pending for it.
    pub(super) fn owned_key(group: u32, consumer: u32, id: EntryId) -> Vec<u8> {
        let mut key = prefix(OWNED, &[group, consumer]);
        key.extend_from_slice(&id.encode());
        key
    }

    /// The keys of all that is pending for a consumer.
    pub(super) fn all_owned(group: u32, consumer: u32) -> Range<Vec<u8>> {
        all_of(OWNED, &[group, consumer])
    }

    /// The keys of all that is pending for any consumer of a group.
    pub(super) fn all_owned_in(group: u32) -> Range<Vec<u8>> {
        all_of(OWNED, &[group])
    }

    /// The id in a consumer's key.
    pub(super) fn decode_owned(item: &Bytes) -> Result<EntryId, Malformed> {
        let mut cut = Cut::new(item, Malformed("what a consumer of a stream has pending"));
        cut.u8()?;
        cut.ordered_u32()?;
        cut.ordered_u32()?;
        let id = cut.id()?;
        cut.end()?;
        Ok(id)
    }

    /// What is kept under the key.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut rest = self.consumer.to_le_bytes().to_vec();
        rest.extend_from_slice(&self.delivered_ms.to_le_bytes());
        rest.extend_from_slice(&self.delivery_count.to_le_bytes());
        rest
    }

    pub(super) fn decode(item: &Bytes) -> Result<Self, Malformed> {
        let mut cut = Cut::new(item, Malformed("what is pending in a stream"));
        cut.u8()?;
        cut.ordered_u32()?;
        let pending = Self {
            id: cut.id()?,
            consumer: cut.u32()?,
            delivered_ms: cut.u64()?,
            delivery_count: cut.u64()?,
        };
        cut.end()?;
        Ok(pending)
    }
}
