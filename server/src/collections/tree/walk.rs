//! Going over the items of a tree, leaf by leaf, in either direction.
//!
//! Owns the place and what is read ahead of it. Must never change a node.

use std::collections::VecDeque;

use bytes::Bytes;
use cellar_storage::StoreError;

use super::malformed;
use super::node::{Entry, Inner, Leaf};
use crate::collections::pages::Pages;

/// Leaves that are read at once: their device reads overlap, and they are 64 KiB.
const AHEAD_LEAVES_MAX: usize = 16;

/// Bytes of items that are handed out at once, one item more: items that lie beside their leaf may
/// be long.
const STEP_BYTES_MAX: usize = 256 * 1024;

/// Which way to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Towards the last item.
    Forward,
    /// Towards the first item.
    Backward,
}

/// A walk over a number of items. It must not outlive a change of its tree.
pub(crate) struct Walk {
    direction: Direction,
    /// Nodes from the top down to the one above the leaves.
    levels: Vec<Level>,
    /// Leaves that were read ahead, their items in the direction of the walk.
    leaves: VecDeque<Leaf>,
    /// Items of the first leaf that are passed over.
    skipped: usize,
    /// Items that are still to come.
    left: u64,
}

/// A node and how far the walk is in it.
struct Level {
    node: Inner,
    /// Forward, the next entry; backward, how many entries are left.
    at: usize,
}

impl Level {
    fn new(node: Inner, direction: Direction) -> Self {
        let at = match direction {
            Direction::Forward => 0,
            Direction::Backward => node.entries.len(),
        };
        Self { node, at }
    }

    fn next(&mut self, direction: Direction) -> Option<Entry> {
        let index = match direction {
            Direction::Forward => self.at,
            Direction::Backward => self.at.checked_sub(1)?,
        };
        let entry = self.node.entries.get(index)?.clone();
        self.at = match direction {
            Direction::Forward => index + 1,
            Direction::Backward => index,
        };
        Some(entry)
    }
}

impl Walk {
    pub(super) async fn start(
        top: &Inner,
        pages: &mut Pages,
        (rank, count): (u64, u64),
        direction: Direction,
    ) -> Result<Self, StoreError> {
        let total = top.count();
        let reachable = match direction {
            Direction::Forward => total.saturating_sub(rank),
            Direction::Backward if rank < total => rank + 1,
            Direction::Backward => 0,
        };
        let mut walk = Self {
            direction,
            levels: Vec::new(),
            leaves: VecDeque::new(),
            skipped: 0,
            left: count.min(reachable),
        };
        if walk.left > 0 {
            walk.seek(top.clone(), pages, rank).await?;
        }
        Ok(walk)
    }

    /// Goes down to the leaf that holds the first item.
    async fn seek(&mut self, top: Inner, pages: &mut Pages, rank: u64) -> Result<(), StoreError> {
        let (mut node, mut offset) = (top, rank);
        loop {
            let (index, before) = node.at_item(offset);
            offset -= before;
            let entry = node.entries[index].clone();
            let level = node.level;
            let (here, behind) = match self.direction {
                Direction::Forward => (index, index + 1),
                Direction::Backward => (index + 1, index),
            };
            let at = if level == 1 { here } else { behind };
            self.levels.push(Level { node, at });
            if level == 1 {
                self.skipped = match self.direction {
                    Direction::Forward => offset as usize,
                    Direction::Backward => (entry.count - 1 - offset) as usize,
                };
                return Ok(());
            }
            node = entry.read_inner(pages, level).await?;
        }
    }

    /// Items that are still to come.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The next items, those of one leaf, fewer where long ones lie beside it; nothing at the end.
    pub(crate) async fn next(
        &mut self,
        pages: &mut Pages,
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.leaves.is_empty() {
            self.read_ahead(pages).await?;
        }
        let leaf = self.leaves.front();
        let stored = &leaf.ok_or_else(|| malformed("end of a tree"))?.items;
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let count = stored.len().saturating_sub(self.skipped).min(left);
        let (mut items, mut bytes) = (Vec::with_capacity(count), 0);
        for item in stored.iter().skip(self.skipped).take(count) {
            let item = item.load(pages).await?;
            bytes += item.len();
            items.push(item);
            if bytes >= STEP_BYTES_MAX {
                break;
            }
        }
        self.left -= items.len() as u64;
        self.skipped += items.len();
        if self.skipped >= stored.len() {
            self.skipped = 0;
            self.leaves.pop_front();
        }
        Ok(Some(items))
    }

    /// Reads the next leaves below one node, as far as they are needed.
    async fn read_ahead(&mut self, pages: &mut Pages) -> Result<(), StoreError> {
        let entries = self.next_leaves(pages).await?;
        let numbers: Vec<u32> = entries.iter().map(|entry| entry.child).collect();
        let contents = pages.read_many(&numbers).await?;
        for (entry, page) in entries.iter().zip(&contents) {
            let mut leaf = entry.decode_leaf(page)?;
            if self.direction == Direction::Backward {
                leaf.items.reverse();
            }
            self.leaves.push_back(leaf);
        }
        Ok(())
    }

    /// Entries of the next leaves below one node: those needed, at most [`AHEAD_LEAVES_MAX`].
    async fn next_leaves(&mut self, pages: &mut Pages) -> Result<Vec<Entry>, StoreError> {
        let direction = self.direction;
        while let Some(level) = self.levels.last_mut() {
            let Some(entry) = level.next(direction) else {
                self.levels.pop();
                continue;
            };
            if level.node.level > 1 {
                let below = entry.read_inner(pages, level.node.level).await?;
                self.levels.push(Level::new(below, direction));
                continue;
            }
            let needed = self.left + self.skipped as u64;
            let mut covered = entry.count;
            let mut entries = vec![entry];
            while covered < needed
                && entries.len() < AHEAD_LEAVES_MAX
                && let Some(entry) = level.next(direction)
            {
                covered += entry.count;
                entries.push(entry);
            }
            return Ok(entries);
        }
        Err(malformed("end of a tree"))
    }
}
