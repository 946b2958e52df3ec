//! Reading the pages of a collection that is no string: any page by its number.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::error::StoreError;
use crate::format::{CollectionRoot, PageKey};
use crate::lock::StripeLocks;
use crate::read::{Fetch, Found, Source, StoredRecord, View};
use crate::store::Store;

/// The pages of a collection as they were when its root was read, as long as the hold lasts or
/// they are pinned.
pub(crate) struct CollectionPages {
    view: View,
    root: CollectionRoot,
    /// Keeps writers away; absent where the caller holds the key's lock, or pages are pinned.
    hold: Option<StripeLocks>,
    /// Pages found and pinned. Once there are any, no others are looked for.
    pinned: Option<HashMap<u32, Found>>,
}

impl CollectionPages {
    pub(crate) fn new(view: View, root: CollectionRoot, hold: Option<StripeLocks>) -> Self {
        Self {
            view,
            root,
            hold,
            pinned: None,
        }
    }

    pub(crate) fn root(&self) -> &CollectionRoot {
        &self.root
    }

    fn key(&self, page_number: u32) -> PageKey {
        PageKey {
            collection: self.root.collection,
            page_number,
        }
    }

    fn locate(&self, page: u32) -> Option<Found> {
        if let Some(pinned) = &self.pinned {
            return pinned.get(&page).map(|found| self.view.again(found));
        }
        let identity = super::page_identity(self.view.store().hasher(), self.key(page));
        self.view.find(identity)
    }

    /// Begins to read a page; its device read, if it needs one, is submitted. `None`: there is no
    /// such page.
    pub(crate) fn find(&self, page: u32) -> Option<PageRead> {
        let state = match self.view.source(self.locate(page)?) {
            Source::Memory(record) => State::Ready(record),
            Source::Device(fetch) => State::Pending(fetch),
        };
        Some(self.page_read(page, state))
    }

    /// Begins to read a page that has to be there.
    pub(crate) fn read(&self, page: u32) -> PageRead {
        let found = self.find(page);
        found.unwrap_or_else(|| self.page_read(page, State::Missing))
    }

    fn page_read(&self, page: u32, state: State) -> PageRead {
        PageRead {
            view: self.view.clone(),
            key: self.key(page),
            state,
        }
    }

    /// Finds and pins pages, and lets the key's lock go: from here on only these can be read.
    pub(crate) fn pin(&mut self, pages: impl IntoIterator<Item = u32>) -> Result<(), StoreError> {
        let mut pinned = HashMap::new();
        for page in pages {
            let found = self.locate(page);
            let found = found.ok_or_else(|| missing(self.view.store(), self.key(page)))?;
            pinned.insert(page, found);
        }
        self.pinned = Some(pinned);
        self.hold = None;
        Ok(())
    }
}

/// A page that the root promises is not there: damage, counted like any other.
fn missing(store: &Store, key: PageKey) -> StoreError {
    store.note_missing_page(key.collection, key.page_number);
    StoreError::MissingPage {
        page: key.page_number,
    }
}

/// A page that is being read.
#[must_use = "a page read is waited for"]
pub struct PageRead {
    view: View,
    key: PageKey,
    state: State,
}

enum State {
    Missing,
    Ready(StoredRecord),
    Pending(Fetch),
}

impl PageRead {
    /// The content of the record, if that is the page.
    fn content(&self, record: &StoredRecord) -> Result<Bytes, StoreError> {
        if record.key() == self.key.encode() {
            Ok(record.share(0..record.value().len()))
        } else {
            Err(missing(self.view.store(), self.key))
        }
    }
}

impl Future for PageRead {
    type Output = Result<Bytes, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let record = match &mut this.state {
            State::Missing => return Poll::Ready(Err(missing(this.view.store(), this.key))),
            State::Ready(record) => record.clone(),
            State::Pending(fetch) => match Pin::new(fetch).poll(context) {
                Poll::Ready(record) => record?,
                Poll::Pending => return Poll::Pending,
            },
        };
        Poll::Ready(this.content(&record))
    }
}
