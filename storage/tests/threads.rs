//! Several workers on real threads over one small store, while segments are sealed, cleaned and
//! reused underneath: every value read is whole and its own key's, in memory, on the device and in
//! pages; what was pinned stays as it was; no batch is seen half; no locked increment is lost.
//!
//! Prints its seed; `SEED=n` replays the operations, though not the interleaving.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cellar_storage::device::uring::{OpenMode, UringDevice};
use cellar_storage::{
    Db, Encoding, Handle, Lookup, Snapshot, Store, StoreOptions, SystemClock, WriteBatch,
};

const DB: Db = Db(0);
const WORKERS: usize = 3;
const STEPS: u64 = 12_000;
const KEYS: u64 = 300;
const COUNTERS: u64 = 7;
const PAIRS: u64 = 20;
const PATCHED: u64 = 5;
/// Keys of patched values and of pairs, which no other key has.
const PATCHED_FIRST: u64 = 1 << 16;
const PAIRS_FIRST: u64 = 1 << 17;
/// Words of a patched value: some 40 pages.
const PATCHED_WORDS: usize = 20_000;

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

async fn set(handle: &Handle, key: u64, version: u64, words: usize, expiry_ms: Option<u64>) {
    let mut batch = WriteBatch::new();
    let (name, bytes) = (key.to_le_bytes().to_vec(), value(key, version, words));
    batch.set(DB, name, bytes, Encoding::Raw, expiry_ms);
    handle.commit(batch).await.unwrap();
}

/// Reads a value in one go, or in two with other work in between: what is pinned stays.
async fn read(handle: &Handle, key: u64, in_halves: bool) {
    let Some(mut snapshot) = handle.get(DB, &key.to_le_bytes()).await.unwrap() else {
        return;
    };
    let len = snapshot.len();
    let bytes = if in_halves {
        snapshot.pin(0..len).await.unwrap();
        tokio::task::yield_now().await;
        let first = snapshot.read(0..len / 2).await.unwrap();
        tokio::task::yield_now().await;
        let second = snapshot.read(len / 2..len).await.unwrap();
        [first, second].concat()
    } else {
        snapshot.read(0..len).await.unwrap().to_vec()
    };
    assert_eq!(bytes.len() as u64, len);
    check(key, &bytes);
}

/// Overwrites a part of a large value: its pages are of several versions, all of them its own.
async fn patch(handle: &Handle, key: u64, version: u64, at: usize, words: usize) {
    let name = key.to_le_bytes();
    let locks = handle.lock(&[(DB, &name[..])]).await;
    let at = at.min(PATCHED_WORDS - words) * 8;
    let bytes = value(key, version, words);
    let written = handle
        .write_range(&locks, DB, &name, at as u64, &bytes)
        .await;
    assert!(written.unwrap() <= PATCHED_WORDS as u64 * 8);
}

async fn read_patched(handle: &Handle, key: u64) {
    let Some(snapshot) = handle.get(DB, &key.to_le_bytes()).await.unwrap() else {
        return;
    };
    let bytes = snapshot.read(0..snapshot.len()).await.unwrap();
    let words = bytes.as_chunks::<8>().0.iter();
    for word in words.map(|word| u64::from_le_bytes(*word)) {
        // A gap that no patch has filled yet is zeros.
        assert!(word == 0 || word >> 32 == key, "another key's word");
    }
}

fn pair(number: u64) -> [u64; 2] {
    [PAIRS_FIRST + number * 2, PAIRS_FIRST + number * 2 + 1]
}

async fn write_pair(handle: &Handle, number: u64, version: u64, words: usize) {
    let mut batch = WriteBatch::new();
    for key in pair(number) {
        let name = key.to_le_bytes().to_vec();
        if version.is_multiple_of(8) {
            batch.remove(DB, name);
        } else {
            batch.set(DB, name, value(key, version, words), Encoding::Raw, None);
        }
    }
    handle.commit(batch).await.unwrap();
}

/// Both keys of a pair are looked up at one moment: they are of one version, or both are gone.
async fn read_pair(handle: &Handle, number: u64) {
    let names = pair(number).map(u64::to_le_bytes);
    let found = handle.lookup_many(DB, &[&names[0][..], &names[1][..]]);
    let mut versions = Vec::new();
    for (key, lookup) in pair(number).into_iter().zip(found) {
        let snapshot = match lookup {
            Lookup::Absent => None,
            Lookup::Ready(snapshot) => Some(snapshot),
            Lookup::Pending(read) => read.await.unwrap(),
            Lookup::Locked => unreachable!("no pair is large or locked"),
        };
        let bytes = snapshot.as_ref().and_then(Snapshot::inline);
        let bytes = bytes.map(std::convert::AsRef::as_ref).unwrap_or_default();
        if !bytes.is_empty() {
            check(key, bytes);
        }
        versions.push(bytes.get(..4).map(<[u8]>::to_vec));
    }
    assert_eq!(versions[0], versions[1], "half of a batch");
}

/// One step of a scan: every key is one that somebody wrote.
async fn scan(handle: &Handle, cursor: u64) -> u64 {
    let (next, keys) = handle.scan(DB, cursor, 20, None).await.unwrap();
    for key in keys {
        let number = <[u8; 8]>::try_from(&key[..]).map(u64::from_le_bytes);
        let is_known = match number {
            Ok(number) => number < PAIRS_FIRST + PAIRS * 2,
            Err(_) => key.starts_with(b"counter:"),
        };
        assert!(is_known, "no key: {}", key.escape_ascii());
    }
    next
}

async fn step(handle: &Handle, state: &mut u64, cursor: &mut u64, increments: &AtomicU64) {
    let (choice, key, version) = (next(state) % 16, next(state) % KEYS, next(state) >> 32);
    match choice {
        0..=3 => set(handle, key, version, 1 + (next(state) % 700) as usize, None).await,
        4 => {
            let soon = handle.clock().unix_ms() + next(state) % 50;
            set(
                handle,
                key,
                version,
                1 + (next(state) % 700) as usize,
                Some(soon),
            )
            .await;
        }
        5 => {
            let mut batch = WriteBatch::new();
            batch.remove(DB, key.to_le_bytes().to_vec());
            handle.commit(batch).await.unwrap();
        }
        6 => {
            increment(handle, next(state) % COUNTERS).await;
            increments.fetch_add(1, Ordering::Relaxed);
        }
        7 => {
            set(
                handle,
                key,
                version,
                5000 + (next(state) % 9000) as usize,
                None,
            )
            .await;
        }
        8 => {
            let (at, words) = (
                next(state) as usize % PATCHED_WORDS,
                next(state) as usize % 900,
            );
            patch(handle, PATCHED_FIRST + key % PATCHED, version, at, words).await;
        }
        9 => read_patched(handle, PATCHED_FIRST + key % PATCHED).await,
        10 => {
            write_pair(
                handle,
                key % PAIRS,
                version,
                1 + (next(state) % 200) as usize,
            )
            .await;
        }
        11 => read_pair(handle, key % PAIRS).await,
        12 => *cursor = scan(handle, *cursor).await,
        _ => read(handle, key, next(state).is_multiple_of(2)).await,
    }
}

#[test]
fn threads_see_whole_values_and_whole_batches_and_lose_no_increment() {
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
                    let mut cursor = 0;
                    for turn in 0..STEPS {
                        step(&handle, &mut state, &mut cursor, &increments).await;
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
