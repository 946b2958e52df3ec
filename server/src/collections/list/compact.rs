//! A list in one record: its elements as a packed sequence, first to last.
//!
//! Owns nothing beyond the sequence, and never copies an element that it gives out.

use std::ops::Range;

use bytes::Bytes;

use super::End;
use super::listpack::EMPTY_BYTES;
use crate::collections::Malformed;
use crate::collections::packed::{Packed, PackedBuilder};

/// A list's packed elements.
#[derive(Debug, Clone, Default)]
pub(super) struct Compact {
    bytes: Bytes,
    count: usize,
}

impl Compact {
    /// Checks what a record holds.
    pub(super) fn decode(bytes: Bytes) -> Result<Self, Malformed> {
        let count = Packed::decode(&bytes)?.len();
        Ok(Self { bytes, count })
    }

    /// What a record holds.
    pub(super) fn encode(&self) -> &Bytes {
        &self.bytes
    }

    /// How many elements there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Bytes that its listpack has at most: an element that fits a compact list takes no more than
    /// three bytes there beyond those that it has packed.
    pub(super) fn listpack_bytes_max(&self) -> u64 {
        EMPTY_BYTES + (self.bytes.len() + 3 * self.count) as u64
    }

    fn packed(&self) -> Packed<'_> {
        Packed::decode(&self.bytes).expect("it was checked, and every change keeps it whole")
    }

    /// `count` elements from `start` on, as far as there are any.
    pub(super) fn items(&self, start: usize, count: usize) -> Vec<Bytes> {
        let items = self.packed().iter().skip(start).take(count);
        items.map(|item| self.bytes.slice_ref(item.bytes)).collect()
    }

    /// Where `count` elements from `start` on lie.
    fn place(&self, start: usize, count: usize) -> Range<usize> {
        let end = self.bytes.len();
        let packed = self.packed();
        let mut places = packed.iter().skip(start).map(|item| item.place);
        let Some(first) = places.next() else {
            return end..end;
        };
        match count {
            0 => first.start..first.start,
            1 => first,
            _ => first.start..places.nth(count - 2).map_or(end, |last| last.end),
        }
    }

    /// Adds elements at an end, one after another: the last one is outermost.
    pub(super) fn push(&mut self, end: End, items: &[Bytes]) {
        let mut outward: Vec<&[u8]> = items.iter().map(|item| &item[..]).collect();
        self.bytes = match end {
            End::Left => {
                outward.reverse();
                self.packed().splice(0..0, &outward)
            }
            End::Right => self.packed().append(&outward),
        };
        self.count += items.len();
    }

    /// Puts an element before the one at `index`, or at the end.
    pub(super) fn insert(&mut self, index: usize, item: &[u8]) {
        let place = self.place(index, 0);
        self.bytes = self.packed().splice(place, &[item]);
        self.count += 1;
    }

    /// Puts an element in the place of the one at `index`.
    pub(super) fn replace(&mut self, index: usize, item: &[u8]) {
        let place = self.place(index, 1);
        self.bytes = self.packed().splice(place, &[item]);
    }

    /// Removes elements that are there.
    pub(super) fn remove(&mut self, ranks: Range<usize>) {
        let place = self.place(ranks.start, ranks.len());
        self.bytes = if place.start == 0 {
            self.bytes.slice(place.end..)
        } else if place.end == self.bytes.len() {
            self.bytes.slice(..place.start)
        } else {
            self.packed().splice(place, &[])
        };
        self.count -= ranks.len();
    }

    /// Keeps the elements that `keeps` says, in order.
    pub(super) fn retain(&mut self, mut keeps: impl FnMut(&[u8]) -> bool) {
        let packed = self.packed();
        let kept = packed.iter().filter(|item| keeps(item.bytes));
        let mut builder = PackedBuilder::with_capacity(self.bytes.len());
        let mut count = 0;
        for item in kept {
            builder.push(item.bytes);
            count += 1;
        }
        self.bytes = builder.finish();
        self.count = count;
    }
}
