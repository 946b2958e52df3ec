//! A client of a cache, and what it knows of it.

use std::collections::BTreeMap;

use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::SimRandom;
use cellar_storage::{Clock, Db, Encoding, Handle, StoreError, WriteBatch};

use crate::world::World;

pub(crate) const DB: Db = Db(0);
/// Keys that are drawn from: some 120 MiB.
const KEYS: u64 = 40_000;
/// Keys without a deadline beside them, some 6 MiB, where only keys with one may be evicted.
pub(crate) const LASTING_KEYS: u64 = 2_000;
/// No write takes longer, in simulated microseconds.
const WRITE_US_MAX: u64 = 500_000;
const HOUR_MS: u64 = 3_600_000;

pub(crate) fn value(key: u64, version: u64, bytes: usize) -> Vec<u8> {
    let mut value = vec![(key ^ version) as u8; bytes];
    value[..8].copy_from_slice(&key.to_le_bytes());
    value[8..16].copy_from_slice(&version.to_le_bytes());
    value
}

pub(crate) async fn set(
    handle: &Handle,
    key: u64,
    value: Vec<u8>,
    expiry_ms: Option<u64>,
) -> Result<(), StoreError> {
    let mut batch = WriteBatch::new();
    batch.set(
        DB,
        key.to_be_bytes().to_vec(),
        value,
        Encoding::Raw,
        expiry_ms,
    );
    handle.commit(batch).await.map(|_| ())
}

pub(crate) async fn get(handle: &Handle, key: u64) -> Option<Vec<u8>> {
    let snapshot = handle.get(DB, &key.to_be_bytes()).await.unwrap()?;
    Some(snapshot.read(0..snapshot.len()).await.unwrap().to_vec())
}

/// What a client does to a cache, and what it knows of it.
pub(crate) struct Client {
    pub(crate) handle: Handle,
    clock: SimClock,
    pub(crate) random: SimRandom,
    /// The last version of each key that was begun to be written.
    pub(crate) versions: BTreeMap<u64, u64>,
    expires: bool,
    pub(crate) longest_us: u64,
}

impl Client {
    pub(crate) fn new(world: &World, expires: bool) -> Self {
        Self {
            handle: world.handle.clone(),
            clock: world.clock.clone(),
            random: SimRandom::new(5),
            versions: BTreeMap::new(),
            expires,
            longest_us: 0,
        }
    }

    /// Writes a key anew; it has to work, and soon.
    pub(crate) async fn write(&mut self, key: u64, bytes: usize, expires: bool) {
        let version = self.versions.entry(key).or_default();
        *version += 1;
        let deadline_ms = self.clock.unix_ms() + HOUR_MS + self.random.below(HOUR_MS);
        let before = self.clock.monotonic_us();
        let value = value(key, *version, bytes);
        let written = set(&self.handle, key, value, expires.then_some(deadline_ms)).await;
        written.unwrap_or_else(|error| panic!("writing key {key}: {error}"));
        let us = self.clock.monotonic_us() - before;
        assert!(us <= WRITE_US_MAX, "writing key {key} took {us} us");
        self.longest_us = us.max(self.longest_us);
    }

    /// Reads a key: it is what was written last, or it is not there.
    async fn read(&self, key: u64) -> bool {
        let Some(found) = get(&self.handle, key).await else {
            return false;
        };
        let version = self
            .versions
            .get(&key)
            .expect("only what was written is there");
        assert!(found == value(key, *version, found.len()), "key {key}");
        true
    }

    pub(crate) async fn write_for_ever(&mut self, bytes: usize, writes: u64) {
        for number in 0..writes {
            let key = LASTING_KEYS + self.random.below(KEYS);
            self.write(key, bytes, self.expires).await;
            let hot = LASTING_KEYS + self.random.below(KEYS / 8);
            self.read(hot).await;
            if number % 8 == 0 {
                self.clock.sleep(50).await;
            }
        }
    }

    /// The keys that are there, all of them right.
    pub(crate) async fn present(&self) -> Vec<u64> {
        let mut present = Vec::new();
        for key in self.versions.keys() {
            if self.read(*key).await {
                present.push(*key);
            }
        }
        present
    }
}
