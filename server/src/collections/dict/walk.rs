//! Going over a whole table: SCAN's cursors, and streams of entries.
//!
//! The order is that of the hashes with their bits reversed. In it a bucket is one interval, a
//! bucket that is divided becomes the two halves of its interval, and joined ones become theirs
//! again. So a position in that order means the same while the table changes: an entry that is
//! there from beginning to end is met exactly once. A cursor is a position with its bits reversed
//! back, which makes it a small number.
//!
//! Owns the order. Must never change a page.

use std::collections::VecDeque;

use bytes::Bytes;

use super::bucket::{Bucket, Element, Entry};
use super::{Dict, page_of, whole};
use crate::collections::pages::Pages;
use crate::command::CommandError;

/// Pages that a stream reads at once: as many as the device works on at the same time, and their
/// entries are handled in less than a turn.
const READ_AHEAD_PAGES: usize = 16;

/// Bytes of entries that a stream hands out at once, one entry more: entries that lie beside their
/// pages may be long.
const STEP_BYTES_MAX: usize = 256 * 1024;

/// Which part of the entries is wanted: what is not is not read where it lies beside its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Keys; values come out empty.
    Keys,
    /// Values; keys come out empty.
    Values,
    /// Both.
    Both,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The key, empty where it was not wanted.
    pub(crate) key: Bytes,
    /// The value, empty where it was not wanted.
    pub(crate) value: Bytes,
    /// Until when it is there, in milliseconds since the Unix epoch; 0 for ever.
    pub(crate) deadline_ms: u64,
}

/// The bucket at a position, and the next position; none behind the last bucket.
struct Step {
    bucket: u32,
    /// The position lies inside the bucket's interval: buckets were joined since it was given out.
    is_inside: bool,
    next: Option<u64>,
}

impl Dict {
    /// The entries of the bucket at a cursor and the cursor to go on with, 0 in the end.
    pub(crate) async fn scan(
        &self,
        pages: &mut Pages,
        cursor: u64,
        part: Part,
    ) -> Result<(u64, Vec<Pair>), CommandError> {
        let position = cursor.reverse_bits();
        let step = self.step(position);
        let page = pages.read(page_of(step.bucket)).await?;
        let from = if step.is_inside { position } else { 0 };
        let mut pairs = Vec::new();
        self.collect(pages, &page, (from, part), &mut pairs).await?;
        Ok((step.next.map_or(0, u64::reverse_bits), pairs))
    }

    fn step(&self, position: u64) -> Step {
        let bucket = self.header.bucket_of(position.reverse_bits());
        let bits = self.header.bits_of(bucket);
        let start = u64::from(bucket).reverse_bits();
        // the interval of a table's only bucket is everything
        let next = 1_u64
            .checked_shl(u64::BITS - bits)
            .and_then(|bytes| start.checked_add(bytes));
        Step {
            bucket,
            is_inside: position != start,
            next,
        }
    }

    /// Appends the entries of a page whose position is `from` or later.
    async fn collect(
        &self,
        pages: &mut Pages,
        page: &Bytes,
        (from, part): (u64, Part),
        pairs: &mut Vec<Pair>,
    ) -> Result<(), CommandError> {
        let bucket = Bucket::decode(page)?;
        pairs.reserve(bucket.len());
        for entry in bucket.iter() {
            if from > 0 && self.hash_of(entry.key).reverse_bits() < from {
                continue;
            }
            pairs.push(pair(pages, page, &entry, part).await?);
        }
        Ok(())
    }
}

/// What is wanted of an entry of `page`.
pub(super) async fn pair(
    pages: &mut Pages,
    page: &Bytes,
    entry: &Entry<'_>,
    part: Part,
) -> Result<Pair, CommandError> {
    let key = wanted(pages, page, (entry.key, part != Part::Values)).await?;
    let value = wanted(pages, page, (entry.value, part != Part::Keys)).await?;
    let deadline_ms = entry.deadline_ms;
    Ok(Pair {
        key,
        value,
        deadline_ms,
    })
}

async fn wanted(
    pages: &mut Pages,
    page: &Bytes,
    (element, is_wanted): (Element<'_>, bool),
) -> Result<Bytes, CommandError> {
    if is_wanted {
        whole(pages, page, element).await
    } else {
        Ok(Bytes::new())
    }
}

/// A stream of all entries of a table that does not change meanwhile.
#[derive(Debug)]
pub(crate) struct Walk {
    position: Option<u64>,
    part: Part,
    /// Pages that were read and not told of, and how many entries of the first were.
    ahead: VecDeque<Bytes>,
    told: usize,
}

impl Walk {
    /// From the first entry.
    pub(crate) fn new(part: Part) -> Self {
        Self {
            position: Some(0),
            part,
            ahead: VecDeque::new(),
            told: 0,
        }
    }

    /// The entries of the next few pages, none in the end, fewer where long ones lie beside them.
    /// Lets go of the pages before, so that a table of any size can be walked. The caller lets
    /// others run between two calls.
    pub(crate) async fn next(
        &mut self,
        dict: &Dict,
        pages: &mut Pages,
    ) -> Result<Option<Vec<Pair>>, CommandError> {
        if self.ahead.is_empty() && !self.read_ahead(dict, pages).await? {
            return Ok(None);
        }
        let (mut pairs, mut bytes) = (Vec::new(), 0);
        while let Some(page) = self.ahead.front() {
            let bucket = Bucket::decode(page)?;
            pairs.reserve(bucket.len());
            for entry in bucket.iter().skip(self.told) {
                let pair = pair(pages, page, &entry, self.part).await?;
                self.told += 1;
                bytes += pair.key.len() + pair.value.len();
                pairs.push(pair);
                if bytes >= STEP_BYTES_MAX {
                    return Ok(Some(pairs));
                }
            }
            self.told = 0;
            self.ahead.pop_front();
        }
        Ok(Some(pairs))
    }

    /// Reads the next few pages; false in the end.
    async fn read_ahead(&mut self, dict: &Dict, pages: &mut Pages) -> Result<bool, CommandError> {
        if self.position.is_none() {
            return Ok(false);
        }
        let mut numbers = Vec::with_capacity(READ_AHEAD_PAGES);
        while let Some(position) = self.position
            && numbers.len() < READ_AHEAD_PAGES
        {
            let step = dict.step(position);
            numbers.push(page_of(step.bucket));
            self.position = step.next;
        }
        pages.forget();
        self.ahead.extend(pages.read_many(&numbers).await?);
        Ok(true)
    }
}
