//! A task's access to a simulated device. Owns the operations that have not ended; must never end
//! one before its time, nor let a buffer change while it is written.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};

use parking_lot::Mutex;

use super::super::buffer::IoBuffer;
use super::super::counters::ChannelCounters;
use super::super::error::{DeviceError, Operation};
use super::super::memory::HEAP;
use super::super::operation::{Io, Operations, Outcome, Payload};
use super::super::shared::BufferSlice;
use super::super::{Channel, Geometry, TIMEOUT_US, WriteSync};
use super::fault::Effect;
use super::{Latency, SimDevice, SimState};
use crate::clock::{Clock, SimClock};
use crate::units::Extent;

thread_local! {
    /// Operations of this thread whose time has not come, by the number of their alarm.
    static PENDING: RefCell<BTreeMap<u64, Pending>> = const { RefCell::new(BTreeMap::new()) };
}

/// Numbers alarms; nothing depends on which number one gets.
static NEXT_ALARM: AtomicU64 = AtomicU64::new(0);

/// Ends an operation when the clock wakes it. A clock's timers must not hold what belongs to one
/// thread, so it holds a number. When the clock ends first, so does the operation, unanswered.
struct Alarm {
    number: u64,
}

impl Alarm {
    fn take_pending(&self) -> Option<Pending> {
        PENDING
            .try_with(|pending| pending.borrow_mut().remove(&self.number))
            .ok()
            .flatten()
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        if let Some(pending) = self.take_pending() {
            pending.end();
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        drop(self.take_pending());
    }
}

#[derive(Clone, Copy)]
enum Action {
    Read,
    /// With its number among the writes in flight.
    Write(u64, WriteSync),
    /// With the order at which it began.
    Flush(u64),
    Allocate,
    Discard,
}

impl Action {
    fn operation(self) -> Operation {
        match self {
            Self::Read => Operation::Read,
            Self::Write(..) => Operation::Write,
            Self::Flush(_) => Operation::Flush,
            Self::Allocate => Operation::Allocate,
            Self::Discard => Operation::Discard,
        }
    }
}

/// What a channel's operations share.
struct Core {
    geometry: Geometry,
    state: Arc<Mutex<SimState>>,
    counters: Arc<ChannelCounters>,
    operations: Rc<Operations>,
}

/// What is to happen when an operation's time has come.
struct Pending {
    core: Rc<Core>,
    slot: usize,
    action: Action,
    extent: Extent,
    effect: Option<Effect>,
    /// When, in monotonic microseconds; 0 without a clock.
    due_us: u64,
}

impl Pending {
    fn end(self) {
        let operation = self.action.operation();
        let result = {
            let mut state = self.core.state.lock();
            let result = self.perform(&mut state);
            state.note(operation, self.extent, (self.due_us, result.is_ok()));
            result
        };
        self.core
            .counters
            .count(operation, self.extent.bytes, result.is_ok());
        self.core.operations.complete(self.slot, result);
    }

    fn perform(&self, state: &mut SimState) -> Result<(), DeviceError> {
        if state.crashed {
            return Err(DeviceError::Closed);
        }
        let fault = self.effect.map(|effect| self.error(effect));
        match self.action {
            Action::Read if fault.is_none() => self.read(state),
            Action::Write(number, sync) => {
                let (_, bytes) = state.writing.remove(&number).expect("a write ends once");
                self.assert_unchanged(&bytes);
                if !state.take_room(self.extent) {
                    return Err(self.error(Effect::Errno(libc::ENOSPC)));
                }
                let (media, random) = (&mut state.media, &mut state.random);
                let failed = fault.is_some();
                media.write(self.extent.offset, &bytes, || !failed || random.flip());
                if !failed && sync == WriteSync::Durable {
                    media.settle(self.extent);
                }
            }
            Action::Flush(order) => state.media.flush(order, fault.is_none()),
            Action::Allocate if fault.is_none() && !state.take_room(self.extent) => {
                return Err(self.error(Effect::Errno(libc::ENOSPC)));
            }
            Action::Discard if fault.is_none() => {
                state.give_room(self.extent);
                if state.random.flip() {
                    state.media.zero(self.extent);
                }
            }
            Action::Read | Action::Allocate | Action::Discard => {}
        }
        fault.map_or(Ok(()), Err)
    }

    fn read(&self, state: &SimState) {
        self.core
            .operations
            .with_payload(self.slot, |payload| match payload {
                Payload::Buffer(buffer) => state.media.read(self.extent.offset, buffer),
                Payload::None | Payload::Shared(_) => panic!("a read has a buffer"),
            });
    }

    /// The contract of a write: its bytes are the same at its end as they were at its start.
    fn assert_unchanged(&self, bytes: &[u8]) {
        self.core
            .operations
            .with_payload(self.slot, |payload| match payload {
                Payload::Shared(slice) => {
                    assert!(slice.copy() == bytes, "a buffer changed during its write");
                }
                Payload::Buffer(buffer) => assert!(**buffer == *bytes),
                Payload::None => panic!("a write has bytes"),
            });
    }

    fn error(&self, effect: Effect) -> DeviceError {
        let (device, operation) = (&self.core.geometry.name, self.action.operation());
        match effect {
            Effect::Errno(errno) => DeviceError::from_errno(device, operation, self.extent, errno),
            Effect::TimedOut => DeviceError::TimedOut {
                device: Arc::clone(device),
                operation,
                extent: self.extent,
            },
        }
    }
}

pub(super) struct SimChannel {
    core: Rc<Core>,
    timing: Option<(SimClock, Latency)>,
}

impl SimChannel {
    pub(super) fn new(device: &SimDevice) -> Self {
        let core = Core {
            geometry: device.geometry.clone(),
            state: Arc::clone(&device.state),
            counters: device.counters.attach(),
            operations: Operations::new(),
        };
        Self {
            core: Rc::new(core),
            timing: device.timing.clone(),
        }
    }

    fn check(&self, operation: Operation, extent: Extent) -> Result<(), DeviceError> {
        self.core
            .geometry
            .check(operation, extent.offset, extent.bytes)
    }

    fn start<T: Outcome>(&self, action: Action, extent: Extent, payload: Payload) -> Io<T> {
        let (slot, io) = self.core.operations.start(payload);
        let (effect, latency_us) = {
            let mut state = self.core.state.lock();
            let effect = state.faults.meet(action.operation(), extent);
            let latency_us = match (&self.timing, effect) {
                (_, Some(Effect::TimedOut)) => TIMEOUT_US,
                (None, _) => 0,
                (Some((_, latency)), _) => latency.draw(action.operation(), &mut state.random),
            };
            (effect, latency_us)
        };
        let clock = self.timing.as_ref().map(|(clock, _)| clock);
        let due_us = clock.map_or(0, |clock| clock.monotonic_us() + latency_us);
        let pending = Pending {
            core: Rc::clone(&self.core),
            slot,
            action,
            extent,
            effect,
            due_us,
        };
        match clock {
            None => pending.end(),
            Some(clock) => {
                let number = NEXT_ALARM.fetch_add(1, Ordering::Relaxed);
                PENDING.with_borrow_mut(|all| all.insert(number, pending));
                let alarm = Waker::from(Arc::new(Alarm { number }));
                clock.wake_at(due_us, alarm);
            }
        }
        io
    }

    fn start_write<T: Outcome>(
        &self,
        extent: Extent,
        bytes: Vec<u8>,
        payload: Payload,
        sync: WriteSync,
    ) -> Io<T> {
        let number = {
            let mut state = self.core.state.lock();
            let number = state.next_write;
            state.next_write += 1;
            state.writing.insert(number, (extent.offset, bytes));
            number
        };
        self.start(Action::Write(number, sync), extent, payload)
    }
}

impl Channel for SimChannel {
    fn buffer(&self, bytes: usize) -> IoBuffer {
        IoBuffer::new(
            &HEAP,
            bytes.next_multiple_of(self.core.geometry.block_bytes as usize),
        )
    }

    fn read(&self, offset: u64, buffer: IoBuffer) -> Io<IoBuffer> {
        let extent = Extent {
            offset,
            bytes: buffer.len() as u64,
        };
        match self.check(Operation::Read, extent) {
            Ok(()) => self.start(Action::Read, extent, Payload::Buffer(buffer)),
            Err(error) => Io::answered(Err(error)),
        }
    }

    fn write(&self, offset: u64, source: BufferSlice, sync: WriteSync) -> Io<()> {
        let extent = Extent {
            offset,
            bytes: source.bytes() as u64,
        };
        if let Err(error) = self.check(Operation::Write, extent) {
            return Io::answered(Err(error));
        }
        let bytes = source.copy().to_vec();
        self.start_write(extent, bytes, Payload::Shared(source), sync)
    }

    fn write_buffer(&self, offset: u64, buffer: IoBuffer, sync: WriteSync) -> Io<IoBuffer> {
        let extent = Extent {
            offset,
            bytes: buffer.len() as u64,
        };
        if let Err(error) = self.check(Operation::Write, extent) {
            return Io::answered(Err(error));
        }
        let bytes = buffer.to_vec();
        self.start_write(extent, bytes, Payload::Buffer(buffer), sync)
    }

    fn flush(&self) -> Io<()> {
        let order = self.core.state.lock().media.order();
        self.start(Action::Flush(order), Extent::default(), Payload::None)
    }

    fn allocate(&self, offset: u64, bytes: u64) -> Io<()> {
        let extent = Extent { offset, bytes };
        match self.check(Operation::Allocate, extent) {
            Ok(()) => self.start(Action::Allocate, extent, Payload::None),
            Err(error) => Io::answered(Err(error)),
        }
    }

    fn discard(&self, offset: u64, bytes: u64) -> Io<()> {
        let extent = Extent { offset, bytes };
        match self.check(Operation::Discard, extent) {
            Ok(()) => self.start(Action::Discard, extent, Payload::None),
            Err(error) => Io::answered(Err(error)),
        }
    }

    fn end_of_turn(&self) {}

    fn submit(&self) {}
}
