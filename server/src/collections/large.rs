//! Elements that are too long for a page: kept in pages of their own.
//!
//! One that fits a page is that page. A longer one has a list of pages, whose first names the
//! others:
//!
//! | list page | bytes |
//! |---|---|
//! | the next page of the list, 0 for none | 4 |
//! | the numbers of the element's pages, in order | 4 each |
//!
//! Owns that format. Numbers are little-endian.

use bytes::{Bytes, BytesMut};
use cellar_storage::StoreError;

use super::pages::{PAGE_BYTES_MAX, Pages};

/// Bytes of an element in each of its pages but the last.
const PART_BYTES: usize = 28 * 1024;
const _: () = assert!(PART_BYTES <= PAGE_BYTES_MAX);

/// Bytes of a page number.
const NUMBER_BYTES: usize = 4;

/// Pages that one list page names.
const NUMBERS_PER_LIST: usize = PART_BYTES / NUMBER_BYTES - 1;

/// An element that lies in pages of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LargeRef {
    first: u32,
    bytes: u64,
}

impl LargeRef {
    /// Bytes of its stored form.
    pub(crate) const BYTES: usize = 12;

    /// The element's length in bytes.
    pub(crate) fn len(self) -> u64 {
        self.bytes
    }

    /// Its stored form.
    pub(crate) fn encode(self) -> [u8; Self::BYTES] {
        let mut stored = [0; Self::BYTES];
        stored[..4].copy_from_slice(&self.first.to_le_bytes());
        stored[4..].copy_from_slice(&self.bytes.to_le_bytes());
        stored
    }

    /// What was stored.
    pub(crate) fn decode(stored: [u8; Self::BYTES]) -> Self {
        let [a, b, c, d, bytes @ ..] = stored;
        Self {
            first: u32::from_le_bytes([a, b, c, d]),
            bytes: u64::from_le_bytes(bytes),
        }
    }

    fn is_listed(self) -> bool {
        self.bytes > PART_BYTES as u64
    }

    /// A page of it is not what it should be.
    fn broken(self) -> StoreError {
        StoreError::MissingPage { page: self.first }
    }
}

impl Pages {
    /// Keeps an element in pages of its own.
    pub(crate) async fn store_large(&mut self, content: &[u8]) -> Result<LargeRef, StoreError> {
        let mut numbers = Vec::with_capacity(content.len() / PART_BYTES + 1);
        for part in content.chunks(PART_BYTES) {
            let number = self.allocate().await?;
            self.write(number, Bytes::copy_from_slice(part));
            numbers.push(number);
        }
        let first = match numbers[..] {
            [only] => only,
            _ => self.store_list(&numbers).await?,
        };
        let bytes = content.len() as u64;
        Ok(LargeRef { first, bytes })
    }

    /// Writes the list of an element's pages, its end first.
    async fn store_list(&mut self, numbers: &[u32]) -> Result<u32, StoreError> {
        let mut next = 0;
        for part in numbers.chunks(NUMBERS_PER_LIST).rev() {
            let list = self.allocate().await?;
            let words = std::iter::once(&next).chain(part);
            let content: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
            self.write(list, Bytes::from(content));
            next = list;
        }
        Ok(next)
    }

    /// Reads such an element.
    pub(crate) async fn load_large(&mut self, large: &LargeRef) -> Result<Bytes, StoreError> {
        if !large.is_listed() {
            let content = self.read(large.first).await?;
            let is_whole = content.len() as u64 == large.bytes;
            return is_whole.then_some(content).ok_or_else(|| large.broken());
        }
        let (numbers, _) = self.load_list(*large).await?;
        let parts = self.read_many(&numbers).await?;
        let bytes: usize = parts.iter().map(Bytes::len).sum();
        if bytes as u64 != large.bytes {
            return Err(large.broken());
        }
        let mut content = BytesMut::with_capacity(bytes);
        for part in parts {
            content.extend_from_slice(&part);
        }
        Ok(content.freeze())
    }

    /// The numbers of an element's pages, and those of its list.
    async fn load_list(&mut self, large: LargeRef) -> Result<(Vec<u32>, Vec<u32>), StoreError> {
        let part_count = large.bytes.div_ceil(PART_BYTES as u64);
        let (mut numbers, mut lists) = (Vec::new(), Vec::new());
        let mut next = large.first;
        while next != 0 {
            lists.push(next);
            let list = self.read(next).await?;
            let (words, rest) = list.as_chunks::<NUMBER_BYTES>();
            let (&link, named) = words.split_first().ok_or_else(|| large.broken())?;
            numbers.extend(named.iter().map(|word| u32::from_le_bytes(*word)));
            // A list in a circle ends here, too: each of its pages names one at least.
            let is_sane = rest.is_empty() && !named.is_empty();
            if !is_sane || numbers.len() as u64 > part_count {
                return Err(large.broken());
            }
            next = u32::from_le_bytes(link);
        }
        if numbers.len() as u64 != part_count {
            return Err(large.broken());
        }
        Ok((numbers, lists))
    }

    /// Gives such an element's pages back.
    pub(crate) async fn free_large(&mut self, large: LargeRef) -> Result<(), StoreError> {
        if large.is_listed() {
            let (numbers, lists) = self.load_list(large).await?;
            for number in numbers.into_iter().chain(lists) {
                self.free(number);
            }
        } else {
            self.free(large.first);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(bytes: usize, page_count: usize) {
        let content: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
        let mut pages = Pages::in_memory();
        let large = pages.store_large(&content).await.unwrap();
        assert_eq!(LargeRef::decode(large.encode()), large);
        assert_eq!(large.len(), bytes as u64);
        assert_eq!(pages.page_count(), page_count, "{bytes} bytes");
        assert!(
            pages.load_large(&large).await.unwrap() == content,
            "{bytes} bytes"
        );
        pages.free_large(large).await.unwrap();
        let again = pages.store_large(&content).await.unwrap();
        assert_eq!(pages.page_count(), page_count, "{bytes} bytes");
        assert!(
            pages.load_large(&again).await.unwrap() == content,
            "{bytes} bytes"
        );
    }

    #[tokio::test]
    async fn elements_of_all_lengths_come_back_and_their_pages_are_used_again() {
        check(1, 1).await;
        check(PART_BYTES, 1).await;
        check(PART_BYTES + 1, 3).await;
        check(10 * PART_BYTES, 11).await;
    }

    #[tokio::test]
    async fn a_list_of_several_pages_leads_to_all_parts() {
        let numbers: Vec<u32> = (0..2 * NUMBERS_PER_LIST as u32 + 5).collect();
        let mut pages = Pages::in_memory();
        let first = pages.store_list(&numbers).await.unwrap();
        let bytes = (numbers.len() * PART_BYTES) as u64;
        let (found, lists) = pages.load_list(LargeRef { first, bytes }).await.unwrap();
        assert!(found == numbers);
        assert_eq!(lists.len(), 3);
    }

    #[tokio::test]
    async fn a_broken_list_is_told() {
        let mut pages = Pages::in_memory();
        let content = vec![7; 3 * PART_BYTES];
        let large = pages.store_large(&content).await.unwrap();
        let list = pages.read(large.first).await.unwrap().to_vec();
        let mut circle = list.clone();
        circle[..4].copy_from_slice(&large.first.to_le_bytes());
        for wrong in [circle, list[..8].to_vec(), list[..9].to_vec(), Vec::new()] {
            pages.write(large.first, Bytes::from(wrong));
            assert!(pages.load_large(&large).await.is_err());
        }
    }
}
