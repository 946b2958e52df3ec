//! Loading by several threads: the store that they load is the one that a single thread loads.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::path::Path;
use std::sync::Arc;

use cellar_storage::device::uring::{OpenMode, UringDevice};
use cellar_storage::{Db, Encoding, Handle, Store, StoreOptions, SystemClock, WriteBatch};

const DB: Db = Db(3);
const KEYS: u64 = 20_000;
const DEVICE_BYTES: u64 = 96 << 20;
/// In a record, and in pages.
const LENGTHS: [usize; 2] = [100, 70_000];

fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

/// Opens the store, does something with it, and closes it.
async fn with_store<T>(path: &Path, threads: usize, work: impl AsyncFnOnce(&Handle) -> T) -> T {
    let clock = Arc::new(SystemClock::new());
    let device =
        UringDevice::open_file(path, DEVICE_BYTES, OpenMode::Create, clock.clone()).unwrap();
    let options = StoreOptions {
        segment_bytes: 1 << 20,
        recovery_threads: threads,
        ..StoreOptions::default()
    };
    let store = Store::open(options, vec![device], clock, [3; 32])
        .await
        .unwrap();
    let handle = store.attach(0).unwrap();
    let upkeep = tokio::task::spawn_local(Store::run_background(handle.clone()));
    let result = work(&handle).await;
    store.close(&handle).await.unwrap();
    upkeep.abort();
    result
}

fn value(key: u64) -> Vec<u8> {
    let length = LENGTHS[usize::from(key.is_multiple_of(500))];
    let byte = (key % 251) as u8;
    vec![byte; length]
}

/// Sets every key twice, the second time to its value, and removes each seventh.
async fn fill(handle: &Handle) {
    for bytes in [vec![0; 50], Vec::new()] {
        for key in 0..KEYS {
            let mut batch = WriteBatch::new();
            let is_last = bytes.is_empty();
            let bytes = if is_last { value(key) } else { bytes.clone() };
            batch.set(DB, key.to_le_bytes().to_vec(), bytes, Encoding::Raw, None);
            if is_last && key.is_multiple_of(7) {
                batch.remove(DB, key.to_le_bytes().to_vec());
            }
            handle.commit(batch).await.unwrap();
        }
    }
}

/// What the store counts, after a look at every key.
async fn contents(handle: &Handle) -> [u64; 5] {
    let stats = handle.store().stats();
    for key in 0..KEYS {
        let found = handle.get(DB, &key.to_le_bytes()).await.unwrap();
        assert_eq!(found.is_some(), !key.is_multiple_of(7), "key {key}");
        if let Some(found) = found {
            assert!(found.read(0..found.len()).await.unwrap() == value(key));
        }
    }
    [
        stats.keys,
        stats.live_bytes,
        stats.shadow_bytes,
        stats.recovery_records,
        stats.corrupt_records,
    ]
}

#[test]
fn several_threads_load_what_one_loads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("device");
    run(with_store(&path, 1, fill));
    let by_one = run(with_store(&path, 1, contents));
    assert_eq!(by_one[0], KEYS - KEYS.div_ceil(7));
    for threads in [2, 3, 7] {
        assert_eq!(run(with_store(&path, threads, contents)), by_one);
    }
}
