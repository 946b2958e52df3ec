//! Adding an item: splits on the way up, and a new level where the top overflows.
//!
//! Owns how nodes grow.

use cellar_storage::StoreError;

use super::node::{Entry, Inner, Leaf, split_point};
use super::path::{Edge, Found, Path};
use super::stored::Stored;
use super::{LEVEL_MAX, Tree};
use crate::collections::pages::{PAGE_TARGET_BYTES, Pages};

/// What has become of a child: its own figures, and what was split off behind it.
struct Grown {
    count: u64,
    has_large: bool,
    sibling: Option<Entry>,
}

impl Tree {
    /// Adds an item at the place that was found.
    pub(super) async fn insert_at_path(
        &mut self,
        pages: &mut Pages,
        mut path: Path,
        found: Found,
        item: &[u8],
    ) -> Result<(), StoreError> {
        let edge = path.edge(found.offset, found.leaf.items.len());
        let mut leaf = found.leaf;
        leaf.items
            .insert(found.offset, Stored::item(pages, item).await?);
        let Some(number) = found.page else {
            return self.insert_first(pages, &leaf).await;
        };
        let mut grown = self.grow_leaf(pages, (number, leaf), edge).await?;
        while let Some(mut step) = path.steps.pop() {
            let entry = &mut step.node.entries[step.index];
            entry.count = grown.count;
            entry.has_large = grown.has_large;
            let behind = step.index + 1;
            step.node
                .entries
                .splice(behind..behind, grown.sibling.take());
            match step.page {
                Some(number) => grown = grow_inner(pages, (number, step.node), edge).await?,
                None => self.top = step.node,
            }
        }
        self.raise_top(pages).await
    }

    async fn insert_first(&mut self, pages: &mut Pages, leaf: &Leaf) -> Result<(), StoreError> {
        let child = pages.allocate().await?;
        leaf.write(pages, child);
        self.top = Inner::empty_top();
        self.top.entries.push(Entry {
            child,
            count: leaf.items.len() as u64,
            has_large: leaf.has_large(),
            separator: Stored::empty(),
        });
        Ok(())
    }

    async fn grow_leaf(
        &self,
        pages: &mut Pages,
        (number, mut leaf): (u32, Leaf),
        edge: Edge,
    ) -> Result<Grown, StoreError> {
        let mut sibling = None;
        let len = leaf.items.len();
        if leaf.encoded_len() > PAGE_TARGET_BYTES && len > 1 {
            let at = match edge {
                Edge::First => 1,
                Edge::Inside => split_point(leaf.items.iter().map(Stored::encoded_len)),
                Edge::Last => len - 1,
            };
            let right = Leaf {
                items: leaf.items.split_off(at),
            };
            let (before, after) = (&leaf.items[at - 1], &right.items[0]);
            let separator = Stored::separator(pages, self.order, before, after).await?;
            let child = pages.allocate().await?;
            right.write(pages, child);
            sibling = Some(Entry {
                child,
                count: right.items.len() as u64,
                has_large: right.has_large(),
                separator,
            });
        }
        leaf.write(pages, number);
        Ok(Grown {
            count: leaf.items.len() as u64,
            has_large: leaf.has_large(),
            sibling,
        })
    }

    /// Puts a level below the top where that has grown too large.
    async fn raise_top(&mut self, pages: &mut Pages) -> Result<(), StoreError> {
        if self.top.encoded_len() <= self.top_bytes_max {
            return Ok(());
        }
        let level = self.top.level + 1;
        assert!(
            level <= LEVEL_MAX,
            "each level has several times the children"
        );
        let mut left = std::mem::replace(&mut self.top, Inner::empty_top());
        let (right, separator) = left.split_off(split_point_of(&left));
        self.top.level = level;
        for (node, separator) in [(left, Stored::empty()), (right, separator)] {
            let child = pages.allocate().await?;
            node.write(pages, child);
            self.top.entries.push(node.entry(child, separator));
        }
        Ok(())
    }
}

impl Inner {
    /// The entry of a node that lies at page `child`.
    pub(super) fn entry(&self, child: u32, separator: Stored) -> Entry {
        Entry {
            child,
            count: self.count(),
            has_large: self.has_large(),
            separator,
        }
    }
}

async fn grow_inner(
    pages: &mut Pages,
    (number, mut node): (u32, Inner),
    edge: Edge,
) -> Result<Grown, StoreError> {
    let mut sibling = None;
    if node.encoded_len() > PAGE_TARGET_BYTES {
        let at = match edge {
            Edge::First => 1,
            Edge::Inside => split_point_of(&node),
            Edge::Last => node.entries.len() - 1,
        };
        let (right, separator) = node.split_off(at);
        let child = pages.allocate().await?;
        right.write(pages, child);
        sibling = Some(right.entry(child, separator));
    }
    node.write(pages, number);
    Ok(Grown {
        count: node.count(),
        has_large: node.has_large(),
        sibling,
    })
}

fn split_point_of(node: &Inner) -> usize {
    let lens: Vec<usize> = node.entry_lens().collect();
    split_point(lens.iter().copied())
}
