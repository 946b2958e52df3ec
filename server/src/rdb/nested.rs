//! What is encoded once more within a string of the payload.
//!
//! Owns that all such blobs are read alike: element by element.

use bytes::{Buf, Bytes};

use super::BadFormat;
use super::input::text_of;
use super::listpack::Listpack;
use super::ziplist::Ziplist;
use super::zipmap::Zipmap;

/// What is left of a blob.
pub(super) enum Nested {
    Listpack(Listpack),
    Ziplist(Ziplist),
    Zipmap(Zipmap),
    Intset(Intset),
    /// A single element, if it was not read yet.
    Plain(Option<Bytes>),
}

impl Nested {
    /// The next element; nothing in the end.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, BadFormat> {
        match self {
            Self::Listpack(listpack) => listpack.next(),
            Self::Ziplist(ziplist) => ziplist.next(),
            Self::Zipmap(zipmap) => zipmap.next(),
            Self::Intset(intset) => Ok(intset.next()),
            Self::Plain(element) => Ok(element.take()),
        }
    }
}

/// Integers of one width: that width in bytes (4), their number (4), the integers. All of it is
/// little-endian.
pub(super) struct Intset {
    rest: Bytes,
    width: usize,
}

impl Intset {
    pub(super) fn open(mut blob: Bytes) -> Result<Self, BadFormat> {
        let (heads, _) = blob.as_chunks::<4>();
        let [width, count, ..] = heads else {
            return Err(BadFormat);
        };
        let width = u32::from_le_bytes(*width) as usize;
        let count = u32::from_le_bytes(*count) as usize;
        blob.advance(2 * size_of::<u32>());
        let is_whole = matches!(width, 2 | 4 | 8) && count.checked_mul(width) == Some(blob.len());
        if is_whole {
            Ok(Self { rest: blob, width })
        } else {
            Err(BadFormat)
        }
    }

    fn next(&mut self) -> Option<Bytes> {
        if self.rest.is_empty() {
            return None;
        }
        let mut wide = [0; size_of::<i64>()];
        let unused = wide.len() - self.width;
        wide[unused..].copy_from_slice(&self.rest.split_to(self.width));
        // shifted down with its sign
        Some(text_of(i64::from_le_bytes(wide) >> (unused * 8)))
    }
}
