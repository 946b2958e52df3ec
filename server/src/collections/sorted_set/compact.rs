//! A sorted set in one record: its items in order, packed.
//!
//! Owns that form. It is small, so that it is read and searched from end to end.

use std::cmp::Ordering;
use std::ops::Range;

use bytes::Bytes;

use super::score::{self, SCORE_BYTES};
use super::{Cut, Element};
use crate::collections::Malformed;
use crate::collections::packed::{Packed, PackedBuilder, item_bytes};
use crate::collections::tree::Side;

/// The elements, by score and then member.
#[derive(Debug, Default)]
pub(super) struct Compact {
    elements: Vec<Element>,
    bytes: usize,
}

impl Compact {
    /// A set of these elements, in order.
    pub(super) fn of(elements: Vec<Element>) -> Self {
        let bytes = elements.iter().map(|element| bytes_of(&element.member));
        Self {
            bytes: bytes.sum(),
            elements,
        }
    }

    pub(super) fn decode(value: &Bytes) -> Result<Self, Malformed> {
        let packed = Packed::decode(value)?;
        let mut elements = Vec::with_capacity(packed.len());
        for item in packed.iter() {
            elements.push(score::decode_item(&value.slice_ref(item.bytes))?);
        }
        if !elements.is_sorted_by(|a, b| compare(a, b.score, &b.member).is_lt()) {
            return Err(Malformed("the order of a sorted set"));
        }
        let bytes = value.len();
        Ok(Self { elements, bytes })
    }

    pub(super) fn encode(&self) -> Bytes {
        let mut packed = PackedBuilder::with_capacity(self.bytes);
        for element in &self.elements {
            packed.push(&score::encode_item(element.score, &element.member));
        }
        packed.finish()
    }

    /// Bytes that it is encoded in.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn elements(&self) -> &[Element] {
        &self.elements
    }

    pub(super) fn score(&self, member: &[u8]) -> Option<f64> {
        let found = self
            .elements
            .iter()
            .find(|element| element.member == member);
        found.map(|element| element.score)
    }

    /// How many elements come before this one.
    pub(super) fn rank(&self, score: f64, member: &[u8]) -> usize {
        let is_before = |element: &Element| compare(element, score, member).is_lt();
        self.elements.partition_point(is_before)
    }

    /// How many elements come before a cut.
    pub(super) fn rank_of_cut(&self, cut: &Cut) -> usize {
        let is_before = |compared: Ordering, side: Side| {
            compared.is_lt() || (compared.is_eq() && side == Side::After)
        };
        match cut {
            Cut::Start => 0,
            Cut::End => self.elements.len(),
            Cut::Score(score, side) => self
                .elements
                .partition_point(|element| is_before(compare_scores(element.score, *score), *side)),
            // Where scores differ, members are in no order, and Redis goes by the first that is not
            // before the bound.
            Cut::Member(member, side) => {
                let is_behind =
                    |element: &Element| !is_before(element.member[..].cmp(member), *side);
                let first = self.elements.iter().position(is_behind);
                first.unwrap_or(self.elements.len())
            }
        }
    }

    pub(super) fn insert(&mut self, score: f64, member: &[u8]) {
        let at = self.rank(score, member);
        let member = Bytes::copy_from_slice(member);
        self.bytes += bytes_of(&member);
        self.elements.insert(at, Element { score, member });
    }

    pub(super) fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let is_it = |element: &Element| element.member == member;
        let at = self.elements.iter().position(is_it)?;
        let removed = self.elements.remove(at);
        self.bytes -= bytes_of(&removed.member);
        Some(removed.score)
    }

    pub(super) fn remove_ranks(&mut self, ranks: Range<usize>) {
        for removed in self.elements.drain(ranks) {
            self.bytes -= bytes_of(&removed.member);
        }
    }
}

/// Bytes that an element takes.
pub(super) fn bytes_of(member: &[u8]) -> usize {
    item_bytes(SCORE_BYTES + member.len())
}

/// An element's place beside another's: by score, both zeros being one, then by member.
fn compare(element: &Element, score: f64, member: &[u8]) -> Ordering {
    let scores = compare_scores(element.score, score);
    scores.then_with(|| element.member[..].cmp(member))
}

/// Compares scores, which are never NaN; both zeros are one.
fn compare_scores(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).expect("a score is a number")
}
