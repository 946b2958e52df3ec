//! The way from the top of a tree to a place in a leaf.
//!
//! Owns the search. Must never change a node.

use cellar_storage::StoreError;

use super::node::{Inner, Leaf};
use super::stored::Stored;
use super::{Order, Side, Tree};
use crate::collections::pages::Pages;

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Aim<'a> {
    /// The item of this rank; there is one.
    Item(u64),
    /// The place before the item of this rank, or the end.
    Gap(u64),
    /// The place of these bytes in the order.
    Probe(&'a [u8], Side),
}

/// A place in a leaf.
pub(super) struct Found {
    /// The leaf's page; nothing in a tree without items.
    pub(super) page: Option<u32>,
    pub(super) leaf: Leaf,
    /// The place: before this item of the leaf.
    pub(super) offset: usize,
    /// Items of the tree before the place.
    pub(super) rank: u64,
}

/// A node on the way, and which of its entries was taken.
pub(super) struct Step {
    /// Its page; nothing for the top.
    pub(super) page: Option<u32>,
    pub(super) node: Inner,
    pub(super) index: usize,
}

/// The nodes on the way, the top first. It has taken the top out of its tree.
pub(super) struct Path {
    pub(super) steps: Vec<Step>,
}

/// Whether a place is at an end of the whole tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    First,
    Inside,
    Last,
}

impl Path {
    /// Gives the top back, where nothing is to be changed.
    pub(super) fn into_top(self) -> Inner {
        let top = self.steps.into_iter().next();
        top.expect("a way begins at the top").node
    }

    /// Whether an item that is put at `offset` among the `len` of its leaf is the tree's first or
    /// last.
    pub(super) fn edge(&self, offset: usize, len: usize) -> Edge {
        let is_last = |step: &Step| step.index + 1 >= step.node.entries.len();
        if offset == len && self.steps.iter().all(is_last) {
            Edge::Last
        } else if offset == 0 && self.steps.iter().all(|step| step.index == 0) {
            Edge::First
        } else {
            Edge::Inside
        }
    }
}

impl Inner {
    /// The entry that holds the item number `offset` below this node, and the items before it.
    pub(super) fn at_item(&self, offset: u64) -> (usize, u64) {
        self.at(|end| offset < end)
    }

    /// The first entry of which `is_it`, told how many items end with it, and the items before it;
    /// else the last entry.
    fn at(&self, is_it: impl Fn(u64) -> bool) -> (usize, u64) {
        let mut before = 0;
        for (index, entry) in self.entries.iter().enumerate() {
            if is_it(before + entry.count) || index + 1 == self.entries.len() {
                return (index, before);
            }
            before += entry.count;
        }
        (0, 0)
    }

    /// The last entry whose separator is not after the probe, and the items before it.
    async fn at_probe(
        &self,
        order: Order,
        probe: &[u8],
        pages: &mut Pages,
    ) -> Result<(usize, u64), StoreError> {
        // the first entry's separator is below everything; an item may equal its separator
        let others = self.entries.get(1..).unwrap_or_default();
        let separator = |index: usize| &others[index].separator;
        let probe = (probe, Side::After);
        let index = partition(others.len(), separator, order, probe, pages).await?;
        let before = self.entries[..index].iter().map(|entry| entry.count);
        Ok((index, before.sum()))
    }

    async fn choose(
        &self,
        order: Order,
        aim: &mut Aim<'_>,
        pages: &mut Pages,
    ) -> Result<(usize, u64), StoreError> {
        match aim {
            Aim::Item(offset) => {
                let (index, before) = self.at_item(*offset);
                *offset -= before;
                Ok((index, before))
            }
            Aim::Gap(offset) => {
                let (index, before) = self.at(|end| *offset <= end);
                *offset -= before;
                Ok((index, before))
            }
            Aim::Probe(probe, _) => self.at_probe(order, probe, pages).await,
        }
    }
}

/// How many of `len` strings in order come before a probe.
async fn partition<'a>(
    len: usize,
    string: impl Fn(usize) -> &'a Stored,
    order: Order,
    (probe, side): (&[u8], Side),
    pages: &mut Pages,
) -> Result<usize, StoreError> {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low.midpoint(high);
        let compared = string(middle).compare(order, probe, pages).await?;
        let is_before = compared.is_lt() || (compared.is_eq() && side == Side::After);
        if is_before {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

impl Tree {
    /// Goes down to a place without keeping the way.
    pub(super) async fn find(
        &self,
        pages: &mut Pages,
        mut aim: Aim<'_>,
    ) -> Result<Found, StoreError> {
        let (mut rank, mut below) = (0, None);
        loop {
            let node = below.as_ref().unwrap_or(&self.top);
            if node.entries.is_empty() {
                return Ok(Found::nothing());
            }
            let (index, before) = node.choose(self.order, &mut aim, pages).await?;
            rank += before;
            let entry = &node.entries[index];
            if node.level == 1 {
                let page = (entry.child, entry.read_leaf(pages).await?);
                return self.find_in_leaf(pages, page, rank, aim).await;
            }
            below = Some(entry.read_inner(pages, node.level).await?);
        }
    }

    /// Goes down to a place; the way holds the top until it is given back.
    pub(super) async fn descend(
        &mut self,
        pages: &mut Pages,
        mut aim: Aim<'_>,
    ) -> Result<(Path, Found), StoreError> {
        let mut node = std::mem::replace(&mut self.top, Inner::empty_top());
        let (mut steps, mut page, mut rank) = (Vec::new(), None, 0);
        loop {
            if node.entries.is_empty() {
                let index = 0;
                steps.push(Step { page, node, index });
                return Ok((Path { steps }, Found::nothing()));
            }
            let (index, before) = node.choose(self.order, &mut aim, pages).await?;
            rank += before;
            let entry = &node.entries[index];
            let child = entry.child;
            if node.level == 1 {
                let leaf = (child, entry.read_leaf(pages).await?);
                steps.push(Step { page, node, index });
                let found = self.find_in_leaf(pages, leaf, rank, aim).await?;
                return Ok((Path { steps }, found));
            }
            let below = entry.read_inner(pages, node.level).await?;
            steps.push(Step { page, node, index });
            (node, page) = (below, Some(child));
        }
    }

    async fn find_in_leaf(
        &self,
        pages: &mut Pages,
        (page, leaf): (u32, Leaf),
        rank: u64,
        aim: Aim<'_>,
    ) -> Result<Found, StoreError> {
        let offset = match aim {
            Aim::Item(offset) | Aim::Gap(offset) => offset as usize,
            Aim::Probe(probe, side) => {
                let item = |index: usize| &leaf.items[index];
                let len = leaf.items.len();
                partition(len, item, self.order, (probe, side), pages).await?
            }
        };
        Ok(Found {
            page: Some(page),
            leaf,
            offset,
            rank: rank + offset as u64,
        })
    }
}

impl Found {
    fn nothing() -> Self {
        Self {
            page: None,
            leaf: Leaf { items: Vec::new() },
            offset: 0,
            rank: 0,
        }
    }
}
