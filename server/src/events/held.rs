//! Events of a transaction: they are told once it is committed, and not at all if it is run again.
//!
//! Owns their order, which is the one in which they happened.

use std::cell::RefCell;

use bytes::Bytes;
use cellar_storage::Db;

use super::EventClass;

/// One event.
#[derive(Debug)]
pub struct HeldEvent {
    /// Its class.
    pub class: EventClass,
    /// Redis's name of it.
    pub event: &'static str,
    /// The key's database.
    pub db: Db,
    /// The key.
    pub key: Bytes,
}

/// Events that wait for the end of what they belong to: as many as its commands have keys.
#[derive(Debug, Default)]
pub struct HeldEvents(RefCell<Vec<HeldEvent>>);

impl HeldEvents {
    /// Adds an event.
    pub fn push(&self, event: HeldEvent) {
        self.0.borrow_mut().push(event);
    }

    /// Takes all of them, oldest first.
    pub fn take(&self) -> Vec<HeldEvent> {
        self.0.take()
    }
}
