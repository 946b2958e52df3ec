//! How other threads reach a connection's coroutine.
//!
//! Owns the events that wait for it and its waker. An event is raised first and the waker called
//! then; the coroutine registers first and looks then: none is missed.

use std::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire};
use std::task::Waker;

use parking_lot::Mutex;

/// Something that a connection has to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Event {
    /// Close now.
    Kill,
    /// Close once the present command is answered: the server stops.
    Stop,
    /// The inbox holds something.
    Inbox,
    /// It may have its chance at a key that it waits for.
    Chance,
    /// CLIENT UNBLOCK: the blocking command ends as if its time were up.
    UnblockTimeout,
    /// CLIENT UNBLOCK ERROR: the blocking command ends with an error.
    UnblockError,
}

impl Event {
    const fn bit(self) -> u32 {
        1 << self as u8
    }
}

/// The events of one connection.
#[derive(Debug, Default)]
pub struct Signal {
    raised: AtomicU32,
    waker: Mutex<Option<Waker>>,
}

impl Signal {
    /// Raises an event and wakes the connection.
    pub fn raise(&self, event: Event) {
        self.raised.fetch_or(event.bit(), AcqRel);
        // the waker is cloned out: it must not run under the lock
        let waker = self.waker.lock().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Raises an event from the connection's own coroutine, which looks before it waits.
    pub fn mark(&self, event: Event) {
        self.raised.fetch_or(event.bit(), AcqRel);
    }

    /// The waker that later events call.
    pub fn register(&self, waker: &Waker) {
        let mut slot = self.waker.lock();
        if !slot.as_ref().is_some_and(|old| old.will_wake(waker)) {
            *slot = Some(waker.clone());
        }
    }

    /// Whether any event waits.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Acquire) != 0
    }

    /// Whether this event waits.
    pub fn has(&self, event: Event) -> bool {
        self.raised.load(Acquire) & event.bit() != 0
    }

    /// Takes the event; returns whether it waited.
    pub fn take(&self, event: Event) -> bool {
        self.has(event) && self.raised.fetch_and(!event.bit(), AcqRel) & event.bit() != 0
    }
}
