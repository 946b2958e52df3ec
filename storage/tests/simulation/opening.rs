//! The beginning of a life: the store is opened on what the last one left, read whole and judged.
//! Owns the crashes during an opening; must never go on with a store that was not judged.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use cellar_storage::device::sim::{SimDevice, SimExecutor};
use cellar_storage::{Clock, Device, Handle, OpenError, Store};

use crate::model::{Key, Model, Sighting, Violation, ensure};
use crate::pace::STEPS_MAX;
use crate::witness::observe;
use crate::world::World;

/// A recovery is crashed at most so often in a row.
const RECOVERY_CRASHES_MAX: u64 = 3;
/// A recovery that is crashed comes so many steps far at most: all of one takes some hundreds.
const RECOVERY_STEPS_MAX: [u64; 3] = [30, 200, 800];

/// An open store with its workers.
pub(crate) struct Opened {
    pub(crate) executor: SimExecutor,
    pub(crate) store: Arc<Store>,
    pub(crate) handles: Vec<Handle>,
    pub(crate) devices: Vec<Arc<SimDevice>>,
}

impl World {
    /// Opens the store on several different remains of the last life. All have to be right; the
    /// last is the one that is gone on with.
    pub(crate) fn recover(&mut self) -> Result<Opened, Violation> {
        let before = self.devices.clone();
        for _ in 1..self.plan.remains {
            let devices = self.crashed(&before);
            self.open_and_judge(devices)?;
        }
        let devices = self.crashed(&before);
        let (opened, found) = self.open_and_judge(devices)?;
        self.devices.clone_from(&opened.devices);
        let found = found
            .into_iter()
            .filter_map(|(key, sighting)| Some((key, sighting.found?)));
        let lsn = opened.handles[0].published_lsn();
        self.model = Model::new(lsn, self.clock.monotonic_us(), found.collect());
        Ok(opened)
    }

    fn open_and_judge(
        &mut self,
        devices: Vec<Arc<SimDevice>>,
    ) -> Result<(Opened, BTreeMap<Key, Sighting>), Violation> {
        let mut opened = self.open(devices)?;
        let known: Vec<Key> = self.model.keys().cloned().collect();
        let observing = observe(&opened.handles[0], &self.clock, known);
        let found = opened.executor.block_on_for(observing, STEPS_MAX);
        let found = found.ok_or_else(|| Violation("reading everything does not end".into()))??;
        let kept = self.model.judge(&found, self.least)?;
        self.tally.recoveries += 1;
        self.tally.undone += (self.model.last() - kept) as u64;
        self.note(kept as u64);
        self.note(self.clock.monotonic_us());
        let corrupt = opened.store.stats().corrupt_records;
        ensure(corrupt == 0, || {
            format!(
                "{corrupt} records count as corrupt, and none is: {:?}",
                opened.store.last_damage()
            )
        })?;
        Ok((opened, found))
    }

    /// Opens the store, now and then after some openings that a crash cut off.
    fn open(&mut self, mut devices: Vec<Arc<SimDevice>>) -> Result<Opened, Violation> {
        for _ in 0..self.random.below(RECOVERY_CRASHES_MAX + 1) {
            let mut executor = SimExecutor::new(self.clock.clone(), self.random.next_u64());
            let bound = RECOVERY_STEPS_MAX[self.random.below(3) as usize];
            let steps = self.random.below(bound);
            let cut_off = executor
                .block_on_for(self.opening(&devices), steps)
                .is_none();
            self.tally.crashes_of_recoveries += u64::from(cut_off);
            devices = self.crashed(&devices);
        }
        let mut executor = SimExecutor::new(self.clock.clone(), self.random.next_u64());
        let store = executor.block_on_for(self.opening(&devices), STEPS_MAX);
        let store = store.ok_or_else(|| Violation("opening does not end".into()))?;
        let store = store.map_err(|error| Violation(format!("it cannot be opened: {error}")))?;
        let handles = (0..self.plan.worker_count).map(|worker| store.attach(worker));
        let handles = handles.collect::<Result<_, _>>();
        let handles = handles.map_err(|error| Violation(format!("no worker: {error}")))?;
        Ok(Opened {
            executor,
            store,
            handles,
            devices,
        })
    }

    fn opening(
        &self,
        devices: &[Arc<SimDevice>],
    ) -> impl Future<Output = Result<Arc<Store>, OpenError>> + use<> {
        let devices = devices
            .iter()
            .map(|device| Arc::clone(device) as Arc<dyn Device>);
        let mut seed = [0; 32];
        self.random.clone().fill(&mut seed);
        let clock = Arc::new(self.clock.clone());
        Store::open(self.plan.options(), devices.collect(), clock, seed)
    }
}
