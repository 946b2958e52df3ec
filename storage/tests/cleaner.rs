//! The cleaner on a simulated device and clock: what it takes first, how it keeps step with
//! clients, and what an operator's pause does.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::sync::Arc;

use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::{Latency, SimDevice, SimExecutor, SimRandom};
use cellar_storage::{
    CleanerState, Clock, Db, Device, Encoding, Handle, Store, StoreError, StoreOptions, WriteBatch,
};

const DB: Db = Db(0);
const SEGMENT_BYTES: u32 = 1 << 20;
/// The superblocks lie before the first segment.
const RESERVED_BYTES: u64 = 1 << 20;
const NOW_MS: u64 = 1_900_000_000_000;
const VALUE_BYTES: usize = 4000;

/// A store of `segments` with its upkeep, and what drives it.
struct Scene {
    executor: SimExecutor,
    clock: SimClock,
    handle: Handle,
}

impl Scene {
    fn new(segments: u64) -> Self {
        let clock = SimClock::new(NOW_MS);
        let bytes = RESERVED_BYTES + segments * u64::from(SEGMENT_BYTES);
        let device = SimDevice::timed(512, bytes, 1, clock.clone(), Latency::default());
        let options = StoreOptions {
            segment_bytes: SEGMENT_BYTES,
            value_cache_bytes: 0,
            ..StoreOptions::default()
        };
        let mut executor = SimExecutor::new(clock.clone(), 1);
        let devices = vec![device as Arc<dyn Device>];
        let opening = Store::open(options, devices, Arc::new(clock.clone()), [7; 32]);
        let handle = executor.block_on(opening).unwrap().attach(0).unwrap();
        executor
            .spawner()
            .spawn(Store::run_background(handle.clone()));
        Self {
            executor,
            clock,
            handle,
        }
    }

    fn store(&self) -> &Arc<Store> {
        self.handle.store()
    }

    /// Sets keys, each to `VALUE_BYTES` bytes, `gap_us` apart; the longest that one waited, in us.
    fn set(&mut self, keys: impl Iterator<Item = u64>, ttl_ms: Option<u64>, gap_us: u64) -> u64 {
        let (handle, clock) = (self.handle.clone(), self.clock.clone());
        self.executor.block_on(async move {
            let mut longest_us = 0;
            for key in keys {
                let begun_us = clock.monotonic_us();
                set(&handle, key, ttl_ms).await.unwrap();
                longest_us = longest_us.max(clock.monotonic_us() - begun_us);
                if gap_us > 0 {
                    clock.sleep(gap_us).await;
                }
            }
            longest_us
        })
    }

    fn wait(&mut self, us: u64) {
        let sleep = self.clock.sleep(us);
        self.executor.block_on(sleep);
    }
}

async fn set(handle: &Handle, key: u64, ttl_ms: Option<u64>) -> Result<(), StoreError> {
    let mut batch = WriteBatch::new();
    let value = vec![key as u8; VALUE_BYTES];
    let expiry_ms = ttl_ms.map(|ttl_ms| handle.clock().unix_ms() + ttl_ms);
    batch.set(
        DB,
        key.to_le_bytes().to_vec(),
        value,
        Encoding::Raw,
        expiry_ms,
    );
    handle.commit(batch).await.map(|_| ())
}

/// Keys below `end` at random, without end.
fn scattered(end: u64) -> impl Iterator<Item = u64> {
    let mut random = SimRandom::new(1);
    std::iter::repeat_with(move || random.below(end))
}

#[test]
fn after_a_mass_delete_churn_makes_the_tombstones_go() {
    let mut scene = Scene::new(64);
    let small = 40_000_u64;
    let handle = scene.handle.clone();
    scene.executor.block_on(async {
        for first in (0..small).step_by(100) {
            let mut batch = WriteBatch::new();
            for key in first..first + 100 {
                let key = format!("small:{key}").into_bytes();
                batch.set(DB, key, vec![1; 100], Encoding::Raw, None);
            }
            handle.commit(batch).await.unwrap();
        }
    });
    scene.set(0..8_000, None, 0);
    scene.executor.block_on(async {
        let mut batch = WriteBatch::new();
        for key in 0..small {
            batch.remove(DB, format!("small:{key}").into_bytes());
        }
        assert_eq!(handle.commit(batch).await.unwrap().removed, small);
    });
    let before = scene.store().stats().shadow_bytes;
    let device_bytes = scene.store().stats().device_bytes;
    assert!(
        before * 100 > device_bytes * 2,
        "{before}: more than 2 % are tombstones"
    );
    scene.set(scattered(8_000).take(60_000), None, 20);
    let after = scene.store().stats().shadow_bytes;
    assert!(after * 4 < before, "{after} bytes of {before} are left");
    assert!(scene.store().cleaner_stats().tombstones_dropped > 0);
    assert_eq!(scene.handle.dbsize(DB), 8_000);
}

/// Bytes relocated while a store of keys that stay and keys that expire is overwritten.
fn relocated_bytes_with_ttl(ttl_ms: Option<u64>) -> u64 {
    let mut scene = Scene::new(64);
    scene.store().set_active_expiry(false);
    scene.set(0..5_000, None, 0);
    scene.set(5_000..10_000, ttl_ms, 0);
    scene.wait(1_200_000_000);
    scene.set(scattered(5_000).take(8_000), None, 80);
    let stats = scene.store().cleaner_stats();
    assert!(
        stats.segments_freed > 15 && stats.last_error.is_none(),
        "{stats:?}"
    );
    stats.relocated_bytes
}

#[test]
fn segments_full_of_expired_records_go_first() {
    let (expired, kept) = (
        relocated_bytes_with_ttl(Some(600_000)),
        relocated_bytes_with_ttl(None),
    );
    assert!(expired * 4 < kept, "{expired} against {kept}");
}

#[test]
fn nobody_waits_long_for_room_under_sustained_overwriting() {
    let mut scene = Scene::new(64);
    scene.set(0..10_500, None, 0);
    // 4 KB each 80 us are 50 MB/s: a third of what one operation at a time keeps step with.
    let longest_us = scene.set(scattered(10_500).take(60_000), None, 80);
    let stats = scene.store().cleaner_stats();
    assert!(stats.segments_cleaned > 200, "{stats:?}");
    assert!(
        longest_us < 50_000,
        "a write waited {longest_us} us; {stats:?}"
    );
    assert!(stats.write_amplification > 1.5, "{stats:?}");
    assert!(stats.emergencies * 10 < stats.turns, "{stats:?}");
}

#[test]
fn a_paused_cleaner_refuses_writes_beyond_room_and_goes_on_when_resumed() {
    let mut scene = Scene::new(32);
    scene.set(0..4_000, None, 0);
    scene.store().pause_cleaner();
    let handle = scene.handle.clone();
    let refused = scene.executor.block_on(async {
        for key in scattered(4_000).take(20_000) {
            if let Err(error) = set(&handle, key, None).await {
                return Some(error);
            }
        }
        None
    });
    assert!(
        matches!(refused, Some(StoreError::OutOfSpace)),
        "{refused:?}"
    );
    let stats = scene.store().cleaner_stats();
    assert_eq!(
        (stats.state, stats.writes_refused),
        (CleanerState::Paused, 1)
    );
    let found = scene
        .executor
        .block_on(scene.handle.get(DB, &7_u64.to_le_bytes()));
    assert!(found.unwrap().is_some(), "reads go on");

    scene.store().resume_cleaner();
    scene.set(scattered(4_000).take(20_000), None, 20);
    let stats = scene.store().cleaner_stats();
    assert!(
        stats.segments_freed > 20 && stats.last_error.is_none(),
        "{stats:?}"
    );
}

#[test]
fn a_writer_that_waits_when_the_cleaner_is_paused_is_told() {
    let mut scene = Scene::new(32);
    scene.set(0..4_000, None, 0);
    scene.store().pause_cleaner();
    let handle = scene.handle.clone();
    let (store, clock) = (Arc::clone(scene.store()), scene.clock.clone());
    scene.executor.spawner().spawn(async move {
        for _ in 0..100 {
            clock.sleep(1_000).await;
            store.resume_cleaner();
            store.pause_cleaner();
        }
    });
    let written = scene.executor.block_on(async {
        let mut written = 0;
        for key in scattered(4_000).take(100_000) {
            if set(&handle, key, None).await.is_err() {
                break;
            }
            written += 1;
        }
        written
    });
    assert!(
        written < 100_000,
        "it was refused, and did not wait for ever"
    );
}
