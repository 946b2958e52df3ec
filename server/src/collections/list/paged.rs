//! A list in pages: a tree whose leaves hold the elements, first to last.
//!
//! Owns the layout of the root's detail. At the ends of a list a change touches the root and one
//! way down to a leaf, whatever its length.

use bytes::Bytes;
use cellar_storage::{Db, Encoding, Handle, Snapshot, StoreError, ValueType, WriteBatch};

use super::End;
use crate::collections::Malformed;
use crate::collections::pages::{Pages, PagesHeader, RootDraft};
use crate::collections::tree::{Builder, Order, Tree};
use crate::command::CommandError;

/// Changes of one command after which others may run.
const CHANGES_PER_SLICE: usize = 32;

/// A list's tree and its pages.
pub(super) struct Paged {
    pub(super) tree: Tree,
    pub(super) pages: Pages,
}

impl Paged {
    /// A list of these elements, in pages of its own.
    pub(super) async fn build(items: &[Bytes]) -> Result<Self, StoreError> {
        let mut pages = Pages::in_memory();
        let mut builder = Builder::new(Order::Position);
        for (index, item) in items.iter().enumerate() {
            builder.push(&mut pages, item).await?;
            give_way(index).await;
        }
        let tree = builder.finish(&mut pages).await?;
        Ok(Self { tree, pages })
    }

    /// The list whose root a key's record is.
    pub(super) fn open(found: Snapshot) -> Result<Self, CommandError> {
        let root = found.root().ok_or(Malformed("a list without a root"))?;
        let (header, top) = root
            .detail
            .split_first_chunk()
            .ok_or(Malformed("the root of a list"))?;
        let header = PagesHeader::decode(*header).ok_or(Malformed("the pages of a list"))?;
        let tree = Tree::decode(Order::Position, &root.detail.slice_ref(top))?;
        let pages = Pages::of(found, header);
        Ok(Self { tree, pages })
    }

    /// What the root keeps of it.
    fn detail(&self) -> Bytes {
        [&self.pages.header().encode()[..], &self.tree.encode()]
            .concat()
            .into()
    }

    /// Adds the pages that were changed, and the root, to a batch.
    pub(super) async fn put(
        self,
        store: &Handle,
        batch: &mut WriteBatch,
        target: (Db, &Bytes),
        (encoding, expiry_ms): (Encoding, Option<u64>),
    ) -> Result<(), StoreError> {
        let draft = RootDraft {
            value_type: ValueType::List,
            encoding,
            detail: self.detail(),
            expiry_ms,
        };
        self.pages.add_to(batch, store, target, draft).await
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
    if index % CHANGES_PER_SLICE == CHANGES_PER_SLICE - 1 {
        tokio::task::yield_now().await;
    }
}
