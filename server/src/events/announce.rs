//! Tells of one keyspace event on the channels that are named by its key and by the event.
//!
//! Owns the names of those channels, which are Redis's.

use std::io::Write;

use cellar_storage::Db;

use super::EventClasses;
use crate::client::Delivery;
use crate::pubsub::Channels;

/// Tells of an event, on the channels that were asked for.
pub fn announce(
    channels: &Channels,
    classes: EventClasses,
    (event, db, key): (&str, Db, &[u8]),
    delivery: &mut Delivery<'_>,
) {
    if classes.by_key() {
        let channel = name("keyspace", db, key);
        channels.publish(&channel, event.as_bytes(), delivery);
    }
    if classes.by_event() {
        let channel = name("keyevent", db, event.as_bytes());
        channels.publish(&channel, key, delivery);
    }
}

fn name(space: &str, db: Db, what: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(what.len() + 20);
    write!(name, "__{space}@{}__:", db.0).expect("a vector takes everything");
    name.extend_from_slice(what);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_redis_names() {
        assert_eq!(name("keyspace", Db(0), b"k\n"), b"__keyspace@0__:k\n");
        assert_eq!(name("keyevent", Db(12), b"set"), b"__keyevent@12__:set");
    }
}
