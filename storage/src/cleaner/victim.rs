//! The choice of victims: one look at all segments keeps the best few and the lowest openings.
//!
//! Survivors of hot and of cold segments go to the one open cold segment in turn, so a turn's
//! victims are of one kind (`rule`). Segments whose records have expired count as empty. Owns the
//! candidates between two looks; must never hold up a worker: a look yields every few thousand
//! segments.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::rc::Rc;

use crate::cleaner::rule;
use crate::format::Stream;
use crate::segment::{Segment, State};
use crate::store::Store;
use crate::units::{Lsn, SegmentNumber};
use crate::worker::Worker;

/// Segments looked at before the executor gets a turn: about 50 us.
const SEGMENTS_PER_SLICE: usize = 2048;
/// One look serves one turn more for so many segments, so that looking costs little beside moving.
const SEGMENTS_PER_TURN: u32 = 8192;
/// Turns that one look serves at most: worths change with every overwrite.
const TURNS_MAX: u32 = 32;
/// Tombstones' share of the device, in percent, above which the oldest segments go first.
const SHADOW_PERCENT_MAX: u64 = 2;

#[derive(Clone, Copy, Debug)]
struct Candidate {
    segment: SegmentNumber,
    /// What relocation may have to move, in bytes: all that is not known to be dead. Records that
    /// have expired are among it, since their tombstones may find no room.
    taken: u64,
    worth: f64,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth
            .total_cmp(&other.worth)
            .then_with(|| other.segment.cmp(&self.segment))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// The largest of what was offered, at most `capacity` of them.
struct Largest<T> {
    heap: BinaryHeap<Reverse<T>>,
    capacity: usize,
}

impl<T: Ord> Largest<T> {
    fn new(capacity: usize) -> Self {
        Self {
            heap: BinaryHeap::with_capacity(capacity + 1),
            capacity,
        }
    }

    fn would_keep(&self, item: &T) -> bool {
        self.heap.len() < self.capacity || self.heap.peek().is_some_and(|least| item > &least.0)
    }

    fn offer(&mut self, item: T) {
        if self.would_keep(&item) {
            self.heap.push(Reverse(item));
            if self.heap.len() > self.capacity {
                self.heap.pop();
            }
        }
    }

    /// Ascending.
    fn into_sorted(self) -> Vec<T> {
        let sorted = self.heap.into_sorted_vec();
        sorted.into_iter().rev().map(|Reverse(item)| item).collect()
    }
}

/// What a look found, used up turn by turn.
#[derive(Default)]
pub(super) struct Choice {
    /// Ascending, the best at the end.
    hot: Vec<Candidate>,
    cold: Vec<Candidate>,
    /// The lowest openings of segments in use, ascending: as many as can be freed before the next
    /// look, and two.
    openings: Vec<(Lsn, SegmentNumber)>,
    turns_left: u32,
    /// Whose survivors the open cold segment takes.
    kind: Option<Stream>,
}

impl Choice {
    /// The victims of the next turn, marked as being cleaned. Looks at the segments when the last
    /// look is used up.
    pub(super) async fn next(&mut self, worker: &Rc<Worker>) -> Victims {
        if self.turns_left > 0 {
            self.turns_left -= 1;
            let victims = self.take(worker.store());
            if !victims.segments.is_empty() {
                return victims;
            }
        }
        self.look_again(worker).await;
        self.turns_left = self.turns_left.saturating_sub(1);
        self.take(worker.store())
    }

    /// Replaces what the last look found.
    async fn look_again(&mut self, worker: &Rc<Worker>) {
        *self = Self {
            kind: self.kind,
            ..look(worker).await
        };
    }

    /// The oldest segments as the victims of the next turn, marked as being cleaned: so many that
    /// they hold `excess_bytes`, if a turn takes as much. The usual ones where none can be cleaned.
    pub(super) async fn next_oldest(&mut self, worker: &Rc<Worker>, excess_bytes: u64) -> Victims {
        if self.turns_left == 0 {
            self.look_again(worker).await;
        }
        self.turns_left = self.turns_left.saturating_sub(1);
        let store = worker.store();
        let durable = store.durable_lsn();
        let mut turn = Turn::new(store);
        for (opening, segment) in &self.openings {
            let life = store.segments().get(*segment);
            if !is_in_use(life, *opening) || !is_ready(life, durable) {
                continue;
            }
            let candidate = Candidate {
                segment: *segment,
                taken: life.live_bytes() + life.shadow_bytes(),
                worth: f64::INFINITY,
            };
            if !turn.fits(&candidate)
                || (turn.victims.taken >= excess_bytes && turn.victims.taken > 0)
            {
                break;
            }
            turn.add(candidate);
        }
        if turn.victims.segments.is_empty() {
            self.turns_left = 0;
            return self.next(worker).await;
        }
        turn.victims
    }

    /// The lowest LSN at which any segment in use but `except` was opened, or a lower one.
    pub(super) fn oldest_opening(&self, store: &Store, except: SegmentNumber) -> Lsn {
        let is_other = |(opening, other): &&(Lsn, SegmentNumber)| {
            *other != except && is_in_use(store.segments().get(*other), *opening)
        };
        // Those beyond the list opened above all of it.
        let oldest = self.openings.iter().find(is_other).or(self.openings.last());
        oldest.map_or(Lsn::new(0), |(opening, _)| *opening)
    }

    fn take(&mut self, store: &Store) -> Victims {
        let mut turn = Turn::new(store);
        if let Some(oldest) = self.oldest_under_shadows(store) {
            turn.add(oldest);
        }
        // What costs nothing is of no kind.
        for candidates in [&mut self.hot, &mut self.cold] {
            while candidates.last().is_some_and(|best| best.taken == 0) && turn.has_place() {
                candidates.pop().into_iter().for_each(|best| turn.add(best));
            }
        }
        let candidates = self.of_one_kind(store);
        while let Some(best) = candidates.last().filter(|best| turn.fits(best)) {
            turn.add(*best);
            candidates.pop();
        }
        turn.victims
    }

    /// The candidates of the kind that the open cold segment takes.
    fn of_one_kind(&mut self, store: &Store) -> &mut Vec<Candidate> {
        let best_of = |stream| match stream {
            Stream::Hot => self.hot.last(),
            Stream::Cold => self.cold.last(),
        };
        let room_bytes = store.cold().room_bytes();
        let keeps = self.kind.filter(|kind| {
            !rule::may_change_kind(room_bytes, store.segment_bytes()) && best_of(*kind).is_some()
        });
        let better = if best_of(Stream::Cold) > best_of(Stream::Hot) {
            Stream::Cold
        } else {
            Stream::Hot
        };
        let kind = keeps.unwrap_or(better);
        self.kind = Some(kind);
        match kind {
            Stream::Hot => &mut self.hot,
            Stream::Cold => &mut self.cold,
        }
    }

    /// When tombstones take much of the device, the oldest segment goes first, however full it is:
    /// what it holds is why they are kept.
    fn oldest_under_shadows(&self, store: &Store) -> Option<Candidate> {
        let segments = store.segments();
        let room = segments.usable_count() * u64::from(store.segment_bytes());
        if segments.shadow_bytes() * 100 < room * SHADOW_PERCENT_MAX {
            return None;
        }
        let durable = store.durable_lsn();
        let (_, oldest) = self.openings.iter().find(|(opening, segment)| {
            let life = segments.get(*segment);
            is_in_use(life, *opening) && is_ready(life, durable)
        })?;
        Some(Candidate {
            segment: *oldest,
            taken: segments.get(*oldest).live_bytes(),
            worth: f64::INFINITY,
        })
    }
}

/// The victims of one turn.
#[derive(Debug, Default)]
pub(super) struct Victims {
    pub(super) segments: Vec<SegmentNumber>,
    /// What has to be moved out of them, in bytes, as far as is known.
    pub(super) taken: u64,
}

/// The victims of one turn, as far as they are chosen.
struct Turn<'a> {
    store: &'a Store,
    victims: Victims,
}

impl<'a> Turn<'a> {
    fn new(store: &'a Store) -> Self {
        Self {
            store,
            victims: Victims::default(),
        }
    }

    fn has_place(&self) -> bool {
        self.victims.segments.len() < rule::VICTIMS_MAX
    }

    fn fits(&self, candidate: &Candidate) -> bool {
        let budget = rule::LIVE_SEGMENTS_MAX * u64::from(self.store.segment_bytes());
        self.has_place()
            && (self.victims.segments.is_empty() || self.victims.taken + candidate.taken <= budget)
    }

    /// Marks a candidate as a victim, if it still can be one.
    fn add(&mut self, candidate: Candidate) {
        let life = self.store.segments().get(candidate.segment);
        let is_free_to_go = life.state() == State::Sealed
            && !self.store.pins().any(candidate.segment)
            && !self.victims.segments.contains(&candidate.segment);
        if is_free_to_go {
            life.set_state(State::Cleaning);
            self.victims.segments.push(candidate.segment);
            self.victims.taken += candidate.taken;
        }
    }
}

/// A victim stays in use after all.
pub(super) fn give_back(store: &Store, victim: SegmentNumber) {
    store.segments().get(victim).set_state(State::Sealed);
}

fn is_in_use(life: &Segment, opening: Lsn) -> bool {
    match life.state() {
        State::Open | State::Sealed | State::Cleaning => life.opening_lsn() == opening,
        State::Unallocated | State::Free => false,
    }
}

/// Only a segment that is wholly durable may be a victim (design rule 4).
fn is_ready(life: &Segment, durable: Lsn) -> bool {
    life.state() == State::Sealed && life.sealed_lsn() <= durable
}

/// Looks at every segment once. What is opened meanwhile opens above `durable`, which no tombstone
/// of a victim reaches; only the cleaner frees, and it is busy looking.
pub(super) async fn look(worker: &Rc<Worker>) -> Choice {
    let store = worker.store();
    let turns = (store.segments().count() / SEGMENTS_PER_TURN).clamp(1, TURNS_MAX);
    let capacity = rule::VICTIMS_MAX * turns as usize;
    let view = View {
        store,
        durable: store.durable_lsn(),
        now_s: store.now_s(),
    };
    let (mut hot, mut cold) = (Largest::new(capacity), Largest::new(capacity));
    let mut openings = Largest::new(capacity + 2);
    for (index, segment) in store.segments().numbers().enumerate() {
        let life = store.segments().get(segment);
        if is_in_use(life, life.opening_lsn()) {
            openings.offer(Reverse((life.opening_lsn(), segment)));
        }
        if let Some(candidate) = view.candidate(segment, life.shadow_bytes()) {
            match life.stream() {
                Stream::Hot => hot.offer(candidate),
                Stream::Cold => cold.offer(candidate),
            }
        }
        if index % SEGMENTS_PER_SLICE == SEGMENTS_PER_SLICE - 1 {
            tokio::task::yield_now().await;
        }
    }
    let openings = openings.into_sorted().into_iter().rev();
    let openings: Vec<_> = openings.map(|Reverse(opening)| opening).collect();
    let mut hot = hot.into_sorted();
    view.favour_oldest(&mut hot, openings.first());
    Choice {
        hot,
        cold: cold.into_sorted(),
        openings,
        turns_left: turns,
        kind: None,
    }
}

/// The moment of a look.
struct View<'a> {
    store: &'a Store,
    durable: Lsn,
    now_s: u32,
}

impl View<'_> {
    /// A segment as a candidate, if it can be one. `shadow_bytes`: the tombstones that have to be
    /// carried on.
    fn candidate(&self, segment: SegmentNumber, shadow_bytes: u64) -> Option<Candidate> {
        let life = self.store.segments().get(segment);
        if !is_ready(life, self.durable) {
            return None;
        }
        let segment_bytes = self.store.segment_bytes();
        let taken = life.live_bytes() + shadow_bytes;
        let kept = taken.saturating_sub(life.expired_bytes(self.now_s));
        if kept * 100 > u64::from(segment_bytes) * rule::UTILIZATION_PERCENT_MAX {
            return None;
        }
        let age = self.durable.bytes_since(life.sealed_lsn()).unwrap_or(0);
        Some(Candidate {
            segment,
            taken,
            worth: rule::worth(kept, segment_bytes, age),
        })
    }

    /// Tombstones are carried on unless nothing older is left: in the oldest segment they cost
    /// nothing.
    fn favour_oldest(&self, hot: &mut Vec<Candidate>, oldest: Option<&(Lsn, SegmentNumber)>) {
        let Some((_, segment)) = oldest else { return };
        let life = self.store.segments().get(*segment);
        if life.stream() != Stream::Hot || life.shadow_bytes() == 0 {
            return;
        }
        let Some(candidate) = self.candidate(*segment, 0) else {
            return;
        };
        hot.retain(|other| other.segment != *segment);
        let position = hot.partition_point(|other| *other < candidate);
        hot.insert(position, candidate);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::clock::SimClock;
    use crate::device::Device;
    use crate::device::sim::SimDevice;
    use crate::format::GenerationSeed;
    use crate::handle::Handle;
    use crate::options::StoreOptions;
    use crate::units::Generation;

    const SEGMENT_BYTES: u32 = 1 << 20;

    /// Polls to the end: the outcome, and how often the future yielded.
    fn run<F: Future>(future: F) -> (F::Output, usize) {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        let mut yield_count = 0;
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(output) => return (output, yield_count),
                Poll::Pending => yield_count += 1,
            }
        }
    }

    /// A store whose segments are all sealed, in the order of their numbers, as full as told.
    fn sealed_store(segments: u32, live_bytes: impl Fn(u32) -> u64) -> Handle {
        let bytes = (1 << 20) + u64::from(segments) * u64::from(SEGMENT_BYTES);
        let device = SimDevice::instant(512, bytes, 1) as Arc<dyn Device>;
        let options = StoreOptions {
            segment_bytes: SEGMENT_BYTES,
            ..StoreOptions::default()
        };
        let clock = Arc::new(SimClock::new(0));
        let store = run(Store::open(options, vec![device], clock, [1; 32]))
            .0
            .unwrap();
        for segment in store.segments().numbers() {
            let life = store.segments().get(segment);
            let generation = Generation {
                epoch: 1,
                segment,
                opening_lsn: Lsn::new(u64::from(segment.get())),
            };
            life.begin_life(generation, GenerationSeed::restore(1), Stream::Hot);
            life.set_sealed_lsn(Lsn::new(0));
            life.set_state(State::Sealed);
            let live_bytes = live_bytes(segment.get()).cast_signed();
            store.segments().add_live(segment, live_bytes);
        }
        store.attach(0).unwrap()
    }

    #[test]
    fn a_look_at_many_segments_yields_and_finds_the_best_and_the_oldest() {
        const COUNT: u32 = 20_000;
        let emptiest = [11_111, 3, 19_999];
        let live_bytes = |number| {
            let is_empty = emptiest.contains(&number);
            if is_empty { 1_000 } else { 700_000 }
        };
        let handle = sealed_store(COUNT, live_bytes);
        let (mut choice, yield_count) = run(look(handle.worker()));
        assert_eq!(yield_count, COUNT as usize / SEGMENTS_PER_SLICE);
        let mut victims = choice.take(handle.store()).segments;
        victims.truncate(3);
        victims.sort_unstable();
        assert_eq!(victims, [3, 11_111, 19_999].map(SegmentNumber::new));
        let oldest = |except| choice.oldest_opening(handle.store(), SegmentNumber::new(except));
        assert_eq!((oldest(9), oldest(0)), (Lsn::new(0), Lsn::new(1)));
    }

    #[test]
    fn one_look_serves_turns_until_it_is_used_up() {
        let handle = sealed_store(SEGMENTS_PER_TURN * 2, |_| 700_000);
        let mut choice = Choice::default();
        let (first, looked) = run(choice.next(handle.worker()));
        assert!(
            looked > 0 && first.segments.len() == 2,
            "two segments of live bytes a turn"
        );
        let (second, looked) = run(choice.next(handle.worker()));
        assert!(looked == 0 && second.segments.len() == 2);
        assert!(!second.segments.contains(&first.segments[0]));
        assert!(run(choice.next(handle.worker())).1 > 0);
    }

    #[test]
    fn the_oldest_opening_is_never_above_what_was_not_listed() {
        let handle = sealed_store(64, |_| 700_000);
        let choice = run(look(handle.worker())).0;
        let listed: Vec<_> = choice
            .openings
            .iter()
            .map(|(_, segment)| *segment)
            .collect();
        assert_eq!(listed.len(), rule::VICTIMS_MAX + 2);
        let segments = handle.store().segments();
        for segment in &listed {
            segments.put_freed(*segment);
        }
        let oldest = choice.oldest_opening(handle.store(), SegmentNumber::new(63));
        assert_eq!(oldest, Lsn::new(9), "of the last that was listed");
    }

    #[test]
    fn the_largest_are_kept_in_order() {
        let mut largest = Largest::new(3);
        for item in [5, 1, 9, 7, 3, 8] {
            largest.offer(item);
        }
        assert_eq!(largest.into_sorted(), [7, 8, 9]);
    }

    #[test]
    fn the_lowest_are_the_largest_of_the_reverse() {
        let mut lowest = Largest::new(2);
        for item in [5, 1, 9, 7, 3] {
            lowest.offer(Reverse(item));
        }
        let sorted: Vec<_> = lowest.into_sorted().into_iter().rev().collect();
        assert_eq!(sorted, [Reverse(1), Reverse(3)]);
    }

    #[test]
    fn candidates_are_ordered_by_worth() {
        let candidate = |number, worth| Candidate {
            segment: SegmentNumber::new(number),
            taken: 0,
            worth,
        };
        assert!(candidate(0, 2.0) > candidate(1, 1.0));
        assert!(
            candidate(0, 1.0) > candidate(1, 1.0),
            "at a tie the lower number"
        );
    }
}
