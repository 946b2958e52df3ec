//! The nodes of a tree and their layout in a page.
//!
//! ```text
//!   leaf    u8 0     | u16 number of items   | items
//!   inner   u8 level | u16 number of entries | entries
//!   entry   u32 child's page number | varint: items below * 2 + long ones among them | separator
//! ```
//!
//! The top node is an inner node. A separator sorts after everything before its entry and not
//! after anything below it; the first of a node is empty.
//!
//! Owns that layout, and the split of a node that has grown too large.

use bytes::Bytes;
use cellar_storage::StoreError;

use super::stored::{Reader, Stored, put_varint, varint_len};
use super::{LEVEL_MAX, malformed};
use crate::collections::pages::Pages;

/// Bytes before the first item or entry.
const HEAD_BYTES: usize = 3;

/// Items below one node at most: what a varint with a flag holds.
const COUNT_MAX: u64 = (1 << 55) - 1;

/// An entry of an inner node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Page number of the child.
    pub(super) child: u32,
    /// Items below.
    pub(super) count: u64,
    /// Whether some of them lie on pages of their own.
    pub(super) has_large: bool,
    /// What separates them from the items before them.
    pub(super) separator: Stored,
}

impl Entry {
    fn encoded_len(&self) -> usize {
        4 + varint_len(self.count * 2) + self.separator.encoded_len()
    }
}

/// An inner node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inner {
    /// 1 above leaves.
    pub(super) level: u8,
    pub(super) entries: Vec<Entry>,
}

impl Inner {
    pub(super) const fn empty_top() -> Self {
        Self {
            level: 1,
            entries: Vec::new(),
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.entries.iter().map(|entry| entry.count).sum()
    }

    pub(super) fn has_large(&self) -> bool {
        self.entries.iter().any(|entry| entry.has_large)
    }

    pub(super) fn encoded_len(&self) -> usize {
        let entries = self.entries.iter().map(Entry::encoded_len);
        HEAD_BYTES + entries.sum::<usize>()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(self.encoded_len());
        put_head(&mut page, self.level, self.entries.len());
        for entry in &self.entries {
            page.extend_from_slice(&entry.child.to_le_bytes());
            put_varint(&mut page, entry.count * 2 + u64::from(entry.has_large));
            entry.separator.encode(&mut page);
        }
        page
    }

    /// The inner node in `page`, which may be a top node without entries.
    pub(super) fn decode(page: &Bytes) -> Result<Self, StoreError> {
        let (mut reader, level, len) = take_head(page)?;
        if level == 0 || level > LEVEL_MAX {
            return Err(malformed("level of a tree's page"));
        }
        let (mut entries, mut total) = (Vec::with_capacity(len.min(page.len())), 0u64);
        for _ in 0..len {
            let child = u32::from_le_bytes(reader.array()?);
            let count = reader.varint()?;
            let (count, has_large) = (count / 2, !count.is_multiple_of(2));
            let separator = Stored::decode(&mut reader)?;
            total += count;
            if count == 0 || total > COUNT_MAX {
                return Err(malformed("count in a tree's page"));
            }
            entries.push(Entry {
                child,
                count,
                has_large,
                separator,
            });
        }
        if !reader.is_at_end() {
            return Err(malformed("end of a tree's page"));
        }
        Ok(Self { level, entries })
    }

    /// Writes the node to the page with this number.
    pub(super) fn write(&self, pages: &mut Pages, number: u32) {
        pages.write(number, self.encode().into());
    }

    /// Moves the entries from `at` on to a node of their own; the separator before them is what
    /// the parent needs.
    pub(super) fn split_off(&mut self, at: usize) -> (Self, Stored) {
        let mut entries = self.entries.split_off(at);
        let separator = std::mem::replace(&mut entries[0].separator, Stored::empty());
        let level = self.level;
        (Self { level, entries }, separator)
    }

    pub(super) fn entry_lens(&self) -> impl Iterator<Item = usize> {
        self.entries.iter().map(Entry::encoded_len)
    }
}

/// A leaf: its items in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) items: Vec<Stored>,
}

impl Leaf {
    pub(super) fn has_large(&self) -> bool {
        self.items.iter().any(Stored::is_large)
    }

    pub(super) fn encoded_len(&self) -> usize {
        HEAD_BYTES + self.items.iter().map(Stored::encoded_len).sum::<usize>()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(self.encoded_len());
        put_head(&mut page, 0, self.items.len());
        for item in &self.items {
            item.encode(&mut page);
        }
        page
    }

    /// The leaf in `page`.
    pub(super) fn decode(page: &Bytes) -> Result<Self, StoreError> {
        let (mut reader, level, len) = take_head(page)?;
        if level != 0 {
            return Err(malformed("level of a tree's page"));
        }
        let mut items = Vec::with_capacity(len.min(page.len()));
        for _ in 0..len {
            items.push(Stored::decode(&mut reader)?);
        }
        if !reader.is_at_end() {
            return Err(malformed("end of a tree's page"));
        }
        Ok(Self { items })
    }

    /// Writes the leaf to the page with this number.
    pub(super) fn write(&self, pages: &mut Pages, number: u32) {
        pages.write(number, self.encode().into());
    }
}

impl Entry {
    /// The inner node below this entry of a node at `level`.
    pub(super) async fn read_inner(
        &self,
        pages: &mut Pages,
        level: u8,
    ) -> Result<Inner, StoreError> {
        let node = Inner::decode(&pages.read(self.child).await?)?;
        if node.level + 1 != level || node.count() != self.count {
            return Err(malformed("count or level of a tree's page"));
        }
        Ok(node)
    }

    /// The leaf below this entry.
    pub(super) async fn read_leaf(&self, pages: &mut Pages) -> Result<Leaf, StoreError> {
        let page = pages.read(self.child).await?;
        self.decode_leaf(&page)
    }

    /// The leaf below this entry, in `page`.
    pub(super) fn decode_leaf(&self, page: &Bytes) -> Result<Leaf, StoreError> {
        let leaf = Leaf::decode(page)?;
        if leaf.items.len() as u64 != self.count {
            return Err(malformed("count of a tree's page"));
        }
        Ok(leaf)
    }
}

/// Where a node is split: so that neither part is larger than it must be. At least two lengths.
pub(super) fn split_point(lens: impl Iterator<Item = usize> + Clone) -> usize {
    let total: usize = lens.clone().sum();
    let (mut before, mut best) = (0, (usize::MAX, 1));
    for (index, len) in lens.enumerate() {
        if index > 0 {
            best = best.min((before.max(total - before), index));
        }
        before += len;
    }
    best.1
}

fn put_head(page: &mut Vec<u8>, level: u8, len: usize) {
    page.push(level);
    let len = u16::try_from(len).expect("a page of some KiB has few items");
    page.extend_from_slice(&len.to_le_bytes());
}

fn take_head(page: &Bytes) -> Result<(Reader, u8, usize), StoreError> {
    let mut reader = Reader::new(page);
    let [level] = reader.array()?;
    let len = u16::from_le_bytes(reader.array()?);
    Ok((reader, level, usize::from(len)))
}
