//! A sorted set in pages: scores by member in a hash table, and all elements by order in a tree.
//!
//! Owns that the two agree. Both lie in the pages of one collection.

use std::ops::Range;

use cellar_storage::Snapshot;

use super::score::{self, SCORE_BYTES};
use super::{Cut, Element};
use crate::collections::Malformed;
use crate::collections::dict::{Dict, DictBuilder, Part};
use crate::collections::pages::Pages;
use crate::collections::tree::{Builder, Direction, Order, Side, Tree, Walk};
use crate::command::CommandError;

/// Elements handled before others get a turn, where pages are not waited for: some 200 ns each.
const ELEMENTS_PER_TURN: usize = 256;

pub(super) struct Paged {
    pages: Pages,
    dict: Dict,
    tree: Tree,
}

impl Paged {
    /// A set of these elements, in order, in `pages` that hold nothing else.
    pub(super) async fn build(
        mut pages: Pages,
        seed: u64,
        elements: impl Iterator<Item = Element>,
    ) -> Result<Self, CommandError> {
        let (mut dict, mut tree) = (DictBuilder::default(), Builder::new(ORDER));
        for (index, Element { score, member }) in elements.enumerate() {
            if index % ELEMENTS_PER_TURN == ELEMENTS_PER_TURN - 1 {
                tokio::task::yield_now().await;
            }
            let item = score::encode_item(score, &member);
            tree.push(&mut pages, &item).await?;
            dict.push(&member, &item[..SCORE_BYTES]);
        }
        let tree = tree.finish(&mut pages).await?;
        let dict = dict.finish(seed, &mut pages).await?;
        Ok(Self { pages, dict, tree })
    }

    /// The set whose root was found.
    pub(super) fn open(found: Snapshot) -> Result<Self, CommandError> {
        let (pages, structure) = Pages::open(found, BAD_ROOT)?;
        let (dict, top) = structure.split_at_checked(Dict::BYTES).ok_or(BAD_ROOT)?;
        let dict = Dict::decode(dict)?;
        let tree = Tree::decode(ORDER, &structure.slice_ref(top))?;
        if dict.len() != tree.count() {
            return Err(DISAGREE.into());
        }
        Ok(Self { pages, dict, tree })
    }

    /// Its pages, and what the root keeps behind their header: the table's own, the top of the
    /// tree.
    pub(super) fn finish(self) -> (Pages, Vec<u8>) {
        let structure = [&self.dict.encode()[..], &self.tree.encode()].concat();
        (self.pages, structure)
    }

    pub(super) fn changed_bytes(&self) -> u64 {
        self.pages.changed_bytes()
    }

    pub(super) fn count(&self) -> u64 {
        self.tree.count()
    }

    pub(super) async fn score(&mut self, member: &[u8]) -> Result<Option<f64>, CommandError> {
        let Some(stored) = self.dict.get(&mut self.pages, member).await? else {
            return Ok(None);
        };
        let score = stored[..]
            .try_into()
            .map_err(|_| Malformed("the score of a sorted set"))?;
        Ok(Some(score::decode(score)?))
    }

    /// Reads what [`Self::score`] of these members needs, all at once.
    pub(super) async fn prefetch<'m>(
        &mut self,
        members: impl Iterator<Item = &'m [u8]>,
    ) -> Result<(), CommandError> {
        // whoever asks for one portion after another is done with the one before
        self.pages.forget();
        self.dict.prefetch(&mut self.pages, members).await
    }

    /// How many elements come before this one.
    pub(super) async fn rank(&mut self, score: f64, member: &[u8]) -> Result<u64, CommandError> {
        let item = score::encode_item(score, member);
        Ok(self.tree.rank(&mut self.pages, &item, Side::Before).await?)
    }

    /// How many elements come before a cut.
    pub(super) async fn rank_of_cut(&mut self, cut: &Cut) -> Result<u64, CommandError> {
        let (probe, side) = match cut {
            Cut::Start => return Ok(0),
            Cut::End => return Ok(self.count()),
            Cut::Score(score, Side::Before) => (score::encode(*score).to_vec(), Side::Before),
            Cut::Score(score, Side::After) => (score::encode_above(*score).to_vec(), Side::Before),
            Cut::Member(member, side) => {
                let Some(first) = self.tree.get(&mut self.pages, 0).await? else {
                    return Ok(0);
                };
                let score = score::decode_item(&first)?.score;
                (score::encode_item(score, member), *side)
            }
        };
        Ok(self.tree.rank(&mut self.pages, &probe, side).await?)
    }

    pub(super) async fn walk(
        &mut self,
        rank: u64,
        count: u64,
        direction: Direction,
    ) -> Result<Walk, CommandError> {
        let walk = self.tree.walk(&mut self.pages, rank, count, direction);
        Ok(walk.await?)
    }

    pub(super) async fn pin(&mut self) {
        self.pages.pin().await;
    }

    pub(super) async fn walk_on(
        &mut self,
        walk: &mut Walk,
    ) -> Result<Option<Vec<Element>>, CommandError> {
        // what a walk has passed is not needed again
        self.pages.forget();
        let Some(items) = walk.next(&mut self.pages).await? else {
            return Ok(None);
        };
        let elements = items.iter().map(score::decode_item);
        Ok(Some(elements.collect::<Result<_, _>>()?))
    }

    /// Some elements from a cursor on, and the cursor to go on with.
    pub(super) async fn scan(&mut self, cursor: u64) -> Result<(u64, Vec<Element>), CommandError> {
        let (cursor, pairs) = self.dict.scan(&mut self.pages, cursor, Part::Both).await?;
        let mut elements = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let score = pair.value[..].try_into();
            let score = score.map_err(|_| Malformed("the score of a sorted set"))?;
            elements.push(Element {
                score: score::decode(score)?,
                member: pair.key,
            });
        }
        Ok((cursor, elements))
    }

    /// Gives a member a score; `old` is the one that it has.
    pub(super) async fn set(
        &mut self,
        member: &[u8],
        old: Option<f64>,
        score: f64,
    ) -> Result<(), CommandError> {
        if let Some(old) = old {
            self.remove_item(old, member).await?;
        }
        let item = score::encode_item(score, member);
        let is_new_item = self.tree.insert(&mut self.pages, &item).await?;
        let is_new = self
            .dict
            .insert(&mut self.pages, member, &item[..SCORE_BYTES])
            .await?;
        if !is_new_item || is_new != old.is_none() {
            return Err(DISAGREE.into());
        }
        Ok(())
    }

    /// Removes a member that has this score.
    pub(super) async fn remove(&mut self, member: &[u8], score: f64) -> Result<(), CommandError> {
        self.remove_item(score, member).await?;
        self.remove_member(member).await
    }

    /// Removes the elements of these ranks, which all exist.
    pub(super) async fn remove_ranks(&mut self, ranks: Range<u64>) -> Result<(), CommandError> {
        let count = ranks.end - ranks.start;
        let mut walk = self.walk(ranks.start, count, Direction::Forward).await?;
        while let Some(elements) = self.walk_on(&mut walk).await? {
            self.prefetch(elements.iter().map(|element| &element.member[..]))
                .await?;
            for element in elements {
                self.remove_member(&element.member).await?;
            }
            tokio::task::yield_now().await;
        }
        Ok(self.tree.remove_range(&mut self.pages, ranks).await?)
    }

    async fn remove_item(&mut self, score: f64, member: &[u8]) -> Result<(), CommandError> {
        let item = score::encode_item(score, member);
        if self.tree.remove(&mut self.pages, &item).await? {
            Ok(())
        } else {
            Err(DISAGREE.into())
        }
    }

    async fn remove_member(&mut self, member: &[u8]) -> Result<(), CommandError> {
        if self.dict.remove(&mut self.pages, member).await? {
            Ok(())
        } else {
            Err(DISAGREE.into())
        }
    }
}

/// How elements are ordered in the tree.
const ORDER: Order = Order::ScoreThenBytes;

/// What is no root of a sorted set.
const BAD_ROOT: Malformed = Malformed("the root of a sorted set");

/// What should not be: an element in the table or the tree only.
const DISAGREE: Malformed = Malformed("a sorted set whose scores and order disagree");
