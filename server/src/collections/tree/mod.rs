//! A counted B+ tree of byte strings in the pages of a collection.
//!
//! ```text
//!   top (in the root record)   [ child, count | separator, child, count | ... ]
//!                                    |                      |
//!   inner pages                [ child, count | ... ]     [ ... ]
//!                                    |
//!   leaf pages                 [ item | item | item | ... ]
//! ```
//!
//! A B+ tree (Bayer and McCreight, "Organization and Maintenance of Large Ordered Indexes", 1972;
//! Comer, "The Ubiquitous B-Tree", 1979) whose inner entries count the items below them, so that
//! the item of a rank and the rank of an item are found on one way down. It has two faces: by
//! *position* (a list), and by *order* (a sorted set), where a separator is the shortest prefix
//! that tells an entry's items from those before it (Bayer and Unterauer, "Prefix B-Trees", 1977).
//!
//! Changes touch one way from the top to a leaf, and a neighbour where nodes merge. Nodes are
//! split by bytes, not by number. Every page is checked as it is decoded; what is impossible is
//! an error, never a panic.
//!
//! Owns the layout of its pages and of the top node. Must never know what an item means.

mod build;
mod insert;
mod node;
mod order;
mod path;
mod remove;
mod stored;
mod walk;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use cellar_storage::StoreError;
use cellar_storage::format::FormatError;

pub(crate) use build::Builder;
pub(crate) use order::Order;
pub(crate) use walk::{Direction, Walk};

use super::pages::Pages;
use node::Inner;
use path::{Aim, Found};

/// Bytes of the top node at most. It is written with every change, so it is kept below a page; at
/// 20 bytes an entry it has 150 children, and 150 x 140 inner entries x 110 items = 2 million items
/// are three reads deep, the root record included.
pub(crate) const TOP_BYTES_MAX: usize = 3072;

/// A node below this many bytes looks for a neighbour to merge with.
const MERGE_BELOW_BYTES: usize = super::pages::PAGE_TARGET_BYTES / 4;

/// Neighbours merge up to this many bytes together: not so many that the next item splits them.
const MERGED_BYTES_MAX: usize = super::pages::PAGE_TARGET_BYTES * 3 / 4;

/// Levels at most. A level is added only when the top has overflowed, which takes ten children.
const LEVEL_MAX: u8 = 24;

/// Which side of items that equal what is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Before them.
    Before,
    /// After them.
    After,
}

/// A tree. Its pages are handed to every operation; where one of these fails, the tree and its
/// pages are worth nothing any more and must not be committed.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    order: Order,
    top: Inner,
    /// Bytes of the top node at most, where the root has room for less than [`TOP_BYTES_MAX`].
    top_bytes_max: usize,
}

impl Tree {
    /// A tree without items, and without pages.
    pub(crate) fn new(order: Order) -> Self {
        Self {
            order,
            top: Inner::empty_top(),
            top_bytes_max: TOP_BYTES_MAX,
        }
    }

    /// This tree with a top node of at most so many bytes from here on: at least a few entries,
    /// of up to some 300 bytes each.
    #[must_use]
    pub(crate) fn with_top_bytes_max(self, top_bytes_max: usize) -> Self {
        assert!(
            top_bytes_max >= MERGE_BELOW_BYTES,
            "a top node has children"
        );
        Self {
            top_bytes_max,
            ..self
        }
    }

    /// The tree whose [`Self::encode`] gave these bytes.
    pub(crate) fn decode(order: Order, encoded: &Bytes) -> Result<Self, StoreError> {
        let top = Inner::decode(encoded)?;
        Ok(Self {
            order,
            top,
            top_bytes_max: TOP_BYTES_MAX,
        })
    }

    /// What the root record keeps of the tree: its top node, at most [`TOP_BYTES_MAX`] bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.top.encode()
    }

    /// How many items there are.
    pub(crate) fn count(&self) -> u64 {
        self.top.count()
    }

    /// The item at `rank`, 0 being the first.
    pub(crate) async fn get(
        &self,
        pages: &mut Pages,
        rank: u64,
    ) -> Result<Option<Bytes>, StoreError> {
        if rank >= self.count() {
            return Ok(None);
        }
        let found = self.find(pages, Aim::Item(rank)).await?;
        Ok(Some(found.leaf.items[found.offset].load(pages).await?))
    }

    /// How many items come before `probe`; with [`Side::After`], those that equal it as well.
    pub(crate) async fn rank(
        &self,
        pages: &mut Pages,
        probe: &[u8],
        side: Side,
    ) -> Result<u64, StoreError> {
        Ok(self.find(pages, Aim::Probe(probe, side)).await?.rank)
    }

    /// The first item that does not come before `probe`, and how many items come before it.
    pub(crate) async fn first_from(
        &self,
        pages: &mut Pages,
        probe: &[u8],
    ) -> Result<(u64, Option<Bytes>), StoreError> {
        let found = self.find(pages, Aim::Probe(probe, Side::Before)).await?;
        let item = match found.leaf.items.get(found.offset) {
            Some(item) => Some(item.load(pages).await?),
            // it is the next leaf's first
            None => self.get(pages, found.rank).await?,
        };
        Ok((found.rank, item))
    }

    /// Whether there is an item that equals `probe`.
    #[cfg(test)]
    pub(crate) async fn contains(
        &self,
        pages: &mut Pages,
        probe: &[u8],
    ) -> Result<bool, StoreError> {
        let found = self.find(pages, Aim::Probe(probe, Side::Before)).await?;
        is_at(&found, self.order, probe, pages).await
    }

    /// Goes over `count` items from `rank` on, that one first.
    pub(crate) async fn walk(
        &self,
        pages: &mut Pages,
        rank: u64,
        count: u64,
        direction: Direction,
    ) -> Result<Walk, StoreError> {
        Walk::start(&self.top, pages, (rank, count), direction).await
    }

    /// Adds an item at its place in the order; false: there is one that equals it.
    pub(crate) async fn insert(
        &mut self,
        pages: &mut Pages,
        item: &[u8],
    ) -> Result<bool, StoreError> {
        let aim = Aim::Probe(item, Side::Before);
        let (path, found) = self.descend(pages, aim).await?;
        if is_at(&found, self.order, item, pages).await? {
            self.top = path.into_top();
            return Ok(false);
        }
        self.insert_at_path(pages, path, found, item).await?;
        Ok(true)
    }

    /// Adds an item so that it has the rank `rank`, at most [`Self::count`].
    pub(crate) async fn insert_at(
        &mut self,
        pages: &mut Pages,
        rank: u64,
        item: &[u8],
    ) -> Result<(), StoreError> {
        assert!(rank <= self.count(), "an item is added beside another");
        let (path, found) = self.descend(pages, Aim::Gap(rank)).await?;
        self.insert_at_path(pages, path, found, item).await
    }

    /// Puts an item in the place of the one at `rank`. For trees by position only.
    pub(crate) async fn replace_at(
        &mut self,
        pages: &mut Pages,
        rank: u64,
        item: &[u8],
    ) -> Result<(), StoreError> {
        assert!(rank < self.count(), "there is an item to replace");
        self.remove_range(pages, rank..rank + 1).await?;
        self.insert_at(pages, rank, item).await
    }

    /// Removes the item that equals `probe`; false: there is none.
    pub(crate) async fn remove(
        &mut self,
        pages: &mut Pages,
        probe: &[u8],
    ) -> Result<bool, StoreError> {
        let aim = Aim::Probe(probe, Side::Before);
        let (path, found) = self.descend(pages, aim).await?;
        if !is_at(&found, self.order, probe, pages).await? {
            self.top = path.into_top();
            return Ok(false);
        }
        let offset = found.offset;
        self.remove_at_path(pages, path, found, offset..offset + 1)
            .await?;
        Ok(true)
    }
}

/// Whether the item that was found equals `probe`.
async fn is_at(
    found: &Found,
    order: Order,
    probe: &[u8],
    pages: &mut Pages,
) -> Result<bool, StoreError> {
    match found.leaf.items.get(found.offset) {
        Some(item) => Ok(item.compare(order, probe, pages).await?.is_eq()),
        None => Ok(false),
    }
}

/// A page or top node that no version of the program writes.
fn malformed(field: &'static str) -> StoreError {
    StoreError::Format(FormatError::Malformed { field })
}
