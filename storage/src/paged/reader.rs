//! Reading large values: any range, a bounded number of page reads in flight.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::error::StoreError;
use crate::format::{PageKey, RootValue};
use crate::lock::StripeLocks;
use crate::read::{Found, Source, StoredRecord, View};

/// Page reads in flight for one reader: what a pipeline may have.
const READS_IN_FLIGHT_MAX: usize = 32;
/// Pages looked up before the executor gets a turn: about 50 us.
const PAGES_PER_TURN: u32 = 256;

/// The pages of a value as they were when its root was read.
pub(crate) struct PagedValue {
    view: View,
    root: RootValue,
    /// Keeps writers away until the pages are pinned; absent where the caller holds the key's lock.
    hold: Option<StripeLocks>,
    pinned: Option<Pinned>,
}

/// Pages found and pinned, from `first` on.
struct Pinned {
    first: u32,
    pages: Vec<Found>,
}

impl PagedValue {
    pub(crate) fn new(view: View, root: RootValue, hold: Option<StripeLocks>) -> Self {
        Self {
            view,
            root,
            hold,
            pinned: None,
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.root.value_bytes
    }

    pub(crate) fn root(&self) -> RootValue {
        self.root
    }

    fn page_of(&self, offset: u64) -> u32 {
        let page = offset / u64::from(self.root.page_bytes);
        u32::try_from(page).expect("a value is bounded")
    }

    /// The pages that a non-empty range lies on.
    fn pages_of(&self, range: &Range<u64>) -> Range<u32> {
        if range.is_empty() {
            return 0..0;
        }
        self.page_of(range.start)..self.page_of(range.end - 1) + 1
    }

    fn locate(&self, page: u32) -> Option<Found> {
        let key = PageKey {
            collection: self.root.collection,
            page_number: page,
        };
        let identity = crate::paged::page_identity(self.view.store().hasher(), key);
        self.view.find(identity)
    }

    /// Finds and pins every page of `range`; then the key's lock is let go.
    pub(crate) async fn pin(&mut self, range: Range<u64>) -> Result<(), StoreError> {
        if self.pinned.is_some() {
            return Ok(());
        }
        let end = range.end.min(self.len());
        let pages = self.pages_of(&(range.start.min(end)..end));
        let mut pinned = Pinned {
            first: pages.start,
            pages: Vec::new(),
        };
        for page in pages {
            let found = self.locate(page).ok_or_else(|| self.missing(page))?;
            pinned.pages.push(found);
            if (page + 1).is_multiple_of(PAGES_PER_TURN) {
                tokio::task::yield_now().await;
            }
        }
        self.pinned = Some(pinned);
        self.hold = None;
        Ok(())
    }

    /// A page by its pin, or by the index while writers are kept away.
    fn source(&self, page: u32) -> Result<Source, StoreError> {
        let pinned = self.pinned.as_ref().and_then(|pinned| {
            let index = usize::try_from(page.checked_sub(pinned.first)?).ok()?;
            pinned.pages.get(index).map(|found| self.view.again(found))
        });
        let found = match pinned {
            Some(found) => found,
            None if self.pinned.is_some() => return Err(self.missing(page)),
            None => self.locate(page).ok_or_else(|| self.missing(page))?,
        };
        Ok(self.view.source(found))
    }

    /// Reads a range that lies within the value.
    pub(crate) async fn read(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        let capacity = usize::try_from(range.end - range.start).expect("bounded by the caller");
        let mut joined = BytesMut::with_capacity(capacity);
        let mut pages = self.pages_of(&range);
        let mut in_flight = VecDeque::with_capacity(READS_IN_FLIGHT_MAX);
        loop {
            while in_flight.len() < READS_IN_FLIGHT_MAX
                && let Some(page) = pages.next()
            {
                in_flight.push_back((page, self.source(page)?));
            }
            let Some((page, source)) = in_flight.pop_front() else {
                break;
            };
            let record = source.record().await?;
            self.check(page, &record)?;
            joined.extend_from_slice(self.part(page, record.value(), &range));
        }
        Ok(joined.freeze())
    }

    /// A page must be the one that was asked for, as long as the root says.
    fn check(&self, page: u32, record: &StoredRecord) -> Result<(), StoreError> {
        let key = PageKey {
            collection: self.root.collection,
            page_number: page,
        }
        .encode();
        let start = u64::from(page) * u64::from(self.root.page_bytes);
        let bytes = (self.root.value_bytes - start).min(u64::from(self.root.page_bytes));
        let is_it = record.key() == key && record.value().len() as u64 >= bytes;
        if is_it {
            Ok(())
        } else {
            Err(self.missing(page))
        }
    }

    /// A page that the root promises is not there: damage, counted like any other.
    fn missing(&self, page: u32) -> StoreError {
        let error = StoreError::MissingPage { page };
        self.view
            .store()
            .note_missing_page(self.root.collection, page);
        error
    }

    /// The part of a page that lies in `range`.
    fn part<'a>(&self, page: u32, content: &'a [u8], range: &Range<u64>) -> &'a [u8] {
        let start = u64::from(page) * u64::from(self.root.page_bytes);
        let index = |at: u64| {
            let at = at.saturating_sub(start).min(content.len() as u64);
            usize::try_from(at).expect("within a page")
        };
        &content[index(range.start)..index(range.end)]
    }
}
