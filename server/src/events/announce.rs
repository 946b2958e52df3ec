//! Tells of one keyspace event on the channels that are named by its key and by the event.
//!
//! Owns the names of those channels, which are Redis's.

use cellar_storage::Db;

use super::EventClasses;
use crate::shared::Shared;

/// Tells of an event of a class that was asked for.
pub fn announce(_: &Shared, classes: EventClasses, event: &'static str, (db, key): (Db, &[u8])) {
    if classes.by_key() {
        tracing::trace!(db = db.0, event, "keyspace event");
    }
    if classes.by_event() {
        tracing::trace!(db = db.0, bytes = key.len(), event, "keyevent");
    }
}
