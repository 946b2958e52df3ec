//! The entries of a stream: adding, finding, removing.
//!
//! Owns that the head's first id and nodes follow the entries.

use std::ops::Range;

use bytes::Bytes;

use super::entry::{Entry, encode_entry};
use super::run::RunWalk;
use super::{EntryId, NodeLimits, Stream};
use crate::collections::tree::Direction;
use crate::command::CommandError;

/// Entries on the way out of a stream. They must not outlive a change of it.
pub(crate) struct Entries(RunWalk);

impl Stream {
    /// Adds an entry behind all others; its id is greater than the last one. `parts` are its
    /// fields and values in turn.
    pub(crate) async fn append(
        &mut self,
        id: EntryId,
        parts: &[Bytes],
        limits: NodeLimits,
    ) -> Result<(), CommandError> {
        assert!(id > self.head.last_id, "ids rise");
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        let node = self.head.last_node.admit(bytes, limits);
        let item = encode_entry(id, node, parts);
        if self.len() == 0 {
            self.head.first_id = id;
        }
        self.entries.push(&mut self.pages, &item).await?;
        self.head.last_id = id;
        self.head.entries_added = self.head.entries_added.saturating_add(1);
        Ok(())
    }

    /// The ranks of the entries from one id to another, both included.
    pub(crate) async fn ranks(
        &mut self,
        start: EntryId,
        end: EntryId,
    ) -> Result<Range<u64>, CommandError> {
        let start = self.rank(start).await?;
        let end = match end.next() {
            Some(behind) if behind <= self.head.last_id => self.rank(behind).await?,
            Some(_) | None => self.len(),
        };
        Ok(start..end.max(start))
    }

    /// How many entries have an id before this one.
    pub(super) async fn rank(&mut self, id: EntryId) -> Result<u64, CommandError> {
        if id <= self.head.first_id {
            return Ok(0);
        }
        if id > self.head.last_id {
            return Ok(self.len());
        }
        Ok(self.entries.rank(&mut self.pages, &id.encode()).await?)
    }

    /// The entries of these ranks.
    pub(crate) async fn entries(
        &mut self,
        ranks: Range<u64>,
        direction: Direction,
    ) -> Result<Entries, CommandError> {
        let walk = self.entries.walk(&mut self.pages, ranks, direction);
        Ok(Entries(walk.await?))
    }

    /// The next entries; nothing in the end.
    pub(crate) async fn next(
        &mut self,
        entries: &mut Entries,
    ) -> Result<Option<Vec<Entry>>, CommandError> {
        let Some(items) = entries.0.next(&mut self.pages).await? else {
            return Ok(None);
        };
        let entries = items.iter().map(Entry::decode);
        Ok(Some(entries.collect::<Result<_, _>>()?))
    }

    /// Lets go of pages that were only read.
    pub(crate) fn forget(&mut self) {
        self.pages.forget();
    }

    /// The entry with this id.
    pub(crate) async fn entry(&mut self, id: EntryId) -> Result<Option<Entry>, CommandError> {
        let (_, found) = self.entries.find(&mut self.pages, &id.encode()).await?;
        Ok(found.as_ref().map(Entry::decode).transpose()?)
    }

    /// The entry of a rank.
    pub(crate) async fn entry_at(&mut self, rank: u64) -> Result<Option<Entry>, CommandError> {
        let found = self.entries.get(&mut self.pages, rank).await?;
        Ok(found.as_ref().map(Entry::decode).transpose()?)
    }

    /// The id of the last entry that is there.
    pub(crate) async fn top_id(&mut self) -> Result<Option<EntryId>, CommandError> {
        let Some(last) = self.len().checked_sub(1) else {
            return Ok(None);
        };
        Ok(self.entry_at(last).await?.map(|entry| entry.id))
    }

    /// Removes an entry by its id. False: there is none.
    pub(crate) async fn remove(&mut self, id: EntryId) -> Result<bool, CommandError> {
        let (rank, found) = self.entries.find(&mut self.pages, &id.encode()).await?;
        if found.is_none() {
            return Ok(false);
        }
        let head = &mut self.head;
        let from_end = self.entries.count() - rank;
        if from_end <= u64::from(head.last_node.live_count) {
            head.last_node.live_count -= 1;
        }
        if rank < u64::from(head.first_node_count) {
            head.first_node_count -= 1;
        }
        head.max_deleted_id = head.max_deleted_id.max(id);
        self.entries.remove(&mut self.pages, rank..rank + 1).await?;
        if rank == 0 {
            self.note_first().await?;
        }
        Ok(true)
    }

    /// Removes so many entries from the first on.
    pub(super) async fn remove_first(&mut self, count: u64) -> Result<(), CommandError> {
        if count == 0 {
            return Ok(());
        }
        self.entries.remove(&mut self.pages, 0..count).await?;
        let len = self.len();
        let head = &mut self.head;
        head.last_node.live_count = u64::from(head.last_node.live_count).min(len) as u32;
        let left = u64::from(head.first_node_count).saturating_sub(count);
        head.first_node_count = left as u32;
        self.note_first().await
    }

    async fn note_first(&mut self) -> Result<(), CommandError> {
        let first = self.entry_at(0).await?;
        self.head.first_id = first.map_or(EntryId::ZERO, |entry| entry.id);
        Ok(())
    }

    /// How many nodes Redis would have: those from the first entry's to the last.
    pub(crate) async fn node_count(&mut self) -> Result<u64, CommandError> {
        let last = self.head.last_node.number;
        let first = self.entry_at(0).await?.map(|entry| entry.node);
        Ok(first.map_or(0, |first| u64::from(last.wrapping_sub(first)) + 1))
    }
}
