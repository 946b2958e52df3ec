//! Group commit: rounds that make a prefix of the log durable, one at a time, for everybody.
//!
//! A round has a target, writes up to it, flushes the devices and then moves the durable LSN there.
//! Whoever arrives during a round is served by the next one. This module keeps the state and the
//! waiters; the worker that runs a round submits its operations.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::error::StoreError;
use crate::log::Log;
use crate::log::flush::RoundWrites;
use crate::segment::State;
use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::units::Lsn;
use crate::worker::Worker;

/// What a round is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// Its writes; `durable_write`: the one write is itself durable, no flush follows.
    Writing {
        durable_write: bool,
    },
    /// The flushes that are still missing.
    Flushing {
        missing: usize,
    },
}

#[derive(Debug)]
struct RoundState {
    phase: Phase,
    target: Lsn,
    wanted: Lsn,
}

/// What the worker has to do next for the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoundStep {
    Nothing,
    /// Flush every device, then report each with [`Log::flush_done`].
    FlushDevices,
    /// The round ended; `again`: somebody arrived meanwhile.
    Ended {
        again: bool,
    },
}

/// Tasks of one worker, each with the LSN that it waits for.
type Waiters = Mutex<Vec<(Lsn, Waker)>>;

/// The rounds of a log and those who wait for them.
pub(crate) struct Rounds {
    state: Mutex<RoundState>,
    /// A list a worker.
    waiters: Box<[Waiters]>,
    count: AtomicU64,
}

impl Rounds {
    pub(crate) fn new(worker_count: usize) -> Self {
        let state = RoundState {
            phase: Phase::Idle,
            target: Lsn::new(0),
            wanted: Lsn::new(0),
        };
        Self {
            state: Mutex::new(state),
            waiters: (0..worker_count).map(|_| Mutex::new(Vec::new())).collect(),
            count: AtomicU64::new(0),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn wake_all(&self) {
        self.wake_below(Lsn::new(u64::MAX));
    }

    fn wake_below(&self, durable: Lsn) {
        for waiters in &self.waiters {
            let due: Vec<_> = waiters
                .lock()
                .extract_if(.., |(lsn, _)| *lsn <= durable)
                .collect();
            for (_, waker) in due {
                waker.wake();
            }
        }
    }

    fn register(&self, worker: usize, lsn: Lsn, waker: Waker) {
        self.waiters[worker].lock().push((lsn, waker));
    }
}

impl Log {
    pub(crate) fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// Asks for durability up to `lsn`. True: no round is under way, and the caller has to run one.
    pub(crate) fn want_durable(&self, lsn: Lsn) -> bool {
        let mut state = self.rounds.state.lock();
        state.wanted = state.wanted.max(lsn);
        let starts =
            state.phase == Phase::Idle && state.wanted > self.durable_lsn() && !self.is_latched();
        if starts {
            state.phase = Phase::Writing {
                durable_write: false,
            };
            state.target = Lsn::new(u64::MAX);
        }
        starts
    }

    /// Starts the round that somebody asked for while the last one ran. True: the caller runs it.
    pub(crate) fn begin_round(&self) -> bool {
        self.want_durable(Lsn::ZERO)
    }

    /// The round has these writes, which the caller submits next. True: there is a single write, it
    /// follows what is durable without a gap, and shall be durable by itself.
    pub(crate) fn aim_round(&self, writes: &RoundWrites) -> bool {
        let durable_write = writes.jobs.len() == 1 && writes.from == self.durable_lsn();
        let mut state = self.rounds.state.lock();
        state.target = writes.target;
        state.phase = Phase::Writing { durable_write };
        durable_write
    }

    /// A write was completed: moves the written position.
    pub(crate) fn write_done(&self, id: u64) {
        let mut flush = self.flush.lock();
        for number in flush.complete(id) {
            let life = self.segments.get(self.images[number].segment());
            life.set_buffer(None);
            life.set_state(State::Sealed);
        }
    }

    /// Checks whether the round's writes are all done.
    pub(crate) fn advance_round(&self, device_count: usize) -> RoundStep {
        let written = self.flush.lock().written();
        let mut state = self.rounds.state.lock();
        let Phase::Writing { durable_write } = state.phase else {
            return RoundStep::Nothing;
        };
        if written < state.target || self.is_latched() {
            return RoundStep::Nothing;
        }
        if durable_write {
            return self.end_round(&mut state);
        }
        state.phase = Phase::Flushing {
            missing: device_count,
        };
        RoundStep::FlushDevices
    }

    /// One device was flushed for the round. After a failure that counts for nothing: the flush
    /// that failed may have been another one of the same device, and have lost what this one was to
    /// save.
    pub(crate) fn flush_done(&self) -> RoundStep {
        let mut state = self.rounds.state.lock();
        let Phase::Flushing { missing } = state.phase else {
            return RoundStep::Nothing;
        };
        if self.is_latched() {
            return RoundStep::Nothing;
        }
        if missing > 1 {
            state.phase = Phase::Flushing {
                missing: missing - 1,
            };
            return RoundStep::Nothing;
        }
        self.end_round(&mut state)
    }

    fn end_round(&self, state: &mut RoundState) -> RoundStep {
        self.durable.fetch_max(state.target.get(), Ordering::SeqCst);
        self.rounds.count.fetch_add(1, Ordering::Relaxed);
        state.phase = Phase::Idle;
        self.rounds.wake_below(self.durable_lsn());
        RoundStep::Ended {
            again: state.wanted > self.durable_lsn(),
        }
    }
}

/// Waits until the log is durable up to an LSN.
pub(crate) struct DurableWait {
    worker: Rc<Worker>,
    lsn: Lsn,
}

impl DurableWait {
    pub(crate) fn new(worker: &Rc<Worker>, lsn: Lsn) -> Self {
        Self {
            worker: Rc::clone(worker),
            lsn,
        }
    }

    fn outcome(&self) -> Option<Result<(), StoreError>> {
        let log = self.worker.log();
        if log.durable_lsn() >= self.lsn {
            return Some(Ok(()));
        }
        log.is_latched().then_some(Err(StoreError::Latched))
    }
}

impl Future for DurableWait {
    type Output = Result<(), StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(outcome) = self.outcome() {
            return Poll::Ready(outcome);
        }
        let rounds = self.worker.log().rounds();
        rounds.register(self.worker.number(), self.lsn, context.waker().clone());
        self.worker.request_durable(self.lsn);
        self.outcome().map_or(Poll::Pending, Poll::Ready)
    }
}
