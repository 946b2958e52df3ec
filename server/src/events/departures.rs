//! Keys that expire or give way to others: the store tells their names, clients are told.
//!
//! Owns the events' names, and when the names are wanted at all.

use std::fmt;
use std::sync::{Arc, Weak};

use cellar_storage::{Db, Departure, DepartureListener};

use super::{EventClass, announce};
use crate::shared::Shared;

/// Listens to the store. Does not keep the server alive, which keeps the store.
pub struct Departures(Weak<Shared>);

impl Departures {
    /// A listener of this server.
    pub fn new(shared: &Arc<Shared>) -> Self {
        Self(Arc::downgrade(shared))
    }
}

impl fmt::Debug for Departures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Departures")
    }
}

const fn class(departure: Departure) -> (EventClass, &'static str) {
    match departure {
        Departure::Expired => (EventClass::Expired, "expired"),
        Departure::Evicted => (EventClass::Evicted, "evicted"),
    }
}

impl DepartureListener for Departures {
    fn wants(&self, departure: Departure) -> bool {
        self.0.upgrade().is_some_and(|shared| {
            let classes = shared.config.fast.event_classes();
            classes.has(class(departure).0) || shared.tracking.is_broadcasting()
        })
    }

    fn departed(&self, departure: Departure, db: Db, key: &[u8]) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        if shared.tracking.is_broadcasting() {
            shared.tracking.note_change(key, None);
        }
        let classes = shared.config.fast.event_classes();
        let (class, event) = class(departure);
        if classes.has(class) {
            let mut delivery = shared.delivery(None);
            announce(&shared.channels, classes, (event, db, key), &mut delivery);
        }
    }
}
