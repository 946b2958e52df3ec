//! Giving up: of a victim's live keys only those are copied that are worth it; the others go.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use cellar_index::{Entry, Identity};

use crate::evict::sketch::COUNT_MAX;
use crate::evict::{Order, Shortage};
use crate::format::{EntryDetail, SummaryEntry};
use crate::place;
use crate::units::SegmentNumber;
use crate::worker::Worker;
use crate::write::Refused;

/// Share of a segment that may stay of a victim, in percent: what is freed costs at most three
/// times as much to copy, however many keys were used.
const KEPT_PERCENT_MAX: u64 = 75;
/// A key is worth its copy when it was counted at least so often: once when it was missed and
/// loaded, and once again.
const COUNT_MIN: u64 = 2;
/// Deadlines of a victim among which the middle is sought.
const DEADLINE_SAMPLES: usize = 256;
/// Keys looked up or removed before the executor gets a turn: about 50 us.
const KEYS_PER_TURN: usize = 32;

/// A live key of the victim that the policy lets go.
struct Candidate {
    /// Among the victim's live records.
    position: usize,
    identity: Identity,
    entry: Entry,
    /// More is better; 0: not worth a copy.
    worth: u64,
    bytes: u64,
}

/// What stays: all that is worth more than this, and so many bytes of what is worth this much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    worth: u64,
    bytes: u64,
}

impl Cut {
    fn new(order: Order, candidates: &[Candidate], segment_bytes: u32) -> Self {
        match order {
            Order::Recency | Order::Frequency => {
                let kept_max = u64::from(segment_bytes) * KEPT_PERCENT_MAX / 100;
                Self::by_count(candidates, kept_max)
            }
            Order::Random => Self {
                worth: u64::MAX,
                bytes: 0,
            },
            Order::Deadline => Self::by_deadline(candidates),
        }
    }

    /// The most worthy stay, within the bound.
    fn by_count(candidates: &[Candidate], kept_max: u64) -> Self {
        let mut bytes = [0; COUNT_MAX as usize + 1];
        for candidate in candidates {
            bytes[candidate.worth as usize] += candidate.bytes;
        }
        let mut rest = kept_max;
        for worth in (1..=COUNT_MAX).rev() {
            let bytes = bytes[worth as usize];
            if bytes > rest {
                return Self { worth, bytes: rest };
            }
            rest -= bytes;
        }
        Self { worth: 0, bytes: 0 }
    }

    /// About the farther half stays: which deadlines are near, the keys themselves say.
    fn by_deadline(candidates: &[Candidate]) -> Self {
        let step = candidates.len().div_ceil(DEADLINE_SAMPLES).max(1);
        let mut sample: Vec<u64> = candidates.iter().step_by(step).map(|c| c.worth).collect();
        sample.sort_unstable();
        let worth = sample.get(sample.len() / 2).copied().unwrap_or(0);
        Self { worth, bytes: 0 }
    }

    fn stays(&mut self, candidate: &Candidate) -> bool {
        if candidate.worth != self.worth {
            return candidate.worth > self.worth;
        }
        let stays = candidate.bytes <= self.bytes;
        if stays {
            self.bytes -= candidate.bytes;
        }
        stays
    }
}

/// Gives up what is not worth its copy: takes those records out of `live`.
pub(crate) async fn give_up(
    worker: &Rc<Worker>,
    victim: SegmentNumber,
    live: &mut Vec<SummaryEntry>,
) {
    let store = worker.store();
    let eviction = store.eviction();
    let Some(order) = eviction.order().filter(|_| store.is_pressed()) else {
        return;
    };
    let candidates = candidates(worker, victim, (live, order)).await;
    let mut cut = Cut::new(order, &candidates, store.segment_bytes());
    let mut gone = vec![false; live.len()];
    for (turn, candidate) in candidates.iter().enumerate() {
        if turn % KEYS_PER_TURN == KEYS_PER_TURN - 1 {
            tokio::task::yield_now().await;
        }
        if cut.stays(candidate) {
            continue;
        }
        store.departures().wait_for_room().await;
        match worker.evict(candidate.identity, &candidate.entry, Shortage::Space) {
            Ok(went) => gone[candidate.position] = went,
            Err(refused) => {
                let is_short = matches!(refused, Refused::NoRoom);
                eviction.is_log_short.store(is_short, Ordering::Relaxed);
                break;
            }
        }
    }
    let mut gone = gone.into_iter();
    live.retain(|_| !gone.next().expect("one for each"));
    eviction.relief.notify_waiters();
}

/// The live keys of the victim that may go, with their worth.
async fn candidates(
    worker: &Rc<Worker>,
    victim: SegmentNumber,
    (live, order): (&[SummaryEntry], Order),
) -> Vec<Candidate> {
    let store = worker.store();
    let mut candidates = Vec::with_capacity(live.len());
    for (position, record) in live.iter().enumerate() {
        if position % KEYS_PER_TURN == KEYS_PER_TURN - 1 {
            tokio::task::yield_now().await;
        }
        let is_key = matches!(record.detail, EntryDetail::Put { .. });
        let Some(identity) = Identity::from_bytes(*record.identity.get()).filter(|_| is_key) else {
            continue;
        };
        let at = store.location(victim, record.offset);
        let found = store.index().lookup(identity);
        let may_go = |entry: &Entry| place::of(entry) == at && store.eviction().may_go(entry);
        if let Some(entry) = found.filter(may_go) {
            candidates.push(Candidate {
                position,
                identity,
                entry,
                worth: worth(worker, identity, (&entry, order)),
                bytes: u64::from(record.bytes),
            });
        }
    }
    candidates
}

fn worth(worker: &Worker, identity: Identity, (entry, order): (&Entry, Order)) -> u64 {
    match order {
        Order::Recency => u64::from(entry.referenced),
        Order::Frequency => {
            let count = worker.store().eviction().count(identity);
            if count < COUNT_MIN { 0 } else { count }
        }
        Order::Random => 0,
        Order::Deadline => u64::from(entry.expiry_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(worths: &[u64]) -> Vec<Candidate> {
        let identity = cellar_index::Hasher::new([1; 16]).key(0, b"key");
        let entry = Entry {
            location: 0,
            length_class: 0,
            value_type: 0,
            database: 0,
            referenced: false,
            expiry_s: 0,
        };
        let candidate = |(position, worth): (usize, &u64)| Candidate {
            position,
            identity,
            entry,
            worth: *worth,
            bytes: 10,
        };
        worths.iter().enumerate().map(candidate).collect()
    }

    /// The positions of those that stay.
    fn check(mut cut: Cut, worths: &[u64], expected: &[usize]) {
        let candidates = candidates(worths);
        let staying = candidates.iter().filter(|candidate| cut.stays(candidate));
        let staying: Vec<_> = staying.map(|candidate| candidate.position).collect();
        assert_eq!(staying, expected);
    }

    fn check_counts(worths: &[u64], kept_max: u64, expected: &[usize]) {
        check(
            Cut::by_count(&candidates(worths), kept_max),
            worths,
            expected,
        );
    }

    #[test]
    fn the_most_worthy_stay_within_the_bound() {
        check_counts(&[0, 1, 0, 1], 100, &[1, 3]);
        check_counts(&[0, 1, 0, 1], 10, &[1]);
        check_counts(&[3, 15, 2, 15, 3], 35, &[0, 1, 3]);
        check_counts(&[2, 2, 2], 9, &[]);
        check_counts(&[0, 0], 100, &[]);
        check_counts(&[], 100, &[]);
    }

    #[test]
    fn about_the_farther_half_of_the_deadlines_stays() {
        let far = [50, 10, 40, 20, 30];
        check(Cut::by_deadline(&candidates(&far)), &far, &[0, 2]);
        let same = [7; 4];
        check(Cut::by_deadline(&candidates(&same)), &same, &[]);
        let many: Vec<u64> = (0..10_000).collect();
        let mut cut = Cut::by_deadline(&candidates(&many));
        let staying = candidates(&many).iter().filter(|c| cut.stays(c)).count();
        assert!((4_900..5_100).contains(&staying), "{staying}");
    }

    #[test]
    fn by_chance_nothing_stays() {
        let cut = Cut::new(Order::Random, &candidates(&[0, 0]), 1 << 20);
        check(cut, &[0, 0], &[]);
    }
}
