//! What the commands of a transaction bring about beside what they write, until it is committed.
//!
//! Owns nothing of it but the place.

use std::cell::{Cell, RefCell};

use bytes::Bytes;

use crate::events::HeldEvents;

/// Bytes of lines for MONITOR that one script may leave; more are dropped. A client that listens
/// to more than that at once would not keep up either.
const LINES_BYTES_MAX: usize = 1024 * 1024;

/// A message to a channel.
pub(crate) struct Posted {
    /// Whether it is a shard channel.
    pub(crate) is_shard: bool,
    /// The channel.
    pub(crate) channel: Bytes,
    /// The message.
    pub(crate) payload: Bytes,
}

/// What the commands of a transaction that is not committed yet have brought about.
#[derive(Default)]
pub(crate) struct Effects {
    /// Keyspace events, told after the commit.
    pub(crate) events: HeldEvents,
    /// Messages of scripts, sent after the commit.
    posted: RefCell<Vec<Posted>>,
    /// Commands of scripts as MONITOR shows them, sent after the commit.
    lines: RefCell<Vec<Bytes>>,
    lines_bytes: Cell<usize>,
    is_linearized: Cell<bool>,
}

impl Effects {
    /// Keeps a message.
    pub(crate) fn post(&self, posted: Posted) {
        self.posted.borrow_mut().push(posted);
    }

    /// Takes the messages, oldest first.
    pub(crate) fn take_posted(&self) -> Vec<Posted> {
        self.posted.take()
    }

    /// Keeps a line for MONITOR.
    pub(crate) fn show(&self, line: Bytes) {
        let bytes = self.lines_bytes.get() + line.len();
        if bytes <= LINES_BYTES_MAX {
            self.lines_bytes.set(bytes);
            self.lines.borrow_mut().push(line);
        }
    }

    /// Takes the lines, oldest first.
    pub(crate) fn take_lines(&self) -> Vec<Bytes> {
        self.lines_bytes.take();
        self.lines.take()
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.events.take();
        self.posted.take();
        self.take_lines();
        self.is_linearized.take();
    }

    /// The present command has looked up all it needs.
    pub(crate) fn note_linearized(&self) {
        self.is_linearized.set(true);
    }

    /// Whether the present command has looked up all it needs; for the next one that begins anew.
    pub(crate) fn take_linearized(&self) -> bool {
        self.is_linearized.take()
    }
}
