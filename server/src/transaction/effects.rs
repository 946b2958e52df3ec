//! What the commands of a transaction bring about beside what they write, until it is committed.
//!
//! Owns nothing of it but the place.

use std::cell::{Cell, RefCell};

use bytes::Bytes;

use crate::events::HeldEvents;

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

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.events.take();
        self.posted.take();
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
