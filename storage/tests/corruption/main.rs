//! Bits that flip on the device: a store with every kind of record and structure is closed, or cut
//! off, one bit is flipped, and it is opened and read whole. What has to hold, wherever the bit is:
//!
//! - the store opens, and nothing panics;
//! - every key answers with its value, or with an error that says that it is damaged, and then the
//!   damage is counted and reported; never with another value, never with "no such key" unless a
//!   report names the key;
//! - a damaged key can be written and removed, and is well again after that;
//! - a structure that is damaged is reported, whether or not it cost anything;
//! - a check finds it without writing anything, and a repair loses no key that could be read, names
//!   those that could not, and leaves a store that a check calls clean.
//!
//! `SEED=n` draws other bits, `FLIPS=n` so many; `FLIPS=0` takes every byte once.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail where it stands, and tells the bit that did it"
)]

mod mend;
mod places;
mod world;

use std::collections::BTreeSet;

use cellar_storage::device::sim::SimRandom;
use cellar_storage::{Db, Encoding, Store, StoreError, WriteBatch};
use places::{KindName, Place, What, places};
use world::{Ending, FILLER_BYTES, World};

/// Flips of the test command: about fifteen seconds in the test profile.
const FLIPS: u64 = 64;

/// More writes than the devices can hold.
const WRITES_MAX: u64 = 10_000;
/// Steps of the executor that such writes take at most.
const STEPS_MAX: u64 = 3_000_000;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("SEED and FLIPS are numbers"))
}

/// The bits to flip: each kind of structure as often as any other, each byte of it as likely.
fn bits(places: &[Place]) -> Vec<(usize, u64, u8)> {
    let flips = number("FLIPS").unwrap_or(FLIPS);
    let mut random = SimRandom::new(number("SEED").unwrap_or(1));
    if flips == 0 {
        let all = places.iter().enumerate();
        let bytes = all.flat_map(|(index, place)| (0..place.bytes).map(move |at| (index, at)));
        return bytes
            .map(|(index, at)| (index, at, 1 << random.below(8)))
            .collect();
    }
    let kinds: BTreeSet<What> = places.iter().map(|place| place.what).collect();
    let mut of_kind = kinds.iter().cycle();
    let mut draw = || {
        let kind = of_kind.next().unwrap();
        let mut indices = (0..places.len()).filter(|index| places[*index].what == *kind);
        let count = indices.clone().count() as u64;
        let index = indices.nth(random.below(count) as usize).unwrap();
        (
            index,
            random.below(places[index].bytes),
            1 << random.below(8),
        )
    };
    (0..flips).map(|_| draw()).collect()
}

fn check_flips(ending: Ending) {
    let world = World::new(ending);
    let places = places(&world.devices);
    println!("{} places: {}", places.len(), places::summary(&places));
    let mut outcomes = world::Outcomes::default();
    for (index, at, mask) in bits(&places) {
        let place = &places[index];
        println!("{place:?}, byte {at}, mask {mask:#x}");
        let outcome = world.flip(place, at, mask);
        outcomes.add(&outcome);
        world.check_and_repair(place, at, mask);
    }
    println!("{outcomes:?}");
    assert!(outcomes.errors > 0 && outcomes.mended > 0 && outcomes.reported > 0);
}

#[test]
fn a_flipped_bit_of_a_closed_store_is_never_served() {
    check_flips(Ending::Close);
}

#[test]
fn a_flipped_bit_of_a_store_that_was_cut_off_is_never_served() {
    check_flips(Ending::CutOff);
}

#[test]
fn a_store_without_damage_is_clean_however_it_ended() {
    for ending in [Ending::Close, Ending::CutOff] {
        let world = World::new(ending);
        let report = mend::checked(&world.copy());
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(report.was_clean, ending == Ending::Close);
        assert!(report.segments_hot > 5 && report.segments_cold > 0 && report.keys > 30);
        assert!(report.tombstones > 3 && report.batches > 3 && report.large_values > 2);
        assert!(report.live_records > 40 && report.live_bytes > 300_000);
    }
}

#[test]
fn a_repair_may_be_cut_off_anywhere() {
    let world = World::new(Ending::Close);
    let places = places(&world.devices);
    for what in [
        What::Hot(KindName::Put),
        What::Header,
        What::Hot(KindName::Page),
    ] {
        let place = places.iter().rfind(|place| place.what == what).unwrap();
        mend::check_cut_off_repairs(&world, place, place.bytes - 1);
    }
}

#[test]
fn without_any_superblock_the_store_is_refused() {
    let world = World::new(Ending::Close);
    let devices = world.copy();
    for offset in cellar_storage::format::SUPERBLOCK_OFFSETS {
        devices[1].rot(offset + 60, 4);
    }
    let refused = world::open(&devices).err().unwrap().to_string();
    assert!(refused.contains("superblock"), "{refused}");
}

#[test]
fn a_write_is_refused_where_damage_leaves_nothing_to_clean() {
    let world = World::new(Ending::Close);
    let places = places(&world.devices);
    let devices = world.copy();
    for place in places {
        if matches!(place.what, What::Header | What::FreeHeader) {
            devices[place.device].rot(place.offset + 20, 1);
        }
    }
    let mut opened = world::open(&devices).unwrap();
    let handle = opened.handle.clone();
    let spawner = opened.executor.spawner();
    spawner.spawn(Store::run_background(handle.clone()));
    let writing = async {
        for number in 0..WRITES_MAX {
            let mut batch = WriteBatch::new();
            let key = format!("new:{number}").into_bytes();
            batch.set(Db(0), key, vec![1; FILLER_BYTES], Encoding::Raw, None);
            match handle.commit(batch).await {
                Ok(outcome) => assert!(outcome.applied),
                Err(error) => return error,
            }
        }
        panic!("the devices have no end");
    };
    let refused = opened.executor.block_on_for(writing, STEPS_MAX);
    let refused = refused.expect("a write is refused, not held for ever");
    assert!(matches!(refused, StoreError::OutOfSpace), "{refused}");
}
