//! What the commands of a transaction bring about beside what they write, until it is committed.
//!
//! Owns nothing of it but the place.

use std::cell::Cell;

use crate::events::HeldEvents;

/// What the commands of a transaction that is not committed yet have brought about.
#[derive(Default)]
pub(crate) struct Effects {
    /// Keyspace events, told after the commit.
    pub(crate) events: HeldEvents,
    is_linearized: Cell<bool>,
}

impl Effects {
    /// The present command has looked up all it needs.
    pub(crate) fn note_linearized(&self) {
        self.is_linearized.set(true);
    }

    /// Whether the present command has looked up all it needs; for the next one that begins anew.
    pub(crate) fn take_linearized(&self) -> bool {
        self.is_linearized.take()
    }
}
