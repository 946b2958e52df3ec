//! The scrub: reads everything that is sealed, slowly, and verifies it, so that damage is found
//! while there still is another copy somewhere. Owns its pace and its status; must never write, and
//! never keep the cleaner waiting: what it reads it pins for that long.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::check::{Inspection, Scope};
use crate::damage::Damage;
use crate::segment::{Pin, State};
use crate::store::Store;
use crate::units::SegmentNumber;
use crate::worker::Worker;

/// Damaged places that the status names.
const NAMED_MAX: usize = 16;
/// A pause is this long at most, so that a stop is heard.
const PAUSE_US_MAX: u64 = 1_000_000;

/// Where the scrub stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScrubState {
    /// It was never started.
    #[default]
    Idle,
    /// It goes on.
    Running,
    /// It has read everything.
    Finished,
    /// It was stopped before.
    Stopped,
}

/// How far the scrub is, and what it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubStatus {
    /// Where it stands.
    pub state: ScrubState,
    /// Segments read, of those that were sealed when it started.
    pub segments_done: u64,
    /// Those.
    pub segments_total: u64,
    /// How much of them, in percent.
    pub percent: u64,
    /// Records verified.
    pub records: u64,
    /// Bytes read from the devices.
    pub bytes: u64,
    /// Damaged places met, each time that one was met.
    pub damaged: u64,
    /// The start, in milliseconds since the Unix epoch; 0: never.
    pub started_unix_ms: u64,
    /// The end, in milliseconds since the Unix epoch; 0: not yet.
    pub finished_unix_ms: u64,
    /// The last damaged places that it met, oldest first, 16 at most.
    pub last_damage: Vec<Damage>,
}

/// There is one scrub at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a scrub is running already")]
pub struct ScrubRunning;

/// The scrub of a store, as all workers see it.
pub(crate) struct Scrub {
    status: Mutex<ScrubStatus>,
    is_stopping: AtomicBool,
    wanted: Notify,
    stopped: Notify,
}

impl Scrub {
    pub(crate) fn new() -> Self {
        Self {
            status: Mutex::default(),
            is_stopping: AtomicBool::new(false),
            wanted: Notify::new(),
            stopped: Notify::new(),
        }
    }

    fn is_running(&self) -> bool {
        self.status.lock().state == ScrubState::Running
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    fn end(&self, state: ScrubState, now_ms: u64) {
        let mut status = self.status.lock();
        status.state = state;
        status.finished_unix_ms = now_ms;
    }
}

impl Store {
    /// Starts to read and verify everything that is sealed, at the options' rate.
    pub fn start_scrub(&self) -> Result<(), ScrubRunning> {
        let scrub = self.scrub();
        let mut status = scrub.status.lock();
        if status.state == ScrubState::Running {
            return Err(ScrubRunning);
        }
        *status = ScrubStatus {
            state: ScrubState::Running,
            started_unix_ms: self.clock().unix_ms(),
            ..ScrubStatus::default()
        };
        drop(status);
        scrub.is_stopping.store(false, Ordering::Release);
        scrub.wanted.notify_one();
        Ok(())
    }

    /// Stops the scrub soon. False: none is running.
    pub fn stop_scrub(&self) -> bool {
        let is_running = self.scrub().is_running();
        if is_running {
            self.scrub().is_stopping.store(true, Ordering::Release);
            self.scrub().stopped.notify_one();
        }
        is_running
    }

    /// How far the scrub is, and what it found.
    pub fn scrub_status(&self) -> ScrubStatus {
        self.scrub().status.lock().clone()
    }
}

/// Scrubs whenever it is asked for.
pub(crate) async fn run(worker: &Rc<Worker>) {
    let store = worker.store();
    while !store.is_closing() {
        if store.scrub().is_running() {
            let state = scrub_all(worker).await;
            store.scrub().end(state, store.clock().unix_ms());
            continue;
        }
        tokio::select! {
            biased;
            () = store.scrub().wanted.notified() => {}
            () = store.closing().notified() => {}
        }
    }
}

async fn scrub_all(worker: &Rc<Worker>) -> ScrubState {
    let store = worker.store();
    let segments = store.segments();
    let is_sealed = |segment: &SegmentNumber| segments.get(*segment).state() == State::Sealed;
    let sealed: Vec<_> = segments.numbers().filter(is_sealed).collect();
    store.scrub().status.lock().segments_total = sealed.len() as u64;
    for (done, segment) in sealed.iter().enumerate() {
        if !scrub_one(worker, *segment).await {
            return ScrubState::Stopped;
        }
        let mut status = store.scrub().status.lock();
        status.segments_done = done as u64 + 1;
        status.percent = status.segments_done * 100 / status.segments_total;
    }
    store.scrub().status.lock().percent = 100;
    ScrubState::Finished
}

/// Reads one segment, unless it was cleaned meanwhile. False: it is to stop.
async fn scrub_one(worker: &Rc<Worker>, segment: SegmentNumber) -> bool {
    let store = worker.store();
    store.pins().pin(worker.number(), segment);
    let _pin = Pin::adopt(store.pins(), worker.number(), segment);
    if store.segments().get(segment).state() != State::Sealed {
        return !store.scrub().is_stopping() && !store.is_closing();
    }
    let mut inspection = Inspection::new(worker, segment, Scope::Live);
    loop {
        let before = inspection.tally();
        let goes_on = match inspection.step().await {
            Ok(goes_on) => goes_on,
            Err(error) => {
                tracing::error!(%error, segment = segment.get(), "a segment cannot be scrubbed");
                false
            }
        };
        let step = inspection.tally().since(&before);
        let found = inspection.take_damage();
        enter(store, (step.records, step.bytes), found);
        pause(store, step.bytes).await;
        if store.scrub().is_stopping() || store.is_closing() {
            return false;
        }
        if !goes_on {
            return true;
        }
    }
}

fn enter(store: &Store, (records, bytes): (u64, u64), found: Vec<Damage>) {
    let mut status = store.scrub().status.lock();
    status.records += records;
    status.bytes += bytes;
    status.damaged += found.len() as u64;
    let mut named: VecDeque<_> = std::mem::take(&mut status.last_damage).into();
    named.extend(found);
    while named.len() > NAMED_MAX {
        named.pop_front();
    }
    status.last_damage = named.into();
}

/// Waits as long as reading that many bytes may take.
async fn pause(store: &Store, bytes: u64) {
    let rate = store.scrub_bytes_per_s().max(1);
    let us = (bytes * 1_000_000 / rate).clamp(1, PAUSE_US_MAX);
    tokio::select! {
        biased;
        () = store.scrub().stopped.notified() => {}
        () = store.closing().notified() => {}
        () = store.clock().sleep(us) => {}
    }
}
