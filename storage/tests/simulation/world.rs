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
use crate::scene::Scene;
use crate::tally::Tally;

/// With `everysec`, what is older than this at a crash survives it.
const EVERYSEC_US: u64 = 1_000_000;

/// A crash in so many misdirects a block, if it can.
const MISDIRECTED_ONE_IN: u64 = 6;

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
    /// How the last life ended; `None`: there was none.
    pub(crate) ended: Option<Ending>,
    /// A block was misdirected in some crash: damage may be reported from then on.
    pub(crate) is_damaged: bool,
    /// Segments that the devices have and the store does not, at most.
    pub(crate) unused_segments_max: u64,
    pub(crate) next_value: u64,
    /// Bytes of pages, at most, to which nothing may lead though their root is there.
    pub(crate) unread_bytes: u64,
    pub(crate) tally: Tally,
    /// Differs between runs that differ in anything that was seen.
    pub(crate) trace: u64,
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Crash,
    Close,
    /// Closed in order, and the power went at once.
    Exit,
    /// The closing came upon a failed write; then a crash.
    FailedClose,
    /// A write had failed before, and the closing was refused; then a crash.
    RefusedClose,
}

impl Ending {
    /// Whether the store was closed in order.
    pub(crate) fn is_orderly(self) -> bool {
        match self {
            Self::Close | Self::Exit => true,
            Self::Crash | Self::FailedClose | Self::RefusedClose => false,
        }
    }
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
            let device = SimDevice::timed(block, bytes, seed, clock.clone(), latency);
            device.limit_room(plan.first_room_bytes());
            device
        };
        let devices = (0..plan.device_count).map(device).collect();
        let model = Model::new((Lsn::ZERO, 0), BTreeMap::new(), plan.policy);
        Self {
            plan,
            random,
            clock,
            devices,
            model,
            least: 0,
            ended: None,
            is_damaged: false,
            unused_segments_max: 0,
            next_value: 1,
            unread_bytes: 0,
            tally: Tally::default(),
            trace: 0,
        }
    }

    /// Lives all lives.
    pub(crate) fn run(&mut self) -> Result<(), Violation> {
        for life in 0..self.plan.lives {
            let ended = self.ended;
            let step = self.recover().and_then(|opened| self.live(opened));
            step.map_err(|Violation(what)| {
                Violation(format!("life {life} after {ended:?}: {what}"))
            })?;
        }
        let opened = self.recover()?;
        if self.random.flip() {
            let decayed = self.decay(opened);
            decayed.map_err(|Violation(what)| Violation(format!("while bytes rot: {what}")))?;
        }
        Ok(())
    }

    /// Adds to the trace.
    pub(crate) fn note(&mut self, value: u64) {
        self.trace = SimRandom::new(self.trace ^ value).next_u64();
    }

    /// What a crash leaves of devices, this time.
    pub(crate) fn crashed(&mut self, devices: &[Arc<SimDevice>]) -> Vec<Arc<SimDevice>> {
        let room = self.room_bytes();
        let crash = |device: &Arc<SimDevice>| {
            let after = device.crash(self.random.next_u64());
            after.limit_room(room);
            after
        };
        devices.iter().map(crash).collect()
    }

    /// What a life leaves of its devices: now and then with a block in a wrong place. True: so.
    pub(crate) fn remains(&mut self, devices: &[Arc<SimDevice>]) -> (Vec<Arc<SimDevice>>, bool) {
        let mut after = self.crashed(devices);
        if self.random.below(MISDIRECTED_ONE_IN) > 0 {
            return (after, false);
        }
        let number = self.random.below(devices.len() as u64) as usize;
        let misdirected = devices[number].crash_misdirected(self.random.next_u64());
        let did = misdirected.is_some();
        if let Some(device) = misdirected {
            device.limit_room(self.room_bytes());
            after[number] = device;
            self.tally.misdirections += 1;
        }
        (after, did)
    }

    /// How much room there is from now on: what the plan says, or now and then more.
    fn room_bytes(&mut self) -> u64 {
        if self.random.below(4) == 0 {
            u64::MAX
        } else {
            self.plan.room_bytes()
        }
    }

    /// The power goes.
    pub(crate) fn end(&mut self, scene: Rc<Scene>, opened: Opened, ending: Ending) {
        let (now_us, durable) = (self.clock.monotonic_us(), opened.store.durable_lsn());
        let stats = opened.store.stats();
        for device in &opened.devices {
            self.note(device.digest());
        }
        // The devices stop before the tasks do.
        self.crashed(&opened.devices);
        drop(opened);
        let scene = Rc::into_inner(scene).expect("all tasks are gone");
        self.next_value = scene.next_value();
        self.unread_bytes = scene.unread_bytes.get();
        self.note(scene.digest());
        let scene_trouble = scene.trouble;
        let is_latched = scene.is_latched();
        self.model = scene.model.into_inner();
        let model = &self.model;
        self.least = model.acknowledged().max(model.commit_at(durable));
        if self.plan.appendfsync == AppendFsync::Everysec && !scene_trouble.may_latch() {
            let old_us = now_us.saturating_sub(EVERYSEC_US);
            self.least = self.least.max(model.commit_before(old_us));
        }
        if ending.is_orderly() {
            self.least = model.last();
            self.tally.closes += 1;
        } else {
            self.tally.crashes += 1;
        }
        self.tally.refused_closes += u64::from(ending == Ending::RefusedClose);
        self.ended = Some(ending);
        self.tally.latches += u64::from(is_latched);
        let mut tally = scene.tally.into_inner();
        tally.commits += model.last() as u64;
        tally.acknowledged += model.acknowledged() as u64;
        tally.cleaned_segments += stats.cleaner_segments;
        tally.relocated_bytes += stats.cleaner_relocated_bytes;
        tally.expired_keys += stats.expired_keys;
        tally.evicted_keys += stats.evicted_keys;
        tally.evicted_keys_for_memory += stats.evicted_keys_for_memory;
        self.tally.add(&tally);
        self.note(stats.lsn_published);
        self.note(stats.device_reads ^ stats.device_writes << 32);
    }
}
