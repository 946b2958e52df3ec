//! Groups and consumers of a stream.
//!
//! Owns that a consumer is found by its name and by its number.

use std::ops::Range;

use bytes::Bytes;

use super::run::Run;
use super::{Consumer, EntryId, Group, Pending, Stream};
use crate::collections::Malformed;
use crate::collections::pages::Pages;
use crate::collections::tree::Direction;
use crate::command::CommandError;

/// Ids that are taken from a consumer at a time when it is removed.
const REMOVED_AT_ONCE: u64 = 128;

/// The ranks of all items whose keys lie between two.
pub(super) async fn ranks_of(
    run: &Run,
    pages: &mut Pages,
    keys: &Range<Vec<u8>>,
) -> Result<Range<u64>, CommandError> {
    let start = run.rank(pages, &keys.start).await?;
    let end = run.rank(pages, &keys.end).await?;
    Ok(start..end.max(start))
}

impl Stream {
    /// The group with this name.
    pub(crate) async fn group(&mut self, name: &[u8]) -> Result<Option<Group>, CommandError> {
        let key = Group::key(name);
        let (_, found) = self.members.find(&mut self.pages, &key).await?;
        Ok(found.as_ref().map(Group::decode).transpose()?)
    }

    /// How many groups there are.
    pub(crate) async fn group_count(&mut self) -> Result<u64, CommandError> {
        let ranks = ranks_of(&self.members, &mut self.pages, &Group::all()).await?;
        Ok(ranks.end - ranks.start)
    }

    /// All groups, by name.
    pub(crate) async fn groups(&mut self) -> Result<Vec<Group>, CommandError> {
        let items = self.all_members(&Group::all()).await?;
        let groups = items.iter().map(Group::decode);
        Ok(groups.collect::<Result<_, _>>()?)
    }

    async fn all_members(&mut self, keys: &Range<Vec<u8>>) -> Result<Vec<Bytes>, CommandError> {
        let ranks = ranks_of(&self.members, &mut self.pages, keys).await?;
        let mut walk = self
            .members
            .walk(&mut self.pages, ranks, Direction::Forward)
            .await?;
        let mut all = Vec::new();
        while let Some(items) = walk.next(&mut self.pages).await? {
            all.extend(items);
        }
        Ok(all)
    }

    /// Creates a group; nothing where there is one with this name.
    pub(crate) async fn create_group(
        &mut self,
        name: &Bytes,
        last_id: EntryId,
        entries_read: Option<u64>,
    ) -> Result<Option<Group>, CommandError> {
        if self.group(name).await?.is_some() {
            return Ok(None);
        }
        let group = Group {
            name: name.clone(),
            number: self.head.next_group,
            last_id,
            entries_read,
            next_consumer: 0,
            top_pending: EntryId::ZERO,
        };
        let next = self.head.next_group.checked_add(1);
        self.head.next_group = next.ok_or_else(no_number_left)?;
        self.put_group(&group).await?;
        self.relieve().await?;
        Ok(Some(group))
    }

    /// Stores what has become of a group.
    pub(crate) async fn put_group(&mut self, group: &Group) -> Result<(), CommandError> {
        let (key, rest) = (Group::key(&group.name), group.encode());
        self.members.put(&mut self.pages, &key, &rest).await?;
        Ok(())
    }

    /// Removes a group with all that it has.
    pub(crate) async fn remove_group(&mut self, group: &Group) -> Result<(), CommandError> {
        let number = group.number;
        for keys in [Pending::all(number), Pending::all_owned_in(number)] {
            let ranks = ranks_of(&self.pending, &mut self.pages, &keys).await?;
            self.pending.remove(&mut self.pages, ranks).await?;
        }
        for keys in [Consumer::all(number), Consumer::all_names(number)] {
            let ranks = ranks_of(&self.members, &mut self.pages, &keys).await?;
            self.members.remove(&mut self.pages, ranks).await?;
        }
        let key = Group::key(&group.name);
        self.members.take(&mut self.pages, &key).await?;
        Ok(())
    }

    /// The consumer of a group with this name.
    pub(crate) async fn consumer(
        &mut self,
        group: &Group,
        name: &[u8],
    ) -> Result<Option<Consumer>, CommandError> {
        let key = Consumer::key(group.number, name);
        let (_, found) = self.members.find(&mut self.pages, &key).await?;
        Ok(found.as_ref().map(Consumer::decode).transpose()?)
    }

    /// How many consumers a group has.
    pub(crate) async fn consumer_count(&mut self, group: &Group) -> Result<u64, CommandError> {
        let keys = Consumer::all(group.number);
        let ranks = ranks_of(&self.members, &mut self.pages, &keys).await?;
        Ok(ranks.end - ranks.start)
    }

    /// All consumers of a group, by name.
    pub(crate) async fn consumers(&mut self, group: &Group) -> Result<Vec<Consumer>, CommandError> {
        let items = self.all_members(&Consumer::all(group.number)).await?;
        let consumers = items.iter().map(Consumer::decode);
        Ok(consumers.collect::<Result<_, _>>()?)
    }

    /// The name of a consumer.
    pub(crate) async fn name_of(
        &mut self,
        group: &Group,
        pending: &Pending,
    ) -> Result<Bytes, CommandError> {
        let key = Consumer::name_key(group.number, pending.consumer);
        let (_, found) = self.members.find(&mut self.pages, &key).await?;
        let found = found.ok_or(Malformed("a consumer of a stream that is not there"))?;
        Ok(found.slice(key.len()..))
    }

    /// Creates a consumer that is not there, and stores the group.
    pub(crate) async fn create_consumer(
        &mut self,
        group: &mut Group,
        name: &Bytes,
        now_ms: u64,
    ) -> Result<Consumer, CommandError> {
        let consumer = Consumer {
            name: name.clone(),
            number: group.next_consumer,
            seen_ms: now_ms,
            active_ms: None,
        };
        let next = group.next_consumer.checked_add(1);
        group.next_consumer = next.ok_or_else(no_number_left)?;
        self.put_group(group).await?;
        self.put_consumer(group, &consumer).await?;
        let key = Consumer::name_key(group.number, consumer.number);
        self.members.put(&mut self.pages, &key, name).await?;
        self.relieve().await?;
        Ok(consumer)
    }

    /// Stores what has become of a consumer.
    pub(crate) async fn put_consumer(
        &mut self,
        group: &Group,
        consumer: &Consumer,
    ) -> Result<(), CommandError> {
        let key = Consumer::key(group.number, &consumer.name);
        let rest = consumer.encode();
        self.members.put(&mut self.pages, &key, &rest).await?;
        Ok(())
    }

    /// Removes a consumer and what it has pending; how much that was.
    pub(crate) async fn remove_consumer(
        &mut self,
        group: &Group,
        consumer: &Consumer,
    ) -> Result<u64, CommandError> {
        let owned = Pending::all_owned(group.number, consumer.number);
        let mut removed = 0;
        loop {
            let ids = self
                .owned_ids(group, consumer, (EntryId::ZERO, REMOVED_AT_ONCE))
                .await?;
            if ids.is_empty() {
                break;
            }
            for id in &ids {
                let key = Pending::key(group.number, *id);
                self.pending.take(&mut self.pages, &key).await?;
            }
            let start = self.pending.rank(&mut self.pages, &owned.start).await?;
            let ranks = start..start + ids.len() as u64;
            self.pending.remove(&mut self.pages, ranks).await?;
            removed += ids.len() as u64;
            tokio::task::yield_now().await;
        }
        let key = Consumer::key(group.number, &consumer.name);
        self.members.take(&mut self.pages, &key).await?;
        let key = Consumer::name_key(group.number, consumer.number);
        self.members.take(&mut self.pages, &key).await?;
        Ok(removed)
    }
}

fn no_number_left() -> CommandError {
    CommandError::other("ERR the stream has had as many groups or consumers as one can have")
}
