//! One byte string in a page: an item of a leaf, or a separator.
//!
//! ```text
//!   varint: length * 2 + is_large | that many bytes | is_large: 12 bytes, where all of it lies
//! ```
//!
//! Owns that layout and the comparison of what is too long for a page.

use std::cmp::Ordering;

use bytes::{Buf, Bytes};
use cellar_storage::StoreError;

use super::malformed;
use super::order::Order;

use crate::collections::large::LargeRef;
use crate::collections::pages::{ELEMENT_BYTES_MAX, Pages};

/// Bytes that a page keeps of a string that lies elsewhere: most comparisons end within them.
const HEAD_BYTES: usize = 32;

/// A longer separator lies elsewhere, so that an inner page has at least ten children.
const SEPARATOR_BYTES_MAX: usize = 256;

/// A byte string in a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stored {
    /// All of it.
    Inline(Bytes),
    /// Where it lies, and how it begins.
    Large { head: Bytes, place: LargeRef },
}

impl Stored {
    pub(super) const fn empty() -> Self {
        Self::Inline(Bytes::new())
    }

    /// An item, on pages of its own where it is too long.
    pub(super) async fn item(pages: &mut Pages, bytes: &[u8]) -> Result<Self, StoreError> {
        Self::store(pages, bytes, ELEMENT_BYTES_MAX).await
    }

    async fn store(pages: &mut Pages, bytes: &[u8], bytes_max: usize) -> Result<Self, StoreError> {
        if bytes.len() <= bytes_max {
            return Ok(Self::Inline(Bytes::copy_from_slice(bytes)));
        }
        Ok(Self::Large {
            head: Bytes::copy_from_slice(&bytes[..HEAD_BYTES]),
            place: pages.store_large(bytes).await?,
        })
    }

    /// What separates two items that stand side by side.
    pub(super) async fn separator(
        pages: &mut Pages,
        order: Order,
        left: &Self,
        right: &Self,
    ) -> Result<Self, StoreError> {
        let by_heads = order.separator(left.head(), right.head());
        // a long item's head decides only within its own length
        let separator = match by_heads {
            Some(bytes) if !left.is_large() || bytes.len() <= left.head().len() => bytes,
            Some(_) | None => {
                let (left, right) = (left.load(pages).await?, right.load(pages).await?);
                let separator = order.separator(&left, &right);
                separator.ok_or_else(|| malformed("order of a tree's items"))?
            }
        };
        Self::store(pages, &separator, SEPARATOR_BYTES_MAX).await
    }

    pub(super) fn is_large(&self) -> bool {
        matches!(self, Self::Large { .. })
    }

    /// What the page itself holds.
    fn head(&self) -> &Bytes {
        match self {
            Self::Inline(bytes) | Self::Large { head: bytes, .. } => bytes,
        }
    }

    /// All of it.
    pub(super) async fn load(&self, pages: &mut Pages) -> Result<Bytes, StoreError> {
        match self {
            Self::Inline(bytes) => Ok(bytes.clone()),
            Self::Large { place, .. } => pages.load_large(place).await,
        }
    }

    /// Frees the pages of its own, if it has any.
    pub(super) async fn free(self, pages: &mut Pages) -> Result<(), StoreError> {
        match self {
            Self::Inline(_) => Ok(()),
            Self::Large { place, .. } => pages.free_large(place).await,
        }
    }

    /// How it compares with `probe`.
    pub(super) async fn compare(
        &self,
        order: Order,
        probe: &[u8],
        pages: &mut Pages,
    ) -> Result<Ordering, StoreError> {
        let head = match self {
            Self::Inline(bytes) => return Ok(order.compare(bytes, probe)),
            Self::Large { head, .. } => head,
        };
        let Some(same_length) = probe.get(..head.len()) else {
            return Ok(order.compare(head, probe));
        };
        match order.compare(head, same_length) {
            Ordering::Equal => {
                let whole = self.load(pages).await?;
                Ok(order.compare(&whole, probe))
            }
            decided => Ok(decided),
        }
    }

    /// Bytes that it takes in a page.
    pub(super) fn encoded_len(&self) -> usize {
        let head = self.head().len();
        let place = if self.is_large() { LargeRef::BYTES } else { 0 };
        varint_len(head as u64 * 2) + head + place
    }

    pub(super) fn encode(&self, page: &mut Vec<u8>) {
        let head = self.head();
        put_varint(page, head.len() as u64 * 2 + u64::from(self.is_large()));
        page.extend_from_slice(head);
        if let Self::Large { place, .. } = self {
            page.extend_from_slice(&place.encode());
        }
    }

    pub(super) fn decode(reader: &mut Reader) -> Result<Self, StoreError> {
        let tag = reader.varint()?;
        let head = reader.bytes(usize::try_from(tag / 2).unwrap_or(usize::MAX))?;
        if tag.is_multiple_of(2) {
            return Ok(Self::Inline(head));
        }
        if head.len() != HEAD_BYTES {
            return Err(malformed("head of a long item"));
        }
        let place = reader.bytes(LargeRef::BYTES)?;
        let place = place[..].try_into().expect("as long as was asked for");
        let place = LargeRef::decode(place);
        Ok(Self::Large { head, place })
    }
}

/// Reads a page from its start; what it cuts off shares the page's buffer.
pub(super) struct Reader {
    rest: Bytes,
}

impl Reader {
    pub(super) fn new(page: &Bytes) -> Self {
        Self { rest: page.clone() }
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<Bytes, StoreError> {
        if count > self.rest.len() {
            return Err(malformed("length in a tree's page"));
        }
        Ok(self.rest.split_to(count))
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        let bytes = self.bytes(N)?;
        Ok(bytes[..].try_into().expect("as long as was asked for"))
    }

    /// A number in groups of seven bits, the lowest first; all groups but the last have bit 7 set.
    pub(super) fn varint(&mut self) -> Result<u64, StoreError> {
        let mut value = 0;
        for (at, byte) in self.rest.iter().enumerate().take(VARINT_BYTES_MAX) {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                self.rest.advance(at + 1);
                return Ok(value);
            }
        }
        Err(malformed("number in a tree's page"))
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Bytes of the longest number: 56 bits.
const VARINT_BYTES_MAX: usize = 8;

pub(super) fn put_varint(page: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        page.push(value as u8 | 0x80);
        value >>= 7;
    }
    page.push(value as u8);
}

pub(super) fn varint_len(value: u64) -> usize {
    let bits = (u64::BITS - (value | 1).leading_zeros()) as usize;
    bits.div_ceil(7)
}
