//! Union, intersection and difference of sorted sets, and of sets among them.
//!
//! Owns how scores are combined. Goes over its sources in portions, between which others get a
//! turn, and holds the result in trees, which never stop to grow.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use cellar_storage::{Snapshot, ValueType};

use super::{ELEMENTS_PER_PORTION, let_others_run};
use crate::collections::dict::{Pair, Part};
use crate::collections::elements::Stream;
use crate::collections::set::Set;
use crate::collections::sorted_set::{
    Element, Elements, ListpackLimits, SortedSet, order_of_score,
};
use crate::collections::tree::Direction;
use crate::command::CommandError;

/// What is made of the scores of one member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Aggregate {
    #[default]
    Sum,
    Min,
    Max,
}

impl Aggregate {
    pub(super) fn parse(word: &[u8]) -> Option<Self> {
        match word.to_ascii_lowercase().as_slice() {
            b"sum" => Some(Self::Sum),
            b"min" => Some(Self::Min),
            b"max" => Some(Self::Max),
            _ => None,
        }
    }

    /// Infinities of both signs add up to nothing; what is no number never wins.
    fn of(self, before: f64, score: f64) -> f64 {
        match self {
            Self::Sum => number_or_zero(before + score),
            Self::Min if score < before => score,
            Self::Max if score > before => score,
            Self::Min | Self::Max => before,
        }
    }
}

fn number_or_zero(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

/// What the sources are combined to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Union,
    Intersection,
    Difference,
}

/// One of the sets that are combined.
pub(super) struct Source {
    members: Members,
    pub(super) weight: f64,
}

enum Members {
    /// The key does not exist.
    None,
    Sorted(SortedSet),
    /// A set without scores: all of them are 1.
    Plain(Set),
}

impl Source {
    /// The set or sorted set that a key holds.
    pub(super) fn open(
        found: Option<Snapshot>,
        limits: ListpackLimits,
    ) -> Result<Self, CommandError> {
        let members = match found {
            Some(found) if found.value_type() == ValueType::Set => {
                Set::load(Some(found))?.map_or(Members::None, Members::Plain)
            }
            Some(found) => Members::Sorted(SortedSet::open(found, limits)?),
            None => Members::None,
        };
        let weight = 1.0;
        Ok(Self { members, weight })
    }

    fn count(&self) -> u64 {
        match &self.members {
            Members::None => 0,
            Members::Sorted(set) => set.count(),
            Members::Plain(set) => set.elements.len(),
        }
    }

    async fn score(&mut self, member: &[u8]) -> Result<Option<f64>, CommandError> {
        match &mut self.members {
            Members::None => Ok(None),
            Members::Sorted(set) => set.score(member).await,
            Members::Plain(set) => {
                let is_there = set.elements.contains(member).await?;
                Ok(is_there.then_some(1.0))
            }
        }
    }

    async fn prefetch(&mut self, elements: &[Element]) -> Result<(), CommandError> {
        let members = elements.iter().map(|element| &element.member[..]);
        match &mut self.members {
            Members::None => Ok(()),
            Members::Sorted(set) => set.prefetch(members).await,
            Members::Plain(set) => set.elements.prefetch(members).await,
        }
    }

    /// All elements, in portions, until `visit` has enough.
    async fn for_each<V>(&mut self, mut visit: V) -> Result<(), CommandError>
    where
        V: AsyncFnMut(&[Element], f64) -> Result<ControlFlow<()>, CommandError>,
    {
        let mut way = match &mut self.members {
            Members::None => return Ok(()),
            Members::Sorted(set) => Way::Sorted(set.elements(0, u64::MAX, FORWARD).await?),
            Members::Plain(_) => Way::Plain(Stream::new(Part::Keys)),
        };
        while let Some(next) = self.next(&mut way).await? {
            for portion in next.chunks(ELEMENTS_PER_PORTION) {
                if visit(portion, self.weight).await?.is_break() {
                    return Ok(());
                }
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    async fn next(&mut self, way: &mut Way) -> Result<Option<Vec<Element>>, CommandError> {
        match (way, &mut self.members) {
            (Way::Sorted(elements), Members::Sorted(set)) => elements.next(set).await,
            (Way::Plain(stream), Members::Plain(set)) => {
                let pairs = set.elements.next(stream).await?;
                let element = |pair: Pair| Element {
                    score: 1.0,
                    member: pair.key,
                };
                Ok(pairs.map(|pairs| pairs.into_iter().map(element).collect()))
            }
            (Way::Sorted(_), Members::None | Members::Plain(_))
            | (Way::Plain(_), Members::None | Members::Sorted(_)) => Ok(None),
        }
    }
}

/// How far the elements of a source were gone over.
enum Way {
    Sorted(Elements),
    Plain(Stream),
}

const FORWARD: Direction = Direction::Forward;

/// Members of a result and their scores.
type Scores = BTreeMap<Bytes, f64>;

/// Combines sets. `enough` is a number of elements after which it may stop.
pub(super) async fn combine(
    mut sources: Vec<Source>,
    operation: Operation,
    aggregate: Aggregate,
    enough: u64,
) -> Result<Scores, CommandError> {
    if operation != Operation::Difference {
        // the smallest first, as Redis has it: the order of additions decides their rounding
        sources.sort_by_key(Source::count);
    }
    match operation {
        Operation::Union => union(sources, aggregate).await,
        Operation::Intersection => intersection(sources, aggregate, enough).await,
        Operation::Difference => difference(sources).await,
    }
}

async fn union(sources: Vec<Source>, aggregate: Aggregate) -> Result<Scores, CommandError> {
    let mut scores = Scores::new();
    for mut source in sources {
        source
            .for_each(async |elements, weight| {
                for element in elements {
                    let score = number_or_zero(element.score * weight);
                    scores
                        .entry(element.member.clone())
                        .and_modify(|before| *before = aggregate.of(*before, score))
                        .or_insert(score);
                }
                Ok(ControlFlow::Continue(()))
            })
            .await?;
    }
    Ok(scores)
}

async fn intersection(
    mut sources: Vec<Source>,
    aggregate: Aggregate,
    enough: u64,
) -> Result<Scores, CommandError> {
    let mut scores = Scores::new();
    let mut others = sources.split_off(1);
    let smallest = &mut sources[0];
    smallest
        .for_each(async |elements, weight| {
            for source in &mut others {
                source.prefetch(elements).await?;
            }
            for element in elements {
                let first = number_or_zero(element.score * weight);
                if let Some(score) = in_all(&mut others, element, first, aggregate).await? {
                    scores.insert(element.member.clone(), score);
                }
                if scores.len() as u64 >= enough {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })
        .await?;
    Ok(scores)
}

/// The combined score of an element that all other sources have.
async fn in_all(
    others: &mut [Source],
    element: &Element,
    mut score: f64,
    aggregate: Aggregate,
) -> Result<Option<f64>, CommandError> {
    for source in others {
        let Some(other) = source.score(&element.member).await? else {
            return Ok(None);
        };
        score = aggregate.of(score, other * source.weight);
    }
    Ok(Some(score))
}

async fn difference(mut sources: Vec<Source>) -> Result<Scores, CommandError> {
    let mut scores = Scores::new();
    let mut others = sources.split_off(1);
    let first = &mut sources[0];
    first
        .for_each(async |elements, _| {
            for source in &mut others {
                source.prefetch(elements).await?;
            }
            for element in elements {
                if !is_in_any(&mut others, element).await? {
                    scores.insert(element.member.clone(), element.score);
                }
            }
            Ok(ControlFlow::Continue(()))
        })
        .await?;
    Ok(scores)
}

async fn is_in_any(others: &mut [Source], element: &Element) -> Result<bool, CommandError> {
    for source in others {
        if source.score(&element.member).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The elements of a result by score and then member.
pub(crate) async fn in_order(scores: impl IntoIterator<Item = (Bytes, f64)>) -> Vec<Element> {
    let mut ordered = BTreeMap::new();
    for (index, (member, score)) in scores.into_iter().enumerate() {
        ordered.insert((order_of_score(score), member), score);
        let_others_run(index).await;
    }
    let mut elements = Vec::with_capacity(ordered.len());
    for (index, ((_, member), score)) in ordered.into_iter().enumerate() {
        elements.push(Element { score, member });
        let_others_run(index).await;
    }
    elements
}
