//! One io_uring a worker thread, shared by the thread's channels. Owns the submission rules (16
//! queued, 50 us, 8 turns) and the requests in flight; must never block the thread while it serves,
//! and never free memory that the kernel may still write to.
#![expect(
    unsafe_code,
    reason = "a queued entry points to memory that the ring keeps alive"
)]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use io_uring::{IoUring, types};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::super::TIMEOUT_US;
use super::super::counters::ChannelCounters;
use super::super::error::DeviceError;
use super::super::operation::{Io, Operations, Outcome, Payload};
use super::request::{Request, Step};
use crate::clock::Clock;

/// Requests that the kernel has, or that are queued for it. A disk is at its best long before; what
/// is more would only wait elsewhere. Also the submission queue's size, so that it never fills.
pub(super) const IN_FLIGHT_MAX: usize = 512;
/// Size of the completion queue: four times what can complete, so that it never overflows.
const COMPLETIONS_MAX: u32 = 4 * IN_FLIGHT_MAX as u32;
/// As many queued entries are submitted at once: entering the kernel then costs each a sixteenth.
pub(super) const QUEUED_MAX: usize = 16;
/// Queued entries are submitted at the end of this many turns.
pub(super) const TURNS_MAX: u64 = 8;
/// Queued entries are submitted at the end of a turn when the oldest is this old, in microseconds.
pub(super) const QUEUED_US_MAX: u64 = 50;
/// Completions that are taken out of their queue at a time.
const REAP_STEP: usize = 32;
/// Completions that one call of `reap` handles at most: its callers get the thread back.
const REAP_MAX: usize = IN_FLIGHT_MAX;
/// How long the end of a ring waits for the kernel to let go of buffers, in seconds. Then they
/// leak.
const DRAIN_S_MAX: u64 = 2;
/// How often it waits: once for each answer, and for a few signals.
const DRAIN_WAITS_MAX: usize = IN_FLIGHT_MAX + 16;

/// The ring and what it has in flight.
pub(super) struct Ring {
    uring: RefCell<IoUring>,
    operations: Rc<Operations>,
    /// By the operation's slot.
    requests: RefCell<Vec<Option<Request>>>,
    /// Slots that wait for room, oldest first. As many as callers have operations.
    backlog: RefCell<VecDeque<usize>>,
    in_flight: Cell<usize>,
    queue: Queue,
    /// Wakes the task that submits and reaps.
    driver: RefCell<Option<Waker>>,
    /// The driver ended: nothing would reap.
    closed: Cell<bool>,
    clock: Arc<dyn Clock>,
}

/// What was put into the submission queue since the kernel was entered.
#[derive(Default)]
struct Queue {
    count: Cell<usize>,
    turns: Cell<u64>,
    oldest_us: Cell<u64>,
    /// Who queued first; pays for the next entering.
    payer: RefCell<Option<Arc<ChannelCounters>>>,
}

impl Ring {
    pub(super) fn new(clock: Arc<dyn Clock>) -> io::Result<Rc<Self>> {
        Ok(Rc::new(Self {
            uring: RefCell::new(build()?),
            operations: Operations::new(),
            requests: RefCell::default(),
            backlog: RefCell::default(),
            in_flight: Cell::new(0),
            queue: Queue::default(),
            driver: RefCell::new(None),
            closed: Cell::new(false),
            clock,
        }))
    }

    /// Registers the ring with the running tokio runtime: readable means that something ended.
    pub(super) fn readiness(ring: &Rc<Self>) -> io::Result<AsyncFd<Driven>> {
        let driven = Driven(Rc::clone(ring));
        // SAFETY: the descriptor is open and the same for as long as `Driven` holds the ring.
        Ok(unsafe { AsyncFd::register_with_interest(driven, Interest::READABLE) }?)
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    pub(super) fn close(&self) {
        self.closed.set(true);
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.get()
    }

    pub(super) fn has_queued(&self) -> bool {
        self.queue.count.get() > 0
    }

    pub(super) fn set_driver(&self, waker: &Waker) {
        let mut driver = self.driver.borrow_mut();
        if !driver.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *driver = Some(waker.clone());
        }
    }

    fn wake_driver(&self) {
        if let Some(waker) = &*self.driver.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Starts a request whose memory, if any, is that of `payload`.
    pub(super) fn start<T: Outcome>(&self, request: Request, payload: Payload) -> Io<T> {
        if self.closed.get() {
            return Io::answered(Err(DeviceError::Closed));
        }
        let (slot, io) = self.operations.start(payload);
        {
            let mut requests = self.requests.borrow_mut();
            if requests.len() <= slot {
                requests.resize_with(slot + 1, || None);
            }
            requests[slot] = Some(request);
        }
        if self.in_flight.get() < IN_FLIGHT_MAX && self.backlog.borrow().is_empty() {
            self.enqueue(slot);
        } else {
            self.backlog.borrow_mut().push_back(slot);
        }
        io
    }

    /// Puts the request of `slot` into the submission queue.
    fn enqueue(&self, slot: usize) {
        let entry = {
            let requests = self.requests.borrow();
            let request = requests[slot]
                .as_ref()
                .expect("a slot in use has its request");
            if self.queue.count.get() == 0 {
                self.queue.oldest_us.set(self.clock.monotonic_us());
                self.queue.turns.set(0);
                *self.queue.payer.borrow_mut() = Some(Arc::clone(&request.target.counters));
                self.wake_driver();
            }
            request.entry().user_data(slot as u64)
        };
        // SAFETY: descriptor and memory live in the request and in the operation's payload, which
        // stay until the kernel answered: `Operations` keeps a payload in flight.
        let pushed = unsafe { self.uring.borrow_mut().submission().push(&entry) };
        pushed.expect("the submission queue holds all that may be in flight");
        self.in_flight.set(self.in_flight.get() + 1);
        self.queue.count.set(self.queue.count.get() + 1);
        if self.queue.count.get() >= QUEUED_MAX {
            self.submit();
        }
    }

    /// Hands what is queued to the kernel.
    pub(super) fn submit(&self) {
        let queued = self.queue.count.get();
        if queued == 0 {
            return;
        }
        if let Some(counters) = &*self.queue.payer.borrow() {
            counters.count_enter(self.queue.turns.get());
        }
        // An error means that the kernel took nothing (interrupted, out of memory): what stays is
        // put again by the driver, and gets old in the end.
        let taken = self.uring.borrow().submit().unwrap_or(0);
        self.queue.count.set(queued - taken.min(queued));
        if self.has_queued() {
            self.wake_driver();
        }
    }

    /// A task ended its poll.
    pub(super) fn end_of_turn(&self) {
        if self.in_flight.get() == 0 {
            return;
        }
        if self.has_queued() {
            let turns = self.queue.turns.get() + 1;
            self.queue.turns.set(turns);
            let age_us = self
                .clock
                .monotonic_us()
                .saturating_sub(self.queue.oldest_us.get());
            if turns >= TURNS_MAX || age_us >= QUEUED_US_MAX {
                self.submit();
            }
        }
        self.reap();
    }

    /// Ends the operations whose results are there. Never enters the kernel for it.
    pub(super) fn reap(&self) {
        for _ in 0..REAP_MAX / REAP_STEP {
            let mut answers = [(0, 0); REAP_STEP];
            let count = self.take_answers(&mut answers);
            for &(slot, result) in &answers[..count] {
                self.answered(slot, result);
            }
            self.refill();
            if count < REAP_STEP {
                return;
            }
        }
        self.wake_driver();
    }

    fn take_answers(&self, answers: &mut [(usize, i32)]) -> usize {
        let mut uring = self.uring.borrow_mut();
        let completions = uring.completion();
        let mut count = 0;
        for (answer, completion) in answers.iter_mut().zip(completions) {
            *answer = (completion.user_data() as usize, completion.result());
            count += 1;
        }
        count
    }

    fn answered(&self, slot: usize, result: i32) {
        self.in_flight.set(self.in_flight.get() - 1);
        let step = {
            let mut requests = self.requests.borrow_mut();
            requests[slot]
                .as_mut()
                .expect("the kernel answers each request once")
                .advance(result)
        };
        match step {
            Step::Again => self.enqueue(slot),
            Step::EndOfFile => {
                self.zero_rest(slot);
                self.finish(slot, Ok(()));
            }
            Step::Over(outcome) => self.finish(slot, outcome),
        }
    }

    fn zero_rest(&self, slot: usize) {
        let done_bytes = self.requests.borrow()[slot]
            .as_ref()
            .map_or(0, |request| request.done_bytes as usize);
        self.operations.with_payload(slot, |payload| match payload {
            Payload::Buffer(buffer) => buffer[done_bytes..].fill(0),
            Payload::None | Payload::Shared(_) => {}
        });
    }

    fn finish(&self, slot: usize, outcome: Result<(), DeviceError>) {
        let request = self.requests.borrow_mut()[slot].take();
        let request = request.expect("an operation ends once");
        if !request.expired {
            request.count(outcome.is_ok());
        }
        self.operations.complete(slot, outcome);
    }

    /// Moves waiting requests up while there is room.
    fn refill(&self) {
        while self.in_flight.get() < IN_FLIGHT_MAX {
            let Some(slot) = self.backlog.borrow_mut().pop_front() else {
                return;
            };
            let expired = {
                let requests = self.requests.borrow();
                let request = requests[slot]
                    .as_ref()
                    .expect("a waiting slot has its request");
                request.expired.then(|| request.timed_out())
            };
            match expired {
                Some(error) => self.finish(slot, Err(error)),
                None => self.enqueue(slot),
            }
        }
    }

    /// Tells the callers of requests that are older than the bound that they failed.
    pub(super) fn expire(&self) {
        let now_us = self.clock.monotonic_us();
        let slot_count = self.requests.borrow().len();
        for slot in 0..slot_count {
            let error = match &mut self.requests.borrow_mut()[slot] {
                Some(request)
                    if !request.expired
                        && now_us.saturating_sub(request.started_us) > TIMEOUT_US =>
                {
                    request.expired = true;
                    request.count(false);
                    request.timed_out()
                }
                Some(_) | None => continue,
            };
            self.operations.expire(slot, error);
        }
    }

    /// Waits for the kernel's last answers; `false` when it keeps some.
    fn drain(&self) -> bool {
        let timeout = types::Timespec::new().sec(DRAIN_S_MAX);
        let arguments = types::SubmitArgs::new().timespec(&timeout);
        self.backlog.borrow_mut().clear();
        for _ in 0..DRAIN_WAITS_MAX {
            let mut answers = [(0, 0); REAP_STEP];
            let count = self.take_answers(&mut answers);
            self.in_flight.set(self.in_flight.get() - count);
            if self.in_flight.get() == 0 {
                return true;
            }
            let waited = self
                .uring
                .borrow()
                .submitter()
                .submit_with_args(1, &arguments);
            match waited.map_err(|error| error.raw_os_error()) {
                Ok(_) | Err(Some(libc::EINTR)) => {}
                Err(_) => return false,
            }
        }
        false
    }
}

/// A ring whose descriptor is registered with a runtime.
pub(super) struct Driven(pub(super) Rc<Ring>);

impl AsRawFd for Driven {
    fn as_raw_fd(&self) -> RawFd {
        self.0.uring.borrow().as_raw_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let drained = self.drain();
        let requests = std::mem::take(&mut *self.requests.borrow_mut());
        if !drained {
            tracing::error!(
                "the kernel kept {} requests; their memory leaks",
                self.in_flight.get()
            );
            std::mem::forget(Rc::clone(&self.operations));
            std::mem::forget(requests);
            return;
        }
        for slot in requests
            .iter()
            .enumerate()
            .filter_map(|(slot, request)| request.as_ref().map(|_| slot))
        {
            self.operations.complete(slot, Err(DeviceError::Closed));
        }
    }
}

/// A ring that runs completions when this thread enters the kernel anyway, where the kernel can.
fn build() -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_cqsize(COMPLETIONS_MAX);
    match builder.setup_coop_taskrun().build(IN_FLIGHT_MAX as u32) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::builder()
            .setup_cqsize(COMPLETIONS_MAX)
            .build(IN_FLIGHT_MAX as u32),
        built => built,
    }
}
