//! A hash table whose buckets are pages: byte keys to byte values, grown a bucket at a time.
//!
//! Linear hashing (Litwin, "Linear hashing: a new tool for file and table addressing", 1980): no
//! directory, so that a key is one page away whatever the table's size. Bucket `i` is page `2 * i`.
//! When the mean bucket passes [`SPLIT_BYTES`] the next one in turn is divided in two, and when it
//! falls below [`MERGE_BYTES`] the last one joins the one that it came from.
//!
//! ```text
//!   header (in the root)  seed, count, bytes, buckets         header
//!   page 2 * bucket       entries, in no order                bucket
//!   whole table           in the order of reversed hashes     walk: SCAN's cursors, streams
//! ```
//!
//! Owns the buckets' pages. Elements longer than a page should hold are kept beside them. Must
//! never know what keys and values mean.

mod bucket;
mod build;
mod header;
mod sample;
mod walk;

pub(crate) use build::DictBuilder;
pub(crate) use walk::{Pair, Part, Walk};

use bytes::Bytes;

use self::bucket::{
    Bucket, BucketBuilder, DEADLINE_BYTES, Element, Entry, PAGE_HEAD_BYTES, Placed,
};
use self::header::Header;
use super::Malformed;
use super::pages::{ELEMENT_BYTES_MAX, PAGE_BYTES_MAX, Pages};
use crate::command::CommandError;

/// Mean bytes of a bucket beyond which one is divided. Buckets of one round differ by a factor of
/// two, so that pages have from 1.7 to 3.4 KiB on average, below the target of a page.
const SPLIT_BYTES: u64 = 2560;

/// Mean bytes of a bucket below which the last two are joined: a quarter, so that a table whose
/// size goes up and down does not divide and join the same buckets again and again.
const MERGE_BYTES: u64 = SPLIT_BYTES / 4;

/// Buckets that one change of the table divides or joins at most: the largest entry that lies in
/// its page makes room for two.
const STEPS_MAX: u32 = 4;

/// Bytes of the shortest element that moves out of a page that is too long: references to shorter
/// ones would hardly take less.
const MOVED_OUT_BYTES_MIN: usize = 256;

/// Buckets that are divided for one entry at most. Only a table that is filled in the order of its
/// own hashes needs more than a few: its entries come to a part of the buckets first. Then all of
/// them are divided until that part is large enough, once in a while.
const DIVISIONS_MAX: u32 = 1 << 24;

/// Buckets that are divided before others may run: some microseconds each.
const DIVISIONS_PER_TURN: u32 = 32;

/// A hash table. Its pages are handed to every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dict {
    header: Header,
}

impl Dict {
    /// Bytes of the stored form: what the root keeps of a table.
    pub(crate) const BYTES: usize = Header::BYTES;

    /// An empty table in `pages`, its hash keyed by `seed`.
    #[cfg(test)]
    pub(crate) fn new(seed: u64, pages: &mut Pages) -> Self {
        pages.write(page_of(0), BucketBuilder::with_capacity(0).finish());
        let header = Header::new(seed, 1);
        Self { header }
    }

    /// The stored form.
    pub(crate) fn encode(&self) -> [u8; Self::BYTES] {
        self.header.encode()
    }

    /// What was stored.
    pub(crate) fn decode(stored: &[u8]) -> Result<Self, Malformed> {
        let header = Header::decode(stored)?;
        Ok(Self { header })
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> u64 {
        self.header.count
    }

    /// Whether there is no entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.header.count == 0
    }

    /// How many pages it has, those of large elements left out.
    pub(crate) fn page_count(&self) -> u32 {
        self.header.buckets()
    }

    /// The value of a key.
    pub(crate) async fn get(
        &self,
        pages: &mut Pages,
        key: &[u8],
    ) -> Result<Option<Bytes>, CommandError> {
        let hash = self.header.hash(key);
        let page = pages.read(page_of(self.header.bucket_of(hash))).await?;
        match find(pages, Bucket::decode(&page)?, key, hash).await? {
            Some(entry) => Ok(Some(whole(pages, &page, entry.value).await?)),
            None => Ok(None),
        }
    }

    /// The length of a key's value in bytes, and until when it is there: 0 for ever.
    pub(crate) async fn look(
        &self,
        pages: &mut Pages,
        key: &[u8],
    ) -> Result<Option<(u64, u64)>, CommandError> {
        let hash = self.header.hash(key);
        let page = pages.read(page_of(self.header.bucket_of(hash))).await?;
        let found = find(pages, Bucket::decode(&page)?, key, hash).await?;
        Ok(found.map(|entry| (entry.value.len(), entry.deadline_ms)))
    }

    /// Gives a key that is there a deadline, or 0. False: it is not there.
    pub(crate) async fn set_deadline(
        &mut self,
        pages: &mut Pages,
        key: &[u8],
        deadline_ms: u64,
    ) -> Result<bool, CommandError> {
        let hash = self.header.hash(key);
        let page = pages.read(page_of(self.header.bucket_of(hash))).await?;
        let Some(entry) = find(pages, Bucket::decode(&page)?, key, hash).await? else {
            return Ok(false);
        };
        let placed = (entry.key, entry.value, deadline_ms);
        self.place(pages, placed, hash).await?;
        self.grow(pages).await?;
        Ok(true)
    }

    /// Whether there is such a key.
    #[cfg(test)]
    pub(crate) async fn contains(
        &self,
        pages: &mut Pages,
        key: &[u8],
    ) -> Result<bool, CommandError> {
        Ok(self.value_len(pages, key).await?.is_some())
    }

    /// The length of a key's value in bytes.
    pub(crate) async fn value_len(
        &self,
        pages: &mut Pages,
        key: &[u8],
    ) -> Result<Option<u64>, CommandError> {
        let found = self.look(pages, key).await?;
        Ok(found.map(|(bytes, _)| bytes))
    }

    /// Reads the pages in which keys lie, so that the calls about them need not wait: all at once
    /// instead of one after another.
    pub(crate) async fn prefetch(
        &self,
        pages: &mut Pages,
        keys: impl Iterator<Item = &[u8]>,
    ) -> Result<(), CommandError> {
        let bucket = |key| self.header.bucket_of(self.header.hash(key));
        let mut numbers: Vec<u32> = keys.map(|key| page_of(bucket(key))).collect();
        numbers.sort_unstable();
        numbers.dedup();
        pages.read_many(&numbers).await?;
        Ok(())
    }

    /// Sets a key's value, without a deadline. True: the key is new.
    pub(crate) async fn insert(
        &mut self,
        pages: &mut Pages,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool, CommandError> {
        let hash = self.header.hash(key);
        let page = pages.read(page_of(self.header.bucket_of(hash))).await?;
        let found = find(pages, Bucket::decode(&page)?, key, hash).await?;
        let is_new = found.is_none();
        let stored = match &found {
            Some(entry) => {
                give_up(pages, entry.value).await?;
                entry.key
            }
            None => keep(pages, key, hash).await?,
        };
        let value = keep(pages, value, 0).await?;
        self.place(pages, (stored, value, 0), hash).await?;
        self.header.count += u64::from(is_new);
        self.grow(pages).await?;
        Ok(is_new)
    }

    /// Puts an entry into its bucket, instead of the one with the same stored key. While it does
    /// not fit, buckets are divided, until its own was among them.
    async fn place(
        &mut self,
        pages: &mut Pages,
        (key, value, deadline_ms): Placed<'_>,
        hash: u64,
    ) -> Result<(), CommandError> {
        for step in 0..DIVISIONS_MAX {
            let number = page_of(self.header.bucket_of(hash));
            let page = pages.read(number).await?;
            let bucket = Bucket::decode(&page)?;
            let timed = if deadline_ms > 0 && !bucket.has_deadlines() {
                bucket.with_deadlines()
            } else {
                page.clone()
            };
            let ready = Bucket::decode(&timed)?;
            let old = ready.iter().find(|entry| entry.key == key);
            let place = old.map_or(ready.end(), |entry| entry.place);
            let changed = ready.splice(place, Some((key, value, deadline_ms)));
            if let Some(changed) = fit(pages, self.header, changed).await? {
                return self.replace(pages, number, bucket, changed);
            }
            self.divide(pages).await?;
            if step % DIVISIONS_PER_TURN == DIVISIONS_PER_TURN - 1 {
                tokio::task::yield_now().await;
            }
        }
        Err(Malformed("a bucket that cannot be divided").into())
    }

    /// Removes a key. True: it was there.
    pub(crate) async fn remove(
        &mut self,
        pages: &mut Pages,
        key: &[u8],
    ) -> Result<bool, CommandError> {
        let hash = self.header.hash(key);
        let number = page_of(self.header.bucket_of(hash));
        let page = pages.read(number).await?;
        let bucket = Bucket::decode(&page)?;
        let Some(entry) = find(pages, bucket, key, hash).await? else {
            return Ok(false);
        };
        give_up(pages, entry.key).await?;
        give_up(pages, entry.value).await?;
        let changed = bucket.splice(entry.place, None);
        self.replace(pages, number, bucket, changed)?;
        let count = self.header.count.checked_sub(1);
        self.header.count = count.ok_or(Malformed("the count of a hash table"))?;
        self.shrink(pages).await?;
        Ok(true)
    }

    /// Writes a bucket's new page and accounts for its bytes.
    fn replace(
        &mut self,
        pages: &mut Pages,
        number: u32,
        old: Bucket<'_>,
        changed: Bytes,
    ) -> Result<(), CommandError> {
        let others = self.header.bytes.checked_sub(old.bytes());
        let others = others.ok_or(Malformed("the bytes of a hash table"))?;
        self.header.bytes = others + (changed.len() - PAGE_HEAD_BYTES) as u64;
        pages.write(number, changed);
        Ok(())
    }

    /// Divides buckets while they are too full on average.
    async fn grow(&mut self, pages: &mut Pages) -> Result<(), CommandError> {
        for _ in 0..STEPS_MAX {
            if self.header.bytes <= SPLIT_BYTES * u64::from(self.header.buckets()) {
                return Ok(());
            }
            self.divide(pages).await?;
        }
        Ok(())
    }

    /// Divides the next bucket in turn in two.
    async fn divide(&mut self, pages: &mut Pages) -> Result<(), CommandError> {
        let Some((divided, new)) = self.header.split() else {
            return Ok(());
        };
        let page = pages.read(page_of(divided)).await?;
        let bucket = Bucket::decode(&page)?;
        let has_deadlines = bucket.has_deadlines();
        let mut parts = [(); 2].map(|()| BucketBuilder::new(page.len(), has_deadlines));
        for entry in bucket.iter() {
            let hash = self.hash_of(entry.key);
            let part = usize::from(self.header.bucket_of(hash) == new);
            parts[part].push_entry(&entry);
        }
        let [stays, moves] = parts;
        pages.write(page_of(divided), stays.finish());
        pages.write(page_of(new), moves.finish());
        Ok(())
    }

    /// Joins buckets while they are too empty on average. One that would not fit its page stays,
    /// until later removals.
    async fn shrink(&mut self, pages: &mut Pages) -> Result<(), CommandError> {
        for _ in 0..STEPS_MAX {
            if self.header.bytes >= MERGE_BYTES * u64::from(self.header.buckets()) {
                return Ok(());
            }
            let mut merged = self.header;
            let Some((into, gone)) = merged.merge() else {
                return Ok(());
            };
            let (target, source) = (
                pages.read(page_of(into)).await?,
                pages.read(page_of(gone)).await?,
            );
            let (bucket, added) = (Bucket::decode(&target)?, Bucket::decode(&source)?);
            let has_deadlines = bucket.has_deadlines() || added.has_deadlines();
            let mut joined = BucketBuilder::new(target.len() + source.len(), has_deadlines);
            let before = bucket.bytes() + added.bytes();
            // a page without deadlines gets them beside one that has some
            let added_bytes = if has_deadlines {
                (bucket.len() + added.len()) * DEADLINE_BYTES
            } else {
                0
            };
            if !joined.has_room(before as usize + added_bytes) {
                return Ok(());
            }
            for entry in bucket.iter().chain(added.iter()) {
                joined.push_entry(&entry);
            }
            let joined = joined.finish();
            let others = self.header.bytes.checked_sub(before);
            let others = others.ok_or(Malformed("the bytes of a hash table"))?;
            merged.bytes = others + (joined.len() - PAGE_HEAD_BYTES) as u64;
            pages.write(page_of(into), joined);
            pages.remove(page_of(gone));
            self.header = merged;
        }
        Ok(())
    }

    fn hash_of(&self, key: Element<'_>) -> u64 {
        match key {
            Element::Whole(key) => self.header.hash(key),
            Element::Large(_, hash) => hash,
        }
    }
}

/// The page of a bucket: the even numbers, the odd ones are for whoever allocates.
const fn page_of(bucket: u32) -> u32 {
    bucket * 2
}

/// The entry of a key in its bucket.
async fn find<'p>(
    pages: &mut Pages,
    bucket: Bucket<'p>,
    key: &[u8],
    hash: u64,
) -> Result<Option<Entry<'p>>, CommandError> {
    for entry in bucket.iter() {
        let is_found = match entry.key {
            Element::Whole(bytes) => bytes == key,
            Element::Large(large, stored) => {
                stored == hash
                    && large.len() == key.len() as u64
                    && pages.load_large(&large).await? == key
            }
        };
        if is_found {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// An element as it goes into a page: a long one is kept beside it.
async fn keep<'b>(
    pages: &mut Pages,
    bytes: &'b [u8],
    hash: u64,
) -> Result<Element<'b>, CommandError> {
    if bytes.len() <= ELEMENT_BYTES_MAX {
        return Ok(Element::Whole(bytes));
    }
    Ok(Element::Large(pages.store_large(bytes).await?, hash))
}

/// Lets go of what is kept beside a page for an element.
async fn give_up(pages: &mut Pages, element: Element<'_>) -> Result<(), CommandError> {
    if let Element::Large(large, _) = element {
        pages.free_large(large).await?;
    }
    Ok(())
}

/// The bytes of an element of `page`.
async fn whole(
    pages: &mut Pages,
    page: &Bytes,
    element: Element<'_>,
) -> Result<Bytes, CommandError> {
    match element {
        Element::Whole(bytes) => Ok(page.slice_ref(bytes)),
        Element::Large(large, _) => Ok(pages.load_large(&large).await?),
    }
}

/// A page that fits its bound: long elements of one that does not move out, the longest first.
/// Nothing where short ones alone are too many.
async fn fit(
    pages: &mut Pages,
    header: Header,
    mut page: Bytes,
) -> Result<Option<Bytes>, CommandError> {
    while page.len() > PAGE_BYTES_MAX {
        let bucket = Bucket::decode(&page)?;
        let whole = |element: Element<'_>| element.whole_bytes().unwrap_or(0);
        let length = |entry: &Entry<'_>| whole(entry.key).max(whole(entry.value));
        let longest = bucket.iter().max_by_key(length);
        let Some(entry) = longest.filter(|entry| length(entry) >= MOVED_OUT_BYTES_MIN) else {
            return Ok(None);
        };
        let (mut key, mut value) = (entry.key, entry.value);
        match (key, value) {
            (Element::Whole(bytes), _) if bytes.len() == length(&entry) => {
                key = Element::Large(pages.store_large(bytes).await?, header.hash(bytes));
            }
            (_, Element::Whole(bytes)) => {
                value = Element::Large(pages.store_large(bytes).await?, 0);
            }
            (_, Element::Large(..)) => return Ok(None),
        }
        page = bucket.splice(entry.place, Some((key, value, entry.deadline_ms)));
    }
    Ok(Some(page))
}

#[cfg(test)]
mod tests;
