//! A table made of many entries at once: each page is written once.
//!
//! Owns the choice of the number of buckets.

use super::bucket::{BucketBuilder, entry_bytes};
use super::header::Header;
use super::{Dict, SPLIT_BYTES, keep, page_of};
use crate::collections::packed::VARINT_BYTES_MAX;
use crate::collections::pages::{ELEMENT_BYTES_MAX, Pages};
use crate::command::CommandError;

/// Entries handled before others may run: some 100 ns each.
const ENTRIES_PER_TURN: usize = 512;

/// Bytes of an entry's two lengths at most.
const HEADS_BYTES: u64 = 4;

/// Bytes of a reference to a large key, the longer kind.
const LARGE_BYTES: u64 = 20;

/// Entries that will be a table.
#[derive(Debug, Default)]
pub(crate) struct DictBuilder {
    /// Keys and values, one after another.
    bytes: Vec<u8>,
    /// Length of each key and of its value.
    lengths: Vec<(u32, u32)>,
    /// About what the entries take in their pages.
    page_bytes: u64,
}

impl DictBuilder {
    /// Adds an entry whose key was not added yet.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.lengths.push((key.len() as u32, value.len() as u32));
        let in_page = |element: &[u8]| match element.len() {
            bytes @ 0..=ELEMENT_BYTES_MAX => bytes as u64,
            _ => LARGE_BYTES,
        };
        self.page_bytes += in_page(key) + in_page(value) + HEADS_BYTES;
    }

    /// How many entries were added.
    pub(crate) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Makes the table in `pages`, which hold no other one, its hash keyed by `seed`.
    pub(crate) async fn finish(self, seed: u64, pages: &mut Pages) -> Result<Dict, CommandError> {
        let bucket_count = u32::try_from(self.page_bytes / SPLIT_BYTES + 1).unwrap_or(u32::MAX);
        let mut header = Header::new(seed, bucket_count);
        let mut buckets: Vec<BucketBuilder> = Vec::new();
        buckets.resize_with(header.buckets() as usize, || {
            BucketBuilder::with_capacity(0)
        });
        let mut left_over = Vec::new();
        let mut rest = &self.bytes[..];
        for (index, (key_bytes, value_bytes)) in self.lengths.iter().enumerate() {
            if index % ENTRIES_PER_TURN == ENTRIES_PER_TURN - 1 {
                tokio::task::yield_now().await;
            }
            let (key, after) = rest.split_at(*key_bytes as usize);
            let (value, after) = after.split_at(*value_bytes as usize);
            rest = after;
            let hash = header.hash(key);
            let bucket = &mut buckets[header.bucket_of(hash) as usize];
            let in_page = |element: &[u8]| element.len().min(ELEMENT_BYTES_MAX);
            if !bucket.has_room(in_page(key) + in_page(value) + 2 * VARINT_BYTES_MAX) {
                left_over.push((key, value));
                continue;
            }
            let (key, value) = (keep(pages, key, hash).await?, keep(pages, value, 0).await?);
            header.count += 1;
            header.bytes += entry_bytes(key, value) as u64;
            bucket.push(key, value);
        }
        for (number, bucket) in (0..).zip(buckets) {
            if number as usize % ENTRIES_PER_TURN == ENTRIES_PER_TURN - 1 {
                tokio::task::yield_now().await;
            }
            pages.write(page_of(number), bucket.finish());
        }
        let mut dict = Dict { header };
        for (key, value) in left_over {
            dict.insert(pages, key, value).await?;
        }
        Ok(dict)
    }
}
