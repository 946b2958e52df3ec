//! GEOSEARCH, GEOSEARCHSTORE, GEORADIUS, GEORADIUSBYMEMBER and their read-only forms.
//!
//! Owns the search and its answers. Cells are gone over in portions, between which others get a
//! turn; where a number of results is asked for, no more are held.

use std::collections::BTreeMap;

use super::area::cells;
use super::cell::Place;
use super::format_distance;
use super::options::{Command, Request, Sorting, parse};
use super::read::answer_place;
use super::shape::Shape;
use crate::collections::sorted_set::{Cut, Element, SortedSet, order_of_score};
use crate::collections::tree::{Direction, Side};
use crate::command::{CommandError, Cx, Pending};
use crate::commands::read::find;
use crate::commands::sorted_set::combine::in_order;
use crate::commands::sorted_set::store::store;
use crate::commands::sorted_set::{ELEMENTS_PER_PORTION, LockedSet, let_others_run, open};
use crate::resp::{Args, ReplyBuf};

/// An element that lies inside.
struct Hit {
    element: Element,
    place: Place,
    distance_m: f64,
}

/// `GEOSEARCH key FROMMEMBER ... | FROMLONLAT ... BYRADIUS ... | BYBOX ... [options]`
pub(crate) fn geosearch(cx: Cx, args: Args) -> Pending {
    Box::pin(async move { search(&cx, &args, Command::Search).await })
}

/// `GEOSEARCHSTORE destination source ... [STOREDIST]`
pub(crate) fn geosearchstore(cx: Cx, args: Args) -> Pending {
    Box::pin(async move { search(&cx, &args, Command::SearchStore).await })
}

/// `GEORADIUS key longitude latitude radius unit [options] [STORE key | STOREDIST key]`
pub(crate) fn georadius(cx: Cx, args: Args) -> Pending {
    let command = Command::Radius { may_store: true };
    Box::pin(async move { search(&cx, &args, command).await })
}

/// `GEORADIUS_RO key longitude latitude radius unit [options]`
pub(crate) fn georadius_ro(cx: Cx, args: Args) -> Pending {
    let command = Command::Radius { may_store: false };
    Box::pin(async move { search(&cx, &args, command).await })
}

/// `GEORADIUSBYMEMBER key member radius unit [options] [STORE key | STOREDIST key]`
pub(crate) fn georadiusbymember(cx: Cx, args: Args) -> Pending {
    let command = Command::RadiusByMember { may_store: true };
    Box::pin(async move { search(&cx, &args, command).await })
}

/// `GEORADIUSBYMEMBER_RO key member radius unit [options]`
pub(crate) fn georadiusbymember_ro(cx: Cx, args: Args) -> Pending {
    let command = Command::RadiusByMember { may_store: false };
    Box::pin(async move { search(&cx, &args, command).await })
}

async fn search(cx: &Cx, args: &Args, command: Command) -> Result<ReplyBuf, CommandError> {
    let source = &args[command.source_at()];
    let targets = command.targets(args);
    let mut reply = cx.reply();
    if targets.is_empty() {
        let mut set = open(cx, find(cx, source).await?)?;
        let request = parse(args, command, &mut set).await?;
        let hits = hits(set, &request).await?;
        answer(&mut reply, &hits, &request).await;
        return Ok(reply);
    }
    let mut keys = vec![(cx.db(), &source[..])];
    keys.extend(targets.into_iter().map(|key| (cx.db(), &key[..])));
    let locks = cx.store.lock(&keys).await;
    let mut set = LockedSet::find(cx, &locks, source).await?.set;
    let request = parse(args, command, &mut set).await?;
    let hits = hits(set, &request).await?;
    match &request.target {
        Some(target) => {
            let elements = elements_to_store(hits, &request).await;
            let event = if command == Command::SearchStore {
                "geosearchstore"
            } else {
                "georadiusstore"
            };
            let stored = store(cx, &locks, target, (elements, event)).await?;
            reply.integer(stored);
        }
        None => answer(&mut reply, &hits, &request).await,
    }
    Ok(reply)
}

/// The elements inside, in the order and number that were asked for.
async fn hits(set: Option<SortedSet>, request: &Request) -> Result<Vec<Hit>, CommandError> {
    let (Some(mut set), Some(shape)) = (set, &request.shape) else {
        return Ok(Vec::new());
    };
    let mut found = Found::new(request);
    for cell in cells(shape) {
        let (first, end) = cell.scores();
        let cuts = (
            Cut::Score(first, Side::Before),
            Cut::Score(end, Side::Before),
        );
        let ranks = set.ranks((&cuts.0, &cuts.1)).await?;
        let count = ranks.end - ranks.start;
        let mut elements = set.elements(ranks.start, count, Direction::Forward).await?;
        while let Some(next) = elements.next(&mut set).await? {
            for portion in next.chunks(ELEMENTS_PER_PORTION) {
                if found.take(portion, shape) {
                    return Ok(found.finish());
                }
                tokio::task::yield_now().await;
            }
        }
    }
    Ok(found.finish())
}

/// What was found so far, in the order of the answer.
struct Found {
    sorting: Sorting,
    /// Hits to hold at most.
    held_max: u64,
    /// Hits after which the search may end.
    enough: u64,
    hits: BTreeMap<(u64, u64), Hit>,
    /// Hits so far, those that gave way to better ones included.
    count: u64,
}

impl Found {
    fn new(request: &Request) -> Self {
        let count = request.count.unwrap_or(u64::MAX);
        Self {
            sorting: request.sorting,
            held_max: count,
            enough: if request.any { count } else { u64::MAX },
            hits: BTreeMap::new(),
            count: 0,
        }
    }

    /// Takes what lies inside. True: there are enough.
    fn take(&mut self, elements: &[Element], shape: &Shape) -> bool {
        for element in elements {
            let place = Place::of_score(element.score);
            let Some(distance_m) = shape.distance_inside_m(place) else {
                continue;
            };
            let order = match self.sorting {
                Sorting::None => 0,
                Sorting::Ascending => order_of_score(distance_m),
                Sorting::Descending => !order_of_score(distance_m),
            };
            let hit = Hit {
                element: element.clone(),
                place,
                distance_m,
            };
            self.hits.insert((order, self.count), hit);
            self.count += 1;
            if self.hits.len() as u64 > self.held_max {
                self.hits.pop_last();
            }
            if self.count >= self.enough {
                return true;
            }
        }
        false
    }

    fn finish(self) -> Vec<Hit> {
        self.hits.into_values().collect()
    }
}

async fn answer(reply: &mut ReplyBuf, hits: &[Hit], request: &Request) {
    let extras = [request.has_distance, request.has_hash, request.has_place];
    let extra_count = extras.into_iter().filter(|is_wanted| *is_wanted).count();
    let unit_m = request.shape.map_or(1.0, |shape| shape.unit_m);
    reply.array(hits.len());
    for (index, hit) in hits.iter().enumerate() {
        if extra_count > 0 {
            reply.array(1 + extra_count);
        }
        reply.bulk(&hit.element.member);
        if request.has_distance {
            reply.bulk(format_distance(hit.distance_m / unit_m).as_bytes());
        }
        if request.has_hash {
            reply.integer(hit.element.score as i64);
        }
        if request.has_place {
            answer_place(reply, hit.place);
        }
        let_others_run(index).await;
    }
}

/// The hits as elements of a sorted set, in its order.
async fn elements_to_store(hits: Vec<Hit>, request: &Request) -> Vec<Element> {
    let unit_m = request.shape.map_or(1.0, |shape| shape.unit_m);
    let scores = hits.into_iter().map(|hit| {
        let score = if request.stores_distance {
            hit.distance_m / unit_m
        } else {
            hit.element.score
        };
        (hit.element.member, score)
    });
    in_order(scores).await
}
