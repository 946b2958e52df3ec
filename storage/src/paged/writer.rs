//! Writing large values: a fresh collection page by page, or some pages of an existing one.

use std::ops::Range;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use cellar_index::{Hasher, Identity};

use crate::error::StoreError;
use crate::format::page::PAGE_KEY_BYTES;
use crate::format::{Kind, PageKey, RecordDraft};
use crate::options::PAGE_BYTES;
use crate::paged::{Collection, NewCollection};
use crate::value::Snapshot;
use crate::worker::Worker;
use crate::write::{Effect, Prepared};

/// Pages of a fresh collection in one commit: as much as a flush unit.
const PAGES_PER_COMMIT: u32 = 16;

/// What a value shall be: `base` up to its length, zeros up to `len`, and `data` laid over at
/// `offset`.
pub(crate) struct PageSource<'a> {
    pub(crate) base: Option<&'a Snapshot>,
    pub(crate) offset: u64,
    pub(crate) data: &'a [u8],
    pub(crate) len: u64,
}

impl PageSource<'_> {
    /// Pages that the value has.
    pub(crate) fn page_count(&self) -> u32 {
        u32::try_from(self.len.div_ceil(u64::from(PAGE_BYTES))).expect("a value is bounded")
    }

    /// The pages that differ from the base's.
    pub(crate) fn changed_pages(&self) -> Range<u32> {
        let base_len = self.base.map_or(0, Snapshot::len);
        let start = self.offset.min(base_len) / u64::from(PAGE_BYTES);
        let end = (self.offset + self.data.len() as u64).div_ceil(u64::from(PAGE_BYTES));
        let page = |number: u64| u32::try_from(number).expect("a value is bounded");
        page(start)..page(end)
    }

    /// A range of the value, within its length.
    pub(crate) async fn content(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        let overlay_end = self.offset + self.data.len() as u64;
        let index = |at: u64, from: u64| usize::try_from(at - from).expect("within memory");
        if self.offset <= range.start && range.end <= overlay_end {
            let part = index(range.start, self.offset)..index(range.end, self.offset);
            return Ok(Bytes::copy_from_slice(&self.data[part]));
        }
        let mut content = BytesMut::zeroed(index(range.end, range.start));
        if let Some(base) = self.base.filter(|base| range.start < base.len()) {
            let bytes = base.read(range.clone()).await?;
            content[..bytes.len()].copy_from_slice(&bytes);
        }
        let (from, to) = (self.offset.max(range.start), overlay_end.min(range.end));
        if from < to {
            let part = &self.data[index(from, self.offset)..index(to, self.offset)];
            content[index(from, range.start)..index(to, range.start)].copy_from_slice(part);
        }
        Ok(content.freeze())
    }

    async fn page(&self, page: u32) -> Result<Bytes, StoreError> {
        let start = u64::from(page) * u64::from(PAGE_BYTES);
        self.content(start..self.len.min(start + u64::from(PAGE_BYTES)))
            .await
    }
}

/// A page with its key in the log, ready to be prepared.
pub(crate) struct PageContent {
    key: PageKey,
    key_bytes: [u8; PAGE_KEY_BYTES],
    content: Bytes,
}

impl PageContent {
    pub(crate) fn new(key: PageKey, content: Bytes) -> Self {
        Self {
            key,
            key_bytes: key.encode(),
            content,
        }
    }

    pub(crate) fn prepare(&self, worker: &Worker) -> Prepared<'_> {
        Prepared {
            identity: page_identity(worker.store().hasher(), self.key),
            database: None,
            draft: RecordDraft::new(Kind::Page, &self.key_bytes, &self.content),
            effect: Effect::Page { key: self.key },
        }
    }
}

/// What the index knows a page by.
pub(crate) fn page_identity(hasher: &Hasher, key: PageKey) -> Identity {
    hasher.page(key.collection.get(), key.page_number)
}

impl Worker {
    /// Writes all pages of a value under a fresh collection id. Nothing refers to them until their
    /// root is published.
    pub(crate) async fn write_collection(
        self: &Rc<Self>,
        source: &PageSource<'_>,
    ) -> Result<NewCollection, StoreError> {
        let page_count = source.page_count();
        let fresh = NewCollection::new(self.store().collections(), page_count);
        let mut next = 0;
        while next < page_count {
            // Before the first page, too: a caller who drops what has to wait has written nothing.
            tokio::task::yield_now().await;
            let end = page_count.min(next + PAGES_PER_COMMIT);
            let pages = self
                .page_contents(fresh.collection, source, next..end)
                .await?;
            let writes: Vec<_> = pages.iter().map(|page| page.prepare(self)).collect();
            self.commit_prepared(&writes, crate::write::Terms::default())
                .await?;
            next = end;
        }
        Ok(fresh)
    }

    /// The content of some pages of a collection.
    pub(crate) async fn page_contents(
        self: &Rc<Self>,
        collection: Collection,
        source: &PageSource<'_>,
        pages: Range<u32>,
    ) -> Result<Vec<PageContent>, StoreError> {
        let mut contents = Vec::with_capacity(pages.len());
        for page in pages {
            let content = source.page(page).await?;
            let key = PageKey {
                collection: collection.id,
                page_number: page,
            };
            contents.push(PageContent::new(key, content));
        }
        Ok(contents)
    }
}
