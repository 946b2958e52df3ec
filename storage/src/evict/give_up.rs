//! Giving up: of a victim's live keys only those are copied that are worth it; the others go.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use cellar_index::{Entry, Identity};

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

/// Gives up what is not worth its copy: takes those records out of `live`.
pub(crate) async fn give_up(
    worker: &Rc<Worker>,
    victim: SegmentNumber,
    live: &mut Vec<SummaryEntry>,
) {
    let store = worker.store();
    let Some(order) = store.eviction().order().filter(|_| store.is_pressed()) else {
        return;
    };
    let mut candidates = candidates(worker, victim, (live, order)).await;
    let bytes: u64 = candidates.iter().map(|candidate| candidate.bytes).sum();
    let kept_max = match order {
        Order::Recency | Order::Frequency => {
            u64::from(store.segment_bytes()) * KEPT_PERCENT_MAX / 100
        }
        Order::Random => 0,
        // The nearer half of the deadlines: which are near, the keys themselves say.
        Order::Deadline => bytes / 2,
    };
    let doomed = doomed(&mut candidates, kept_max);
    let mut gone = vec![false; live.len()];
    for (turn, candidate) in doomed.iter().enumerate() {
        match worker.evict(candidate.identity, &candidate.entry, Shortage::Space) {
            Ok(went) => gone[candidate.position] = went,
            Err(refused) => {
                let is_short = matches!(refused, Refused::NoRoom);
                let eviction = store.eviction();
                eviction.is_log_short.store(is_short, Ordering::Relaxed);
                break;
            }
        }
        if turn % KEYS_PER_TURN == KEYS_PER_TURN - 1 {
            tokio::task::yield_now().await;
        }
    }
    let mut gone = gone.into_iter();
    live.retain(|_| !gone.next().expect("one for each"));
    store.eviction().relief.notify_waiters();
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

/// Those that do not stay: the least worthy, and all that are worth nothing.
fn doomed(candidates: &mut [Candidate], kept_max: u64) -> &[Candidate] {
    candidates.sort_unstable_by(|a, b| b.worth.cmp(&a.worth).then(b.position.cmp(&a.position)));
    let mut kept = 0;
    let stays = |candidate: &&Candidate| {
        kept += candidate.bytes;
        candidate.worth > 0 && kept <= kept_max
    };
    let count = candidates.iter().take_while(stays).count();
    &candidates[count..]
}
