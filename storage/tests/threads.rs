//! Several workers on real threads over one small store: every value read is whole and its own
//! key's, and no locked increment is lost, while segments are sealed, cleaned and reused
//! underneath.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cellar_storage::device::uring::{OpenMode, UringDevice};
use cellar_storage::{Db, Encoding, Handle, Store, StoreOptions, SystemClock, WriteBatch};

const DB: Db = Db(0);
const WORKERS: usize = 3;
const STEPS: u64 = 12_000;
const KEYS: u64 = 300;
const COUNTERS: u64 = 7;

fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

/// A small generator: `splitmix64` (Steele, Lea, Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A value that tells its key and version in every eight bytes.
fn value(key: u64, version: u64, words: usize) -> Vec<u8> {
    let word = (key << 32) | version;
    word.to_le_bytes().repeat(words)
}

fn check(key: u64, bytes: &[u8]) {
    let words = bytes.as_chunks::<8>().0;
    let first = words.first().copied().unwrap_or_default();
    assert!(
        words.iter().all(|word| *word == first),
        "a torn value under key {key}"
    );
    assert_eq!(u64::from_le_bytes(first) >> 32, key, "another key's value");
}

async fn increment(handle: &Handle, counter: u64) {
    let name = format!("counter:{counter}");
    let locks = handle.lock(&[(DB, name.as_bytes())]).await;
    let before = handle
        .get_locked(&locks, DB, name.as_bytes())
        .await
        .unwrap();
    let before = before.map_or(0, |snapshot| {
        u64::from_le_bytes(snapshot.inline().unwrap()[..8].try_into().unwrap())
    });
    let mut batch = WriteBatch::new();
    let after = (before + 1).to_le_bytes().to_vec();
    batch.set(DB, name.into_bytes(), after, Encoding::Raw, None);
    handle.commit_locked(&locks, batch).await.unwrap();
}

async fn step(handle: &Handle, state: &mut u64, increments: &AtomicU64) {
    let (choice, key) = (next(state) % 10, next(state) % KEYS);
    let name = key.to_le_bytes();
    match choice {
        0..=3 => {
            let words = 1 + (next(state) % 700) as usize;
            let mut batch = WriteBatch::new();
            let bytes = value(key, next(state) & 0xffff_ffff, words);
            batch.set(DB, name.to_vec(), bytes, Encoding::Raw, None);
            handle.commit(batch).await.unwrap();
        }
        4 => {
            let mut batch = WriteBatch::new();
            batch.remove(DB, name.to_vec());
            handle.commit(batch).await.unwrap();
        }
        5 => {
            increment(handle, next(state) % COUNTERS).await;
            increments.fetch_add(1, Ordering::Relaxed);
        }
        6 => {
            let words = 5000 + (next(state) % 9000) as usize;
            let mut batch = WriteBatch::new();
            let bytes = value(key, next(state) & 0xffff_ffff, words);
            batch.set(DB, name.to_vec(), bytes, Encoding::Raw, None);
            handle.commit(batch).await.unwrap();
        }
        _ => {
            if let Some(snapshot) = handle.get(DB, &name).await.unwrap() {
                check(key, &snapshot.read(0..snapshot.len()).await.unwrap());
            }
        }
    }
}

#[test]
fn threads_see_whole_values_and_lose_no_increment() {
    let seed: u64 = std::env::var("SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(1);
    println!("SEED={seed}");
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(SystemClock::new());
    let path = directory.path().join("device");
    let device = UringDevice::open_file(&path, 48 << 20, OpenMode::Create, clock.clone()).unwrap();
    let options = StoreOptions {
        worker_count: WORKERS + 1,
        segment_bytes: 1 << 20,
        value_cache_bytes: 1 << 20,
        ..StoreOptions::default()
    };
    let store = run(Store::open(options, vec![device], clock, [5; 32])).unwrap();
    let increments = Arc::new(AtomicU64::new(0));
    // A worker that goes away takes its operations in flight with it: all end together.
    let finished = Arc::new(tokio::sync::Barrier::new(WORKERS));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let upkeep = std::thread::spawn({
        let store = Arc::clone(&store);
        move || {
            run(async {
                let handle = store.attach(WORKERS).unwrap();
                tokio::task::spawn_local(Store::run_background(handle));
                stopped.await.unwrap();
            });
        }
    });
    let threads: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (store, increments) = (Arc::clone(&store), Arc::clone(&increments));
            let finished = Arc::clone(&finished);
            std::thread::spawn(move || {
                run(async move {
                    let handle = store.attach(worker).unwrap();
                    let mut state = seed.wrapping_mul(1000) + worker as u64;
                    for turn in 0..STEPS {
                        step(&handle, &mut state, &increments).await;
                        if turn % 16 == 0 {
                            tokio::task::yield_now().await;
                        }
                        handle.end_of_turn();
                    }
                    finished.wait().await;
                    let mut sum = 0;
                    for counter in 0..COUNTERS {
                        let name = format!("counter:{counter}");
                        let found = handle.get(DB, name.as_bytes()).await.unwrap();
                        sum += found.map_or(0, |snapshot| {
                            u64::from_le_bytes(snapshot.inline().unwrap()[..8].try_into().unwrap())
                        });
                    }
                    finished.wait().await;
                    sum
                })
            })
        })
        .collect();
    let sums: Vec<u64> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert_eq!(sums.iter().max(), Some(&increments.load(Ordering::Relaxed)));
    let stats = store.stats();
    assert!(stats.cleaner_segments > 20, "{stats:?}");
    assert_eq!(stats.corrupt_records, 0);
    stop.send(()).unwrap();
    upkeep.join().unwrap();
}
