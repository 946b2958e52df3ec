//! The check and the repair of a damaged copy. Owns the judgement of what they say.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::check::{Report, Step, check, repair};
use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::{SimDevice, SimExecutor};
use cellar_storage::{Device, Loss};

use crate::places::{Place, What};
use crate::world::{NOW_MS, World, get, is_last};

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
    let mut lost = Vec::new();
    let mut tell = |step: &Step| match step {
        Step::Remove(loss) => lost.push(loss.clone()),
        Step::Leave { .. } => panic!("{step:?}"),
        Step::Start | Step::Empty { .. } | Step::GiveUp { .. } | Step::Close => {}
    };
    executor
        .block_on(repair(devices(of), Arc::new(clock), &mut tell))
        .unwrap();
    lost
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
        let copies: Vec<_> = copies.iter().map(|device| device.crash(1)).collect();
        let after = checked(&copies);
        assert!(after.is_clean() && after.was_clean, "{after:?}");
        let mut opened = self.open(&copies).unwrap();
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
