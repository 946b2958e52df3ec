//! Keys that go without a command: they expire, or give way to others. Whoever wants their names is
//! told, although the index does not have them: the record is read before it is forgotten.
//!
//! ```text
//!  find the record and pin its segment --> remove the key --> read the name --> tell
//! ```
//!
//! Owns the bound on names that are being read. Must cost a removal one look while nobody wants to
//! know, and never hold up one that is met by a lookup: the key stays, unseen, where too many names
//! are being read, and goes another time.

use std::fmt::Debug;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use cellar_index::Identity;
use tokio::sync::Notify;

use crate::database::{Db, DbRef};
use crate::place;
use crate::read::{Located, Source, StoredRecord};
use crate::store::Store;
use crate::units::Location;
use crate::worker::Worker;

/// Names that are read from the devices at the same time at most: half of what one worker may have
/// in flight, so that clients' reads find room beside them.
const READ_COUNT_MAX: u32 = 256;

/// Why a key went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Its deadline passed.
    Expired,
    /// It gave way to others.
    Evicted,
}

/// Somebody who wants to know which keys go.
pub trait DepartureListener: Debug + Send + Sync {
    /// Whether this is of interest now. Asked before each removal, from any thread.
    fn wants(&self, departure: Departure) -> bool;

    /// A key of the database that has this number now is gone. Called from any thread: it may set
    /// flags, queue and wake, and must never wait or call the store.
    fn departed(&self, departure: Departure, db: Db, key: &[u8]);
}

/// Who is told, and what is under way.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    listener: OnceLock<Arc<dyn DepartureListener>>,
    reading: AtomicU32,
    was_read: Notify,
}

/// What is known of a key before it goes.
pub(crate) enum Farewell {
    /// Nobody wants to know.
    Silent,
    /// Its record, held until its name is told.
    Held(Located),
    /// Too many names are being read: the key has to stay.
    Busy,
}

impl Departures {
    pub(crate) fn wants(&self, departure: Departure) -> bool {
        let listener = self.listener.get();
        listener.is_some_and(|listener| listener.wants(departure))
    }

    fn is_full(&self) -> bool {
        self.reading.load(Relaxed) >= READ_COUNT_MAX
    }

    /// Waits until another name may be read: those whose work it is to remove keys do that before.
    pub(crate) async fn wait_for_room(&self) {
        loop {
            let mut was_read = pin!(self.was_read.notified());
            was_read.as_mut().enable();
            if !self.is_full() {
                return;
            }
            was_read.await;
        }
    }

    fn note_read(&self) {
        self.reading.fetch_sub(1, Relaxed);
        self.was_read.notify_waiters();
    }
}

impl Store {
    /// Has `listener` told of keys that go without a command, from now on; called once.
    pub fn listen_to_departures(&self, listener: Arc<dyn DepartureListener>) {
        let is_first = self.departures().listener.set(listener).is_ok();
        assert!(is_first, "there is one listener");
    }

    /// Tells that a key is gone, where somebody wants to know.
    pub(crate) fn tell_departed(&self, departure: Departure, database: DbRef, key: &[u8]) {
        let departures = self.departures();
        if departures.wants(departure)
            && let Some(listener) = departures.listener.get()
            && let Some(db) = self.databases().number_of(database)
        {
            listener.departed(departure, db, key);
        }
    }
}

impl Worker {
    /// Holds the record that is about to lose its key, where somebody wants to know its name.
    pub(crate) fn say_farewell(
        &self,
        departure: Departure,
        identity: Identity,
        at: Location,
    ) -> Farewell {
        let departures = self.store().departures();
        if !departures.wants(departure) {
            return Farewell::Silent;
        }
        if departures.is_full() {
            return Farewell::Busy;
        }
        match self.locate(identity) {
            Some(located) if place::of(&located.entry) == at => Farewell::Held(located),
            // it is not there any more, and will not be removed
            Some(_) | None => Farewell::Silent,
        }
    }

    /// The key is gone: tells its name, once it is read.
    pub(crate) fn tell_gone(
        self: &Rc<Self>,
        departure: Departure,
        database: DbRef,
        farewell: Farewell,
    ) {
        let Farewell::Held(located) = farewell else {
            return;
        };
        let store = Arc::clone(self.store());
        let tell = move |record: &StoredRecord| {
            store.tell_departed(departure, database, record.key());
        };
        match self.source(located) {
            Source::Memory(record) => tell(&record),
            Source::Device(fetch) => {
                self.store().departures().reading.fetch_add(1, Relaxed);
                let store = Arc::clone(self.store());
                fetch.on_done(move |outcome| {
                    store.departures().note_read();
                    // a record that cannot be read was reported where that was found
                    if let Ok(record) = outcome {
                        tell(record);
                    }
                });
            }
        }
    }
}
