//! The bucket lock and the reads without a lock, in every order of their steps (under loom).
//!
//! Each test is the real index with one or two buckets a region. `docs/testing.md` says how to run
//! them, and which weakening of the code each of them was seen to find.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use loom::thread;

use crate::sync::{PREEMPTIONS_MAX, model};
use crate::{Entry, Identity, Index};

/// Key number `number` of partition 0; the parity of the number decides the bucket once there are
/// two.
fn key(number: u32) -> Identity {
    Identity::from_tag(0, number, !number, 7)
}

/// An entry every field of which follows from its version.
fn entry(version: u32) -> Entry {
    Entry {
        location: u64::from(version) << 33 | u64::from(version),
        length_class: version as u8 & 127,
        value_type: version as u8 & 7,
        database: version as u8 & 31,
        referenced: false,
        expiry_s: !version,
    }
}

fn put(index: &Index, id: Identity, entry: Entry) {
    let mut lock = index.lock(id);
    lock.ensure_room(id).expect("there is no bound");
    lock.put(id, entry);
}

fn remove(index: &Index, id: Identity) {
    index.lock(id).remove(id).expect("it is there");
}

fn grow(index: &Index) {
    index.grow(index.region(0)).expect("there is no bound");
}

fn shrink(index: &Index) {
    index.shrink(index.region(0));
}

/// An index with these keys, each with its number as its version.
fn index_with(numbers: impl IntoIterator<Item = u32>) -> Arc<Index> {
    let index = Index::new_for_uneven(0).expect("memory is there");
    for number in numbers {
        put(&index, key(number), entry(number));
    }
    Arc::new(index)
}

/// Looks `number` up while another thread runs `change`: it is there all the time. Few keys get two
/// buckets beforehand; more than six make the index grow by itself.
fn check_found(numbers: &'static [u32], number: u32, change: fn(&Index)) {
    check_found_up_to(PREEMPTIONS_MAX, numbers, number, change);
}

fn check_found_up_to(
    preemptions_max: usize,
    numbers: &'static [u32],
    number: u32,
    change: fn(&Index),
) {
    model(preemptions_max, move || {
        let index = index_with(numbers.iter().copied());
        if numbers.len() < 6 {
            grow(&index);
        }
        let changing = thread::spawn({
            let index = Arc::clone(&index);
            move || change(&index)
        });
        assert_eq!(
            index.lookup(key(number)),
            Some(entry(number)),
            "a key that stays"
        );
        changing.join().expect("no panic");
        assert_eq!(index.lookup(key(number)), Some(entry(number)), "afterwards");
    });
}

#[test]
fn an_entry_is_read_whole() {
    model(PREEMPTIONS_MAX, || {
        let index = index_with([1]);
        let writer = thread::spawn({
            let index = Arc::clone(&index);
            move || put(&index, key(1), entry(6))
        });
        let read = index.lookup(key(1)).expect("it is there");
        assert!(read == entry(1) || read == entry(6), "a mixture: {read:?}");
        writer.join().expect("no panic");
        assert_eq!(
            index.lookup(key(1)),
            Some(entry(6)),
            "what was written is seen"
        );
    });
}

#[test]
fn a_key_is_found_while_a_removal_moves_it() {
    check_found(&[1, 2], 2, |index| remove(index, key(1)));
}

/// Seven even keys and two buckets: the seventh is in an overflow node. The removal moves it into
/// the bucket and gives the node back, then the region shrinks.
#[test]
fn a_key_is_found_while_its_overflow_node_goes() {
    check_found(&[2, 4, 6, 8, 10, 12, 14], 14, |index| remove(index, key(2)));
}

/// The seventh key makes the region grow: odd ones move to a new bucket. The steps of all that are
/// many: each thread is interrupted once.
#[test]
fn a_key_is_found_while_its_bucket_splits() {
    check_found_up_to(1, &[2, 4, 6, 8, 10, 11], 11, |index| {
        put(index, key(12), entry(12))
    });
}

/// The same without the writer that causes it, and in reverse: the odd key's bucket leaves the
/// table, and the memory of it goes back.
#[test]
fn a_key_is_found_while_its_bucket_is_merged_away() {
    check_found(&[2, 11], 11, |index| shrink(index));
}

/// A bucket that leaves the table and comes back; each thread is interrupted once.
#[test]
fn a_key_is_found_while_its_bucket_goes_and_comes_back() {
    check_found_up_to(1, &[2, 11], 11, |index| {
        shrink(index);
        grow(index);
    });
}

/// A writer that comes for a bucket that has just left the table finds its key's new home.
#[test]
fn a_write_is_not_lost_while_its_bucket_is_merged_away() {
    model(PREEMPTIONS_MAX, || {
        let index = index_with([2, 11]);
        grow(&index);
        let writer = thread::spawn({
            let index = Arc::clone(&index);
            move || put(&index, key(11), entry(3))
        });
        shrink(&index);
        writer.join().expect("no panic");
        assert_eq!(index.lookup(key(11)), Some(entry(3)), "what was written");
        assert_eq!(index.lookup(key(2)), Some(entry(2)), "what stayed");
    });
}

#[test]
fn increments_under_the_lock_are_not_lost() {
    fn increment(index: &Index) {
        let mut lock = index.lock(key(1));
        let found = lock.find(key(1)).expect("it is there");
        let location = found.location + 1;
        lock.put(key(1), Entry { location, ..found });
    }
    model(PREEMPTIONS_MAX, || {
        let index = index_with([1]);
        let other = thread::spawn({
            let index = Arc::clone(&index);
            move || increment(&index)
        });
        increment(&index);
        other.join().expect("no panic");
        let found = index.lookup(key(1)).expect("it is there");
        assert_eq!(found.location, entry(1).location + 2);
    });
}

/// Two keys of two buckets, locked in opposite orders.
#[test]
fn a_pair_is_written_and_read_as_one() {
    let pair = || [key(1), key(1).in_partition(1)];
    model(PREEMPTIONS_MAX, move || {
        let index = index_with([]);
        let writer = thread::spawn({
            let index = Arc::clone(&index);
            move || {
                let mut locks = index.lock_many(&pair());
                locks.ensure_room(&pair()).expect("there is no bound");
                for id in pair() {
                    locks.put(id, entry(3));
                }
            }
        });
        let [first, second] = pair();
        let locks = index.lock_many(&[second, first]);
        assert_eq!(locks.find(first), locks.find(second), "half of a pair");
        drop(locks);
        writer.join().expect("no panic");
    });
}

/// A place that is freed once the key has moved away and no pin is seen.
#[test]
fn a_place_is_never_freed_under_a_pin() {
    model(PREEMPTIONS_MAX, || {
        let index = index_with([1]);
        let (pins, freed) = (
            Arc::new(AtomicU32::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let mover = thread::spawn({
            let (index, pins, freed) = (Arc::clone(&index), Arc::clone(&pins), Arc::clone(&freed));
            move || {
                put(&index, key(1), entry(2));
                fence(Ordering::SeqCst);
                if pins.load(Ordering::Acquire) == 0 {
                    freed.store(true, Ordering::Relaxed);
                }
            }
        });
        let is_old = |found: &Entry| *found == entry(1);
        let pin = |found: &Entry| {
            if is_old(found) {
                pins.fetch_add(1, Ordering::Relaxed);
            }
        };
        let unpin = |found: &Entry| {
            if is_old(found) {
                pins.fetch_sub(1, Ordering::Release);
            }
        };
        let found = index
            .lookup_pinned(key(1), pin, unpin)
            .expect("it is there");
        if is_old(&found) {
            assert!(!freed.load(Ordering::Relaxed), "freed under a pin");
        }
        unpin(&found);
        mover.join().expect("no panic");
    });
}
