//! Reading the pages of a collection that is no string: any page by its number.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin as FuturePin;
use std::task::{Context, Poll};

use bytes::Bytes;
use cellar_index::Entry;

use crate::error::StoreError;
use crate::format::{CollectionRoot, PageKey};
use crate::lock::StripeLocks;
use crate::read::{Fetch, Found, Located, Source, StoredRecord, View};
use crate::segment::Pin;
use crate::store::Store;
use crate::units::SegmentNumber;

/// Pages looked up before the executor gets a turn: about 50 us.
const PAGES_PER_TURN: u32 = 256;

/// The pages of a collection as they were when its root was read, as long as the hold lasts or
/// they are pinned.
pub(crate) struct CollectionPages {
    view: View,
    root: CollectionRoot,
    /// Keeps writers away; absent where the caller holds the key's lock, or pages are pinned.
    hold: Option<StripeLocks>,
    /// All pages, found and pinned: no others are looked for.
    pinned: Option<Box<PinnedPages>>,
}

/// Pages that stay where they are: an entry of 24 bytes a page, and a pin a segment.
#[derive(Default)]
struct PinnedPages {
    /// By rising numbers.
    stored: Vec<(u32, Entry)>,
    pins: HashMap<SegmentNumber, Pin>,
    /// Those that the reader's own transaction wrote.
    own: HashMap<u32, StoredRecord>,
}

impl PinnedPages {
    /// Keeps what was found; the pages come by rising numbers.
    fn push(&mut self, view: &View, page: u32, found: Found) {
        match found {
            Found::Own(record) => {
                self.own.insert(page, record);
            }
            Found::Stored(Located { entry, pin }) => {
                self.stored.push((page, entry));
                self.pins.entry(view.segment_of(&entry)).or_insert(pin);
            }
        }
    }

    fn find(&self, view: &View, page: u32) -> Option<Found> {
        if let Some(record) = self.own.get(&page) {
            return Some(Found::Own(record.clone()));
        }
        let at = self.stored.binary_search_by_key(&page, |(page, _)| *page);
        at.ok().map(|at| view.again_at(self.stored[at].1))
    }
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
            return pinned.find(&self.view, page);
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

    /// Finds and pins all pages that there are, and lets the key's lock go.
    pub(crate) async fn pin(&mut self) {
        if self.pinned.is_some() {
            return;
        }
        let mut pinned = Box::<PinnedPages>::default();
        for page in 0..self.root.page_count {
            if let Some(found) = self.locate(page) {
                pinned.push(&self.view, page, found);
            }
            if page % PAGES_PER_TURN == PAGES_PER_TURN - 1 {
                tokio::task::yield_now().await;
            }
        }
        self.pinned = Some(pinned);
        self.hold = None;
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

    fn poll(mut self: FuturePin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let record = match &mut this.state {
            State::Missing => return Poll::Ready(Err(missing(this.view.store(), this.key))),
            State::Ready(record) => record.clone(),
            State::Pending(fetch) => match FuturePin::new(fetch).poll(context) {
                Poll::Ready(record) => record?,
                Poll::Pending => return Poll::Pending,
            },
        };
        Poll::Ready(this.content(&record))
    }
}
