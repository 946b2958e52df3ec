//! A sorted set: members with scores, in the order of the scores and then of the members.
//!
//! ```text
//!   compact   one record: packed items, in order                    compact
//!   paged     root: header of the pages | dict | top of the tree    paged
//!             dict: member -> score     tree: (score, member)
//!   item      8 bytes of score that sort as the number, member      score
//! ```
//!
//! Owns both forms and when one becomes the other. Must never know a command's options.

mod compact;
mod paged;
mod score;

use std::ops::Range;

use bytes::Bytes;
use cellar_storage::{Db, Encoding, Handle, Snapshot, ValueType, WriteBatch};

use self::compact::{Compact, bytes_of};
use self::paged::Paged;
pub(crate) use self::score::order_of_score;
use super::COMPACT_BYTES_MAX;
use super::commit::{self, Parts, Target};
use super::pages::Pages;
use super::tree::{self, Direction, Side};
use crate::command::CommandError;

/// One element.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Element {
    /// What it is ordered by; a number, perhaps an infinite one.
    pub(crate) score: f64,
    /// What it is found by.
    pub(crate) member: Bytes,
}

/// A place between elements.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cut {
    /// Before all.
    Start,
    /// After all.
    End,
    /// Before or after the elements with a score.
    Score(f64, Side),
    /// Before or after a member, where all elements have the same score.
    Member(Bytes, Side),
}

/// Until when a set calls itself a listpack: `zset-max-listpack-entries` and `-value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListpackLimits {
    /// Elements at most.
    pub(crate) entries: u64,
    /// Bytes of a member at most.
    pub(crate) member_bytes: u64,
}

/// A sorted set while a command works on it.
pub(crate) struct SortedSet {
    limits: ListpackLimits,
    encoding: Encoding,
    form: Form,
}

enum Form {
    Compact(Compact),
    Paged(Box<Paged>),
}

/// Elements on the way out of a set, in order.
pub(crate) struct Elements(Way);

enum Way {
    Compact(Vec<Element>),
    Paged(tree::Walk),
}

impl SortedSet {
    /// An empty set that will hold `count` elements or more, the longest member of those that are
    /// known having `member_bytes`.
    pub(crate) fn new(limits: ListpackLimits, count: usize, member_bytes: usize) -> Self {
        let mut set = Self {
            limits,
            encoding: Encoding::Listpack,
            form: Form::Compact(Compact::default()),
        };
        set.expect(count, member_bytes);
        set
    }

    /// A set of these elements, in order.
    pub(crate) async fn build(
        limits: ListpackLimits,
        mut elements: Vec<Element>,
        seed: u64,
    ) -> Result<Self, CommandError> {
        let longest = elements.iter().map(|element| element.member.len()).max();
        let mut set = Self::new(limits, elements.len(), longest.unwrap_or(0));
        if set.encoding == Encoding::Listpack {
            for element in &mut elements {
                element.score += 0.0;
            }
        }
        let bytes = elements.iter().map(|element| bytes_of(&element.member));
        if bytes.sum::<usize>() <= COMPACT_BYTES_MAX {
            set.form = Form::Compact(Compact::of(elements));
        } else {
            let paged = Paged::build(Pages::in_memory(), seed, elements.into_iter()).await?;
            set.form = Form::Paged(Box::new(paged));
        }
        Ok(set)
    }

    /// The set that a key holds, or that it holds another type.
    pub(crate) fn open(found: Snapshot, limits: ListpackLimits) -> Result<Self, CommandError> {
        if found.value_type() != ValueType::SortedSet {
            return Err(CommandError::WrongType);
        }
        let encoding = found.encoding();
        let form = match found.share(0..found.len()) {
            Some(value) => Form::Compact(Compact::decode(&value)?),
            None => Form::Paged(Box::new(Paged::open(found)?)),
        };
        Ok(Self {
            limits,
            encoding,
            form,
        })
    }

    /// How many elements there are.
    pub(crate) fn count(&self) -> u64 {
        match &self.form {
            Form::Compact(compact) => compact.elements().len() as u64,
            Form::Paged(paged) => paged.count(),
        }
    }

    /// What OBJECT ENCODING says.
    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Notes that so many elements are about to be added, as Redis does before a command adds the
    /// first: it may call the set a skip list from here on.
    pub(crate) fn expect(&mut self, count: usize, member_bytes: usize) {
        if count as u64 > self.limits.entries || member_bytes as u64 > self.limits.member_bytes {
            self.encoding = Encoding::Skiplist;
        }
    }

    /// The score of a member.
    pub(crate) async fn score(&mut self, member: &[u8]) -> Result<Option<f64>, CommandError> {
        match &mut self.form {
            Form::Compact(compact) => Ok(compact.score(member)),
            Form::Paged(paged) => paged.score(member).await,
        }
    }

    /// Reads what the scores of these members need: at once, not one after another.
    pub(crate) async fn prefetch<'m>(
        &mut self,
        members: impl Iterator<Item = &'m [u8]>,
    ) -> Result<(), CommandError> {
        match &mut self.form {
            Form::Compact(_) => Ok(()),
            Form::Paged(paged) => paged.prefetch(members).await,
        }
    }

    /// How many elements come before this one.
    pub(crate) async fn rank(&mut self, score: f64, member: &[u8]) -> Result<u64, CommandError> {
        match &mut self.form {
            Form::Compact(compact) => Ok(compact.rank(score, member) as u64),
            Form::Paged(paged) => paged.rank(score, member).await,
        }
    }

    /// The ranks between two cuts.
    pub(crate) async fn ranks(
        &mut self,
        (start, end): (&Cut, &Cut),
    ) -> Result<Range<u64>, CommandError> {
        let (start, end) = match &mut self.form {
            Form::Compact(compact) => (
                compact.rank_of_cut(start) as u64,
                compact.rank_of_cut(end) as u64,
            ),
            Form::Paged(paged) => (
                paged.rank_of_cut(start).await?,
                paged.rank_of_cut(end).await?,
            ),
        };
        Ok(start..end.max(start))
    }

    /// At most `count` elements from `rank` on in one direction, that one first.
    pub(crate) async fn elements(
        &mut self,
        rank: u64,
        count: u64,
        direction: Direction,
    ) -> Result<Elements, CommandError> {
        match &mut self.form {
            Form::Compact(compact) => {
                let at = |rank: u64| usize::try_from(rank).unwrap_or(usize::MAX);
                let all = compact.elements();
                let elements = match direction {
                    Direction::Forward => {
                        let from = all.iter().skip(at(rank));
                        from.take(at(count)).cloned().collect()
                    }
                    Direction::Backward if at(rank) < all.len() => {
                        let from = all[..=at(rank)].iter().rev();
                        from.take(at(count)).cloned().collect()
                    }
                    Direction::Backward => Vec::new(),
                };
                Ok(Elements(Way::Compact(elements)))
            }
            Form::Paged(paged) => {
                let walk = paged.walk(rank, count, direction).await?;
                Ok(Elements(Way::Paged(walk)))
            }
        }
    }

    /// Has the elements of a paged set stay what they are, and lets the key's lock go.
    pub(crate) async fn pin(&mut self) {
        if let Form::Paged(paged) = &mut self.form {
            paged.pin().await;
        }
    }

    /// The elements of a range of ranks in order, all at once: of a range that is short.
    pub(crate) async fn collect(
        &mut self,
        ranks: Range<u64>,
    ) -> Result<Vec<Element>, CommandError> {
        let count = ranks.end - ranks.start;
        let way = Direction::Forward;
        let mut elements = self.elements(ranks.start, count, way).await?;
        let mut collected = Vec::new();
        while let Some(next) = elements.next(self).await? {
            collected.extend(next);
        }
        Ok(collected)
    }

    /// Some elements from a cursor on, in no order, and the cursor to go on with, 0 in the end.
    pub(crate) async fn scan(&mut self, cursor: u64) -> Result<(u64, Vec<Element>), CommandError> {
        match &mut self.form {
            Form::Compact(compact) => Ok((0, compact.elements().to_vec())),
            Form::Paged(paged) => paged.scan(cursor).await,
        }
    }

    /// Gives a member a score. `old` is the score that it has, nothing where it is new; `seed` keys
    /// the hash of a set that goes into pages.
    pub(crate) async fn set(
        &mut self,
        member: &[u8],
        (old, score): (Option<f64>, f64),
        seed: u64,
    ) -> Result<(), CommandError> {
        if old.is_none() {
            self.expect(self.count() as usize + 1, member.len());
        }
        // a listpack has whole numbers as such, and those know no minus zero
        let score = if self.encoding == Encoding::Listpack {
            score + 0.0
        } else {
            score
        };
        match &mut self.form {
            Form::Compact(compact) => {
                if old.is_some() {
                    compact.remove(member);
                }
                compact.insert(score, member);
            }
            Form::Paged(paged) => return paged.set(member, old, score).await,
        }
        self.spread(seed).await
    }

    /// Moves a compact set that has grown too large into pages.
    async fn spread(&mut self, seed: u64) -> Result<(), CommandError> {
        let Form::Compact(compact) = &self.form else {
            return Ok(());
        };
        if compact.bytes() > COMPACT_BYTES_MAX {
            let elements = compact.elements().iter().cloned();
            let paged = Paged::build(Pages::in_memory(), seed, elements).await?;
            self.form = Form::Paged(Box::new(paged));
        }
        Ok(())
    }

    /// Removes a member. Its score; nothing where there was none.
    pub(crate) async fn remove(&mut self, member: &[u8]) -> Result<Option<f64>, CommandError> {
        match &mut self.form {
            Form::Compact(compact) => Ok(compact.remove(member)),
            Form::Paged(paged) => {
                let score = paged.score(member).await?;
                if let Some(score) = score {
                    paged.remove(member, score).await?;
                }
                Ok(score)
            }
        }
    }

    /// Bytes of pages that were changed.
    pub(crate) fn changed_bytes(&self) -> u64 {
        match &self.form {
            Form::Compact(_) => 0,
            Form::Paged(paged) => paged.changed_bytes(),
        }
    }

    /// Adds to a batch what makes this set the value of a key; without elements the key goes.
    pub(crate) async fn put(
        self,
        batch: &mut WriteBatch,
        store: &Handle,
        (db, key, expiry_ms): (Db, &Bytes, Option<u64>),
    ) -> Result<(), CommandError> {
        let target = Target {
            db,
            key,
            value_type: ValueType::SortedSet,
            encoding: self.encoding,
            expiry_ms,
        };
        commit::put(store, batch, target, self.into_parts()).await?;
        Ok(())
    }

    fn into_parts(self) -> Parts {
        if self.count() == 0 {
            return Parts::Nothing;
        }
        match self.form {
            Form::Compact(compact) => Parts::Compact(compact.encode()),
            Form::Paged(set) => {
                let (pages, structure) = set.finish();
                let pages = Box::new(pages);
                Parts::Paged { pages, structure }
            }
        }
    }

    /// Removes the elements of these ranks, which all exist.
    pub(crate) async fn remove_ranks(&mut self, ranks: Range<u64>) -> Result<(), CommandError> {
        match &mut self.form {
            Form::Compact(compact) => {
                compact.remove_ranks(ranks.start as usize..ranks.end as usize);
                Ok(())
            }
            Form::Paged(paged) => paged.remove_ranks(ranks).await,
        }
    }
}

impl Elements {
    /// The next elements; nothing in the end. Of the set that they come from, unchanged.
    pub(crate) async fn next(
        &mut self,
        set: &mut SortedSet,
    ) -> Result<Option<Vec<Element>>, CommandError> {
        match (&mut self.0, &mut set.form) {
            (Way::Compact(elements), _) => {
                let all = std::mem::take(elements);
                Ok((!all.is_empty()).then_some(all))
            }
            (Way::Paged(walk), Form::Paged(paged)) => paged.walk_on(walk).await,
            (Way::Paged(_), Form::Compact(_)) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
