//! The names of keys that are evicted, which only their records know.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use cellar_storage::{Clock, Db, Departure, DepartureListener, EvictionPolicy};

use crate::VALUE_BYTES;
use crate::client::{Client, DB};
use crate::world::{World, options};

/// Writes of the test: some 75 MiB.
const WRITES: u64 = 25_000;
/// Time for the last names to be read, in microseconds.
const PATIENCE_US: u64 = 1_000_000;

#[derive(Debug, Default)]
struct Names(Mutex<HashMap<Vec<u8>, u64>>);

impl DepartureListener for Names {
    fn wants(&self, departure: Departure) -> bool {
        departure == Departure::Evicted
    }

    fn departed(&self, departure: Departure, db: Db, key: &[u8]) {
        assert_eq!((departure, db), (Departure::Evicted, DB));
        *self.0.lock().unwrap().entry(key.to_vec()).or_default() += 1;
    }
}

#[test]
fn every_evicted_key_is_told_by_its_name() {
    let mut world = World::new(options(EvictionPolicy::AllKeysLru));
    let names = Arc::new(Names::default());
    world.handle.store().listen_to_departures(names.clone());
    let mut client = Client::new(&world, false);
    let clock = world.clock.clone();
    let present = world.executor.block_on(async {
        client.write_for_ever(VALUE_BYTES, WRITES).await;
        clock.sleep(PATIENCE_US).await;
        client.present().await
    });
    let evicted = world.handle.store().stats().evicted_keys;
    let names = names.0.lock().unwrap();
    assert!(evicted > 1_000, "{evicted} evicted");
    assert_eq!(names.values().sum::<u64>(), evicted);
    // whatever is not there was told, and what was never written was not
    let present: HashSet<u64> = present.into_iter().collect();
    for key in client.versions.keys() {
        let is_told = names.contains_key(&key.to_be_bytes()[..]);
        assert!(is_told || present.contains(key), "key {key}");
    }
}
