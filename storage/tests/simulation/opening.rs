//! The beginning of a life: the store is opened on what the last one left, read whole and judged.
//! Owns the crashes during an opening; must never go on with a store that was not judged.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use cellar_storage::device::sim::{SimDevice, SimExecutor};
use cellar_storage::{Clock, Device, Handle, OpenError, Store};

use crate::extension::check_extent;
use crate::model::{Key, Model, Sighting, Violation, ensure};
use crate::moment::Moment;
use crate::pace::STEPS_MAX;
use crate::trouble::fail_recovery;
use crate::witness::{View, observe};
use crate::world::{Ending, World};

/// A recovery is crashed at most so often in a row.
const RECOVERY_CRASHES_MAX: u64 = 3;
/// One opening in so many is cut off again and again while it writes superblocks.
const STUBBORN_ONE_IN: u64 = 4;
/// Then at most so often in a row.
const STUBBORN_CRASHES_MAX: u64 = 6;

/// All that is listed is compared with what is known in one recovery of so many: a listing visits
/// the whole index.
const LISTED_ONE_IN: u64 = 8;
/// What lives left is opened with a rotten byte, too, after one life in so many.
const ROTTEN_ONE_IN: u64 = 3;

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
            let (mut devices, is_misdirected) = self.remains(&before);
            self.extend_at_times(&mut devices);
            self.open_and_judge(devices, is_misdirected)?;
        }
        self.withdraw_at_times(&before)?;
        if self.ended.is_some() && self.random.below(ROTTEN_ONE_IN) == 0 {
            self.open_rotten(&before)?;
        }
        let (mut devices, is_misdirected) = self.remains(&before);
        self.extend_at_times(&mut devices);
        let (opened, found) = self.open_and_judge(devices, is_misdirected)?;
        self.is_damaged |= is_misdirected;
        self.devices.clone_from(&opened.devices);
        let found = found
            .into_iter()
            .filter_map(|(key, sighting)| Some((key, sighting.found?)));
        let lsn = opened.handles[0].published_lsn();
        let at = (lsn, self.clock.monotonic_us());
        self.model = Model::new(at, found.collect(), self.plan.policy);
        Ok(opened)
    }

    fn open_and_judge(
        &mut self,
        devices: Vec<Arc<SimDevice>>,
        is_misdirected: bool,
    ) -> Result<(Opened, BTreeMap<Key, Sighting>), Violation> {
        let mut opened = self.open(devices)?;
        check_extent(&opened.store, &opened.devices, self.unused_segments_max)?;
        let found = self.read_all(&mut opened, false)?;
        let kept = self.model.judge(&found, self.least, 0)?;
        self.tally.recoveries += 1;
        self.tally.undone += (self.model.last() - kept) as u64;
        self.note(kept as u64);
        self.note(self.clock.monotonic_us());
        let corrupt = opened.store.stats().corrupt_records;
        ensure(corrupt == 0 || is_misdirected || self.is_damaged, || {
            format!(
                "{corrupt} records count as corrupt, and none is: {:?}",
                opened.store.last_damage()
            )
        })?;
        Ok((opened, found))
    }

    /// Reads everything.
    pub(crate) fn read_all(
        &mut self,
        opened: &mut Opened,
        may_be_damaged: bool,
    ) -> Result<BTreeMap<Key, Sighting>, Violation> {
        let known: Vec<Key> = self.model.keys().cloned().collect();
        let view = View {
            lists: self.random.below(LISTED_ONE_IN) == 0,
            may_be_damaged,
        };
        let observing = observe(&opened.handles[0], &self.clock, known, view);
        let found = opened.executor.block_on_for(observing, STEPS_MAX);
        found.ok_or_else(|| Violation("reading everything does not end".into()))?
    }

    /// Opens the store, now and then after some openings that a crash or a failure cut off.
    fn open(&mut self, mut devices: Vec<Arc<SimDevice>>) -> Result<Opened, Violation> {
        let is_stubborn = self.random.below(STUBBORN_ONE_IN) == 0;
        let attempts = if is_stubborn {
            2 + self.random.below(STUBBORN_CRASHES_MAX - 1)
        } else {
            self.random.below(RECOVERY_CRASHES_MAX + 1)
        };
        for _ in 0..attempts {
            self.open_in_vain(&devices, is_stubborn)?;
            devices = self.crashed(&devices);
        }
        let opened = self.start(devices)?;
        let opened = opened.map_err(|error| Violation(format!("it cannot be opened: {error}")))?;
        let is_clean = opened.store.stats().clean_shutdown_at_start;
        match self.ended {
            Some(Ending::Close | Ending::Exit) if attempts == 0 => ensure(is_clean, || {
                "it was closed in order, and does not say so".into()
            })?,
            Some(Ending::Crash | Ending::RefusedClose) => ensure(!is_clean, || {
                "it says that it was closed in order, and was not".into()
            })?,
            Some(Ending::Close | Ending::Exit | Ending::FailedClose) | None => {}
        }
        Ok(opened)
    }

    /// An opening that a crash cuts off, or an error of a device ends; at times it does succeed.
    pub(crate) fn open_in_vain(
        &mut self,
        devices: &[Arc<SimDevice>],
        is_stubborn: bool,
    ) -> Result<(), Violation> {
        let mut executor = SimExecutor::new(self.clock.clone(), self.random.next_u64());
        let fails = self.random.below(3) == 0;
        let moment = if fails {
            fail_recovery(devices, is_stubborn, &mut self.random);
            Moment::Steps(STEPS_MAX)
        } else if is_stubborn {
            Moment::among_superblocks(devices.len(), &mut self.random)
        } else {
            Moment::draw(devices.len(), &mut self.random)
        };
        match moment.run(&mut executor, devices, self.opening(devices)) {
            None if fails => return Err(Violation("opening does not end".into())),
            None => self.tally.crashes_of_recoveries += 1,
            Some(Err(OpenError::Device(_))) if fails => self.tally.failed_recoveries += 1,
            Some(Err(error)) => {
                return Err(Violation(format!("it cannot be opened: {error}")));
            }
            Some(Ok(_)) => {}
        }
        Ok(())
    }

    /// Opens the store, undisturbed.
    pub(crate) fn start(
        &mut self,
        devices: Vec<Arc<SimDevice>>,
    ) -> Result<Result<Opened, OpenError>, Violation> {
        let mut executor = SimExecutor::new(self.clock.clone(), self.random.next_u64());
        let store = executor.block_on_for(self.opening(&devices), STEPS_MAX);
        let store = match store {
            Some(Ok(store)) => store,
            Some(Err(error)) => return Ok(Err(error)),
            None => return Err(Violation("opening does not end".into())),
        };
        let handles = (0..self.plan.worker_count).map(|worker| store.attach(worker));
        let handles = handles.collect::<Result<_, _>>();
        let handles = handles.map_err(|error| Violation(format!("no worker: {error}")))?;
        Ok(Ok(Opened {
            executor,
            store,
            handles,
            devices,
        }))
    }

    fn opening(
        &self,
        devices: &[Arc<SimDevice>],
    ) -> impl Future<Output = Result<Arc<Store>, OpenError>> + use<> {
        let devices = devices
            .iter()
            .map(|device| Arc::clone(device) as Arc<dyn Device>);
        let mut devices: Vec<_> = devices.collect();
        // A store that exists takes its devices in any order.
        if self.ended.is_some() {
            let count = devices.len() as u64;
            devices.rotate_left(self.random.clone().below(count) as usize);
        }
        let mut seed = [0; 32];
        self.random.clone().fill(&mut seed);
        let clock = Arc::new(self.clock.clone());
        Store::open(self.plan.options(), devices, clock, seed)
    }
}
