//! Building a tree from items in order.
//!
//! Owns how full the nodes are made.

use cellar_storage::StoreError;

use super::node::{Entry, Inner, Leaf};
use super::stored::Stored;
use super::{Order, TOP_BYTES_MAX, Tree};
use crate::collections::pages::{PAGE_TARGET_BYTES, Pages};

/// Bytes of a node that is built: room for some items before it splits.
const FILL_BYTES: usize = PAGE_TARGET_BYTES * 7 / 8;

/// Builds a tree from items that come in order.
pub(crate) struct Builder {
    order: Order,
    leaf: Leaf,
    leaf_bytes: usize,
    /// What separates the leaf from the one before it.
    separator: Stored,
    /// The nodes that are being filled, the one above the leaves first.
    nodes: Vec<Inner>,
}

impl Builder {
    /// A builder without items.
    pub(crate) fn new(order: Order) -> Self {
        let leaf = Leaf { items: Vec::new() };
        Self {
            order,
            leaf_bytes: leaf.encoded_len(),
            leaf,
            separator: Stored::empty(),
            nodes: vec![Inner::empty_top()],
        }
    }

    /// Adds an item that comes after all others.
    pub(crate) async fn push(&mut self, pages: &mut Pages, item: &[u8]) -> Result<(), StoreError> {
        let item = Stored::item(pages, item).await?;
        let bytes = item.encoded_len();
        if let Some(last) = self.leaf.items.last()
            && self.leaf_bytes + bytes > FILL_BYTES
        {
            let separator = Stored::separator(pages, self.order, last, &item).await?;
            self.end_leaf(pages).await?;
            self.separator = separator;
        }
        self.leaf_bytes += bytes;
        self.leaf.items.push(item);
        Ok(())
    }

    /// The tree of all items.
    pub(crate) async fn finish(mut self, pages: &mut Pages) -> Result<Tree, StoreError> {
        if !self.leaf.items.is_empty() {
            self.end_leaf(pages).await?;
        }
        let mut at = 0;
        loop {
            let is_highest = at + 1 == self.nodes.len();
            if is_highest && self.nodes[at].encoded_len() <= TOP_BYTES_MAX {
                let top = self.nodes.swap_remove(at);
                let order = self.order;
                return Ok(Tree {
                    order,
                    top,
                    top_bytes_max: TOP_BYTES_MAX,
                });
            }
            self.end_node(pages, at).await?;
            at += 1;
        }
    }

    async fn end_leaf(&mut self, pages: &mut Pages) -> Result<(), StoreError> {
        let child = pages.allocate().await?;
        self.leaf.write(pages, child);
        let entry = Entry {
            child,
            count: self.leaf.items.len() as u64,
            has_large: self.leaf.has_large(),
            separator: std::mem::replace(&mut self.separator, Stored::empty()),
        };
        self.leaf.items.clear();
        self.leaf_bytes = self.leaf.encoded_len();
        let mut at = 0;
        // a full node on the way up is ended before it takes one more
        while self.nodes[at].encoded_len() > FILL_BYTES {
            self.end_node(pages, at).await?;
            at += 1;
        }
        self.nodes[0].entries.push(entry);
        Ok(())
    }

    /// Writes the node at level `at` + 1, enters it one level higher, and begins the next one.
    async fn end_node(&mut self, pages: &mut Pages, at: usize) -> Result<(), StoreError> {
        let level = self.nodes[at].level;
        let fresh = |level| Inner {
            level,
            entries: Vec::new(),
        };
        let mut node = std::mem::replace(&mut self.nodes[at], fresh(level));
        let separator = std::mem::replace(&mut node.entries[0].separator, Stored::empty());
        let child = pages.allocate().await?;
        node.write(pages, child);
        if at + 1 == self.nodes.len() {
            self.nodes.push(fresh(level + 1));
        }
        self.nodes[at + 1]
            .entries
            .push(node.entry(child, separator));
        Ok(())
    }
}
