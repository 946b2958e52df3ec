//! A list that is made of many elements, first to last.
//!
//! Owns that it is compact while it can be, and then goes straight into pages.

use bytes::Bytes;
use cellar_storage::StoreError;

use super::compact::Compact;
use super::paged::{Paged, PagedBuilder};
use super::{End, Form, List, ListpackLimit};
use crate::collections::COMPACT_BYTES_MAX;
use crate::collections::packed::item_bytes;

/// The elements so far.
pub(crate) struct ListBuilder {
    limit: ListpackLimit,
    /// What is compact yet, and its bytes.
    few: Vec<Bytes>,
    few_bytes: usize,
    many: Option<PagedBuilder>,
}

impl ListBuilder {
    /// None.
    pub(crate) fn new(limit: ListpackLimit) -> Self {
        Self {
            limit,
            few: Vec::new(),
            few_bytes: 0,
            many: None,
        }
    }

    /// Adds an element behind the others.
    pub(crate) async fn push(&mut self, item: Bytes) -> Result<(), StoreError> {
        if let Some(many) = &mut self.many {
            return many.push(&item).await;
        }
        self.few_bytes += item_bytes(item.len());
        self.few.push(item);
        if self.few_bytes > COMPACT_BYTES_MAX {
            let mut many = PagedBuilder::new();
            for item in std::mem::take(&mut self.few) {
                many.push(&item).await?;
            }
            self.many = Some(many);
        }
        Ok(())
    }

    /// The list of all of them.
    pub(crate) async fn finish(self) -> Result<List, StoreError> {
        let form = if let Some(many) = self.many {
            Form::Paged(Box::new(many.finish().await?))
        } else {
            let mut compact = Compact::default();
            compact.push(End::Right, &self.few);
            Form::Compact(compact)
        };
        let mut list = List::new(self.limit);
        list.form = form;
        let bytes = list.listpack_bytes().await?;
        list.is_quicklist = !self.limit.admits(bytes, list.len());
        Ok(list)
    }
}

impl Paged {
    /// A list of these elements, in pages of its own.
    pub(super) async fn build(items: impl Iterator<Item = &Bytes>) -> Result<Self, StoreError> {
        let mut builder = PagedBuilder::new();
        for item in items {
            builder.push(item).await?;
        }
        builder.finish().await
    }
}
