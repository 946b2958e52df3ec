//! What is pending in the groups of a stream.
//!
//! Owns that a group and the consumer that has something pending agree on it.

use std::ops::Range;

use bytes::Bytes;

use super::groups::ranks_of;
use super::run::RunWalk;
use super::{Consumer, EntryId, Group, Pending, Stream};
use crate::collections::Malformed;
use crate::collections::tree::Direction;
use crate::command::CommandError;

/// What is pending, on its way out of a stream. It must not outlive a change of that.
pub(crate) struct PendingWalk {
    group: u32,
    walk: RunWalk,
    /// Whether the walk gives ids of a consumer, to be looked up.
    is_owned: bool,
}

impl Stream {
    /// What is pending in a group with this id.
    pub(crate) async fn pending(
        &mut self,
        group: &Group,
        id: EntryId,
    ) -> Result<Option<Pending>, CommandError> {
        self.pending_in(group.number, id).await
    }

    async fn pending_in(
        &mut self,
        group: u32,
        id: EntryId,
    ) -> Result<Option<Pending>, CommandError> {
        let key = Pending::key(group, id);
        let (_, found) = self.pending.find(&mut self.pages, &key).await?;
        Ok(found.as_ref().map(Pending::decode).transpose()?)
    }

    /// How much is pending in a group.
    pub(crate) async fn pending_count(&mut self, group: &Group) -> Result<u64, CommandError> {
        let keys = Pending::all(group.number);
        let ranks = ranks_of(&self.pending, &mut self.pages, &keys).await?;
        Ok(ranks.end - ranks.start)
    }

    /// The first and the last of what is pending in a group.
    pub(crate) async fn pending_edges(
        &mut self,
        group: &Group,
    ) -> Result<Option<(EntryId, EntryId)>, CommandError> {
        let keys = Pending::all(group.number);
        let ranks = ranks_of(&self.pending, &mut self.pages, &keys).await?;
        if ranks.is_empty() {
            return Ok(None);
        }
        let mut ids = [EntryId::ZERO; 2];
        for (id, rank) in ids.iter_mut().zip([ranks.start, ranks.end - 1]) {
            let item = self.pending.get(&mut self.pages, rank).await?;
            let item = item.ok_or(Malformed("the count of what is pending"))?;
            *id = Pending::decode(&item)?.id;
        }
        Ok(Some((ids[0], ids[1])))
    }

    /// How much a consumer has pending.
    pub(crate) async fn owned_count(
        &mut self,
        group: &Group,
        consumer: &Consumer,
    ) -> Result<u64, CommandError> {
        let keys = Pending::all_owned(group.number, consumer.number);
        let ranks = ranks_of(&self.pending, &mut self.pages, &keys).await?;
        Ok(ranks.end - ranks.start)
    }

    /// Makes an entry pending for a consumer, whatever consumer has had it. The caller stores what
    /// has become of the group.
    pub(crate) async fn deliver(
        &mut self,
        group: &mut Group,
        consumer: &Consumer,
        pending: &Pending,
    ) -> Result<(), CommandError> {
        let (number, id) = (group.number, pending.id);
        let old = if id > group.top_pending {
            None
        } else {
            self.pending_in(number, id).await?
        };
        group.top_pending = group.top_pending.max(id);
        let pending = Pending {
            consumer: consumer.number,
            ..*pending
        };
        let (key, rest) = (Pending::key(number, id), pending.encode());
        let pages = &mut self.pages;
        match old {
            None => self.pending.insert(pages, &key, &rest).await?,
            Some(old) => {
                self.pending.put(pages, &key, &rest).await?;
                if old.consumer == consumer.number {
                    return Ok(());
                }
                let key = Pending::owned_key(number, old.consumer, id);
                self.pending.take(pages, &key).await?;
            }
        }
        let key = Pending::owned_key(number, consumer.number, id);
        self.pending.insert(&mut self.pages, &key, &[]).await?;
        Ok(self.relieve().await?)
    }

    /// Removes what is pending. False: nothing is.
    pub(crate) async fn acknowledge(
        &mut self,
        group: &Group,
        id: EntryId,
    ) -> Result<bool, CommandError> {
        let key = Pending::key(group.number, id);
        let (rank, found) = self.pending.find(&mut self.pages, &key).await?;
        let Some(found) = found else {
            return Ok(false);
        };
        let owner = Pending::decode(&found)?.consumer;
        self.pending.remove(&mut self.pages, rank..rank + 1).await?;
        let key = Pending::owned_key(group.number, owner, id);
        self.pending.take(&mut self.pages, &key).await?;
        Ok(true)
    }

    /// Goes over what is pending from one id to another, both included, and at most so many: in a
    /// group, or for one of its consumers.
    pub(crate) async fn walk_pending(
        &mut self,
        group: &Group,
        consumer: Option<&Consumer>,
        (start, end, count): (EntryId, EntryId, u64),
    ) -> Result<PendingWalk, CommandError> {
        let number = group.number;
        let key = |id| match consumer {
            Some(consumer) => Pending::owned_key(number, consumer.number, id),
            None => Pending::key(number, id),
        };
        let behind = match (end.next(), consumer) {
            (Some(behind), _) => key(behind),
            (None, Some(consumer)) => Pending::all_owned(number, consumer.number).end,
            (None, None) => Pending::all(number).end,
        };
        let keys = key(start)..behind;
        let ranks = ranks_of(&self.pending, &mut self.pages, &keys).await?;
        let ranks = ranks.start..ranks.end.min(ranks.start.saturating_add(count));
        let walk = self
            .pending
            .walk(&mut self.pages, ranks, Direction::Forward)
            .await?;
        Ok(PendingWalk {
            group: number,
            walk,
            is_owned: consumer.is_some(),
        })
    }

    /// The next of what is pending; nothing in the end.
    pub(crate) async fn next_pending(
        &mut self,
        walk: &mut PendingWalk,
    ) -> Result<Option<Vec<Pending>>, CommandError> {
        let Some(items) = walk.walk.next(&mut self.pages).await? else {
            return Ok(None);
        };
        let mut found = Vec::with_capacity(items.len());
        for item in &items {
            let pending = if walk.is_owned {
                let id = Pending::decode_owned(item)?;
                let pending = self.pending_in(walk.group, id).await?;
                pending.ok_or(Malformed("what only a consumer has pending"))?
            } else {
                Pending::decode(item)?
            };
            found.push(pending);
        }
        Ok(Some(found))
    }

    /// Up to `count` of what is pending in a group, from an id on.
    pub(crate) async fn pending_from(
        &mut self,
        group: &Group,
        start: EntryId,
        count: u64,
    ) -> Result<Vec<Pending>, CommandError> {
        let keys = Pending::key(group.number, start)..Pending::all(group.number).end;
        let items = self.first_of(&keys, count).await?;
        let found = items.iter().map(Pending::decode);
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Up to `count` ids of what a consumer has pending, from an id on.
    pub(crate) async fn owned_ids(
        &mut self,
        group: &Group,
        consumer: &Consumer,
        (start, count): (EntryId, u64),
    ) -> Result<Vec<EntryId>, CommandError> {
        let keys = Pending::all_owned(group.number, consumer.number);
        let keys = Pending::owned_key(group.number, consumer.number, start)..keys.end;
        let items = self.first_of(&keys, count).await?;
        let ids = items.iter().map(Pending::decode_owned);
        Ok(ids.collect::<Result<_, _>>()?)
    }

    /// The first items whose keys lie between two.
    async fn first_of(
        &mut self,
        keys: &Range<Vec<u8>>,
        count: u64,
    ) -> Result<Vec<Bytes>, CommandError> {
        let ranks = ranks_of(&self.pending, &mut self.pages, keys).await?;
        let ranks = ranks.start..ranks.end.min(ranks.start.saturating_add(count));
        let mut walk = self
            .pending
            .walk(&mut self.pages, ranks, Direction::Forward)
            .await?;
        let mut found = Vec::new();
        while let Some(items) = walk.next(&mut self.pages).await? {
            found.extend(items);
        }
        Ok(found)
    }
}

impl Pending {
    /// An entry's first delivery, at `now_ms`.
    pub(crate) fn first(id: EntryId, now_ms: u64) -> Self {
        Self {
            id,
            consumer: 0,
            delivered_ms: now_ms,
            delivery_count: 1,
        }
    }

    /// The same entry's next delivery.
    #[must_use]
    pub(crate) fn again(self, now_ms: u64) -> Self {
        Self {
            delivered_ms: now_ms,
            delivery_count: self.delivery_count.saturating_add(1),
            ..self
        }
    }

    /// What an entry that is claimed without having been delivered counts as: as Redis has it,
    /// delivered once, ever so long ago.
    pub(crate) fn forced(id: EntryId) -> Self {
        Self::first(id, 0)
    }
}
