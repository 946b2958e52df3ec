//! The lives of one run: a store is opened on what the last life left, judged, used and ended by a
//! crash or a close, again and again. Owns the devices, the clock and the order of all that.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;

use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::{SimDevice, SimExecutor, SimRandom};
use cellar_storage::{AppendFsync, Clock, Device, Handle, Store};

use crate::client::Client;
use crate::model::{Key, Model, Sighting, Version, Violation, ensure};
use crate::plan::Plan;
use crate::scene::{Scene, Tally};
use crate::witness::{bytes_of, map_bytes, observe};

/// Any operation ends within this much simulated time. The slowest waits for a few turns of the
/// cleaner on the slowest device.
const OPERATION_US_MAX: u64 = 20_000_000;
/// Steps between two looks at whether the cleaner has freed anything.
const STEPS_PER_LOOK: u64 = 50;
/// Steps that count as soon after it has.
const STEPS_SOON: u64 = 400;
/// How often that is looked at.
const WATCH_US: u64 = 500_000;
/// Steps in which the clock has to move: a task that spins keeps it still.
const STEPS_WITHOUT_TIME_MAX: u64 = 100_000;
/// Steps that bounded work takes at most: an opening, a reading of everything.
const STEPS_MAX: u64 = 20_000_000;
/// With `everysec`, what is older than this at a crash survives it.
const EVERYSEC_US: u64 = 1_000_000;
/// After this much idle time everything expired is removed and everything swept.
const QUIET_US: u64 = 8_000_000;
/// A recovery is crashed at most so often in a row.
const RECOVERY_CRASHES_MAX: u64 = 3;
/// A recovery that is crashed comes so many steps far at most.
const RECOVERY_STEPS_MAX: u64 = 200;

/// An open store with its workers.
struct Opened {
    executor: SimExecutor,
    store: Arc<Store>,
    handles: Vec<Handle>,
    devices: Vec<Arc<SimDevice>>,
}

/// A run, between two lives.
pub(crate) struct World {
    plan: Plan,
    random: SimRandom,
    clock: SimClock,
    devices: Vec<Arc<SimDevice>>,
    model: Model,
    /// At least so many commits survived.
    least: usize,
    next_value: u64,
    pub(crate) tally: Tally,
    /// Differs between runs that differ in anything that was seen.
    pub(crate) trace: u64,
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Crash,
    Close,
}

impl World {
    /// The world of a seed, with blank devices.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = SimRandom::new(seed);
        let plan = Plan::draw(&mut random);
        let clock = SimClock::new(1_700_000_000_000 + random.below(1_000));
        let device = |number: u64| {
            let (block, bytes) = (plan.block_bytes, plan.device_bytes());
            let (seed, latency) = (seed.wrapping_mul(2) + number, plan.latency.clone());
            SimDevice::timed(block, bytes, seed, clock.clone(), latency)
        };
        let devices = (0..plan.device_count).map(device).collect();
        let model = Model::new(cellar_storage::Lsn::ZERO, 0, BTreeMap::new());
        Self {
            plan,
            random,
            clock,
            devices,
            model,
            least: 0,
            next_value: 1,
            tally: Tally::default(),
            trace: 0,
        }
    }

    /// Lives all lives.
    pub(crate) fn run(&mut self) -> Result<(), Violation> {
        for life in 0..self.plan.lives {
            let step = self.recover().and_then(|opened| self.live(opened));
            step.map_err(|Violation(what)| Violation(format!("life {life}: {what}")))?;
        }
        self.recover().map(|_| ())
    }

    fn note(&mut self, value: u64) {
        self.trace = SimRandom::new(self.trace ^ value).next_u64();
    }

    // ---- the beginning of a life

    /// Opens the store on several different remains of the last life. All have to be right; the
    /// last is the one that is gone on with.
    fn recover(&mut self) -> Result<Opened, Violation> {
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

    /// What a crash leaves of devices, this time.
    fn crashed(&mut self, devices: &[Arc<SimDevice>]) -> Vec<Arc<SimDevice>> {
        devices
            .iter()
            .map(|device| device.crash(self.random.next_u64()))
            .collect()
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
            format!("{corrupt} records count as corrupt, and none is")
        })?;
        Ok((opened, found))
    }

    /// Opens the store, now and then after some openings that a crash cut off.
    fn open(&mut self, mut devices: Vec<Arc<SimDevice>>) -> Result<Opened, Violation> {
        for _ in 0..self.random.below(RECOVERY_CRASHES_MAX + 1) {
            let mut executor = SimExecutor::new(self.clock.clone(), self.random.next_u64());
            let steps = self.random.below(RECOVERY_STEPS_MAX);
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
    ) -> impl Future<Output = Result<Arc<Store>, cellar_storage::OpenError>> + use<> {
        let devices = devices
            .iter()
            .map(|device| Arc::clone(device) as Arc<dyn Device>);
        let mut seed = [0; 32];
        self.random.clone().fill(&mut seed);
        let clock = Arc::new(self.clock.clone());
        Store::open(self.plan.options(), devices.collect(), clock, seed)
    }

    // ---- a life

    fn live(&mut self, mut opened: Opened) -> Result<(), Violation> {
        let now_us = self.clock.monotonic_us();
        let empty = Model::new(self.model.last_lsn(), now_us, BTreeMap::new());
        let model = std::mem::replace(&mut self.model, empty);
        let (plan, clock) = (self.plan.clone(), self.clock.clone());
        let scene = Rc::new(Scene::new(plan, clock, model, self.next_value));
        let upkeep_ended = self.hire(&scene, &opened);
        let steps = self.random.below(self.plan.steps_max) + 1;
        let ending = if self.random.below(5) == 0 {
            Ending::Close
        } else {
            Ending::Crash
        };
        let lived = drive(
            &mut opened.executor,
            &scene,
            (watch(&scene, u64::MAX), steps),
        )
        .and_then(|_| scene.take_violation())
        .and_then(|()| self.wait_for_freeing(&scene, &mut opened))
        .and_then(|()| self.retire(&scene, &mut opened, ending))
        .and_then(|()| {
            let goes_on = ending == Ending::Close && !upkeep_ended.get();
            ensure(!goes_on, || {
                "the upkeep goes on after the store was closed".into()
            })
        });
        if let Err(violation) = lived {
            scene.report(violation);
            return scene.take_violation();
        }
        self.end(scene, opened, ending);
        Ok(())
    }

    /// In every other life the end comes soon after the cleaner freed segments, if it does so.
    fn wait_for_freeing(&mut self, scene: &Scene, opened: &mut Opened) -> Result<(), Violation> {
        let freed = |opened: &Opened| opened.store.stats().cleaner_freed_bytes;
        let before = freed(opened);
        if before == 0 || self.random.flip() {
            return Ok(());
        }
        let turns = self.plan.steps_max / STEPS_PER_LOOK;
        for _ in 0..turns {
            let steps = if freed(opened) > before {
                1 + self.random.below(STEPS_SOON)
            } else {
                STEPS_PER_LOOK
            };
            drive(&mut opened.executor, scene, (watch(scene, u64::MAX), steps))?;
            scene.take_violation()?;
            if steps != STEPS_PER_LOOK {
                break;
            }
        }
        Ok(())
    }

    /// What comes before the end: at times a recount, then the closing.
    fn retire(
        &mut self,
        scene: &Scene,
        opened: &mut Opened,
        ending: Ending,
    ) -> Result<(), Violation> {
        if self.random.below(3) == 0 {
            self.recount(scene, opened)?;
        }
        match ending {
            Ending::Close => self.close(scene, opened),
            Ending::Crash => Ok(()),
        }
    }

    /// Starts the upkeep and the clients: tells whether the upkeep has ended.
    fn hire(&mut self, scene: &Rc<Scene>, opened: &Opened) -> Rc<Cell<bool>> {
        let spawner = opened.executor.spawner();
        let upkeep_ended = Rc::new(Cell::new(false));
        let (ended, handle) = (Rc::clone(&upkeep_ended), opened.handles[0].clone());
        spawner.spawn(async move {
            Store::run_background(handle).await;
            ended.set(true);
        });
        for number in 0..self.plan.client_count {
            let worker = number as usize % opened.handles.len();
            let client = Client {
                scene: Rc::clone(scene),
                handle: opened.handles[worker].clone(),
                random: self.random.split(),
                number,
            };
            spawner.spawn(client.run());
        }
        upkeep_ended
    }

    /// Lets everything come to rest, and compares what the store counts as live with what there is.
    fn recount(&mut self, scene: &Scene, opened: &mut Opened) -> Result<(), Violation> {
        scene.is_stopping.set(true);
        finish(scene, opened)?;
        let quiet = self.clock.sleep(QUIET_US);
        drive(&mut opened.executor, scene, (quiet, STEPS_MAX))?;
        let (now_ms, model) = (self.clock.unix_ms(), scene.model.borrow());
        let all: BTreeMap<Key, Version> = (0..16)
            .map(cellar_storage::Db)
            .flat_map(|db| {
                model
                    .database(db)
                    .map(move |(key, v)| ((db, key.clone()), v.clone()))
            })
            .filter(|(_, version)| version.is_visible(now_ms))
            .collect();
        let counted = opened.store.stats().live_bytes;
        let least = bytes_of(all.iter());
        let is_right = counted == least || counted == least + map_bytes();
        ensure(is_right, || {
            format!(
                "{counted} bytes count as live, and {least} are; {:?}",
                opened.store.stats()
            )
        })?;
        let keys = opened.store.stats().keys;
        ensure(keys == all.len() as u64, || {
            format!("{keys} keys count, {} are", all.len())
        })?;
        self.tally.recounts += 1;
        Ok(())
    }

    /// Closes the store while its clients go on. Afterwards everything has ended.
    fn close(&mut self, scene: &Scene, opened: &mut Opened) -> Result<(), Violation> {
        scene.is_closing.set(true);
        let handle =
            opened.handles[self.random.below(opened.handles.len() as u64) as usize].clone();
        let store = Arc::clone(&opened.store);
        let closing = async move { store.close(&handle).await };
        let closed = drive(&mut opened.executor, scene, (closing, STEPS_MAX))?;
        let closed = closed.ok_or_else(|| Violation("closing does not end".into()))?;
        closed.map_err(|error| Violation(format!("it cannot be closed: {error}")))?;
        scene.is_stopping.set(true);
        finish(scene, opened)?;
        let quiet = self.clock.sleep(QUIET_US);
        drive(&mut opened.executor, scene, (quiet, STEPS_MAX)).map(|_| ())
    }

    /// The power goes.
    fn end(&mut self, scene: Rc<Scene>, opened: Opened, ending: Ending) {
        let (now_us, durable) = (self.clock.monotonic_us(), opened.store.durable_lsn());
        let stats = opened.store.stats();
        // The devices stop before the tasks do.
        self.crashed(&opened.devices);
        drop(opened);
        let scene = Rc::into_inner(scene).expect("all tasks are gone");
        self.next_value = scene.next_value();
        self.model = scene.model.into_inner();
        let model = &self.model;
        self.least = model.acknowledged().max(model.commit_at(durable));
        if self.plan.appendfsync == AppendFsync::Everysec {
            let old_us = now_us.saturating_sub(EVERYSEC_US);
            self.least = self.least.max(model.commit_before(old_us));
        }
        match ending {
            Ending::Close => {
                self.least = model.last();
                self.tally.closes += 1;
            }
            Ending::Crash => self.tally.crashes += 1,
        }
        let mut tally = scene.tally.into_inner();
        tally.commits += model.last() as u64;
        tally.acknowledged += model.acknowledged() as u64;
        tally.cleaned_segments += stats.cleaner_segments;
        tally.relocated_bytes += stats.cleaner_relocated_bytes;
        tally.expired_keys += stats.expired_keys;
        self.tally.add(&tally);
        self.note(stats.lsn_published);
        self.note(stats.device_reads ^ stats.device_writes << 32);
    }
}

/// Runs everything until `future` ends or `steps` were made; fails when the clock stands still.
fn drive<F: Future>(
    executor: &mut SimExecutor,
    scene: &Scene,
    (future, steps): (F, u64),
) -> Result<Option<F::Output>, Violation> {
    let mut future: Pin<&mut F> = pin!(future);
    let mut left = steps;
    while left > 0 {
        let (before_us, before_steps) = (scene.now_us(), executor.steps());
        let turn = left.min(STEPS_WITHOUT_TIME_MAX);
        if let Some(output) = executor.block_on_for(future.as_mut(), turn) {
            return Ok(Some(output));
        }
        if executor.steps() - before_steps < turn {
            return Ok(None);
        }
        ensure(
            turn < STEPS_WITHOUT_TIME_MAX || scene.now_us() > before_us,
            || format!("tasks spin at {before_us} us; clients: {:?}", scene.tasks),
        )?;
        left -= turn;
    }
    Ok(None)
}

/// Waits until all clients have ended.
fn finish(scene: &Scene, opened: &mut Opened) -> Result<(), Violation> {
    let ended = watch(scene, OPERATION_US_MAX);
    let ended = drive(&mut opened.executor, scene, (ended, STEPS_MAX))?;
    scene.take_violation()?;
    ensure(ended.is_some(), || {
        "nothing can happen any more, and clients wait".into()
    })
}

/// Ends when all clients have, and reports one that waits for too long. `limit_us`: how long it may
/// take all in all.
async fn watch(scene: &Scene, limit_us: u64) {
    let end_us = scene.now_us().saturating_add(limit_us);
    while !scene.has_ended() {
        if let Some(violation) = scene.overdue(OPERATION_US_MAX) {
            return scene.report(violation);
        }
        if scene.now_us() > end_us {
            return scene.report(Violation("clients do not end".into()));
        }
        scene.clock.sleep(WATCH_US).await;
    }
}
