//! The hand: goes round the buckets and evicts the least worthy keys of each few, wherever on the
//! devices they are.
//!
//! It makes room in the index at once. On the devices it makes dead bytes, which the cleaner has to
//! turn into free segments; so there it only helps when the cleaner alone is too slow, or meets too
//! few keys that may go.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use cellar_index::{Entry, Identity};

use crate::evict::{Order, Shortage};
use crate::expiry::{Deadline, deadline};
use crate::place;
use crate::store::Store;
use crate::worker::Worker;
use crate::write::Refused;

/// How often shortages are looked for when nobody tells of one.
const INTERVAL_US: u64 = 100_000;
/// Pause while the log has no room for tombstones.
const STUCK_PAUSE_US: u64 = 1_000;
/// Keys evicted in one slice: each is a commit of about 1.5 us.
const KEYS_PER_SLICE: usize = 16;
/// Keys among which those are chosen. Four times as many, and the worst of them are evicted: close
/// to the worst quarter of all.
const SAMPLE_KEYS: usize = 4 * KEYS_PER_SLICE;
/// Buckets looked at in one slice for want of keys that may go: some 20 us.
const BUCKETS_PER_SLICE: u32 = 128;

/// A key that may go.
struct Candidate {
    identity: Identity,
    entry: Entry,
    /// The least go first.
    worth: (u64, u64),
}

/// How a slice went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slice {
    Evicted,
    /// Nothing that may go was met.
    Barren,
    /// No tombstone could be written.
    Stuck,
}

/// Where the hand is.
#[derive(Default)]
struct Hand {
    cursor: u64,
    /// Something was evicted since the round began.
    was_fruitful: bool,
}

/// Evicts whenever something is short.
pub(crate) async fn run(worker: &Rc<Worker>) {
    let store = worker.store();
    let mut hand = Hand::default();
    while !store.is_closing() {
        let eviction = store.eviction();
        let wanted = eviction.is_memory_wanted.swap(false, Ordering::Relaxed);
        let Some(shortage) = store.shortage(wanted) else {
            tokio::select! {
                biased;
                () = eviction.wanted.notified() => {}
                () = store.clock().sleep(INTERVAL_US) => {}
            }
            continue;
        };
        store.departures().wait_for_room().await;
        let slice = hand.slice(worker, shortage);
        eviction.relief.notify_waiters();
        let round_was_barren = hand.cursor == 0 && !std::mem::take(&mut hand.was_fruitful);
        if slice == Slice::Stuck {
            store.want_room();
            store.clock().sleep(STUCK_PAUSE_US).await;
        } else if round_was_barren {
            store.clock().sleep(INTERVAL_US).await;
        } else {
            tokio::task::yield_now().await;
        }
    }
}

impl Hand {
    /// Evicts the worst of the next few keys.
    fn slice(&mut self, worker: &Rc<Worker>, shortage: Shortage) -> Slice {
        let store = worker.store();
        let Some(order) = store.eviction().order() else {
            return Slice::Barren;
        };
        let mut sample = self.sample(store, order);
        let count = choose(&mut sample, order);
        let mut slice = Slice::Barren;
        for (number, candidate) in sample.iter().enumerate() {
            if number >= count {
                forget_use(store, candidate, order);
                continue;
            }
            match go(worker, candidate, shortage) {
                Ok(went) => {
                    self.was_fruitful |= went;
                    if went {
                        slice = Slice::Evicted;
                    }
                }
                Err(_) => return Slice::Stuck,
            }
        }
        slice
    }

    /// The next keys that may go.
    fn sample(&mut self, store: &Store, order: Order) -> Vec<Candidate> {
        let mut sample = Vec::with_capacity(2 * SAMPLE_KEYS);
        for _ in 0..BUCKETS_PER_SLICE {
            self.cursor = store.index().scan(self.cursor, &mut |identity, entry| {
                if store.eviction().may_go(&entry) {
                    let worth = worth(store, identity, (&entry, order));
                    sample.push(Candidate {
                        identity,
                        entry,
                        worth,
                    });
                }
            });
            if self.cursor == 0 || sample.len() >= SAMPLE_KEYS {
                break;
            }
        }
        sample
    }
}

/// Puts those that go in front: how many they are. Keys that were used stay while others can go.
fn choose(sample: &mut [Candidate], order: Order) -> usize {
    let count = KEYS_PER_SLICE.min(sample.len());
    if count == 0 {
        return 0;
    }
    sample.select_nth_unstable_by_key(count - 1, |candidate| candidate.worth);
    if order != Order::Recency {
        return count;
    }
    let (chosen, _) = sample.split_at_mut(count);
    chosen.sort_unstable_by_key(|candidate| candidate.worth);
    let unused = chosen.partition_point(|candidate| !candidate.entry.referenced);
    unused.max(1)
}

/// What a key is worth; at equal worth those go first that were written first.
fn worth(store: &Store, identity: Identity, (entry, order): (&Entry, Order)) -> (u64, u64) {
    let segment = store.split(place::of(entry)).0;
    let written = store.segments().get(segment).opening_lsn().get();
    match order {
        Order::Recency => (u64::from(entry.referenced), written),
        Order::Frequency => (store.eviction().count(identity), written),
        Order::Random => (0, 0),
        Order::Deadline => (u64::from(entry.expiry_s), written),
    }
}

/// A key that the hand passed has to be used again to be worth as much at the next round.
fn forget_use(store: &Store, passed: &Candidate, order: Order) {
    if order == Order::Recency && passed.entry.referenced {
        store.index().clear_referenced(passed.identity);
    }
}

/// Removes a key: true if it went.
fn go(worker: &Rc<Worker>, candidate: &Candidate, shortage: Shortage) -> Result<bool, Refused> {
    let (identity, entry) = (candidate.identity, &candidate.entry);
    let store = worker.store();
    if deadline(entry, &store.moment()) == Deadline::Passed {
        let database = store.databases().by_handle(entry.database);
        let removed = database.map(|db| worker.remove_expired(identity, db, place::of(entry)));
        return Ok(removed.unwrap_or(false));
    }
    worker.evict(identity, entry, shortage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(worths: &[(bool, u64)]) -> Vec<Candidate> {
        let identity = cellar_index::Hasher::new([1; 16]).key(0, b"key");
        let candidate = |(referenced, written): &(bool, u64)| Candidate {
            identity,
            entry: Entry {
                location: 0,
                length_class: 0,
                value_type: 0,
                database: 0,
                referenced: *referenced,
                expiry_s: 0,
            },
            worth: (u64::from(*referenced), *written),
        };
        worths.iter().map(candidate).collect()
    }

    /// What was written when of those that go.
    fn check(order: Order, worths: &[(bool, u64)], expected: &[u64]) {
        let mut sample = candidates(worths);
        let count = choose(&mut sample, order);
        let mut chosen: Vec<u64> = sample[..count].iter().map(|c| c.worth.1).collect();
        chosen.sort_unstable();
        assert_eq!(chosen, expected);
    }

    #[test]
    fn keys_that_were_used_stay_while_others_can_go() {
        check(Order::Recency, &[(true, 1), (false, 3), (true, 2)], &[3]);
        check(Order::Recency, &[(true, 2), (true, 1)], &[1]);
        check(Order::Recency, &[], &[]);
    }

    #[test]
    fn the_least_worthy_go() {
        let ages: Vec<(bool, u64)> = (0..64).rev().map(|age| (false, age)).collect();
        let oldest: Vec<u64> = (0..KEYS_PER_SLICE as u64).collect();
        for order in [Order::Recency, Order::Frequency, Order::Deadline] {
            check(order, &ages, &oldest);
        }
    }
}
