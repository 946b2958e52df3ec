//! One run of a script, as the callbacks of its interpreter see it.
//!
//! Owns when a script gives way, why it is to stop, and what it wants to be done once it is
//! committed.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use cellar_storage::Clock;

use super::ask::{Answer, Ask};
use super::random::Random;
use super::running::Running;
use super::stack::Switch;
use crate::resp::{Args, Protocol};

/// Microseconds after which a script lets others run: as long as a connection's turn.
const SLICE_US_MAX: u64 = 50;

/// Lines that a script may have written to the log when it is done; more are dropped.
const LOG_LINE_COUNT_MAX: usize = 1000;

/// Why a script is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// SCRIPT KILL or FUNCTION KILL.
    Killed,
    /// It needs a lock that it has not, or nobody waits for it any more.
    Abandoned,
}

/// One run of a script.
pub(super) struct Course {
    switch: Rc<Switch>,
    clock: Arc<dyn Clock>,
    running: RefCell<Option<Arc<Running>>>,
    protocol: Cell<Protocol>,
    stop: Cell<Option<Stop>>,
    slice_started_us: Cell<u64>,
    /// What `math.random` draws from.
    pub(super) random: Random,
    log_lines: RefCell<Vec<(LineLevel, String)>>,
    has_changed: Cell<bool>,
}

/// How important a script finds a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineLevel {
    /// `redis.LOG_DEBUG`
    Debug,
    /// `redis.LOG_VERBOSE`
    Verbose,
    /// `redis.LOG_NOTICE`
    Notice,
    /// `redis.LOG_WARNING`
    Warning,
}

impl Course {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            switch: Rc::default(),
            clock,
            running: RefCell::default(),
            protocol: Cell::default(),
            stop: Cell::default(),
            slice_started_us: Cell::default(),
            random: Random::default(),
            log_lines: RefCell::default(),
            has_changed: Cell::default(),
        }
    }

    /// The way to the worker's stack.
    pub(super) fn switch(&self) -> &Rc<Switch> {
        &self.switch
    }

    /// Begins a run.
    pub(super) fn begin(&self, running: &Arc<Running>) {
        *self.running.borrow_mut() = Some(Arc::clone(running));
        self.protocol.set(Protocol::Resp2);
        self.stop.set(None);
        self.slice_started_us.set(self.clock.monotonic_us());
        self.log_lines.borrow_mut().clear();
    }

    /// Why it is to stop, if it is.
    pub(super) fn stop(&self) -> Option<Stop> {
        self.stop.get()
    }

    /// The protocol version in which it sees replies.
    pub(super) fn protocol(&self) -> Protocol {
        self.protocol.get()
    }

    /// `redis.setresp`
    pub(super) fn set_protocol(&self, protocol: Protocol) {
        self.protocol.set(protocol);
    }

    /// Lets others run if it is time; false where the script is to stop.
    pub(super) fn look(&self) -> bool {
        if self.stop.get().is_some() {
            return false;
        }
        let running = self.running.borrow();
        if running.as_ref().is_some_and(|running| running.is_killed()) {
            self.stop.set(Some(Stop::Killed));
            return false;
        }
        drop(running);
        let now_us = self.clock.monotonic_us();
        if now_us.saturating_sub(self.slice_started_us.get()) < SLICE_US_MAX {
            return true;
        }
        let may_go_on = matches!(self.ask(Ask::Pause), Answer::Go);
        self.slice_started_us.set(self.clock.monotonic_us());
        may_go_on
    }

    /// Runs a command: its reply, encoded; nothing where the script is to stop.
    pub(super) fn call(&self, args: Args) -> Option<bytes::Bytes> {
        if self.stop.get().is_some() {
            return None;
        }
        match self.ask(Ask::Call(args, self.protocol.get())) {
            Answer::Reply(reply) => Some(reply),
            Answer::Go | Answer::Stop => None,
        }
    }

    fn ask(&self, ask: Ask) -> Answer {
        let answer = self.switch.ask(ask);
        if matches!(answer, Answer::Stop) && self.stop.get().is_none() {
            self.stop.set(Some(Stop::Abandoned));
        }
        answer
    }

    /// Notes that a library works otherwise from here on.
    pub(super) fn note_changed(&self) {
        self.has_changed.set(true);
    }

    /// Whether a library works otherwise than at first.
    pub(super) fn has_changed(&self) -> bool {
        self.has_changed.get()
    }

    /// Keeps a line for the log.
    pub(super) fn log(&self, level: LineLevel, line: String) {
        let mut lines = self.log_lines.borrow_mut();
        if lines.len() < LOG_LINE_COUNT_MAX {
            lines.push((level, line));
        }
    }

    /// Writes the kept lines to the log.
    pub(super) fn write_log(&self) {
        for (level, line) in self.log_lines.take() {
            match level {
                LineLevel::Debug => tracing::trace!("{line}"),
                LineLevel::Verbose => tracing::debug!("{line}"),
                LineLevel::Notice => tracing::info!("{line}"),
                LineLevel::Warning => tracing::warn!("{line}"),
            }
        }
    }
}
