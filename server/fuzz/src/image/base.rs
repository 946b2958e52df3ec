//! The valid store that is changed: one that lived twice, was cleaned, and has every kind of
//! structure. Owns what was written to it; made once in a process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::{SimDevice, SimExecutor};
use cellar_storage::{Db, Device, Encoding, Handle, Store, StoreOptions, WriteBatch};

use super::place::{self, Place};

pub(super) const SEGMENT_BYTES: u32 = 1 << 20;
/// The fewest that a device may have.
const SEGMENTS: u64 = 16;
const DEVICE_BYTES: u64 = (1 << 20) + SEGMENTS * SEGMENT_BYTES as u64;
pub(super) const NOW_MS: u64 = 1_700_000_000_000;
/// Far ahead of every start.
const LATER_MS: u64 = NOW_MS + 1_000_000_000;
/// Several rounds of group commit, and turns of the upkeep.
const PAUSE_US: u64 = 3_000_000;
/// The values that fill the devices, until segments are cleaned.
const FILLER_BYTES: usize = 32_000;
const FILLERS: u64 = 1_000;

pub(super) type Key = (Db, Bytes);

/// How the store ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Close,
    /// Everything is durable, and the power goes.
    CutOff,
}

/// A store at rest.
pub(super) struct Base {
    devices: Vec<Arc<SimDevice>>,
    /// All keys that ever were, with the lengths of their values.
    pub(super) written: BTreeMap<Key, BTreeSet<usize>>,
    pub(super) places: Vec<Place>,
}

static CLOSED: LazyLock<Base> = LazyLock::new(|| Base::new(Ending::Close));
static CUT_OFF: LazyLock<Base> = LazyLock::new(|| Base::new(Ending::CutOff));

/// What each byte of a key's value is.
pub(super) fn byte_of(key: &[u8]) -> u8 {
    1 + (crc32c::crc32c(key) % 255) as u8
}

pub(super) fn options() -> StoreOptions {
    StoreOptions {
        segment_bytes: SEGMENT_BYTES,
        value_cache_bytes: 0,
        ..StoreOptions::default()
    }
}

impl Base {
    pub(super) fn of(ending: Ending) -> &'static Self {
        match ending {
            Ending::Close => &CLOSED,
            Ending::CutOff => &CUT_OFF,
        }
    }

    fn new(ending: Ending) -> Self {
        let device = |seed| SimDevice::instant(4096, DEVICE_BYTES, seed);
        let mut base = Self {
            devices: vec![device(1), device(2)],
            written: BTreeMap::new(),
            places: Vec::new(),
        };
        base.live(Ending::Close, Life::first);
        base.live(ending, Life::second);
        base.places = place::find(&base.devices);
        base
    }

    /// The devices once more.
    pub(super) fn copy(&self) -> Vec<Arc<SimDevice>> {
        super::copies(&self.devices)
    }

    fn live(&mut self, ending: Ending, script: impl AsyncFnOnce(&mut Life)) {
        let clock = SimClock::new(NOW_MS);
        let mut executor = SimExecutor::new(clock.clone(), 1);
        let devices = self.devices.iter();
        let devices = devices.map(|device| Arc::clone(device) as Arc<dyn Device>);
        let opening = Store::open(options(), devices.collect(), Arc::new(clock), [7; 32]);
        let store = executor.block_on(opening).expect("a valid store");
        let handle = store.attach(0).expect("a simulated device attaches");
        executor
            .spawner()
            .spawn(Store::run_background(handle.clone()));
        let mut life = Life {
            handle,
            written: std::mem::take(&mut self.written),
        };
        executor.block_on(async {
            script(&mut life).await;
            life.pause().await;
            life.set(Db(0), "last", 20).await;
            let handle = &life.handle;
            let published = handle.published_lsn();
            handle.wait_durable(published).await.expect("a good device");
            if ending == Ending::Close {
                handle.store().close(handle).await.expect("a good device");
            }
        });
        self.written = life.written;
        self.devices = self.copy();
    }
}

/// One life of the store.
struct Life {
    handle: Handle,
    written: BTreeMap<Key, BTreeSet<usize>>,
}

impl Life {
    /// One of each kind, and so much else that the cleaner has moved it.
    async fn first(&mut self) {
        for number in 0..8 {
            self.set(Db(0), &format!("kept-{number}"), 30 * number)
                .await;
            self.set(Db(1), &format!("gone-{number}"), 50).await;
        }
        self.set_until(Db(0), "expiring", 25, Some(LATER_MS)).await;
        self.set(Db(0), "long", 90_000).await;
        self.set(Db(0), "longer", 50_000).await;
        self.remove(Db(1), &["gone-0", "gone-1"]).await;
        self.set(Db(3), "flushed", 30).await;
        self.handle.flush_db(Db(3)).await.expect("a good device");
        self.set_all(Db(2), &["one", "two", "three"]).await;
        for number in 0..FILLERS {
            let filler = format!("filler-{}", number % 7);
            self.set(Db(0), &filler, FILLER_BYTES).await;
            if number % 29 == 0 {
                self.set(Db(0), &format!("spread-{number}"), 45).await;
            }
        }
        self.pause().await;
        let stats = self.handle.store().stats();
        assert!(stats.cleaner_relocated_bytes > 0, "there are cold segments");
    }

    async fn second(&mut self) {
        self.set(Db(4), "flushed", 30).await;
        self.handle.flush_db(Db(4)).await.expect("a good device");
        self.remove(Db(1), &["gone-4", "gone-5"]).await;
        self.remove(Db(0), &["longer"]).await;
        self.set(Db(0), "kept-3", 333).await;
        self.set_all(Db(2), &["two", "four"]).await;
        self.set(Db(0), "long-2", 40_000).await;
    }

    async fn pause(&self) {
        self.handle.clock().sleep(PAUSE_US).await;
    }

    async fn set(&mut self, db: Db, key: &str, bytes: usize) {
        self.set_until(db, key, bytes, None).await;
    }

    async fn set_until(&mut self, db: Db, key: &str, bytes: usize, expiry_ms: Option<u64>) {
        let mut batch = WriteBatch::new();
        self.add(&mut batch, (db, key), bytes, expiry_ms);
        self.commit(batch).await;
    }

    async fn set_all(&mut self, db: Db, keys: &[&str]) {
        let mut batch = WriteBatch::new();
        for key in keys {
            self.add(&mut batch, (db, key), 60, None);
        }
        self.commit(batch).await;
    }

    fn add(
        &mut self,
        batch: &mut WriteBatch,
        (db, key): (Db, &str),
        bytes: usize,
        expiry_ms: Option<u64>,
    ) {
        let key = Bytes::copy_from_slice(key.as_bytes());
        let value = vec![byte_of(&key); bytes];
        batch.set(db, key.clone(), value, Encoding::Raw, expiry_ms);
        self.written.entry((db, key)).or_default().insert(bytes);
    }

    async fn remove(&mut self, db: Db, keys: &[&str]) {
        let mut batch = WriteBatch::new();
        for key in keys {
            batch.remove(db, Bytes::copy_from_slice(key.as_bytes()));
        }
        self.commit(batch).await;
    }

    async fn commit(&self, batch: WriteBatch) {
        let outcome = self.handle.commit(batch).await;
        assert!(outcome.expect("a good device").applied);
    }
}
