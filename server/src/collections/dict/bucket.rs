//! One bucket's page.
//!
//! ```text
//! page  := 1 (version), entry*
//! entry := head(key), key, head(value), value
//! head  := varint of twice the length, plus one where a reference to a large element follows
//! key   := its bytes, or a reference (12 bytes) and the key's hash (8 bytes)
//! value := its bytes, or a reference (12 bytes)
//! ```
//!
//! Owns these bytes. A page is checked whole when it is decoded. Must never read another page.

use std::ops::Range;

use bytes::Bytes;

use crate::collections::Malformed;
use crate::collections::large::LargeRef;
use crate::collections::packed::{read_varint, varint_bytes, write_varint};
use crate::collections::pages::PAGE_BYTES_MAX;

/// The version of the format, the first byte of every page.
const VERSION: u8 = 1;

/// Bytes of a page beside its entries.
pub(super) const PAGE_HEAD_BYTES: usize = 1;

/// Bytes of a reference to a large key.
const LARGE_KEY_BYTES: usize = LargeRef::BYTES + 8;

/// A key or value as it lies in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element<'a> {
    /// Its bytes.
    Whole(&'a [u8]),
    /// Where it is; a key's hash with it, so that a bucket is split without reading it.
    Large(LargeRef, u64),
}

impl Element<'_> {
    /// Its length in bytes.
    pub(super) fn len(self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Large(large, _) => large.len(),
        }
    }

    /// Bytes that its own bytes take in a page.
    pub(super) fn whole_bytes(self) -> Option<usize> {
        match self {
            Self::Whole(bytes) => Some(bytes.len()),
            Self::Large(..) => None,
        }
    }
}

/// One entry of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// Its key.
    pub(super) key: Element<'a>,
    /// Its value.
    pub(super) value: Element<'a>,
    /// Where it lies in the page.
    pub(super) place: Range<usize>,
}

/// A page that was checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket<'a> {
    page: &'a [u8],
    count: usize,
}

impl<'a> Bucket<'a> {
    /// Checks a page.
    pub(super) fn decode(page: &'a [u8]) -> Result<Self, Malformed> {
        if page.first() != Some(&VERSION) {
            return Err(Malformed("the version of a hash table's page"));
        }
        let (mut at, mut count) = (PAGE_HEAD_BYTES, 0);
        while at < page.len() {
            let (_, next) = read_entry(page, at).ok_or(Malformed("an entry of a hash table"))?;
            (at, count) = (next, count + 1);
        }
        Ok(Self { page, count })
    }

    /// How many entries there are.
    pub(super) fn len(self) -> usize {
        self.count
    }

    /// Bytes of its entries.
    pub(super) fn bytes(self) -> u64 {
        (self.page.len() - PAGE_HEAD_BYTES) as u64
    }

    /// Its entries in order.
    pub(super) fn iter(self) -> impl Iterator<Item = Entry<'a>> {
        let mut at = PAGE_HEAD_BYTES;
        std::iter::from_fn(move || {
            let (entry, next) = read_entry(self.page, at)?;
            at = next;
            Some(entry)
        })
    }

    /// This page with another entry instead of what lies in `place`, or with none.
    pub(super) fn splice(
        self,
        place: Range<usize>,
        entry: Option<(Element<'_>, Element<'_>)>,
    ) -> Bytes {
        let added = entry.map_or(0, |(key, value)| entry_bytes(key, value));
        let mut page = Vec::with_capacity(self.page.len() - place.len() + added);
        page.extend_from_slice(&self.page[..place.start]);
        if let Some((key, value)) = entry {
            write_entry(&mut page, key, value);
        }
        page.extend_from_slice(&self.page[place.end..]);
        page.into()
    }

    /// The place behind the last entry.
    pub(super) fn end(self) -> Range<usize> {
        self.page.len()..self.page.len()
    }
}

/// The entry at `at` and where the next one begins; nothing at the page's end or where there is no
/// whole entry.
fn read_entry(page: &[u8], at: usize) -> Option<(Entry<'_>, usize)> {
    let (key, after_key) = read_element(page, at, LARGE_KEY_BYTES)?;
    let (value, end) = read_element(page, after_key, LargeRef::BYTES)?;
    let place = at..end;
    Some((Entry { key, value, place }, end))
}

#[inline]
fn read_element(page: &[u8], at: usize, large_bytes: usize) -> Option<(Element<'_>, usize)> {
    let (head, head_bytes) = read_varint(page.get(at..)?)?;
    let start = at + head_bytes;
    let length = (head >> 1) as usize;
    let bytes = page.get(start..)?.get(..length)?;
    if head & 1 == 0 {
        return Some((Element::Whole(bytes), start + length));
    }
    if length != large_bytes {
        return None;
    }
    let (large, rest) = bytes.split_first_chunk::<{ LargeRef::BYTES }>()?;
    let hash = rest
        .first_chunk::<8>()
        .map_or(0, |hash| u64::from_le_bytes(*hash));
    Some((
        Element::Large(LargeRef::decode(*large), hash),
        start + length,
    ))
}

/// Bytes that an entry takes in a page.
pub(super) fn entry_bytes(key: Element<'_>, value: Element<'_>) -> usize {
    let key = key.whole_bytes().unwrap_or(LARGE_KEY_BYTES);
    let value = value.whole_bytes().unwrap_or(LargeRef::BYTES);
    varint_bytes((key as u32) << 1) + key + varint_bytes((value as u32) << 1) + value
}

fn write_entry(page: &mut Vec<u8>, key: Element<'_>, value: Element<'_>) {
    match key {
        Element::Whole(bytes) => write_whole(page, bytes),
        Element::Large(large, hash) => {
            write_varint(page, (LARGE_KEY_BYTES as u32) << 1 | 1);
            page.extend_from_slice(&large.encode());
            page.extend_from_slice(&hash.to_le_bytes());
        }
    }
    match value {
        Element::Whole(bytes) => write_whole(page, bytes),
        Element::Large(large, _) => {
            write_varint(page, (LargeRef::BYTES as u32) << 1 | 1);
            page.extend_from_slice(&large.encode());
        }
    }
}

fn write_whole(page: &mut Vec<u8>, bytes: &[u8]) {
    write_varint(page, (bytes.len() as u32) << 1);
    page.extend_from_slice(bytes);
}

/// A page that is being written.
#[derive(Debug)]
pub(super) struct BucketBuilder(Vec<u8>);

impl BucketBuilder {
    /// A page without entries, with room for `bytes` bytes of them.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        let mut page = Vec::with_capacity(PAGE_HEAD_BYTES + bytes);
        page.push(VERSION);
        Self(page)
    }

    /// Whether an entry of so many bytes still fits.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.0.len() + bytes <= PAGE_BYTES_MAX
    }

    /// Appends an entry.
    pub(super) fn push(&mut self, key: Element<'_>, value: Element<'_>) {
        write_entry(&mut self.0, key, value);
    }

    /// The page as it is stored.
    pub(super) fn finish(self) -> Bytes {
        self.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collections::seeded::Random;

    fn large(number: u8) -> LargeRef {
        LargeRef::decode([number; LargeRef::BYTES])
    }

    fn sample() -> Bytes {
        let mut page = BucketBuilder::with_capacity(100);
        page.push(Element::Whole(b"f"), Element::Whole(b"v1"));
        page.push(Element::Large(large(3), 0x0102), Element::Whole(b""));
        page.push(Element::Whole(b""), Element::Large(large(4), 0));
        page.finish()
    }

    #[test]
    fn the_bytes_are_frozen() {
        let page = sample();
        assert_eq!(page[..6], [1, 2, b'f', 4, b'v', b'1']);
        assert_eq!(page[6], 20 << 1 | 1);
        assert_eq!(page[7..19], [3; 12]);
        assert_eq!(page[19..28], [2, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(page[28..30], [0, 12 << 1 | 1]);
        assert_eq!(page[30..], [4; 12]);
    }

    #[test]
    fn entries_come_back_and_are_replaced() {
        let page = sample();
        let bucket = Bucket::decode(&page).unwrap();
        assert_eq!(bucket.len(), 3);
        let entries: Vec<Entry<'_>> = bucket.iter().collect();
        assert_eq!(entries[1].key, Element::Large(large(3), 0x0102));
        assert_eq!(entries[2].value.len(), large(4).len());
        let bytes = entries
            .iter()
            .map(|entry| entry_bytes(entry.key, entry.value));
        assert_eq!(bytes.sum::<usize>() as u64, bucket.bytes());

        let value = Element::Whole(b"other");
        let page = bucket.splice(entries[1].place.clone(), Some((entries[1].key, value)));
        let bucket = Bucket::decode(&page).unwrap();
        assert_eq!(bucket.iter().nth(1).unwrap().value, value);
        let page = bucket.splice(bucket.iter().next().unwrap().place, None);
        assert_eq!(Bucket::decode(&page).unwrap().len(), 2);
    }

    #[test]
    fn damaged_pages_are_refused_or_read_to_their_end() {
        assert!(Bucket::decode(&[]).is_err());
        assert!(Bucket::decode(&[2]).is_err());
        let valid = sample();
        let mut random = Random::new(1);
        for round in 0..40_000 {
            let mut page = valid.to_vec();
            if round % 2 == 0 {
                page.truncate(random.below(page.len() + 1));
            }
            for _ in 0..random.below(4) {
                let at = random
                    .below(page.len().max(1))
                    .min(page.len().saturating_sub(1));
                if let Some(byte) = page.get_mut(at) {
                    *byte = random.next() as u8;
                }
            }
            if let Ok(bucket) = Bucket::decode(&page) {
                let bytes: usize = bucket.iter().map(|entry| entry.place.len()).sum();
                assert_eq!(bytes as u64, bucket.bytes());
                assert_eq!(bucket.iter().count(), bucket.len());
            }
        }
    }
}
