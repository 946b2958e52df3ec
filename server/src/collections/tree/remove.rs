//! Removing items: whole subtrees where a range covers them, and merges on the way up.
//!
//! Owns how nodes shrink.

use std::ops::Range;

use cellar_storage::StoreError;

use super::node::{Entry, Inner, Leaf};
use super::path::{Found, Path, Step};
use super::stored::Stored;
use super::{MERGE_BELOW_BYTES, MERGED_BYTES_MAX, Tree};
use crate::collections::pages::Pages;

/// Pages that are freed before others get a turn: some 50 us.
const FREED_BEFORE_YIELD: usize = 64;

/// A node of either kind that has lost something.
enum Node {
    Leaf(Leaf),
    Inner(Inner),
}

impl Node {
    fn count(&self) -> u64 {
        match self {
            Self::Leaf(leaf) => leaf.items.len() as u64,
            Self::Inner(inner) => inner.count(),
        }
    }

    fn has_large(&self) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.has_large(),
            Self::Inner(inner) => inner.has_large(),
        }
    }

    fn encoded_len(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.encoded_len(),
            Self::Inner(inner) => inner.encoded_len(),
        }
    }

    fn write(&self, pages: &mut Pages, number: u32) {
        match self {
            Self::Leaf(leaf) => leaf.write(pages, number),
            Self::Inner(inner) => inner.write(pages, number),
        }
    }

    /// The node below an entry of a node at `level`.
    async fn read(entry: &Entry, pages: &mut Pages, level: u8) -> Result<Self, StoreError> {
        Ok(if level == 1 {
            Self::Leaf(entry.read_leaf(pages).await?)
        } else {
            Self::Inner(entry.read_inner(pages, level).await?)
        })
    }

    /// Takes over what its right neighbour holds. Leaves do not need the separator between them.
    async fn take_over(
        &mut self,
        right: Self,
        separator: Stored,
        pages: &mut Pages,
    ) -> Result<(), StoreError> {
        match (self, right) {
            (Self::Leaf(left), Self::Leaf(right)) => {
                left.items.extend(right.items);
                separator.free(pages).await
            }
            (Self::Inner(left), Self::Inner(mut right)) => {
                right.entries[0].separator = separator;
                left.entries.extend(right.entries);
                Ok(())
            }
            (Self::Leaf(_), Self::Inner(_)) | (Self::Inner(_), Self::Leaf(_)) => {
                unreachable!("children of one node are of one kind")
            }
        }
    }
}

impl Tree {
    /// Removes the items of these ranks, which all exist.
    pub(crate) async fn remove_range(
        &mut self,
        pages: &mut Pages,
        ranks: Range<u64>,
    ) -> Result<(), StoreError> {
        assert!(ranks.end <= self.count(), "what is removed is there");
        let mut left = ranks.end.saturating_sub(ranks.start);
        while left > 0 {
            left -= self.remove_from(pages, ranks.start, left).await?;
        }
        Ok(())
    }

    /// Removes at least one and at most `count_max` items from `rank` on: a run of whole subtrees
    /// as high up as there is one, or a part of a leaf. Two turns a level are enough for a range.
    async fn remove_from(
        &mut self,
        pages: &mut Pages,
        rank: u64,
        count_max: u64,
    ) -> Result<u64, StoreError> {
        let mut node = std::mem::replace(&mut self.top, Inner::empty_top());
        let (mut steps, mut page, mut offset) = (Vec::new(), None, rank);
        loop {
            let (index, before) = node.at_item(offset);
            offset -= before;
            if offset == 0 {
                let removed = node.remove_subtrees(index, count_max, pages).await?;
                if removed > 0 {
                    self.settle(pages, steps, Node::Inner(node)).await?;
                    return Ok(removed);
                }
            }
            let entry = &node.entries[index];
            let child = entry.child;
            if node.level == 1 {
                let leaf = entry.read_leaf(pages).await?;
                let start = offset as usize;
                let end = leaf
                    .items
                    .len()
                    .min(start.saturating_add(count_max as usize));
                steps.push(Step { page, node, index });
                self.remove_in_leaf(pages, steps, leaf, start..end).await?;
                return Ok((end - start) as u64);
            }
            let below = entry.read_inner(pages, node.level).await?;
            steps.push(Step { page, node, index });
            (node, page) = (below, Some(child));
        }
    }

    /// Removes items of the leaf that was found.
    pub(super) async fn remove_at_path(
        &mut self,
        pages: &mut Pages,
        path: Path,
        found: Found,
        offsets: Range<usize>,
    ) -> Result<(), StoreError> {
        self.remove_in_leaf(pages, path.steps, found.leaf, offsets)
            .await
    }

    async fn remove_in_leaf(
        &mut self,
        pages: &mut Pages,
        steps: Vec<Step>,
        mut leaf: Leaf,
        offsets: Range<usize>,
    ) -> Result<(), StoreError> {
        for item in leaf.items.drain(offsets) {
            item.free(pages).await?;
        }
        self.settle(pages, steps, Node::Leaf(leaf)).await
    }

    /// Writes a changed node and those above it, each merged or freed where little is left of it.
    async fn settle(
        &mut self,
        pages: &mut Pages,
        mut steps: Vec<Step>,
        mut child: Node,
    ) -> Result<(), StoreError> {
        while let Some(mut step) = steps.pop() {
            step.node.settle_child(step.index, child, pages).await?;
            child = Node::Inner(step.node);
        }
        match child {
            Node::Inner(top) => self.top = top,
            Node::Leaf(_) => unreachable!("the top is an inner node"),
        }
        self.lower_top(pages).await
    }

    /// Takes levels away that have become a chain.
    async fn lower_top(&mut self, pages: &mut Pages) -> Result<(), StoreError> {
        if self.top.entries.is_empty() {
            self.top = Inner::empty_top();
        }
        while self.top.level > 1 && self.top.entries.len() == 1 {
            let entry = &self.top.entries[0];
            let only = entry.read_inner(pages, self.top.level).await?;
            if only.encoded_len() > self.top_bytes_max {
                break;
            }
            pages.free(entry.child);
            self.top = only;
        }
        Ok(())
    }
}

impl Inner {
    /// Removes the entries from `index` on that hold no more than `count_max` items together.
    /// Returns their items.
    async fn remove_subtrees(
        &mut self,
        index: usize,
        count_max: u64,
        pages: &mut Pages,
    ) -> Result<u64, StoreError> {
        let (mut end, mut removed) = (index, 0);
        while let Some(entry) = self.entries.get(end)
            && removed + entry.count <= count_max
        {
            removed += entry.count;
            end += 1;
        }
        let entries: Vec<Entry> = self.entries.drain(index..end).collect();
        for entry in entries {
            free_subtree(pages, entry, self.level).await?;
        }
        self.clear_first_separator(pages).await?;
        Ok(removed)
    }

    /// The first entry has no separator: what it separated from is gone.
    async fn clear_first_separator(&mut self, pages: &mut Pages) -> Result<(), StoreError> {
        match self.entries.first_mut() {
            Some(first) => {
                let separator = std::mem::replace(&mut first.separator, Stored::empty());
                separator.free(pages).await
            }
            None => Ok(()),
        }
    }

    /// Writes what is left of the child at `index`, merges it with a neighbour, or frees it.
    async fn settle_child(
        &mut self,
        index: usize,
        child: Node,
        pages: &mut Pages,
    ) -> Result<(), StoreError> {
        if child.count() == 0 {
            let entry = self.entries.remove(index);
            entry.separator.free(pages).await?;
            pages.free(entry.child);
            return self.clear_first_separator(pages).await;
        }
        if child.encoded_len() < MERGE_BELOW_BYTES && self.entries.len() > 1 {
            return self.merge_child(index, child, pages).await;
        }
        self.write_child(index, &child, pages);
        Ok(())
    }

    fn write_child(&mut self, index: usize, child: &Node, pages: &mut Pages) {
        let entry = &mut self.entries[index];
        entry.count = child.count();
        entry.has_large = child.has_large();
        child.write(pages, entry.child);
    }

    async fn merge_child(
        &mut self,
        index: usize,
        child: Node,
        pages: &mut Pages,
    ) -> Result<(), StoreError> {
        let neighbour_index = if index > 0 { index - 1 } else { 1 };
        let neighbour = Node::read(&self.entries[neighbour_index], pages, self.level).await?;
        if child.encoded_len() + neighbour.encoded_len() > MERGED_BYTES_MAX {
            self.write_child(index, &child, pages);
            return Ok(());
        }
        let (mut left, right) = if neighbour_index < index {
            (neighbour, child)
        } else {
            (child, neighbour)
        };
        let left_index = index.min(neighbour_index);
        let gone = self.entries.remove(left_index + 1);
        left.take_over(right, gone.separator, pages).await?;
        pages.free(gone.child);
        self.write_child(left_index, &left, pages);
        Ok(())
    }
}

/// Frees all pages below an entry of a node at `level`, and those of its separator.
async fn free_subtree(pages: &mut Pages, entry: Entry, level: u8) -> Result<(), StoreError> {
    let mut pending = vec![(entry, level)];
    let mut freed_count = 0;
    while let Some((entry, level)) = pending.pop() {
        if level > 1 {
            let below = entry.read_inner(pages, level).await?;
            pending.extend(below.entries.into_iter().map(|entry| (entry, level - 1)));
        } else if entry.has_large {
            for item in entry.read_leaf(pages).await?.items {
                item.free(pages).await?;
            }
        }
        entry.separator.free(pages).await?;
        pages.free(entry.child);
        freed_count += 1;
        if freed_count % FREED_BEFORE_YIELD == 0 {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}
