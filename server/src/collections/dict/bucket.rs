//! One bucket's page.
//!
//! ```text
//! page  := 1 (version), entry*
//!        | 2 (version), (entry, deadline)*
//! entry := head(key), key, head(value), value
//! head  := varint of twice the length, plus one where a reference to a large element follows
//! key   := its bytes, or a reference (12 bytes) and the key's hash (8 bytes)
//! value := its bytes, or a reference (12 bytes)
//! deadline := milliseconds since the Unix epoch (8 bytes), 0 for none
//! ```
//!
//! A page has deadlines from the first one on that comes to it.
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

/// The version of a page whose entries have deadlines.
const VERSION_TIMED: u8 = 2;

/// Bytes of an entry's deadline in such a page.
pub(super) const DEADLINE_BYTES: usize = 8;

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
    /// Until when it is there, in milliseconds since the Unix epoch; 0 for ever.
    pub(super) deadline_ms: u64,
    /// Where it lies in the page.
    pub(super) place: Range<usize>,
}

/// A page that was checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket<'a> {
    page: &'a [u8],
    count: usize,
    has_deadlines: bool,
}

/// What is put into a page: a key, its value, its deadline or 0.
pub(super) type Placed<'a> = (Element<'a>, Element<'a>, u64);

impl<'a> Bucket<'a> {
    /// Checks a page.
    pub(super) fn decode(page: &'a [u8]) -> Result<Self, Malformed> {
        let has_deadlines = match page.first() {
            Some(&VERSION) => false,
            Some(&VERSION_TIMED) => true,
            Some(_) | None => return Err(Malformed("the version of a hash table's page")),
        };
        let (mut at, mut count) = (PAGE_HEAD_BYTES, 0);
        while at < page.len() {
            let entry = read_entry(page, at, has_deadlines);
            let (_, next) = entry.ok_or(Malformed("an entry of a hash table"))?;
            (at, count) = (next, count + 1);
        }
        Ok(Self {
            page,
            count,
            has_deadlines,
        })
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
            let (entry, next) = read_entry(self.page, at, self.has_deadlines)?;
            at = next;
            Some(entry)
        })
    }

    /// Whether its entries can have deadlines.
    pub(super) fn has_deadlines(self) -> bool {
        self.has_deadlines
    }

    /// The same entries in a page whose entries can have deadlines.
    pub(super) fn with_deadlines(self) -> Bytes {
        let bytes = self.page.len() + self.count * DEADLINE_BYTES;
        let mut page = BucketBuilder::new(bytes, true);
        for entry in self.iter() {
            page.push_entry(&entry);
        }
        page.finish()
    }

    /// This page with another entry instead of what lies in `place`, or with none. One with a
    /// deadline goes only into a page of such.
    pub(super) fn splice(self, place: Range<usize>, entry: Option<Placed<'_>>) -> Bytes {
        let added = entry.map_or(0, |(key, value, _)| entry_bytes(key, value));
        let added = added + DEADLINE_BYTES;
        let mut page = Vec::with_capacity(self.page.len() - place.len() + added);
        page.extend_from_slice(&self.page[..place.start]);
        if let Some((key, value, deadline_ms)) = entry {
            assert!(deadline_ms == 0 || self.has_deadlines);
            write_entry(&mut page, key, value);
            if self.has_deadlines {
                page.extend_from_slice(&deadline_ms.to_le_bytes());
            }
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
fn read_entry(page: &[u8], at: usize, has_deadlines: bool) -> Option<(Entry<'_>, usize)> {
    let (key, after_key) = read_element(page, at, LARGE_KEY_BYTES)?;
    let (value, after_value) = read_element(page, after_key, LargeRef::BYTES)?;
    let (deadline_ms, end) = if has_deadlines {
        let deadline = page.get(after_value..)?.first_chunk()?;
        (u64::from_le_bytes(*deadline), after_value + DEADLINE_BYTES)
    } else {
        (0, after_value)
    };
    let entry = Entry {
        key,
        value,
        deadline_ms,
        place: at..end,
    };
    Some((entry, end))
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

/// Bytes that an entry takes in a page, its deadline left out.
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
pub(super) struct BucketBuilder {
    page: Vec<u8>,
    has_deadlines: bool,
}

impl BucketBuilder {
    /// A page without entries, with room for `bytes` bytes of them, whose entries have none.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self::new(bytes, false)
    }

    /// A page without entries, with room for `bytes` bytes of them.
    pub(super) fn new(bytes: usize, has_deadlines: bool) -> Self {
        let mut page = Vec::with_capacity(PAGE_HEAD_BYTES + bytes);
        page.push(if has_deadlines {
            VERSION_TIMED
        } else {
            VERSION
        });
        Self {
            page,
            has_deadlines,
        }
    }

    /// Whether an entry of so many bytes still fits.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.page.len() + bytes <= PAGE_BYTES_MAX
    }

    /// Appends an entry without a deadline.
    pub(super) fn push(&mut self, key: Element<'_>, value: Element<'_>) {
        write_entry(&mut self.page, key, value);
        if self.has_deadlines {
            self.page.extend_from_slice(&[0; DEADLINE_BYTES]);
        }
    }

    /// Appends an entry of another page.
    pub(super) fn push_entry(&mut self, entry: &Entry<'_>) {
        write_entry(&mut self.page, entry.key, entry.value);
        if self.has_deadlines {
            let deadline = entry.deadline_ms.to_le_bytes();
            self.page.extend_from_slice(&deadline);
        }
    }

    /// The page as it is stored.
    pub(super) fn finish(self) -> Bytes {
        self.page.into()
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
    fn deadlines_stand_behind_their_entries() {
        let plain = sample();
        let timed = Bucket::decode(&plain).unwrap().with_deadlines();
        let bucket = Bucket::decode(&timed).unwrap();
        let keys = |bucket: Bucket<'_>| bucket.iter().map(|entry| entry.key.len()).sum::<u64>();
        assert_eq!(keys(bucket), keys(Bucket::decode(&plain).unwrap()));
        assert_eq!(timed.len(), plain.len() + 3 * 8);
        let first = bucket.iter().next().unwrap();
        let page = bucket.splice(first.place, Some((first.key, first.value, 0x0102)));
        let expected = [2, 2, b'f', 4, b'v', b'1', 2, 1, 0, 0, 0, 0, 0, 0];
        assert_eq!(page[..14], expected);
        let deadlines = Bucket::decode(&page).unwrap();
        let deadlines: Vec<u64> = deadlines.iter().map(|entry| entry.deadline_ms).collect();
        assert_eq!(deadlines, [0x0102, 0, 0]);
        assert!(Bucket::decode(&page[..page.len() - 1]).is_err());
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
        let page = bucket.splice(entries[1].place.clone(), Some((entries[1].key, value, 0)));
        let bucket = Bucket::decode(&page).unwrap();
        assert_eq!(bucket.iter().nth(1).unwrap().value, value);
        let page = bucket.splice(bucket.iter().next().unwrap().place, None);
        assert_eq!(Bucket::decode(&page).unwrap().len(), 2);
    }

    #[test]
    fn damaged_pages_are_refused_or_read_to_their_end() {
        assert!(Bucket::decode(&[]).is_err());
        assert!(Bucket::decode(&[3]).is_err());
        let valid = sample();
        let timed = Bucket::decode(&valid).unwrap().with_deadlines();
        let mut random = Random::new(1);
        for round in 0..40_000 {
            let mut page = if round % 3 == 0 { &timed } else { &valid }.to_vec();
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
