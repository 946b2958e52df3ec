//! The check and the repair of a damaged copy. Owns the judgement of what they say.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::check::{Report, Step, check, repair};
use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::{SimDevice, SimExecutor};
use cellar_storage::{Device, Loss};

use crate::places::{Place, What};
use crate::world::{NOW_MS, World, get, is_last, open};

fn devices(of: &[Arc<SimDevice>]) -> Vec<Arc<dyn Device>> {
    of.iter()
        .map(|device| Arc::clone(device) as Arc<dyn Device>)
        .collect()
}

/// Checks; nothing is written.
pub(crate) fn checked(of: &[Arc<SimDevice>]) -> Report {
    let clock = SimClock::new(NOW_MS);
    let mut executor = SimExecutor::new(clock.clone(), 1);
    let mut last = None;
    let mut watch = |progress| last = Some(progress);
    let report = executor
        .block_on(check(devices(of), Arc::new(clock), &mut watch))
        .unwrap();
    let last = last.unwrap();
    assert_eq!(last.segments_done, last.segments_total);
    for device in of {
        let counters = device.counters();
        assert_eq!((counters.writes, counters.flushes), (0, 0), "a check wrote");
    }
    report
}

/// Repairs: the keys that it gave up, as far as it names them.
fn repaired(of: &[Arc<SimDevice>]) -> Vec<Loss> {
    let clock = SimClock::new(NOW_MS);
    let mut executor = SimExecutor::new(clock.clone(), 1);
    let mut given_up = Vec::new();
    let mut tell = |step: &Step| match step {
        Step::Remove(loss) => given_up.push(loss.clone()),
        Step::Leave { .. } => panic!("{step:?}"),
        Step::Start | Step::Empty { .. } | Step::GiveUp { .. } | Step::Close => {}
    };
    executor
        .block_on(repair(devices(of), Arc::new(clock), &mut tell))
        .unwrap();
    given_up
}

/// Repairs for so many steps; then the power goes. True: it came to its end before.
fn repaired_for(of: &[Arc<SimDevice>], steps: u64, told: &mut Vec<Loss>) -> bool {
    let clock = SimClock::new(NOW_MS);
    let mut executor = SimExecutor::new(clock.clone(), 1);
    let mut tell = |step: &Step| {
        if let Step::Remove(loss) = step {
            told.push(loss.clone());
        }
    };
    let repair = repair(devices(of), Arc::new(clock), &mut tell);
    executor.block_on_for(repair, steps).is_some()
}

/// A repair is cut off at a step, and begun again, until none is cut off any more.
pub(crate) fn check_cut_off_repairs(world: &World, place: &Place, at: u64) {
    for step in 1.. {
        let mut copies = world.copy();
        copies[place.device].rot(place.offset + at, 1);
        let mut told = Vec::new();
        let ended = repaired_for(&copies, step * step, &mut told);
        copies = copies.iter().map(|device| device.crash(step)).collect();
        told.extend(repaired(&copies));
        world.check_repaired(&copies, &told);
        if ended {
            assert!(step > 3, "it has steps to be cut off at");
            return;
        }
    }
}

impl World {
    /// Flips a bit of a copy, checks and repairs it, and reads what is left.
    pub(crate) fn check_and_repair(&self, place: &Place, at: u64, mask: u8) {
        let copies = self.copy();
        copies[place.device].rot(place.offset + at, mask);
        let report = checked(&copies);
        // What a crash may have torn is the end of the log, and no damage.
        let may_be_clean = self.is_young(place) || place.what == What::FreeHeader;
        assert!(may_be_clean || !report.is_clean(), "{report:?}");
        if report.is_clean() {
            return;
        }
        let lost = repaired(&copies);
        self.check_repaired(&copies, &lost);
    }

    /// A repaired store is clean, and holds all but what was given up by name.
    fn check_repaired(&self, copies: &[Arc<SimDevice>], lost: &[Loss]) {
        let copies: Vec<_> = copies.iter().map(|device| device.crash(1)).collect();
        let after = checked(&copies);
        assert!(after.is_clean() && after.was_clean, "{after:?}");
        let mut opened = open(&copies).unwrap();
        let handle = opened.handle.clone();
        let missing: BTreeSet<Bytes> = opened.executor.block_on(async {
            let mut missing = BTreeSet::new();
            for (key, expected) in &self.known {
                let found = get(&handle, key).await.unwrap();
                if found.is_none() && expected.is_some() {
                    missing.insert(key.1.clone());
                } else if !is_last(key) {
                    assert_eq!(found, *expected, "{key:?}");
                }
            }
            missing
        });
        let named = lost
            .iter()
            .filter(|loss| matches!(loss, Loss::Key(key) if missing.contains(key)));
        let hashes = lost.iter().filter(|loss| matches!(loss, Loss::Hash(_)));
        let named_count = named.count() + hashes.count();
        assert!(
            named_count >= missing.len(),
            "{missing:?} are gone, {lost:?} are told"
        );
        assert_eq!(opened.handle.store().stats().corrupt_records, 0);
    }
}
