//! Several threads at once: no torn entries, no lost ones, no broken pins, no half of a pair.
//!
//! Prints its seed; `SEED=n` replays the operations, though not the interleaving.
#![expect(clippy::print_stdout, reason = "a failed run tells its seed")]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::thread;

use cellar_index::{Entry, Identity, Index};

use crate::random::{Random, ids, seed};

const THREADS: usize = 4;
/// Operations of each thread; Miri runs some thousand times slower.
const OPERATIONS: u64 = if cfg!(miri) { 40 } else { 100_000 };

fn indexes() -> [Index; 2] {
    [Index::new(0), Index::new_for_uneven(0)].map(|index| index.expect("addresses are to be had"))
}

/// Runs `work` on every thread, each with its own random numbers.
fn on_threads(work: impl Fn(usize, &mut Random) + Sync) {
    let seed = seed();
    println!("SEED={seed}");
    let work = &work;
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let mut random = Random::new(seed.wrapping_mul(thread as u64 * 2 + 1));
            scope.spawn(move || work(thread, &mut random));
        }
    });
}

/// An entry every field of which follows from its identity and `version`, so that a mixture of two
/// is found out.
fn entry_of(id: Identity, version: u64) -> Entry {
    let bytes = id.to_bytes();
    let of_id = u64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], 0, 0, 0]);
    let mixed = (of_id ^ version).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Entry {
        location: version,
        length_class: (mixed >> 57) as u8,
        value_type: (mixed >> 54) as u8 & 7,
        database: (mixed >> 49) as u8 & 31,
        referenced: false,
        expiry_s: mixed as u32,
    }
}

fn check_entry(id: Identity, entry: Entry) {
    let expected = entry_of(id, entry.location);
    assert_eq!(
        Entry {
            referenced: false,
            ..entry
        },
        expected,
        "an entry is torn or another's"
    );
}

fn put(index: &Index, id: Identity, entry: Entry) {
    let mut lock = index.lock(id);
    lock.ensure_room(id).expect("there is no bound");
    lock.put(id, entry);
}

#[test]
fn entries_are_whole_and_their_own_while_the_table_grows_and_shrinks() {
    let ids = ids(if cfg!(miri) { 40 } else { 5000 }, 3);
    for index in &indexes() {
        on_threads(|_, random| {
            for operation in 0..OPERATIONS {
                let id = ids[random.below(ids.len() as u64) as usize];
                // Mostly puts for a while, then mostly removals.
                let growing = operation % (OPERATIONS / 4) < OPERATIONS / 8;
                match random.below(8) {
                    0..3 if growing => put(index, id, entry_of(id, random.below(1 << 40))),
                    0..3 => {
                        if let Some(entry) = index.lock(id).remove(id) {
                            check_entry(id, entry);
                        }
                    }
                    3 => index.mark_referenced(id),
                    4 => drop(
                        index
                            .random(random.next(), &mut |_| true)
                            .map(|(id, entry)| {
                                check_entry(id, entry);
                            }),
                    ),
                    _ => {
                        if let Some(entry) = index.lookup(id) {
                            check_entry(id, entry);
                        }
                    }
                }
            }
        });
        let mut entries = 0;
        for partition in 0..3 {
            index.scan_partition(partition, &mut |id, entry| {
                check_entry(id, entry);
                entries += u64::from(entry.value_type != 7);
            });
        }
        assert_eq!(index.len(), entries);
    }
}

#[test]
fn increments_under_the_lock_are_not_lost() {
    let ids = ids(if cfg!(miri) { 3 } else { 100 }, 2);
    for index in &indexes() {
        on_threads(|_, random| {
            for _ in 0..OPERATIONS {
                let id = ids[random.below(ids.len() as u64) as usize];
                let mut lock = index.lock(id);
                let location = lock.find(id).map_or(0, |entry| entry.location);
                lock.ensure_room(id).expect("there is no bound");
                lock.put(
                    id,
                    Entry {
                        location: location + 1,
                        ..entry_of(id, 0)
                    },
                );
            }
        });
        let increments: u64 = ids
            .iter()
            .filter_map(|id| index.lookup(*id))
            .map(|e| e.location)
            .sum();
        assert_eq!(increments, OPERATIONS * THREADS as u64);
    }
}

#[test]
fn pairs_are_written_and_read_as_one() {
    let ids = ids(if cfg!(miri) { 8 } else { 1000 }, 2);
    let pairs: Vec<[Identity; 2]> = ids.chunks(2).map(|pair| [pair[0], pair[1]]).collect();
    for index in &indexes() {
        on_threads(|thread, random| {
            for _ in 0..OPERATIONS / 4 {
                let pair = pairs[random.below(pairs.len() as u64) as usize];
                let mut locks = index.lock_many(&pair);
                let [left, right] = pair.map(|id| locks.find(id));
                assert_eq!(
                    left.map(|entry| entry.location),
                    right.map(|entry| entry.location)
                );
                if thread % 2 == 0 {
                    locks.ensure_room(&pair).expect("there is no bound");
                    let version = random.below(1 << 40);
                    for id in pair {
                        locks.put(id, entry_of(id, version));
                    }
                } else if random.below(2) == 0 {
                    for id in pair {
                        locks.remove(id);
                    }
                }
            }
        });
    }
}

/// What two threads could do to each other in the worst moment, in one thread: the key moves
/// between the reader's finding and its pinning of the entry.
#[test]
fn an_entry_that_changes_before_its_pin_is_let_go() {
    for index in &indexes() {
        let id = ids(1, 1)[0];
        let (old, new) = (entry_of(id, 1), entry_of(id, 2));
        put(index, id, old);
        let (mut pinned, mut unpinned) = (Vec::new(), Vec::new());
        let found = index.lookup_pinned(
            id,
            |entry| {
                if pinned.is_empty() {
                    put(index, id, new);
                }
                pinned.push(*entry);
            },
            |entry| unpinned.push(*entry),
        );
        assert_eq!(
            (found, pinned, unpinned),
            (Some(new), vec![old, new], vec![old])
        );
        let pin = |_: &Entry| _ = index.lock(id).remove(id);
        let mut unpinned = Vec::new();
        assert_eq!(
            index.lookup_pinned(id, pin, |entry| unpinned.push(*entry)),
            None
        );
        assert_eq!(unpinned, vec![new]);
    }
}

/// The same where not the entry changes but its bucket splits, is merged away, or both.
#[test]
fn an_entry_that_is_moved_before_its_pin_is_found_again() {
    let ids = ids(if cfg!(miri) { 30 } else { 3000 }, 1);
    for index in &indexes() {
        put(index, ids[0], entry_of(ids[0], 1));
        for round in 0..3 {
            let (pins, moved) = (Cell::new(0), Cell::new(false));
            let found = index.lookup_pinned(
                ids[0],
                |_| {
                    pins.set(pins.get() + 1);
                    if moved.replace(true) {
                        return;
                    }
                    if round != 1 {
                        ids[1..]
                            .iter()
                            .for_each(|id| put(index, *id, entry_of(*id, 2)));
                    }
                    if round != 0 {
                        ids[1..]
                            .iter()
                            .for_each(|id| _ = index.lock(*id).remove(*id));
                    }
                },
                |_| pins.set(pins.get() - 1),
            );
            assert_eq!(found, Some(entry_of(ids[0], 1)));
            assert_eq!(pins.get(), 1, "one pin is kept");
        }
    }
}

/// A place that a record may be in, as the storage engine's segments are.
#[derive(Default)]
struct Place {
    pins: AtomicU64,
    /// Nobody may look at the place: what was there is gone.
    freed: AtomicBool,
}

/// Each key has two places and moves from one to the other; the one that it left is freed as soon
/// as no pin is seen, under which a reader must never find it.
#[test]
fn a_place_is_never_freed_under_a_pin() {
    let ids = ids(if cfg!(miri) { 4 } else { 64 }, 2);
    let places: Vec<Place> = (0..ids.len() * 2).map(|_| Place::default()).collect();
    let place = |entry: &Entry| &places[entry.location as usize];
    for index in &indexes() {
        for (key, id) in ids.iter().enumerate() {
            put(
                index,
                *id,
                Entry {
                    location: key as u64 * 2,
                    ..entry_of(*id, 0)
                },
            );
        }
        on_threads(|thread, random| {
            for _ in 0..OPERATIONS {
                let key = random.below(ids.len() as u64);
                if thread % 2 == 0 {
                    let pin = |entry: &Entry| {
                        // Widens the gap in which the key may move away.
                        if key % 4 == 0 {
                            thread::yield_now();
                        }
                        place(entry).pins.fetch_add(1, Ordering::Relaxed);
                    };
                    let unpin =
                        |entry: &Entry| _ = place(entry).pins.fetch_sub(1, Ordering::Release);
                    let found = index.lookup_pinned(ids[key as usize], pin, unpin);
                    let entry = found.expect("every key is there");
                    for _ in 0..4 {
                        assert!(
                            !place(&entry).freed.load(Ordering::Relaxed),
                            "freed under a pin"
                        );
                    }
                    unpin(&entry);
                } else if key % THREADS as u64 / 2 == thread as u64 / 2 {
                    // Only one thread moves this key.
                    let id = ids[key as usize];
                    let old = index.lookup(id).expect("every key is there");
                    let new = Entry {
                        location: old.location ^ 1,
                        ..old
                    };
                    place(&new).freed.store(false, Ordering::Relaxed);
                    put(index, id, new);
                    fence(Ordering::SeqCst);
                    if place(&old).pins.load(Ordering::Acquire) == 0 {
                        place(&old).freed.store(true, Ordering::Relaxed);
                    }
                }
            }
        });
        assert!(
            places
                .iter()
                .all(|place| place.pins.load(Ordering::Relaxed) == 0)
        );
        for place in &places {
            place.freed.store(false, Ordering::Relaxed);
        }
    }
}

#[test]
fn scans_visit_all_that_stays_while_other_threads_grow_and_shrink_the_table() {
    let ids = ids(if cfg!(miri) { 40 } else { 6000 }, 3);
    let (stable, moving) = ids.split_at(ids.len() / 6);
    for index in &indexes() {
        for id in stable {
            put(index, *id, entry_of(*id, 1));
        }
        let writing = AtomicU64::new(THREADS as u64 - 1);
        on_threads(|thread, random| {
            if thread == 0 {
                scan_all(index, stable);
                while writing.load(Ordering::Relaxed) > 0 {
                    scan_partitions(index, stable);
                }
                return;
            }
            for operation in 0..OPERATIONS {
                let id = moving[random.below(moving.len() as u64) as usize];
                if operation % (OPERATIONS / 10) < OPERATIONS / 20 {
                    put(index, id, entry_of(id, operation));
                } else {
                    index.lock(id).remove(id);
                }
            }
            writing.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn scan_all(index: &Index, stable: &[Identity]) {
    let mut visited = BTreeSet::new();
    let mut cursor = 0;
    loop {
        cursor = index.scan(cursor, &mut |id, entry| {
            check_entry(id, entry);
            visited.insert(id);
        });
        if cursor == 0 {
            break;
        }
    }
    assert!(
        stable.iter().all(|id| visited.contains(id)),
        "a scan missed what stayed"
    );
}

fn scan_partitions(index: &Index, stable: &[Identity]) {
    let mut visited = BTreeSet::new();
    for partition in 0..3 {
        index.scan_partition(partition, &mut |id, entry| {
            check_entry(id, entry);
            visited.insert(id);
        });
    }
    assert!(
        stable.iter().all(|id| visited.contains(id)),
        "a scan missed what stayed"
    );
}
