//! The world of one run: the devices, the clock and what the last life left. Owns the order of the
//! lives, and what is known of each after its end.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::{SimDevice, SimRandom};
use cellar_storage::{AppendFsync, Clock, Lsn};

use crate::model::{Model, Violation};
use crate::opening::Opened;
use crate::plan::Plan;
use crate::scene::{Scene, Tally};

/// With `everysec`, what is older than this at a crash survives it.
const EVERYSEC_US: u64 = 1_000_000;

/// A run, between two lives.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) random: SimRandom,
    pub(crate) clock: SimClock,
    pub(crate) devices: Vec<Arc<SimDevice>>,
    /// Of the last life, or of the one that begins.
    pub(crate) model: Model,
    /// At least so many commits survived the last life.
    pub(crate) least: usize,
    pub(crate) next_value: u64,
    pub(crate) tally: Tally,
    /// Differs between runs that differ in anything that was seen.
    pub(crate) trace: u64,
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
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
        let model = Model::new(Lsn::ZERO, 0, BTreeMap::new());
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

    /// Adds to the trace.
    pub(crate) fn note(&mut self, value: u64) {
        self.trace = SimRandom::new(self.trace ^ value).next_u64();
    }

    /// What a crash leaves of devices, this time.
    pub(crate) fn crashed(&mut self, devices: &[Arc<SimDevice>]) -> Vec<Arc<SimDevice>> {
        devices
            .iter()
            .map(|device| device.crash(self.random.next_u64()))
            .collect()
    }

    /// The power goes.
    pub(crate) fn end(&mut self, scene: Rc<Scene>, opened: Opened, ending: Ending) {
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
