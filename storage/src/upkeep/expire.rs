//! Active expiry: a hand that goes round the table and removes what has expired.

use std::rc::Rc;

use cellar_index::{Entry, Identity};

use crate::expiry::{Deadline, deadline};
use crate::place;
use crate::worker::Worker;

/// A step of the hand this often, as Redis's `hz 10`.
const INTERVAL_US: u64 = 100_000;
/// Buckets of one slice: about 50 us.
const BUCKETS_PER_SLICE: u32 = 256;
/// Expired keys of one slice: each is a commit.
const KEYS_PER_SLICE: usize = 32;
/// Slices of a step when little has expired: a few hundred thousand keys a second are looked at.
const SLICES_MIN: u32 = 16;
/// Slices of a step when much has: a quarter of a core, as in Redis.
const SLICES_MAX: u32 = 500;
/// The hand goes on while it finds at least one expired key in so many buckets.
const BUCKETS_PER_FIND: u32 = 16;
const _: () = assert!(KEYS_PER_SLICE as u32 * BUCKETS_PER_FIND >= BUCKETS_PER_SLICE);

/// Moves the hand on.
pub(crate) async fn run(worker: &Rc<Worker>) {
    let store = worker.store();
    let mut cursor = 0;
    while !store.is_closing() {
        store.clock().sleep(INTERVAL_US).await;
        if store.has_expiring_keys() && store.is_active_expiry_on() {
            step(worker, &mut cursor).await;
        }
    }
}

async fn step(worker: &Rc<Worker>, cursor: &mut u64) {
    for slice in 0..SLICES_MAX {
        worker.store().departures().wait_for_room().await;
        let found = sweep(worker, cursor);
        let is_busy = found * BUCKETS_PER_FIND >= BUCKETS_PER_SLICE;
        if (!is_busy && slice >= SLICES_MIN) || worker.store().is_closing() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Removes the expired keys of some buckets: how many went.
fn sweep(worker: &Rc<Worker>, cursor: &mut u64) -> u32 {
    let store = worker.store();
    let now = store.moment();
    let mut expired: Vec<(Identity, Entry)> = Vec::new();
    for _ in 0..BUCKETS_PER_SLICE {
        *cursor = store.index().scan(*cursor, &mut |identity, entry| {
            if deadline(&entry, &now) == Deadline::Passed {
                expired.push((identity, entry));
            }
        });
        if *cursor == 0 || expired.len() >= KEYS_PER_SLICE {
            break;
        }
    }
    let mut removed = 0;
    for (identity, entry) in &expired {
        let Some(database) = store.databases().by_handle(entry.database) else {
            continue;
        };
        removed += u32::from(worker.remove_expired(*identity, database, place::of(entry)));
    }
    store.counters().expired_active.add(u64::from(removed));
    removed
}
