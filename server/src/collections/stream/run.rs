//! Items in the order of their bytes: in memory as long as they are few, else in a tree.
//!
//! Owns what the two have in common. An item is a key followed by what is kept under it; keys are
//! such that none is the beginning of another. Must never know what an item means.

use std::ops::Range;

use bytes::Bytes;
use cellar_storage::StoreError;

use crate::collections::packed::item_bytes;
use crate::collections::pages::Pages;
use crate::collections::tree::{Direction, Order, Tree, Walk};

/// Items in order.
pub(super) enum Run {
    /// All of them in memory.
    Memory(Vec<Bytes>),
    /// In the pages that every operation is handed.
    Tree(Tree),
}

/// Items on the way out of a run. It must not outlive a change of it.
pub(super) enum RunWalk {
    Memory(Option<Vec<Bytes>>),
    Tree(Walk),
}

impl Run {
    pub(super) const EMPTY: Self = Self::Memory(Vec::new());

    /// How many items there are.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Memory(items) => items.len() as u64,
            Self::Tree(tree) => tree.count(),
        }
    }

    /// Bytes of items in memory when they are packed.
    pub(super) fn packed_bytes(&self) -> usize {
        match self {
            Self::Memory(items) => items.iter().map(|item| item_bytes(item.len())).sum(),
            Self::Tree(_) => 0,
        }
    }

    /// How many items come before `probe`.
    pub(super) async fn rank(&self, pages: &mut Pages, probe: &[u8]) -> Result<u64, StoreError> {
        match self {
            Self::Memory(items) => Ok(place(items, probe) as u64),
            Self::Tree(tree) => {
                let side = crate::collections::tree::Side::Before;
                tree.rank(pages, probe, side).await
            }
        }
    }

    /// The item of a rank.
    pub(super) async fn get(
        &self,
        pages: &mut Pages,
        rank: u64,
    ) -> Result<Option<Bytes>, StoreError> {
        match self {
            Self::Memory(items) => Ok(items.get(rank as usize).cloned()),
            Self::Tree(tree) => tree.get(pages, rank).await,
        }
    }

    /// The item with this key, and how many items come before its place.
    pub(super) async fn find(
        &self,
        pages: &mut Pages,
        key: &[u8],
    ) -> Result<(u64, Option<Bytes>), StoreError> {
        let (rank, item) = match self {
            Self::Memory(items) => {
                let place = place(items, key);
                (place as u64, items.get(place).cloned())
            }
            Self::Tree(tree) => tree.first_from(pages, key).await?,
        };
        Ok((rank, item.filter(|item| item.starts_with(key))))
    }

    /// Adds an item behind all others.
    pub(super) async fn push(&mut self, pages: &mut Pages, item: &[u8]) -> Result<(), StoreError> {
        match self {
            Self::Memory(items) => {
                items.push(Bytes::copy_from_slice(item));
                Ok(())
            }
            Self::Tree(tree) => tree.insert_at(pages, tree.count(), item).await,
        }
    }

    /// Puts what follows `key` under it, where nothing was.
    pub(super) async fn insert(
        &mut self,
        pages: &mut Pages,
        key: &[u8],
        rest: &[u8],
    ) -> Result<(), StoreError> {
        let item = [key, rest].concat();
        match self {
            Self::Memory(items) => {
                let place = place(items, &item);
                items.insert(place, item.into());
            }
            Self::Tree(tree) => {
                tree.insert(pages, &item).await?;
            }
        }
        Ok(())
    }

    /// Puts what follows `key` under it, whatever was there. True: nothing was.
    pub(super) async fn put(
        &mut self,
        pages: &mut Pages,
        key: &[u8],
        rest: &[u8],
    ) -> Result<bool, StoreError> {
        let (rank, old) = self.find(pages, key).await?;
        let item = [key, rest].concat();
        let is_new = old.is_none();
        if old.is_some_and(|old| old == item) {
            return Ok(false);
        }
        match self {
            Self::Memory(items) => {
                let place = rank as usize;
                let end = place + usize::from(!is_new);
                items.splice(place..end, [Bytes::from(item)]);
            }
            Self::Tree(tree) => {
                if !is_new {
                    tree.remove_range(pages, rank..rank + 1).await?;
                }
                tree.insert(pages, &item).await?;
            }
        }
        Ok(is_new)
    }

    /// Removes the items of these ranks, which all exist.
    pub(super) async fn remove(
        &mut self,
        pages: &mut Pages,
        ranks: Range<u64>,
    ) -> Result<(), StoreError> {
        match self {
            Self::Memory(items) => {
                items.drain(ranks.start as usize..ranks.end as usize);
                Ok(())
            }
            Self::Tree(tree) => tree.remove_range(pages, ranks).await,
        }
    }

    /// Removes the item with this key. False: there is none.
    pub(super) async fn take(&mut self, pages: &mut Pages, key: &[u8]) -> Result<bool, StoreError> {
        let (rank, found) = self.find(pages, key).await?;
        if found.is_some() {
            self.remove(pages, rank..rank + 1).await?;
        }
        Ok(found.is_some())
    }

    /// Goes over the items of these ranks.
    pub(super) async fn walk(
        &self,
        pages: &mut Pages,
        ranks: Range<u64>,
        direction: Direction,
    ) -> Result<RunWalk, StoreError> {
        let ranks = ranks.start..ranks.end.min(self.count());
        let count = ranks.end.saturating_sub(ranks.start);
        match self {
            Self::Memory(items) => {
                let start = ranks.start as usize;
                let found = items.iter().skip(start).take(count as usize).cloned();
                let mut found: Vec<Bytes> = found.collect();
                if direction == Direction::Backward {
                    found.reverse();
                }
                Ok(RunWalk::Memory(Some(found)))
            }
            Self::Tree(tree) => {
                let first = match direction {
                    Direction::Forward => ranks.start,
                    Direction::Backward => ranks.end.saturating_sub(1),
                };
                let walk = tree.walk(pages, first, count, direction).await?;
                Ok(RunWalk::Tree(walk))
            }
        }
    }

    /// Moves items in memory to a tree, whose top node is to have at most so many bytes.
    pub(super) async fn spread(
        &mut self,
        pages: &mut Pages,
        top_bytes_max: usize,
    ) -> Result<(), StoreError> {
        if let Self::Memory(items) = self {
            let mut tree = Tree::new(Order::Bytes).with_top_bytes_max(top_bytes_max);
            for item in items {
                tree.insert_at(pages, tree.count(), item).await?;
            }
            *self = Self::Tree(tree);
        }
        Ok(())
    }
}

impl RunWalk {
    /// The next items; nothing in the end. Lets others run between pages.
    pub(super) async fn next(
        &mut self,
        pages: &mut Pages,
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        match self {
            Self::Memory(items) => Ok(items.take().filter(|items| !items.is_empty())),
            Self::Tree(walk) => {
                let items = walk.next(pages).await?;
                if walk.left() > 0 {
                    tokio::task::yield_now().await;
                }
                Ok(items)
            }
        }
    }
}

/// How many of these items come before `probe`.
fn place(items: &[Bytes], probe: &[u8]) -> usize {
    items.partition_point(|item| &item[..] < probe)
}
