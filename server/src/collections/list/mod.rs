//! Lists: compact ones in one record, paged ones in a tree by position.
//!
//! ```text
//! compact := packed element*
//! paged   := the pages' header, the tree's top node (in the root); leaves of elements
//! ```
//!
//! Owns when a list becomes paged, and what Redis would call its encoding. A list is changed in
//! memory and then stored as a whole; of a paged one that is the pages that were touched.

mod build;
mod compact;
mod listpack;
mod measure;
mod paged;
#[cfg(test)]
mod tests;

use std::ops::Range;

use bytes::Bytes;
use cellar_storage::{Db, Encoding, Handle, Snapshot, StoreError, ValueType, WriteBatch};

pub(crate) use build::ListBuilder;
pub(crate) use listpack::ListpackLimit;

use super::COMPACT_BYTES_MAX;
use super::commit::{self, Parts, Target};
use super::packed::item_bytes;
use super::tree::{Direction, Walk};
use crate::command::CommandError;
use compact::Compact;
use paged::Paged;

/// An end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Where the first element is.
    Left,
    /// Where the last element is.
    Right,
}

/// One list, while a command works on it.
pub(crate) struct List {
    form: Form,
    expiry_ms: Option<u64>,
    is_quicklist: bool,
    limit: ListpackLimit,
}

enum Form {
    Compact(Compact),
    Paged(Box<Paged>),
}

/// A walk over elements. It must not outlive a change of its list.
pub(crate) struct ListWalk(Left);

enum Left {
    Compact(Option<Vec<Bytes>>),
    Paged(Walk),
}

impl List {
    /// A list without elements.
    pub(crate) fn new(limit: ListpackLimit) -> Self {
        Self {
            form: Form::Compact(Compact::default()),
            expiry_ms: None,
            is_quicklist: false,
            limit,
        }
    }

    /// A list of these elements.
    pub(crate) async fn of(items: &[Bytes], limit: ListpackLimit) -> Result<Self, StoreError> {
        let mut builder = ListBuilder::new(limit);
        for item in items {
            builder.push(item.clone()).await?;
        }
        builder.finish().await
    }

    /// The same list, with this deadline of its key.
    pub(crate) fn expiring(self, expiry_ms: Option<u64>) -> Self {
        Self { expiry_ms, ..self }
    }

    /// The list that a key holds.
    pub(crate) fn open(found: Snapshot, limit: ListpackLimit) -> Result<Self, CommandError> {
        if found.value_type() != ValueType::List {
            return Err(CommandError::WrongType);
        }
        let (expiry_ms, is_quicklist) =
            (found.expiry_ms(), found.encoding() == Encoding::Quicklist);
        let form = match found.share(0..u64::MAX) {
            Some(bytes) => Form::Compact(Compact::decode(bytes)?),
            None => Form::Paged(Box::new(Paged::open(found)?)),
        };
        Ok(Self {
            form,
            expiry_ms,
            is_quicklist,
            limit,
        })
    }

    /// Adds what is to be stored of the list to a batch: a list without elements is no key.
    pub(crate) async fn put(
        self,
        store: &Handle,
        batch: &mut WriteBatch,
        (db, key): (Db, &Bytes),
    ) -> Result<(), StoreError> {
        let encoding = if self.is_quicklist {
            Encoding::Quicklist
        } else {
            Encoding::Listpack
        };
        let target = Target {
            db,
            key,
            value_type: ValueType::List,
            encoding,
            expiry_ms: self.expiry_ms,
        };
        commit::put(store, batch, target, self.into_parts()).await
    }

    fn into_parts(self) -> Parts {
        if self.is_empty() {
            return Parts::Nothing;
        }
        match self.form {
            Form::Compact(list) => Parts::Compact(list.encode().clone()),
            Form::Paged(list) => Parts::Paged {
                structure: list.tree.encode(),
                pages: Box::new(list.pages),
            },
        }
    }

    /// How many elements there are.
    pub(crate) fn len(&self) -> u64 {
        match &self.form {
            Form::Compact(list) => list.len() as u64,
            Form::Paged(list) => list.tree.count(),
        }
    }

    /// Whether there is no element.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`, 0 being the first.
    pub(crate) async fn get(&mut self, index: u64) -> Result<Option<Bytes>, StoreError> {
        match &mut self.form {
            Form::Compact(list) => Ok(list.items(index as usize, 1).pop()),
            Form::Paged(list) => list.tree.get(&mut list.pages, index).await,
        }
    }

    /// Goes over `count` elements from `start` on.
    pub(crate) async fn walk(
        &mut self,
        start: u64,
        count: u64,
        direction: Direction,
    ) -> Result<ListWalk, StoreError> {
        let walk = match &mut self.form {
            Form::Compact(list) => Left::Compact(Some(compact_walk(
                list,
                (start as usize, count as usize),
                direction,
            ))),
            Form::Paged(list) => {
                let Paged { tree, pages } = &mut **list;
                Left::Paged(tree.walk(pages, start, count, direction).await?)
            }
        };
        Ok(ListWalk(walk))
    }

    /// The next elements of a walk; nothing at its end. Lets others run between pages.
    pub(crate) async fn next(
        &mut self,
        walk: &mut ListWalk,
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        match (&mut walk.0, &mut self.form) {
            (Left::Compact(items), _) => Ok(items.take()),
            (Left::Paged(walk), Form::Paged(list)) => {
                let items = walk.next(&mut list.pages).await?;
                if walk.left() > 0 {
                    list.pages.forget();
                    tokio::task::yield_now().await;
                }
                Ok(items)
            }
            (Left::Paged(_), Form::Compact(_)) => unreachable!("a paged list stays paged"),
        }
    }

    /// Has the elements of a paged list stay what they are, and lets the key's lock go.
    pub(crate) async fn pin(&mut self) {
        if let Form::Paged(list) = &mut self.form {
            list.pages.pin().await;
        }
    }

    /// `count` elements from `start` on, as far as there are any.
    pub(crate) async fn items(&mut self, start: u64, count: u64) -> Result<Vec<Bytes>, StoreError> {
        let mut walk = self.walk(start, count, Direction::Forward).await?;
        let mut all = Vec::new();
        while let Some(mut items) = self.next(&mut walk).await? {
            if all.is_empty() {
                all = items;
            } else {
                all.append(&mut items);
            }
        }
        Ok(all)
    }

    /// Adds elements at an end, one after another: the last one is outermost.
    pub(crate) async fn push(&mut self, end: End, items: &[Bytes]) -> Result<(), StoreError> {
        self.note_growth(items).await?;
        self.add(end, items).await
    }

    async fn add(&mut self, end: End, items: &[Bytes]) -> Result<(), StoreError> {
        let list = match &mut self.form {
            Form::Compact(list) => list,
            Form::Paged(list) => return list.push(end, items).await,
        };
        let added: usize = items.iter().map(|item| item_bytes(item.len())).sum();
        if list.encode().len() + added <= COMPACT_BYTES_MAX {
            list.push(end, items);
            return Ok(());
        }
        let old = list.items(0, list.len());
        let paged = match end {
            End::Left => Paged::build(items.iter().rev().chain(&old)).await?,
            End::Right => Paged::build(old.iter().chain(items)).await?,
        };
        self.form = Form::Paged(Box::new(paged));
        Ok(())
    }

    /// Takes up to `count` elements off an end, the outermost first.
    pub(crate) async fn pop(&mut self, end: End, count: u64) -> Result<Vec<Bytes>, StoreError> {
        let len = self.len();
        let count = count.min(len);
        let start = match end {
            End::Left => 0,
            End::Right => len - count,
        };
        let mut items = self.items(start, count).await?;
        if end == End::Right {
            items.reverse();
        }
        self.remove(start..start + count).await?;
        Ok(items)
    }

    /// Puts an element before the one at `index`, or at the end.
    pub(crate) async fn insert(&mut self, index: u64, item: &Bytes) -> Result<(), StoreError> {
        self.note_growth(std::slice::from_ref(item)).await?;
        match &mut self.form {
            Form::Compact(list) => {
                list.insert(index as usize, item);
                self.page_if_long().await
            }
            Form::Paged(list) => list.tree.insert_at(&mut list.pages, index, item).await,
        }
    }

    /// Puts an element in the place of the one at `index`, which is there.
    pub(crate) async fn replace(&mut self, index: u64, item: &Bytes) -> Result<(), StoreError> {
        self.note_growth(std::slice::from_ref(item)).await?;
        match &mut self.form {
            Form::Compact(list) => {
                list.replace(index as usize, item);
                self.page_if_long().await?;
            }
            Form::Paged(list) => list.tree.replace_at(&mut list.pages, index, item).await?,
        }
        self.note_shrinkage().await
    }

    /// Removes elements that are there.
    pub(crate) async fn remove(&mut self, ranks: Range<u64>) -> Result<(), StoreError> {
        match &mut self.form {
            Form::Compact(list) => list.remove(ranks.start as usize..ranks.end as usize),
            Form::Paged(list) => list.tree.remove_range(&mut list.pages, ranks).await?,
        }
        self.note_shrinkage().await
    }

    /// Removes up to `count` elements that are `wanted`, the first ones in this direction; how many
    /// there were.
    pub(crate) async fn remove_equal(
        &mut self,
        wanted: &[u8],
        count: u64,
        direction: Direction,
    ) -> Result<u64, StoreError> {
        let found = self.find(wanted, count, direction).await?;
        match &mut self.form {
            Form::Compact(list) => {
                let mut index = 0;
                let mut doomed = found.iter().copied().peekable();
                list.retain(|_| {
                    index += 1;
                    doomed.next_if_eq(&(index - 1)).is_none()
                });
            }
            Form::Paged(list) => list.remove_all(&found).await?,
        }
        if !found.is_empty() {
            self.note_shrinkage().await?;
        }
        Ok(found.len() as u64)
    }

    /// Where the first element is that is `wanted`.
    pub(crate) async fn position(&mut self, wanted: &[u8]) -> Result<Option<u64>, StoreError> {
        let found = self.find(wanted, 1, Direction::Forward).await?;
        Ok(found.first().copied())
    }

    /// Where up to `count` elements are that are `wanted`, the first ones in this direction, in
    /// rising order.
    async fn find(
        &mut self,
        wanted: &[u8],
        count: u64,
        direction: Direction,
    ) -> Result<Vec<u64>, StoreError> {
        let len = self.len();
        let start = match direction {
            Direction::Forward => 0,
            Direction::Backward => len.saturating_sub(1),
        };
        let mut walk = self.walk(start, len, direction).await?;
        let (mut found, mut passed) = (Vec::new(), 0);
        'all: while let Some(items) = self.next(&mut walk).await? {
            for item in items {
                if item == wanted {
                    found.push(match direction {
                        Direction::Forward => passed,
                        Direction::Backward => len - 1 - passed,
                    });
                }
                passed += 1;
                if found.len() as u64 == count {
                    break 'all;
                }
            }
        }
        if direction == Direction::Backward {
            found.reverse();
        }
        Ok(found)
    }

    /// A compact list that has grown too long becomes a paged one.
    async fn page_if_long(&mut self) -> Result<(), StoreError> {
        let Form::Compact(list) = &self.form else {
            return Ok(());
        };
        if list.encode().len() > COMPACT_BYTES_MAX {
            let items = list.items(0, list.len());
            self.form = Form::Paged(Box::new(Paged::build(items.iter()).await?));
        }
        Ok(())
    }
}

fn compact_walk(
    list: &Compact,
    (start, count): (usize, usize),
    direction: Direction,
) -> Vec<Bytes> {
    match direction {
        Direction::Forward => list.items(start, count),
        Direction::Backward => {
            let end = if start < list.len() { start + 1 } else { 0 };
            let first = end.saturating_sub(count);
            let mut items = list.items(first, end - first);
            items.reverse();
            items
        }
    }
}
