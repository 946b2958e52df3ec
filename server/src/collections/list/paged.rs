//! A list in pages: a tree whose leaves hold the elements, first to last.
//!
//! Owns the layout of the root's detail. At the ends of a list a change touches the root and one
//! way down to a leaf, whatever its length.

use bytes::Bytes;
use cellar_storage::{Snapshot, StoreError};

use super::End;
use crate::collections::Malformed;
use crate::collections::pace;
use crate::collections::pages::Pages;
use crate::collections::tree::{Builder, Order, Tree};
use crate::command::CommandError;

/// Changes of one command after which others may run.
const CHANGES_PER_SLICE: usize = 32;

/// A list's tree and its pages.
pub(super) struct Paged {
    pub(super) tree: Tree,
    pub(super) pages: Pages,
}

/// A list in pages that is being filled, first to last.
pub(super) struct PagedBuilder {
    builder: Builder,
    pages: Pages,
    count: usize,
}

impl PagedBuilder {
    /// A list without elements, in pages of its own.
    pub(super) fn new() -> Self {
        Self {
            builder: Builder::new(Order::Position),
            pages: Pages::in_memory(),
            count: 0,
        }
    }

    /// Adds an element behind the others.
    pub(super) async fn push(&mut self, item: &[u8]) -> Result<(), StoreError> {
        self.builder.push(&mut self.pages, item).await?;
        give_way(self.count).await;
        self.count += 1;
        Ok(())
    }

    /// The list of all of them.
    pub(super) async fn finish(mut self) -> Result<Paged, StoreError> {
        let tree = self.builder.finish(&mut self.pages).await?;
        let pages = self.pages;
        Ok(Paged { tree, pages })
    }
}

impl Paged {
    /// The list whose root a key's record is.
    pub(super) fn open(found: Snapshot) -> Result<Self, CommandError> {
        let (pages, top) = Pages::open(found, Malformed("the root of a list"))?;
        let tree = Tree::decode(Order::Position, &top)?;
        Ok(Self { tree, pages })
    }

    /// Adds elements at an end, one after another.
    pub(super) async fn push(&mut self, end: End, items: &[Bytes]) -> Result<(), StoreError> {
        for (index, item) in items.iter().enumerate() {
            let rank = match end {
                End::Left => 0,
                End::Right => self.tree.count(),
            };
            self.tree.insert_at(&mut self.pages, rank, item).await?;
            give_way(index).await;
        }
        Ok(())
    }

    /// Removes the elements at these rising ranks.
    pub(super) async fn remove_all(&mut self, ranks: &[u64]) -> Result<(), StoreError> {
        let runs = ranks.chunk_by(|a, b| a + 1 == *b);
        // from behind, so that the ranks before stay true
        for (index, run) in runs.rev().enumerate() {
            let first = run[0];
            let ranks = first..first + run.len() as u64;
            self.tree.remove_range(&mut self.pages, ranks).await?;
            give_way(index).await;
        }
        Ok(())
    }
}

/// Lets others run once in a number of changes.
async fn give_way(index: usize) {
    pace::every(CHANGES_PER_SLICE, index).await;
}
