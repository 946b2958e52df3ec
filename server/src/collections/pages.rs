//! The pages of one collection while a command works on it.
//!
//! ```text
//!   even numbers   whoever computes them: the buckets of a dict
//!   odd numbers    given out by `allocate`: nodes of a tree, long elements (`large`), and those
//!                  given back, each of which names the next one
//! ```
//!
//! Owns which pages were read, which were changed, which numbers are unused, and how all that
//! becomes one atomic change of the store. Must never know what a page means.

use std::collections::{BTreeMap, HashMap, VecDeque};

use bytes::Bytes;
use cellar_storage::{CollectionId, Handle, NewCollection, Root, Snapshot, StoreError, WriteBatch};

use super::Malformed;

/// Bytes beyond which whoever owns a page splits it: one read of a device block's size or two.
pub(crate) const PAGE_TARGET_BYTES: usize = 4096;

/// Bytes of a page at most: with its header it fits one record.
pub(crate) const PAGE_BYTES_MAX: usize = 30 * 1024;
const _: () = assert!(PAGE_BYTES_MAX <= cellar_storage::INLINE_BYTES_MAX);

/// Bytes of the longest element that lies in its page; longer ones are kept beside the pages.
pub(crate) const ELEMENT_BYTES_MAX: usize = 2048;

const _: () = assert!(ELEMENT_BYTES_MAX < PAGE_TARGET_BYTES && PAGE_TARGET_BYTES < PAGE_BYTES_MAX);

/// Page reads in flight at a time: what a pipeline may have.
const READS_IN_FLIGHT_MAX: usize = 32;

/// What a page's record takes beside its content, in bytes, rounded up.
const PAGE_OVERHEAD_BYTES: u64 = 96;

/// What a root keeps of its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PagesHeader {
    /// The lowest odd number that was never given out.
    next: u32,
    /// The unused number to be given out next; 0 for none.
    unused: u32,
}

impl PagesHeader {
    /// Bytes of its stored form: two numbers and eight bytes of zeros.
    pub(crate) const BYTES: usize = 16;

    /// A collection without pages.
    const EMPTY: Self = Self { next: 1, unused: 0 };

    /// Its stored form.
    pub(crate) fn encode(self) -> [u8; Self::BYTES] {
        let mut stored = [0; Self::BYTES];
        stored[..4].copy_from_slice(&self.next.to_le_bytes());
        stored[4..8].copy_from_slice(&self.unused.to_le_bytes());
        stored
    }

    /// What was stored; `None` where no header is.
    pub(crate) fn decode(stored: [u8; Self::BYTES]) -> Option<Self> {
        let (words, _) = stored.as_chunks::<4>();
        let [next, unused, rest @ ..] = words else {
            return None;
        };
        let header = Self {
            next: u32::from_le_bytes(*next),
            unused: u32::from_le_bytes(*unused),
        };
        let is_odd = |number: u32| number % 2 == 1;
        let is_unused = is_odd(header.unused) && header.unused < header.next;
        let is_valid = is_odd(header.next) && (header.unused == 0 || is_unused);
        (is_valid && rest == [[0; 4]; 2]).then_some(header)
    }
}

/// The pages of one collection.
pub(crate) struct Pages {
    /// The collection as it is stored; none of a fresh one.
    source: Option<Snapshot>,
    header: PagesHeader,
    /// Pages that were read and not changed.
    known: HashMap<u32, Bytes>,
    changed: BTreeMap<u32, Bytes>,
}

impl Pages {
    /// A fresh collection.
    pub(crate) fn in_memory() -> Self {
        Self {
            source: None,
            header: PagesHeader::EMPTY,
            known: HashMap::new(),
            changed: BTreeMap::new(),
        }
    }

    /// The collection in pages that `found` is, and what its root keeps behind their header. `what`
    /// it is, for a root that makes no sense.
    pub(crate) fn open(found: Snapshot, what: Malformed) -> Result<(Self, Bytes), Malformed> {
        let detail = &found.root().ok_or(what)?.detail;
        let (header, rest) = detail.split_first_chunk().ok_or(what)?;
        let header = PagesHeader::decode(*header).ok_or(what)?;
        let rest = detail.slice_ref(rest);
        let pages = Self {
            source: Some(found),
            header,
            known: HashMap::new(),
            changed: BTreeMap::new(),
        };
        Ok((pages, rest))
    }

    /// What the root is to keep of them.
    #[cfg(test)]
    pub(crate) fn header(&self) -> PagesHeader {
        self.header
    }

    fn in_memory_page(&self, number: u32) -> Option<&Bytes> {
        let changed = self.changed.get(&number);
        changed.or_else(|| self.known.get(&number))
    }

    /// One page.
    pub(crate) async fn read(&mut self, number: u32) -> Result<Bytes, StoreError> {
        if let Some(page) = self.in_memory_page(number) {
            return Ok(page.clone());
        }
        let Some(source) = &self.source else {
            return Err(StoreError::MissingPage { page: number });
        };
        let page = source.read_page(number).await?;
        self.known.insert(number, page.clone());
        Ok(page)
    }

    /// Several pages, in the order of their numbers' list; their device reads overlap.
    pub(crate) async fn read_many(&mut self, numbers: &[u32]) -> Result<Vec<Bytes>, StoreError> {
        self.fetch(numbers).await?;
        let page = |number: &u32| {
            let page = self.in_memory_page(*number).cloned();
            page.ok_or(StoreError::MissingPage { page: *number })
        };
        numbers.iter().map(page).collect()
    }

    /// Reads the pages that are not in memory.
    async fn fetch(&mut self, numbers: &[u32]) -> Result<(), StoreError> {
        let missing = |number: &&u32| self.in_memory_page(**number).is_none();
        let missing: Vec<u32> = numbers.iter().filter(missing).copied().collect();
        let Some(source) = &self.source else {
            return Ok(());
        };
        let mut in_flight = VecDeque::with_capacity(READS_IN_FLIGHT_MAX);
        let mut rest = missing.into_iter();
        loop {
            while in_flight.len() < READS_IN_FLIGHT_MAX
                && let Some(number) = rest.next()
            {
                in_flight.push_back((number, source.read_page(number)));
            }
            let Some((number, read)) = in_flight.pop_front() else {
                return Ok(());
            };
            self.known.insert(number, read.await?);
        }
    }

    /// Replaces or creates a page.
    pub(crate) fn write(&mut self, number: u32, content: Bytes) {
        assert!(content.len() <= PAGE_BYTES_MAX, "a page is one record");
        self.known.remove(&number);
        self.changed.insert(number, content);
    }

    /// Gives up a page that was not allocated: a bucket. Where it was stored, an empty page takes
    /// its place and its room.
    pub(crate) fn remove(&mut self, number: u32) {
        self.known.remove(&number);
        if number < self.stored_page_count() {
            self.changed.insert(number, Bytes::new());
        } else {
            self.changed.remove(&number);
        }
    }

    /// Has all pages stay what they are, and lets the key's lock go: they can be read as long as a
    /// client takes. None may have been changed.
    pub(crate) async fn pin(&mut self) {
        assert!(self.changed.is_empty(), "a reader changes nothing");
        if let Some(source) = &mut self.source {
            source.pin_pages().await;
        }
    }

    /// Lets go of pages that were read and not changed, so that whoever reads a whole collection
    /// does not hold it whole.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }

    /// Pages 0 to this, exclusively, may be stored.
    fn stored_page_count(&self) -> u32 {
        let root = self.source.as_ref().and_then(Snapshot::root);
        root.map_or(0, |root| root.page_count)
    }

    /// An unused odd page number.
    pub(crate) async fn allocate(&mut self) -> Result<u32, StoreError> {
        let number = self.header.unused;
        if number == 0 {
            self.header.next += 2;
            return Ok(self.header.next - 2);
        }
        let link = self.read(number).await?;
        let next = <[u8; 4]>::try_from(&link[..]).map(u32::from_le_bytes);
        self.header.unused = next.map_err(|_| StoreError::MissingPage { page: number })?;
        Ok(number)
    }

    /// Gives an allocated page back. It names the one that was given back before.
    pub(crate) fn free(&mut self, number: u32) {
        let link = Bytes::copy_from_slice(&self.header.unused.to_le_bytes());
        self.write(number, link);
        self.header.unused = number;
    }

    /// Bytes of the changed pages.
    pub(crate) fn changed_bytes(&self) -> u64 {
        bytes_of(&self.changed)
    }

    /// How many pages there are to be written.
    #[cfg(test)]
    pub(crate) fn page_count(&self) -> usize {
        self.changed.len()
    }

    /// Adds the changed pages to a batch: the root that leads to them, with `structure` behind
    /// their header. Pages for which the batch has no room are written before it, as far as nothing
    /// leads to them yet; else the collection is written anew.
    pub(crate) async fn into_root(
        self,
        batch: &mut WriteBatch,
        store: &Handle,
        structure: &[u8],
    ) -> Result<Root, StoreError> {
        let last = self.changed.last_key_value();
        let changed_count = last.map_or(0, |(number, _)| number + 1);
        let page_count = self.stored_page_count().max(changed_count);
        let detail = [&self.header.encode()[..], structure].concat();
        Ok(Root {
            collection: self.place(batch, store).await?,
            page_count,
            detail: detail.into(),
        })
    }

    /// Adds the changed pages to a batch or writes them ahead; where they are.
    async fn place(
        mut self,
        batch: &mut WriteBatch,
        store: &Handle,
    ) -> Result<CollectionId, StoreError> {
        let Some(root) = self.source.as_ref().and_then(Snapshot::root) else {
            return self.place_anew(batch, store).await;
        };
        let (collection, stored_count) = (root.collection, root.page_count);
        if bytes_of(&self.changed) > bytes_max(store) {
            let mut new = self.changed.split_off(&stored_count);
            if bytes_of(&self.changed) > bytes_max(store) {
                self.changed.append(&mut new);
                return self.place_anew(batch, store).await;
            }
            let new = new.into_iter().collect();
            store.write_unpublished(collection, new).await?;
        }
        for (number, content) in self.changed {
            batch.page(collection, number, content);
        }
        Ok(collection)
    }

    /// Adds all pages to a batch, or writes them ahead, as those of a new collection.
    async fn place_anew(
        self,
        batch: &mut WriteBatch,
        store: &Handle,
    ) -> Result<CollectionId, StoreError> {
        let mut new = store.new_collection();
        let id = new.id();
        let fits = bytes_of(&self.changed) <= bytes_max(store);
        if self.source.is_none() && fits {
            for (number, content) in self.changed {
                batch.page(id, number, content);
            }
        } else {
            self.copy_unchanged(&mut new, store).await?;
            let changed = self.changed.into_iter().collect();
            store.write_ahead(&mut new, changed).await?;
        }
        batch.publish(new);
        Ok(id)
    }

    /// Writes the pages that were not changed to a new collection.
    async fn copy_unchanged(
        &self,
        new: &mut NewCollection,
        store: &Handle,
    ) -> Result<(), StoreError> {
        let Some(source) = &self.source else {
            return Ok(());
        };
        let stored = 0..self.stored_page_count();
        let mut unchanged = stored.filter(|number| !self.changed.contains_key(number));
        loop {
            let step = unchanged.by_ref().take(READS_IN_FLIGHT_MAX);
            let reads: Vec<_> = step
                .map(|number| (number, source.find_page(number)))
                .collect();
            if reads.is_empty() {
                return Ok(());
            }
            let mut pages = Vec::with_capacity(reads.len());
            for (number, read) in reads {
                if let Some(read) = read {
                    pages.push((number, read.await?));
                }
            }
            store.write_ahead(new, pages).await?;
        }
    }
}

/// Bytes of pages that a batch takes beside a root and its key.
fn bytes_max(store: &Handle) -> u64 {
    const ROOT_AND_KEY: u64 = 64 << 10;
    store.store().batch_bytes_max() - ROOT_AND_KEY
}

/// What pages take in a batch, in bytes, rounded up.
fn bytes_of(pages: &BTreeMap<u32, Bytes>) -> u64 {
    let bytes = |page: &Bytes| page.len() as u64 + PAGE_OVERHEAD_BYTES;
    pages.values().map(bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_a_wrong_one_is_none() {
        let header = PagesHeader {
            next: 21,
            unused: 19,
        };
        let stored = header.encode();
        assert_eq!(PagesHeader::decode(stored), Some(header));
        for (place, byte) in [(0, 22), (4, 18), (4, 23), (8, 1), (15, 1)] {
            let mut wrong = stored;
            wrong[place] = byte;
            assert_eq!(PagesHeader::decode(wrong), None, "{place}");
        }
    }

    #[tokio::test]
    async fn numbers_given_back_are_given_out_again() {
        let mut pages = Pages::in_memory();
        let mut given = Vec::new();
        for _ in 0..3 {
            given.push(pages.allocate().await.unwrap());
        }
        assert_eq!(given, [1, 3, 5]);
        pages.free(1);
        pages.free(5);
        assert_eq!(pages.allocate().await.unwrap(), 5);
        assert_eq!(pages.allocate().await.unwrap(), 1);
        assert_eq!(pages.allocate().await.unwrap(), 7);
    }

    #[tokio::test]
    async fn what_is_no_link_is_told() {
        let mut pages = Pages::in_memory();
        let number = pages.allocate().await.unwrap();
        pages.free(number);
        pages.write(number, Bytes::from_static(b"no link"));
        let refused = pages.allocate().await;
        assert!(matches!(refused, Err(StoreError::MissingPage { page }) if page == number));
    }
}
