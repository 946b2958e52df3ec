//! The store on a real file: what is written is read, in memory and from the device, across the
//! sizes at which values change their form.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::sync::Arc;

use cellar_storage::device::uring::{OpenMode, UringDevice};
use cellar_storage::{Db, Encoding, Handle, Lookup, Store, StoreOptions, SystemClock, WriteBatch};

const SEED: [u8; 32] = [7; 32];
const DB: Db = Db(0);

/// Runs `test` on a worker's kind of runtime.
fn on_worker<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

/// A store on a file of `bytes`, with its upkeep running.
async fn open(directory: &std::path::Path, bytes: u64, options: StoreOptions) -> Handle {
    let clock = Arc::new(SystemClock::new());
    let path = directory.join("device");
    let device = UringDevice::open_file(&path, bytes, OpenMode::Create, clock.clone()).unwrap();
    let store = Store::open(options, vec![device], clock, SEED)
        .await
        .unwrap();
    let handle = store.attach(0).unwrap();
    tokio::task::spawn_local(Store::run_background(handle.clone()));
    handle
}

fn small() -> StoreOptions {
    StoreOptions {
        segment_bytes: 1 << 20,
        ..StoreOptions::default()
    }
}

fn value(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

async fn set(handle: &Handle, key: &[u8], value: &[u8]) {
    let mut batch = WriteBatch::new();
    batch.set(DB, key.to_vec(), value.to_vec(), Encoding::Raw, None);
    assert!(handle.commit(batch).await.unwrap().applied);
}

async fn get(handle: &Handle, key: &[u8]) -> Option<Vec<u8>> {
    let snapshot = handle.get(DB, key).await.unwrap()?;
    Some(snapshot.read(0..snapshot.len()).await.unwrap().to_vec())
}

#[test]
fn values_of_all_sizes_come_back() {
    on_worker(async {
        let directory = tempfile::tempdir().unwrap();
        let handle = open(directory.path(), 64 << 20, small()).await;
        let sizes = [0_usize, 1, 31, 4096, 32_768, 32_769, 100_000, 3_000_000];
        for (seed, len) in sizes.into_iter().enumerate() {
            set(&handle, &len.to_le_bytes(), &value(seed as u64, len)).await;
        }
        for (seed, len) in sizes.into_iter().enumerate() {
            let found = get(&handle, &len.to_le_bytes()).await.expect("it was set");
            assert!(found == value(seed as u64, len), "{len} bytes");
        }
        assert_eq!(handle.dbsize(DB), sizes.len() as u64);
        assert!(matches!(handle.lookup(DB, b"absent"), Lookup::Absent));
    });
}

#[test]
fn what_left_memory_is_read_from_the_device() {
    on_worker(async {
        let directory = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            value_cache_bytes: 0,
            ..small()
        };
        let handle = open(directory.path(), 64 << 20, options).await;
        for number in 0..4000_u64 {
            set(&handle, &number.to_le_bytes(), &value(number, 3000)).await;
        }
        for number in 0..4000_u64 {
            let found = get(&handle, &number.to_le_bytes())
                .await
                .expect("it was set");
            assert!(found == value(number, 3000), "key {number}");
        }
        let stats = handle.store().stats();
        assert!(
            stats.device_reads > 1000 && stats.write_buffer_hits > 0,
            "{stats:?}"
        );
    });
}

#[test]
fn overwriting_many_times_the_capacity_goes_on() {
    on_worker(async {
        let directory = tempfile::tempdir().unwrap();
        let handle = open(directory.path(), 33 << 20, small()).await;
        let key_count = 7000_u64;
        for round in 0..20_u64 {
            for number in 0..key_count {
                let mixed = (number * 7919 + round) % key_count;
                set(&handle, &mixed.to_le_bytes(), &value(mixed + round, 3000)).await;
            }
        }
        let mut found_count = 0;
        for number in 0..key_count {
            let found = get(&handle, &number.to_le_bytes())
                .await
                .expect("it was set");
            assert!(found == value(number + 19, 3000), "key {number}");
            found_count += 1;
        }
        assert_eq!(found_count, key_count);
        let stats = handle.store().stats();
        assert!(stats.cleaner_segments > 50, "{stats:?}");
        assert_eq!(stats.corrupt_records, 0);
    });
}

#[test]
fn ranges_of_large_values_are_rewritten_in_place() {
    on_worker(async {
        let directory = tempfile::tempdir().unwrap();
        let handle = open(directory.path(), 64 << 20, small()).await;
        let mut model = value(1, 200_000);
        set(&handle, b"k", &model).await;
        let locks = handle.lock(&[(DB, b"k")]).await;
        for (offset, len) in [
            (0_usize, 10),
            (16_380, 8),
            (199_999, 1),
            (200_000, 5),
            (300_000, 70_000),
        ] {
            let data = value(offset as u64, len);
            model.resize(model.len().max(offset + len), 0);
            model[offset..offset + len].copy_from_slice(&data);
            let length = handle
                .write_range(&locks, DB, b"k", offset as u64, &data)
                .await
                .unwrap();
            assert_eq!(length, model.len() as u64);
        }
        drop(locks);
        assert!(get(&handle, b"k").await.expect("it is there") == model);
    });
}

#[test]
fn a_removal_of_many_keys_counts_them_and_does_nothing_when_it_is_dropped() {
    use std::task::{Context, Waker};
    on_worker(async {
        let directory = tempfile::tempdir().unwrap();
        let handle = open(directory.path(), 64 << 20, small()).await;
        let batch = || {
            let mut batch = WriteBatch::new();
            for number in 0..1000_u64 {
                batch.remove(DB, number.to_le_bytes().to_vec());
            }
            batch
        };
        for number in 0..1000_u64 {
            set(&handle, &number.to_le_bytes(), b"v").await;
        }
        {
            let dropped = std::pin::pin!(handle.commit(batch()));
            let mut context = Context::from_waker(Waker::noop());
            assert!(dropped.poll(&mut context).is_pending());
        }
        assert_eq!(handle.dbsize(DB), 1000);
        assert_eq!(handle.commit(batch()).await.unwrap().removed, 1000);
        assert_eq!(handle.dbsize(DB), 0);
    });
}

#[test]
fn a_key_met_after_its_deadline_is_gone_at_once() {
    on_worker(async {
        let directory = tempfile::tempdir().unwrap();
        let handle = open(directory.path(), 64 << 20, small()).await;
        let deadline_ms = handle.clock().unix_ms() + 20;
        let mut batch = WriteBatch::new();
        batch.set(DB, &b"k"[..], &b"v"[..], Encoding::Raw, Some(deadline_ms));
        assert!(handle.commit(batch).await.unwrap().applied);
        while handle.clock().unix_ms() < deadline_ms {
            tokio::task::yield_now().await;
        }
        assert!(get(&handle, b"k").await.is_none());
        assert_eq!((handle.dbsize(DB), handle.expires(DB)), (0, 0));
    });
}
