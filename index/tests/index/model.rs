//! Random operations against a `BTreeMap`: every answer, every counter and every scan must agree.
//!
//! Prints its seed; `SEED=n` replays it.

#![expect(clippy::print_stdout, reason = "a failed run tells its seed")]

use std::collections::{BTreeMap, BTreeSet};

use cellar_index::{Entry, Identity, Index, PARTITION_COUNT, VALUE_TYPE_PAGE};

use crate::random::{Random, ids, seed};

/// Rounds of operations; Miri runs some thousand times slower.
const OPERATIONS: u64 = if cfg!(miri) { 300 } else { 200_000 };
/// Different keys.
const KEYS: u64 = if cfg!(miri) { 60 } else { 40_000 };
struct Scan {
    cursor: u64,
    /// In the table since the scan began.
    expected: BTreeSet<Identity>,
    visited: BTreeSet<Identity>,
}

struct Model {
    random: Random,
    index: Index,
    ids: Vec<Identity>,
    expected: BTreeMap<Identity, Entry>,
    scan: Scan,
    scans_ended: u64,
}

impl Model {
    fn new(seed: u64, index: Index, partitions: u16) -> Self {
        Self {
            random: Random::new(seed),
            index,
            ids: ids(KEYS as usize, partitions),
            expected: BTreeMap::new(),
            scan: Scan {
                cursor: 0,
                expected: BTreeSet::new(),
                visited: BTreeSet::new(),
            },
            scans_ended: 0,
        }
    }

    fn id(&mut self) -> Identity {
        self.ids[self.random.below(KEYS) as usize]
    }

    fn entry(&mut self) -> Entry {
        let random = self.random.next();
        Entry {
            location: random >> 24,
            length_class: (random & 127) as u8,
            value_type: self.random.below(8) as u8,
            database: self.random.below(32) as u8,
            referenced: random & 128 != 0,
            expiry_s: if random & 256 == 0 {
                0
            } else {
                (random >> 9) as u32
            },
        }
    }

    fn put(&mut self) {
        let (id, entry) = (self.id(), self.entry());
        let mut lock = self.index.lock(id);
        assert_eq!(lock.find(id), self.expected.get(&id).copied());
        lock.ensure_room(id).expect("there is no bound");
        assert_eq!(lock.put(id, entry), self.expected.insert(id, entry));
        assert_eq!(lock.find(id), Some(entry));
    }

    fn remove(&mut self) {
        let id = self.id();
        assert_eq!(self.index.lock(id).remove(id), self.expected.remove(&id));
        self.scan.expected.remove(&id);
    }

    fn change_many(&mut self) {
        let count = self.random.below(20);
        let ids: BTreeSet<Identity> = (0..count).map(|_| self.id()).collect();
        let ids: Vec<Identity> = ids.into_iter().collect();
        let entries: Vec<Entry> = ids.iter().map(|_| self.entry()).collect();
        let index = &self.index;
        let mut locks = index.lock_many(&ids);
        locks.ensure_room(&ids).expect("there is no bound");
        for (id, entry) in ids.iter().zip(entries) {
            assert_eq!(locks.find(*id), self.expected.get(id).copied());
            if entry.location % 3 == 0 {
                assert_eq!(locks.remove(*id), self.expected.remove(id));
                self.scan.expected.remove(id);
            }
            if entry.location % 3 != 1 {
                assert_eq!(locks.put(*id, entry), self.expected.insert(*id, entry));
            }
        }
    }

    fn lookup(&mut self) {
        let id = self.id();
        assert_eq!(self.index.lookup(id), self.expected.get(&id).copied());
        let mut pins = 0;
        let found = self
            .index
            .lookup_pinned(id, |_| pins += 1, |_| panic!("nobody interferes"));
        assert_eq!(found, self.expected.get(&id).copied());
        assert_eq!(pins, u32::from(found.is_some()));
    }

    fn mark(&mut self) {
        let id = self.id();
        if let Some(entry) = self.expected.get_mut(&id) {
            entry.referenced = !entry.referenced;
            if entry.referenced {
                self.index.mark_referenced(id);
            } else {
                self.index.clear_referenced(id);
            }
        } else {
            self.index.mark_referenced(id);
        }
    }

    fn scan_step(&mut self) {
        let scan = &mut self.scan;
        if scan.cursor == 0 {
            scan.expected = self.expected.keys().copied().collect();
            scan.visited.clear();
        }
        scan.cursor = self.index.scan(scan.cursor, &mut |id, entry| {
            assert_eq!(self.expected.get(&id), Some(&entry));
            scan.visited.insert(id);
        });
        if scan.cursor == 0 {
            assert!(
                scan.expected.is_subset(&scan.visited),
                "a scan missed what stayed"
            );
            self.scans_ended += 1;
        }
    }

    fn draw(&mut self) {
        let random = self.random.next();
        let database = (random & 31) as u8;
        let drawn = self
            .index
            .random(random, &mut |entry| entry.database == database);
        if let Some((id, entry)) = drawn {
            assert_eq!(self.expected.get(&id), Some(&entry));
            assert!(entry.database == database && entry.value_type != VALUE_TYPE_PAGE);
        }
    }

    fn check_counters(&self) {
        let keys = || {
            self.expected
                .values()
                .filter(|entry| entry.value_type != VALUE_TYPE_PAGE)
        };
        for database in 0..32 {
            let of = || keys().filter(|entry| entry.database == database);
            assert_eq!(self.index.count(database), of().count() as u64);
            let expiring = of().filter(|entry| entry.expiry_s != 0).count();
            assert_eq!(self.index.count_expiring(database), expiring as u64);
        }
        assert_eq!(self.index.len(), keys().count() as u64);
        let bytes = self.index.bytes();
        assert_eq!(
            bytes.total,
            bytes.buckets + bytes.overflow + bytes.directory + bytes.free
        );
    }

    fn check_all(&self) {
        let mut visited = BTreeMap::new();
        for partition in 0..PARTITION_COUNT as u16 {
            self.index.scan_partition(partition, &mut |id, entry| {
                assert_eq!(id.partition(), partition);
                assert!(
                    visited.insert(id, entry).is_none(),
                    "visited twice in peace"
                );
            });
        }
        assert!(visited == self.expected);
        self.check_counters();
    }

    /// One operation; `removal_percent` makes the table grow or shrink.
    fn operate(&mut self, removal_percent: u64) {
        match self.random.below(20) {
            0..=8 if self.random.below(100) < removal_percent => self.remove(),
            0..=8 => self.put(),
            9 => self.change_many(),
            10..=13 => self.lookup(),
            14 => self.mark(),
            15 => self.draw(),
            _ => self.scan_step(),
        }
    }
}

fn check(index: Index, partitions: u16) {
    let seed = seed();
    println!("SEED={seed}");
    let mut model = Model::new(seed, index, partitions);
    let phases = 8;
    for phase in 0..phases {
        let removal_percent = if phase % 2 == 0 { 10 } else { 95 };
        for _ in 0..OPERATIONS / phases {
            model.operate(removal_percent);
        }
        model.check_all();
    }
    assert!(
        cfg!(miri) || model.scans_ended > 0,
        "scans end while the table changes"
    );
    for id in model.ids.clone() {
        assert_eq!(model.index.lock(id).remove(id), model.expected.remove(&id));
    }
    model.check_all();
    assert!(model.index.is_empty());
}

#[test]
fn evenly_filled_partitions_agree_with_a_map() {
    check(
        Index::new(0).expect("addresses are to be had"),
        PARTITION_COUNT as u16,
    );
}

#[test]
fn a_few_partitions_that_hold_everything_agree_with_a_map() {
    check(
        Index::new_for_uneven(0).expect("addresses are to be had"),
        4,
    );
}
