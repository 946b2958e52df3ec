//! Operations in flight. Each lives in a table of its channel with its buffer and its waiter, so
//! that whoever asked may go away while the device still works. Owns that table and the future over
//! it; must never run a waiter while the table is borrowed, and never free a buffer in use.

use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use slab::Slab;

use super::buffer::IoBuffer;
use super::error::DeviceError;
use super::shared::BufferSlice;

/// The memory that an operation transfers.
#[derive(Debug)]
pub enum Payload {
    /// None: a flush, an allocation, a discard.
    None,
    /// A buffer that goes back to the caller.
    Buffer(IoBuffer),
    /// A part of a shared buffer, held until the end.
    Shared(BufferSlice),
}

/// What an operation leaves with its caller: its buffer, or nothing.
pub trait Outcome: Sized + Unpin + 'static {
    /// Takes it out of the payload.
    fn take(payload: Payload) -> Self;
}

impl Outcome for () {
    fn take(_: Payload) {}
}

impl Outcome for IoBuffer {
    fn take(payload: Payload) -> Self {
        match payload {
            Payload::Buffer(buffer) => buffer,
            Payload::None | Payload::Shared(_) => panic!("an Io<IoBuffer> carries a buffer"),
        }
    }
}

type Callback = Box<dyn FnOnce(Result<Payload, DeviceError>)>;

/// Who wants to know.
enum Waiter {
    /// A future that was not polled since.
    Future,
    /// A future that waits.
    Task(Waker),
    /// A function.
    Callback(Callback),
    /// Nobody: the future was dropped, or it was told already.
    Gone,
}

struct Slot {
    payload: Payload,
    /// Set when the caller may be told; the device may still be at it after a timeout.
    result: Option<Result<(), DeviceError>>,
    /// The device may still touch the payload.
    in_flight: bool,
    waiter: Waiter,
}

/// The table of a channel's (or a ring's) operations. Bounded by its callers: a slot is an
/// operation that somebody awaits or that is in flight.
#[derive(Default)]
pub struct Operations {
    slots: RefCell<Slab<Slot>>,
}

impl Operations {
    /// An empty table.
    pub fn new() -> Rc<Self> {
        Rc::new(Self::default())
    }

    /// Enters an operation. The device works on `payload` until `complete` is called with the slot.
    pub fn start<T: Outcome>(self: &Rc<Self>, payload: Payload) -> (usize, Io<T>) {
        let slot = Slot {
            payload,
            result: None,
            in_flight: true,
            waiter: Waiter::Future,
        };
        let index = self.slots.borrow_mut().insert(slot);
        (
            index,
            Io {
                state: State::InTable(Rc::clone(self), index),
                outcome: PhantomData,
            },
        )
    }

    /// Shows the payload of an operation in flight.
    pub fn with_payload<R>(&self, index: usize, action: impl FnOnce(&mut Payload) -> R) -> R {
        action(&mut self.slots.borrow_mut()[index].payload)
    }

    /// The device is done with it. After `expire` the caller keeps the answer that it got then.
    pub fn complete(&self, index: usize, result: Result<(), DeviceError>) {
        self.finish(index, result, false);
    }

    /// Tells the caller `error` while the payload stays with the device, until `complete`.
    pub fn expire(&self, index: usize, error: DeviceError) {
        self.finish(index, Err(error), true);
    }

    /// How many operations the device works on.
    pub fn in_flight_count(&self) -> usize {
        self.slots
            .borrow()
            .iter()
            .filter(|(_, slot)| slot.in_flight)
            .count()
    }

    fn finish(&self, index: usize, result: Result<(), DeviceError>, in_flight: bool) {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[index];
        slot.in_flight = in_flight;
        match std::mem::replace(&mut slot.waiter, Waiter::Gone) {
            Waiter::Future => {
                slot.waiter = Waiter::Future;
                slot.result.get_or_insert(result);
            }
            Waiter::Task(waker) => {
                slot.waiter = Waiter::Future;
                slot.result.get_or_insert(result);
                drop(slots);
                waker.wake();
            }
            Waiter::Callback(callback) => {
                let answer = match result {
                    Ok(()) => Ok(slots.remove(index).payload),
                    Err(error) => {
                        drop(remove_unless_in_flight(&mut slots, index));
                        Err(error)
                    }
                };
                drop(slots);
                callback(answer);
            }
            Waiter::Gone => drop(remove_unless_in_flight(&mut slots, index)),
        }
    }

    /// Takes the answer, if there is one; else remembers the waker.
    fn poll(&self, index: usize, waker: &Waker) -> Poll<Result<Payload, DeviceError>> {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[index];
        match slot.result.take() {
            Some(Ok(())) => Poll::Ready(Ok(slots.remove(index).payload)),
            Some(Err(error)) => {
                slot.waiter = Waiter::Gone;
                drop(remove_unless_in_flight(&mut slots, index));
                Poll::Ready(Err(error))
            }
            None if matches!(&slot.waiter, Waiter::Task(known) if known.will_wake(waker)) => {
                Poll::Pending
            }
            None => {
                let known = std::mem::replace(&mut slot.waiter, Waiter::Task(waker.clone()));
                // A waker's end may end a task and what it owns, operations of this table too.
                drop(slots);
                drop(known);
                Poll::Pending
            }
        }
    }

    fn call_when_done(&self, index: usize, callback: Callback) {
        match self.poll(index, Waker::noop()) {
            Poll::Ready(answer) => callback(answer),
            Poll::Pending => {
                self.slots.borrow_mut()[index].waiter = Waiter::Callback(callback);
            }
        }
    }

    /// The caller went away.
    fn abandon(&self, index: usize) {
        let mut slots = self.slots.borrow_mut();
        let waiter = std::mem::replace(&mut slots[index].waiter, Waiter::Gone);
        let removed = remove_unless_in_flight(&mut slots, index);
        drop(slots);
        drop((waiter, removed));
    }
}

fn remove_unless_in_flight(slots: &mut Slab<Slot>, index: usize) -> Option<Slot> {
    if slots[index].in_flight {
        None
    } else {
        Some(slots.remove(index))
    }
}

enum State<T> {
    /// Answered before it reached a table.
    Answered(Result<T, DeviceError>),
    InTable(Rc<Operations>, usize),
    /// The answer was taken.
    Taken,
}

/// One operation in flight. The operation runs whether or not this is polled or kept: dropping it
/// only means that nobody wants to know.
#[must_use = "an operation may fail: await it, or give it a callback"]
pub struct Io<T: Outcome> {
    state: State<T>,
    outcome: PhantomData<T>,
}

impl<T: Outcome> Io<T> {
    /// An operation that is over.
    pub fn answered(result: Result<T, DeviceError>) -> Self {
        Self {
            state: State::Answered(result),
            outcome: PhantomData,
        }
    }

    /// Runs `action` on this thread once the operation is over: when it is reaped, or at once,
    /// before this returns, when it already was.
    pub fn on_done(mut self, action: impl FnOnce(Result<T, DeviceError>) + 'static) {
        match std::mem::replace(&mut self.state, State::Taken) {
            State::Answered(result) => action(result),
            State::InTable(operations, index) => {
                operations.call_when_done(index, Box::new(|answer| action(answer.map(T::take))));
            }
            State::Taken => panic!("an operation that was awaited is over"),
        }
    }
}

impl<T: Outcome> Future for Io<T> {
    type Output = Result<T, DeviceError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let State::InTable(operations, index) = &self.state {
            let answer = std::task::ready!(operations.poll(*index, context.waker()));
            self.state = State::Taken;
            return Poll::Ready(answer.map(T::take));
        }
        match std::mem::replace(&mut self.state, State::Taken) {
            State::Answered(result) => Poll::Ready(result),
            State::InTable(..) | State::Taken => panic!("an operation is awaited once"),
        }
    }
}

impl<T: Outcome> Drop for Io<T> {
    fn drop(&mut self) {
        if let State::InTable(operations, index) = &self.state {
            operations.abandon(*index);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    use super::super::buffer::kept_bytes;
    use super::super::memory::HEAP;
    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicU32);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn poll<T: Outcome>(io: &mut Io<T>, counter: &Arc<Wakes>) -> Poll<Result<T, DeviceError>> {
        let waker = Waker::from(Arc::clone(counter));
        Pin::new(io).poll(&mut Context::from_waker(&waker))
    }

    fn start_read(operations: &Rc<Operations>) -> (usize, Io<IoBuffer>) {
        operations.start(Payload::Buffer(IoBuffer::new(&HEAP, 4096)))
    }

    fn is_empty(operations: &Operations) -> bool {
        operations.slots.borrow().is_empty()
    }

    #[test]
    fn an_awaited_operation_wakes_once_and_gives_its_buffer_back() {
        let (operations, wakes) = (Operations::new(), Arc::new(Wakes::default()));
        let (slot, mut io) = start_read(&operations);
        assert!(poll(&mut io, &wakes).is_pending());
        assert!(poll(&mut io, &wakes).is_pending());
        operations.complete(slot, Ok(()));
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        let Poll::Ready(Ok(buffer)) = poll(&mut io, &wakes) else {
            panic!("not ended")
        };
        assert_eq!((buffer.len(), is_empty(&operations)), (4096, true));
    }

    #[test]
    fn a_dropped_operation_keeps_its_buffer_until_the_device_is_done() {
        let operations = Operations::new();
        let (slot, io) = start_read(&operations);
        drop(io);
        assert_eq!((kept_bytes(), operations.in_flight_count()), (0, 1));
        operations.complete(slot, Ok(()));
        assert_eq!((kept_bytes(), is_empty(&operations)), (4096, true));
    }

    #[test]
    fn an_operation_may_end_before_anybody_looks_or_cares() {
        let (operations, wakes) = (Operations::new(), Arc::new(Wakes::default()));
        let (slot, mut io) = start_read(&operations);
        operations.complete(slot, Err(DeviceError::Closed));
        assert!(matches!(
            poll(&mut io, &wakes),
            Poll::Ready(Err(DeviceError::Closed))
        ));
        let (slot, io) = start_read(&operations);
        operations.complete(slot, Ok(()));
        assert_eq!(kept_bytes(), 0);
        drop(io);
        assert_eq!((kept_bytes(), is_empty(&operations)), (4096, true));
    }

    #[test]
    fn an_expired_operation_fails_at_once_and_holds_its_buffer() {
        let (operations, wakes) = (Operations::new(), Arc::new(Wakes::default()));
        let (slot, mut io) = start_read(&operations);
        assert!(poll(&mut io, &wakes).is_pending());
        operations.expire(slot, DeviceError::Closed);
        assert!(matches!(
            poll(&mut io, &wakes),
            Poll::Ready(Err(DeviceError::Closed))
        ));
        drop(io);
        assert_eq!((kept_bytes(), operations.in_flight_count()), (0, 1));
        operations.complete(slot, Ok(()));
        assert_eq!((kept_bytes(), is_empty(&operations)), (4096, true));
    }

    #[test]
    fn an_answer_given_at_expiry_is_not_changed_by_a_late_success() {
        let (operations, wakes) = (Operations::new(), Arc::new(Wakes::default()));
        let (slot, mut io) = start_read(&operations);
        operations.expire(slot, DeviceError::Closed);
        operations.complete(slot, Ok(()));
        assert!(matches!(
            poll(&mut io, &wakes),
            Poll::Ready(Err(DeviceError::Closed))
        ));
        drop(io);
        assert!(is_empty(&operations));
    }

    #[test]
    fn a_callback_runs_once_with_the_table_free() {
        let operations = Operations::new();
        let count = Rc::new(Cell::new(0));
        for expires in [false, true] {
            let (slot, io) = start_read(&operations);
            let (again, seen) = (Rc::clone(&operations), Rc::clone(&count));
            io.on_done(move |answer| {
                assert_eq!(answer.is_err(), expires);
                seen.set(seen.get() + 1);
                drop(start_read(&again));
            });
            if expires {
                operations.expire(slot, DeviceError::Closed);
            }
            operations.complete(slot, Ok(()));
        }
        assert_eq!(count.get(), 2);
        let (slot, io) = start_read(&operations);
        operations.complete(slot, Ok(()));
        let seen = Rc::clone(&count);
        io.on_done(move |answer| seen.set(seen.get() + answer.unwrap().len()));
        assert_eq!(count.get(), 2 + 4096);
    }
}
