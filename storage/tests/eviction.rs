//! A cache that is written for ever on a small simulated device, under every policy: no write fails
//! or waits long, what is there is right, and nothing that was evicted comes back after a crash.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]
#![expect(clippy::print_stdout, reason = "a test may tell what it found")]

use std::collections::BTreeMap;
use std::sync::Arc;

use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::{Latency, SimDevice, SimExecutor, SimRandom};
use cellar_storage::{
    AppendFsync, Clock, Db, Encoding, EvictionPolicy, Handle, SEGMENT_BYTES_MIN, Store, StoreError,
    StoreOptions, WriteBatch,
};

const DB: Db = Db(0);
/// Segments of the device: what the store holds at most is some 45 MiB.
const SEGMENTS: u64 = 64;
/// Place for the superblocks.
const RESERVED_BYTES: u64 = 1 << 20;
const VALUE_BYTES: usize = 3000;
/// Keys that are drawn from: some 120 MiB.
const KEYS: u64 = 40_000;
/// Keys without a deadline beside them, some 6 MiB, where only keys with one may be evicted.
const LASTING_KEYS: u64 = 2_000;
/// Lives of one run, each ended by a crash.
const LIVES: u64 = 3;
/// Writes of one life: some 75 MiB.
const WRITES: u64 = 25_000;
/// No write takes longer, in simulated microseconds.
const WRITE_US_MAX: u64 = 500_000;
const HOUR_MS: u64 = 3_600_000;

struct World {
    clock: SimClock,
    device: Arc<SimDevice>,
    executor: SimExecutor,
    handle: Handle,
}

impl World {
    fn new(options: StoreOptions) -> Self {
        let clock = SimClock::new(1_700_000_000_000);
        let bytes = RESERVED_BYTES + SEGMENTS * u64::from(SEGMENT_BYTES_MIN);
        let device = SimDevice::timed(4096, bytes, 1, clock.clone(), Latency::default());
        Self::open(clock, device, options)
    }

    fn open(clock: SimClock, device: Arc<SimDevice>, options: StoreOptions) -> Self {
        let mut executor = SimExecutor::new(clock.clone(), 1);
        let opening = Store::open(
            options,
            vec![device.clone()],
            Arc::new(clock.clone()),
            [9; 32],
        );
        let store = executor.block_on(opening).unwrap();
        let handle = store.attach(0).unwrap();
        executor
            .spawner()
            .spawn(Store::run_background(handle.clone()));
        Self {
            clock,
            device,
            executor,
            handle,
        }
    }

    /// The power goes, and the store is opened on what is left.
    fn crash(self, options: StoreOptions) -> Self {
        let device = self.device.crash(3);
        Self::open(self.clock, device, options)
    }
}

fn options(policy: EvictionPolicy) -> StoreOptions {
    StoreOptions {
        segment_bytes: SEGMENT_BYTES_MIN,
        appendfsync: AppendFsync::Everysec,
        value_cache_bytes: 0,
        eviction_policy: policy,
        ..StoreOptions::default()
    }
}

fn is_volatile(policy: EvictionPolicy) -> bool {
    match policy {
        EvictionPolicy::NoEviction
        | EvictionPolicy::AllKeysLru
        | EvictionPolicy::AllKeysLfu
        | EvictionPolicy::AllKeysRandom => false,
        EvictionPolicy::VolatileLru
        | EvictionPolicy::VolatileLfu
        | EvictionPolicy::VolatileRandom
        | EvictionPolicy::VolatileTtl => true,
    }
}

fn value(key: u64, version: u64, bytes: usize) -> Vec<u8> {
    let mut value = vec![(key ^ version) as u8; bytes];
    value[..8].copy_from_slice(&key.to_le_bytes());
    value[8..16].copy_from_slice(&version.to_le_bytes());
    value
}

async fn set(
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

async fn get(handle: &Handle, key: u64) -> Option<Vec<u8>> {
    let snapshot = handle.get(DB, &key.to_be_bytes()).await.unwrap()?;
    Some(snapshot.read(0..snapshot.len()).await.unwrap().to_vec())
}

/// What a client does to a cache, and what it knows of it.
struct Client {
    handle: Handle,
    clock: SimClock,
    random: SimRandom,
    versions: BTreeMap<u64, u64>,
    expires: bool,
    longest_us: u64,
}

impl Client {
    fn new(world: &World, expires: bool) -> Self {
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
    async fn write(&mut self, key: u64, bytes: usize, expires: bool) {
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

    async fn write_for_ever(&mut self, bytes: usize, writes: u64) {
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
    async fn present(&self) -> Vec<u64> {
        let mut present = Vec::new();
        for key in self.versions.keys() {
            if self.read(*key).await {
                present.push(*key);
            }
        }
        present
    }
}

fn a_cache_goes_on_for_ever(policy: EvictionPolicy) {
    let mut world = World::new(options(policy));
    let mut client = Client::new(&world, is_volatile(policy));
    if is_volatile(policy) {
        let client = &mut client;
        world.executor.block_on(async {
            for key in 0..LASTING_KEYS {
                client.write(key, VALUE_BYTES, false).await;
            }
        });
    }
    for _ in 0..LIVES {
        world = live_and_crash(world, &mut client, policy);
    }
}

/// Writes for a while, loses power, and looks at what is there then.
fn live_and_crash(mut world: World, client: &mut Client, policy: EvictionPolicy) -> World {
    let present = world.executor.block_on(async {
        client.write_for_ever(VALUE_BYTES, WRITES).await;
        let tail = client.handle.published_lsn();
        client.handle.wait_durable(tail).await.unwrap();
        client.present().await
    });
    let stats = world.handle.store().stats();
    println!(
        "{policy:?}: longest write {} us, {} present, evicted {}, relocated {} of {} bytes written",
        client.longest_us,
        present.len(),
        stats.evicted_keys,
        stats.cleaner_relocated_bytes,
        stats.device_written_bytes,
    );
    if is_volatile(policy) {
        let lasting = present.iter().filter(|key| **key < LASTING_KEYS).count() as u64;
        assert_eq!(lasting, LASTING_KEYS, "keys without a deadline stay");
    }
    assert!(stats.evicted_keys_for_space > 1_000, "{stats:?}");
    assert_eq!(stats.corrupt_records, 0);
    // What is given up early is room that the cache does not use.
    let held = present.len() as u64 * VALUE_BYTES as u64;
    assert!(held > 30 << 20, "only {held} bytes are held");

    let mut world = world.crash(options(policy));
    client.handle = world.handle.clone();
    let after = world.executor.block_on(client.present());
    let came_back: Vec<_> = after.iter().filter(|key| !present.contains(key)).collect();
    assert!(came_back.is_empty(), "{came_back:?} came back");
    world
}

/// Pages are not evicted, but go with their roots.
#[test]
fn large_values_go_with_their_pages() {
    let mut world = World::new(options(EvictionPolicy::AllKeysLru));
    let mut client = Client::new(&world, false);
    world.executor.block_on(async {
        client.write_for_ever(100_000, 2_000).await;
        assert!(client.present().await.len() > 200);
    });
    let stats = world.handle.store().stats();
    assert!(stats.evicted_keys_for_space > 500, "{stats:?}");
}

#[test]
fn a_full_index_evicts_too() {
    let small = |policy| StoreOptions {
        memory_bytes_max: 0,
        ..options(policy)
    };
    let mut world = World::new(small(EvictionPolicy::AllKeysLru));
    let store = Arc::clone(world.handle.store());
    let stats = store.stats();
    let index_bytes_max = stats.index_bytes + (1 << 20);
    store.set_memory_bytes_max(stats.write_buffer_bytes + stats.table_bytes + index_bytes_max);
    let mut client = Client::new(&world, false);
    world.executor.block_on(async {
        for key in 0..250_000 {
            client.write(key, 20, false).await;
        }
    });
    let stats = store.stats();
    assert!(stats.evicted_keys_for_memory > 50_000, "{stats:?}");
    assert_eq!(stats.evicted_keys_for_space, 0);
    assert!(stats.index_bytes <= index_bytes_max, "{stats:?}");
    assert!(stats.keys > 50_000, "{stats:?}");
}

/// Tombstones of small values take as much as the values did, until the cleaner drops them.
#[test]
fn removed_small_values_give_their_room_back() {
    let mut world = World::new(options(EvictionPolicy::NoEviction));
    let (handle, clock) = (world.handle.clone(), world.clock.clone());
    world.executor.block_on(async {
        let mut key = 0;
        while set(&handle, key, value(key, 1, 20), None).await.is_ok() {
            key += 1;
        }
        assert!(key > 100_000, "only {key} keys fit");
        for number in 0..key {
            let mut batch = WriteBatch::new();
            batch.remove(DB, number.to_be_bytes().to_vec());
            assert_eq!(handle.commit(batch).await.unwrap().removed, 1);
        }
        clock.sleep(5_000_000).await;
        set(&handle, 0, value(0, 2, 20), None).await.unwrap();
    });
}

#[test]
fn all_keys_by_recency() {
    a_cache_goes_on_for_ever(EvictionPolicy::AllKeysLru);
}

#[test]
fn all_keys_by_frequency() {
    a_cache_goes_on_for_ever(EvictionPolicy::AllKeysLfu);
}

#[test]
fn all_keys_by_chance() {
    a_cache_goes_on_for_ever(EvictionPolicy::AllKeysRandom);
}

#[test]
fn volatile_keys_by_recency() {
    a_cache_goes_on_for_ever(EvictionPolicy::VolatileLru);
}

#[test]
fn volatile_keys_by_frequency() {
    a_cache_goes_on_for_ever(EvictionPolicy::VolatileLfu);
}

#[test]
fn volatile_keys_by_chance() {
    a_cache_goes_on_for_ever(EvictionPolicy::VolatileRandom);
}

#[test]
fn volatile_keys_by_deadline() {
    a_cache_goes_on_for_ever(EvictionPolicy::VolatileTtl);
}
