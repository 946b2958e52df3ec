//! Pins and freeing, in every order of their steps (under loom): the real pins under the real
//! index.

use cellar_index::sync::{PREEMPTIONS_MAX, model};
use cellar_index::{Entry, Hasher, Identity, Index};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use super::Pins;
use crate::units::SegmentNumber;

const OLD: SegmentNumber = SegmentNumber::new(0);
const READER: usize = 0;

/// An entry that leads to a segment.
fn entry(segment: u32) -> Entry {
    Entry {
        location: u64::from(segment),
        length_class: 1,
        value_type: 0,
        database: 0,
        referenced: false,
        expiry_s: 0,
    }
}

fn segment_of(entry: &Entry) -> SegmentNumber {
    SegmentNumber::new(entry.location as u32)
}

struct World {
    index: Index,
    id: Identity,
    pins: Pins,
    /// Nobody may look at the old segment.
    is_freed: AtomicBool,
}

impl World {
    fn new() -> Arc<Self> {
        let world = Self {
            index: Index::new_for_uneven(0).expect("memory is there"),
            id: Hasher::new([1; 16]).key(0, b"key"),
            pins: Pins::new(2, 2),
            is_freed: AtomicBool::new(false),
        };
        world.put(entry(0));
        Arc::new(world)
    }

    fn put(&self, entry: Entry) {
        let mut lock = self.index.lock(self.id);
        lock.ensure_room(self.id).expect("there is no bound");
        lock.put(self.id, entry);
    }

    /// What the cleaner does once the last record has left the segment.
    fn free(&self) {
        if !self.pins.any(OLD) {
            self.is_freed.store(true, Ordering::Relaxed);
        }
    }

    fn read(&self) {
        let found = self.index.lookup_pinned(
            self.id,
            |entry| self.pins.pin(READER, segment_of(entry)),
            |entry| self.pins.unpin(READER, segment_of(entry)),
        );
        if let Some(entry) = found {
            let is_freed = segment_of(&entry) == OLD && self.is_freed.load(Ordering::Relaxed);
            assert!(!is_freed, "freed under a pin");
            self.pins.unpin(READER, segment_of(&entry));
        }
    }
}

fn check(change: fn(&World)) {
    model(PREEMPTIONS_MAX, move || {
        let world = World::new();
        let cleaner = thread::spawn({
            let world = Arc::clone(&world);
            move || {
                change(&world);
                world.free();
            }
        });
        world.read();
        cleaner.join().expect("no panic");
        assert!(!world.pins.any(OLD), "no pin is left");
    });
}

#[test]
fn a_segment_whose_record_moved_is_not_freed_under_its_reader() {
    check(|world| world.put(entry(1)));
}

#[test]
fn a_segment_whose_record_was_removed_is_not_freed_under_its_reader() {
    check(|world| {
        let removed = world.index.lock(world.id).remove(world.id);
        assert_eq!(removed, Some(entry(0)));
    });
}

/// Another worker moved the record; the one who frees learns of it from the index. Of three threads
/// each is interrupted once: twice would be a million orders.
#[test]
fn a_segment_is_not_freed_under_a_reader_by_a_third_thread() {
    model(1, || {
        let world = World::new();
        let mover = thread::spawn({
            let world = Arc::clone(&world);
            move || world.put(entry(1))
        });
        let cleaner = thread::spawn({
            let world = Arc::clone(&world);
            move || {
                let found = world.index.lookup(world.id).expect("it is there");
                if segment_of(&found) != OLD {
                    world.free();
                }
            }
        });
        world.read();
        mover.join().expect("no panic");
        cleaner.join().expect("no panic");
    });
}
