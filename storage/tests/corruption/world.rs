//! The store whose bits are flipped, and what is known of its keys. Owns the judgement of what a
//! damaged store answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::{SimDevice, SimExecutor};
use cellar_storage::{
    Db, Device, Encoding, Handle, Loss, OpenError, Store, StoreError, StoreOptions, WriteBatch,
};

use crate::places::{Place, What};

pub(crate) const SEGMENT_BYTES: u32 = 1 << 20;
/// The values that fill the devices.
pub(crate) const FILLER_BYTES: usize = 32_000;
const SEGMENTS: u64 = 16;
const DEVICE_BYTES: u64 = (1 << 20) + SEGMENTS * SEGMENT_BYTES as u64;
pub(crate) const NOW_MS: u64 = 1_700_000_000_000;
/// Far ahead of every test.
const LATER_MS: u64 = NOW_MS + 1_000_000_000;
/// Several rounds of group commit, and turns of the upkeep.
const PAUSE_US: u64 = 3_000_000;

pub(crate) type Key = (Db, Bytes);

/// How the store ends before a bit flips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Close,
    /// Everything is durable, and the power goes.
    CutOff,
}

/// Runs what needs no other tasks.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    SimExecutor::new(SimClock::new(NOW_MS), 1).block_on(future)
}

/// What flips came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) reads: u64,
    pub(crate) errors: u64,
    pub(crate) named: u64,
    pub(crate) reported: u64,
    pub(crate) mended: u64,
}

impl Outcomes {
    pub(crate) fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.errors += other.errors;
        self.named += other.named;
        self.reported += other.reported;
        self.mended += other.mended;
    }
}

/// A store at rest.
pub(crate) struct World {
    pub(crate) devices: Vec<Arc<SimDevice>>,
    pub(crate) ending: Ending,
    /// All keys that ever were, with their values.
    pub(crate) known: BTreeMap<Key, Option<Bytes>>,
    /// Everything below it is told to be durable by something on the devices.
    pub(crate) told_lsn: u64,
}

/// A store in use.
pub(crate) struct Opened {
    pub(crate) executor: SimExecutor,
    pub(crate) handle: Handle,
}

/// Opens what is on these devices.
pub(crate) fn open(devices: &[Arc<SimDevice>]) -> Result<Opened, OpenError> {
    let clock = SimClock::new(NOW_MS);
    let mut executor = SimExecutor::new(clock.clone(), 1);
    let devices = devices.iter().map(|d| Arc::clone(d) as Arc<dyn Device>);
    let options = StoreOptions {
        segment_bytes: SEGMENT_BYTES,
        value_cache_bytes: 0,
        ..StoreOptions::default()
    };
    let opening = Store::open(options, devices.collect(), Arc::new(clock), [7; 32]);
    let store = executor.block_on(opening)?;
    let handle = store.attach(0).unwrap();
    Ok(Opened { executor, handle })
}

impl World {
    pub(crate) fn new(ending: Ending) -> Self {
        let device = |seed| SimDevice::instant(4096, DEVICE_BYTES, seed);
        let mut world = Self {
            devices: vec![device(1), device(2)],
            ending,
            known: BTreeMap::new(),
            told_lsn: 0,
        };
        world.live(Ending::Close, Life::first);
        world.live(ending, Life::second);
        world
    }

    /// Lives one life of the store.
    fn live(&mut self, ending: Ending, script: impl AsyncFnOnce(&mut Life)) {
        let mut opened = open(&self.devices).unwrap();
        let spawner = opened.executor.spawner();
        spawner.spawn(Store::run_background(opened.handle.clone()));
        let mut life = Life {
            handle: opened.handle.clone(),
            known: std::mem::take(&mut self.known),
        };
        let told_lsn = opened.executor.block_on(async {
            script(&mut life).await;
            life.pause().await;
            let told = life.handle.durable_lsn();
            life.set(Db(0), "last", 20).await;
            let published = life.handle.published_lsn();
            life.handle.wait_durable(published).await.unwrap();
            if ending == Ending::Close {
                life.handle.store().close(&life.handle).await.unwrap();
            }
            told
        });
        self.known = life.known;
        self.told_lsn = told_lsn.get();
        self.devices = self.devices.iter().map(|device| device.crash(1)).collect();
    }

    /// The devices once more.
    pub(crate) fn copy(&self) -> Vec<Arc<SimDevice>> {
        self.devices.iter().map(|device| device.crash(1)).collect()
    }

    /// Flips a bit of a copy, opens it and judges every answer.
    pub(crate) fn flip(&self, place: &Place, at: u64, mask: u8) -> Outcomes {
        let devices = self.copy();
        devices[place.device].rot(place.offset + at, mask);
        let mut opened = open(&devices).unwrap();
        let mut outcomes = Outcomes::default();
        let handle = opened.handle.clone();
        let is_young =
            self.ending == Ending::CutOff && place.lsn.is_some_and(|lsn| lsn >= self.told_lsn);
        let damaged = opened.executor.block_on(async {
            let mut damaged = Vec::new();
            for (key, expected) in &self.known {
                outcomes.reads += 1;
                match get(&handle, key).await {
                    Ok(found) if found == *expected => {}
                    Ok(None) if is_named(&handle, key) => outcomes.named += 1,
                    // The last write is not told to be durable yet: it may be torn as well.
                    Ok(_) if is_young && is_last(key) => {}
                    Ok(found) => panic!("{key:?}: {:?}", found.map(|value| value.len())),
                    Err(error) => {
                        assert!(is_damage(&error), "{error}");
                        damaged.push((key, expected));
                    }
                }
            }
            damaged
        });
        let reports = handle.store().stats().corrupt_records;
        outcomes.errors += damaged.len() as u64;
        outcomes.reported += u64::from(reports > 0);
        assert!(damaged.is_empty() || reports > 0, "nobody reported it");
        let is_structure = match place.what {
            What::Superblock | What::Header | What::Footer | What::Entry => true,
            What::FreeHeader | What::Hot(_) | What::Cold(_) | What::Filler => false,
        };
        assert!(!is_structure || reports > 0, "nobody reported it");
        if !damaged.is_empty() {
            outcomes.mended += mend(&mut opened, &damaged);
            drop(opened);
            check_mended(&devices, &damaged);
        }
        outcomes
    }

    /// Whether the place is one that a crash may have torn, for all that the devices tell.
    pub(crate) fn is_young(&self, place: &Place) -> bool {
        self.ending == Ending::CutOff && place.lsn.is_some_and(|lsn| lsn >= self.told_lsn)
    }
}

/// What was written anew or removed stays so.
fn check_mended(devices: &[Arc<SimDevice>], damaged: &[(&Key, &Option<Bytes>)]) {
    let copies: Vec<_> = devices.iter().map(|device| device.crash(1)).collect();
    let mut opened = open(&copies).unwrap();
    let handle = opened.handle.clone();
    opened.executor.block_on(async {
        for (key, expected) in damaged {
            assert_eq!(get(&handle, key).await.unwrap().as_ref(), expected.as_ref());
        }
    });
}

/// Removes what should not be there, and sets what should, over the damage.
fn mend(opened: &mut Opened, damaged: &[(&Key, &Option<Bytes>)]) -> u64 {
    let handle = opened.handle.clone();
    let spawner = opened.executor.spawner();
    spawner.spawn(Store::run_background(handle.clone()));
    opened.executor.block_on(async {
        for (key, expected) in damaged {
            let mut batch = WriteBatch::new();
            batch.remove(key.0, key.1.clone());
            assert_eq!(handle.commit(batch).await.unwrap().removed, 1, "{key:?}");
            assert!(get(&handle, key).await.unwrap().is_none());
            if let Some(value) = expected {
                let mut batch = WriteBatch::new();
                batch.set(key.0, key.1.clone(), value.clone(), Encoding::Raw, None);
                assert!(handle.commit(batch).await.unwrap().applied);
            }
            assert_eq!(get(&handle, key).await.unwrap().as_ref(), expected.as_ref());
        }
        handle.wait_durable(handle.published_lsn()).await.unwrap();
    });
    damaged.len() as u64
}

pub(crate) fn is_last((_, key): &Key) -> bool {
    &key[..] == b"last"
}

fn is_damage(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Corrupt { .. } | StoreError::MissingPage { .. } | StoreError::Format(_)
    )
}

/// Whether a report names the key.
fn is_named(handle: &Handle, (_, key): &Key) -> bool {
    let reports = handle.store().last_damage();
    reports
        .iter()
        .any(|damage| damage.loss == Loss::Key(key.clone()))
}

pub(crate) async fn get(handle: &Handle, (db, key): &Key) -> Result<Option<Bytes>, StoreError> {
    match handle.get(*db, key).await? {
        Some(snapshot) => Ok(Some(snapshot.read(0..snapshot.len()).await?)),
        None => Ok(None),
    }
}

/// One life of the store, and what its keys hold.
struct Life {
    handle: Handle,
    known: BTreeMap<Key, Option<Bytes>>,
}

impl Life {
    /// Fills the devices until the cleaner has moved what was written first.
    async fn first(&mut self) {
        self.fill().await;
        for number in 0..1_000 {
            let filler = format!("filler-{}", number % 7);
            self.set(Db(0), &filler, FILLER_BYTES).await;
            // Something to be moved in each segment, whichever the cleaner takes.
            if number % 29 == 0 {
                self.set(Db(0), &format!("spread-{number}"), 45).await;
            }
            if number % 97 == 0 {
                self.set(Db(0), &format!("long-{number}"), 34_000).await;
            }
        }
        self.pause().await;
        assert!(self.handle.store().stats().cleaner_relocated_bytes > 0);
    }

    /// One of each kind.
    async fn fill(&mut self) {
        for number in 0..12 {
            self.set(Db(0), &format!("kept-{number}"), 30 * number)
                .await;
            self.set(Db(1), &format!("gone-{number}"), 50).await;
            self.set(Db(0), &format!("back-{number}"), 40).await;
        }
        self.set(Db(0), "kept-3", 333).await;
        self.set_until(Db(0), "expiring", 25, Some(LATER_MS)).await;
        self.set(Db(0), "long", 90_000).await;
        self.set(Db(0), "longer", 50_000).await;
        self.remove(Db(1), &["gone-0", "gone-1", "gone-2"]).await;
        self.remove(Db(1), &["gone-3"]).await;
        self.set(Db(3), "flushed", 30).await;
        self.flush(Db(3)).await;
        self.set_all(Db(2), &["one", "two", "three"]).await;
    }

    async fn second(&mut self) {
        self.set(Db(4), "flushed", 30).await;
        self.flush(Db(4)).await;
        self.set(Db(4), "not flushed", 30).await;
        self.remove(Db(1), &["gone-4", "gone-5"]).await;
        self.remove(Db(0), &["back-1", "longer"]).await;
        self.set(Db(0), "back-1", 77).await;
        self.set(Db(0), "kept-5", 555).await;
        self.set_until(Db(0), "expiring-2", 25, Some(LATER_MS))
            .await;
        self.set_all(Db(2), &["two", "four"]).await;
        self.set(Db(0), "long-2", 40_000).await;
        self.patch("long", 20_000, 30).await;
    }

    async fn pause(&self) {
        self.handle.clock().sleep(PAUSE_US).await;
    }

    async fn set(&mut self, db: Db, key: &str, bytes: usize) {
        self.set_until(db, key, bytes, None).await;
    }

    async fn set_until(&mut self, db: Db, key: &str, bytes: usize, expiry_ms: Option<u64>) {
        let (key, value) = (Bytes::copy_from_slice(key.as_bytes()), self.value(bytes));
        let mut batch = WriteBatch::new();
        batch.set(db, key.clone(), value.clone(), Encoding::Raw, expiry_ms);
        assert!(self.handle.commit(batch).await.unwrap().applied);
        self.known.insert((db, key), Some(value));
    }

    async fn set_all(&mut self, db: Db, keys: &[&str]) {
        let mut batch = WriteBatch::new();
        for key in keys {
            let (key, value) = (Bytes::copy_from_slice(key.as_bytes()), self.value(60));
            batch.set(db, key.clone(), value.clone(), Encoding::Raw, None);
            self.known.insert((db, key), Some(value));
        }
        assert!(self.handle.commit(batch).await.unwrap().applied);
    }

    async fn remove(&mut self, db: Db, keys: &[&str]) {
        let mut batch = WriteBatch::new();
        for key in keys {
            let key = Bytes::copy_from_slice(key.as_bytes());
            batch.remove(db, key.clone());
            self.known.insert((db, key), None);
        }
        self.handle.commit(batch).await.unwrap();
    }

    async fn flush(&mut self, db: Db) {
        self.handle.flush_db(db).await.unwrap();
        let known = self.known.iter_mut();
        known
            .filter(|(key, _)| key.0 == db)
            .for_each(|(_, value)| *value = None);
    }

    async fn patch(&mut self, key: &str, offset: usize, bytes: usize) {
        let key = Bytes::copy_from_slice(key.as_bytes());
        let data = self.value(bytes);
        let locks = self.handle.lock(&[(Db(0), &key)]).await;
        let range = (offset as u64, &data[..]);
        let written = self
            .handle
            .write_range(&locks, Db(0), &key, range.0, range.1)
            .await;
        drop(locks);
        written.unwrap();
        let value = self.known.get_mut(&(Db(0), key)).unwrap();
        let mut patched = value.as_ref().unwrap().to_vec();
        patched[offset..offset + bytes].copy_from_slice(&data);
        *value = Some(patched.into());
    }

    /// A value like no other.
    fn value(&self, bytes: usize) -> Bytes {
        let mut value = vec![0; bytes];
        cellar_storage::device::sim::SimRandom::new(self.handle.random_u64()).fill(&mut value);
        value.into()
    }
}
