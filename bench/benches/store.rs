//! The store on a file: what a SET and a GET cost between the protocol and the device.
//!
//! Owns keys and values, those of `wire` and `pipeline`: 100,000 keys of 16 bytes, values of 1 KiB.
//! Upkeep runs as in a server, and its CPU time and that of writing to the file count. What leaves
//! in a reply is no part of it: a value is found, not copied.

mod batches;
mod cpu_time;
mod disk;
mod worker;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use cellar_storage::clock::SystemClock;
use cellar_storage::device::uring::{OpenMode, UringDevice};
use cellar_storage::{
    Attempt, Db, Encoding, Handle, Lookup, SEGMENT_BYTES_MIN, Snapshot, Store, StoreOptions,
    StoreStats, WriteBatch,
};
use criterion::Criterion;
use tempfile::TempDir;
use tokio::runtime::LocalRuntime;
use tokio::task::{spawn_local, yield_now};

use cpu_time::CpuTime;

const DB: Db = Db(0);
const KEY_COUNT: u32 = 100_000;
const VALUE: [u8; 1024] = [b'v'; 1024];
/// A turn's commands, and those of a pipeline.
const BATCH: u64 = 32;
/// Overwriting for seconds leaves most of it empty: nothing is cleaned.
const ROOMY_BYTES: u64 = 4 << 30;
/// Three quarters of it are live: overwriting it never stops cleaning.
const TIGHT_BYTES: u64 = 144 << 20;
/// Keys that are all still in a write buffer after they were written.
const BUFFERED_COUNT: u32 = 512;
/// Keys that have left the write buffers when all were written: buffers of 1 MiB are few.
const DEVICE_COUNT: u32 = 80_000;

type Key = [u8; 16];

/// A figure of the store.
type Counter = fn(&StoreStats) -> u64;

/// A store of its own, with its upkeep, and the keys to use.
struct Bench<'a> {
    runtime: &'a LocalRuntime,
    handle: Handle,
    /// In an order that no prefetcher foresees.
    keys: Vec<Key>,
    next: usize,
    /// Lookups so far.
    got: u64,
    _directory: TempDir,
}

/// Keys `0..count`, each once: the odd stride has no factor in common with the counts above.
fn scattered(count: u32) -> Vec<Key> {
    let number = |position: u32| u64::from(position) * 48_271 % u64::from(count);
    (0..count).map(|position| key(number(position))).collect()
}

fn key(number: u64) -> Key {
    let text = format!("key:{number:012}");
    text.as_bytes()
        .try_into()
        .expect("four letters, twelve digits")
}

impl<'a> Bench<'a> {
    /// A store on a file of `bytes`, in which all keys were set; `used` of them will be used.
    fn new(runtime: &'a LocalRuntime, bytes: u64, cache_bytes: u64, used: u32) -> Self {
        let directory = disk::directory();
        let path = directory.path().join("device");
        let handle = runtime.block_on(async {
            let clock = Arc::new(SystemClock::new());
            let device = UringDevice::open_file(&path, bytes, OpenMode::Create, clock.clone())
                .expect("the folder's file system takes direct I/O");
            let options = StoreOptions {
                segment_bytes: SEGMENT_BYTES_MIN,
                value_cache_bytes: cache_bytes,
                ..StoreOptions::default()
            };
            let opening = Store::open(options, vec![device], clock, [7; 32]);
            let store = opening.await.expect("the file is new");
            let handle = store.attach(0).expect("it is the only worker");
            spawn_local(Store::run_background(handle.clone()));
            handle
        });
        let mut bench = Self {
            runtime,
            handle,
            keys: (0..u64::from(KEY_COUNT)).map(key).collect(),
            next: 0,
            got: 0,
            _directory: directory,
        };
        bench.set(u64::from(KEY_COUNT) / BATCH);
        bench.use_keys(used);
        bench
    }

    /// Goes on with keys `0..count`.
    fn use_keys(&mut self, count: u32) {
        self.keys = scattered(count);
        self.next = 0;
    }

    /// The keys of the next turn.
    fn turn(&mut self) -> &[Key] {
        let start = self.next;
        let end = (start + BATCH as usize).min(self.keys.len());
        self.next = end % self.keys.len();
        &self.keys[start..end]
    }

    /// Writes some turns of keys as a connection does, and returns what that cost.
    fn set(&mut self, turns: u64) -> Duration {
        let start = cpu_time::now();
        self.runtime.block_on(async {
            for _ in 0..turns {
                let handle = self.handle.clone();
                for key in self.turn() {
                    set(&handle, key).await;
                }
                handle.end_of_turn();
                yield_now().await;
            }
        });
        cpu_time::since(start)
    }

    /// Looks keys up, `depth` before the first is waited for, and returns what that cost.
    fn get(&mut self, batches: u64, depth: usize) -> Duration {
        self.got += batches * BATCH;
        let start = cpu_time::now();
        self.runtime.block_on(async {
            let mut lookups = Vec::with_capacity(depth);
            for _ in 0..batches * BATCH / depth as u64 {
                let handle = self.handle.clone();
                let keys = &self.turn()[..depth];
                if depth > 1 {
                    handle.prefetch(DB, keys.iter().map(|key| &key[..]));
                }
                lookups.extend(keys.iter().map(|key| handle.lookup(DB, key)));
                for lookup in lookups.drain(..) {
                    black_box(found(lookup).await);
                }
                handle.end_of_turn();
            }
        });
        cpu_time::since(start)
    }

    /// Ends the upkeep: the thread's next store has it to itself.
    fn close(self) {
        let closing = self.handle.store().close(&self.handle);
        self.runtime.block_on(closing).expect("nothing had failed");
    }
}

async fn set(handle: &Handle, key: &Key) {
    match handle.try_set(DB, key, &VALUE, Encoding::Raw, None) {
        Attempt::Done => {}
        Attempt::Blocked => {
            let mut batch = WriteBatch::new();
            batch.set(DB, key.to_vec(), VALUE.to_vec(), Encoding::Raw, None);
            handle.commit(batch).await.expect("there is room");
        }
        Attempt::Failed(error) => panic!("{error}"),
    }
}

async fn found(lookup: Lookup) -> Snapshot {
    match lookup {
        Lookup::Ready(value) => value,
        Lookup::Pending(read) => read.await.expect("the device works").expect("it is there"),
        Lookup::Absent | Lookup::Locked => panic!("every key is there, and nobody locks it"),
    }
}

fn sets(criterion: &mut Criterion<CpuTime>, runtime: &LocalRuntime) {
    let mut group = criterion.benchmark_group("store");
    for (name, bytes) in [("set", ROOMY_BYTES), ("set_cleaning", TIGHT_BYTES)] {
        let mut bench = Bench::new(runtime, bytes, 0, KEY_COUNT);
        if bytes == TIGHT_BYTES {
            while bench.handle.store().stats().cleaner_relocated_bytes == 0 {
                bench.set(BATCH);
            }
        }
        group.bench_function(name, |bencher| {
            bencher
                .iter_custom(|count| batches::in_batches(count, BATCH, |turns| bench.set(turns)));
        });
        bench.close();
    }
    group.finish();
}

/// GETs alone and of a pipeline. `of` counts those that were answered from where they should be.
fn get(criterion: &mut Criterion<CpuTime>, name: &str, bench: &mut Bench, of: Counter) {
    let mut group = criterion.benchmark_group("store");
    let (right, all) = (of(&bench.handle.store().stats()), bench.got);
    for (name, depth) in [
        (name.to_owned(), 1),
        (format!("{name}_by_32"), BATCH as usize),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|count| {
                batches::in_batches(count, BATCH, |batches| bench.get(batches, depth))
            });
        });
    }
    group.finish();
    let right = of(&bench.handle.store().stats()) - right;
    let all = bench.got - all;
    assert!(right == all, "{name}: only {right} of {all}");
}

fn gets(criterion: &mut Criterion<CpuTime>, runtime: &LocalRuntime) {
    let mut bench = Bench::new(runtime, ROOMY_BYTES, 0, DEVICE_COUNT);
    get(criterion, "get_device", &mut bench, |stats| {
        stats.device_reads
    });
    // Written last, these are in the write buffer.
    bench.use_keys(BUFFERED_COUNT);
    bench.set(u64::from(BUFFERED_COUNT) / BATCH);
    get(criterion, "get_write_buffer", &mut bench, |stats| {
        stats.write_buffer_hits
    });
    bench.close();

    let mut bench = Bench::new(runtime, ROOMY_BYTES, 512 << 20, KEY_COUNT);
    // A value enters the cache when it is read.
    bench.get(u64::from(KEY_COUNT) / BATCH, BATCH as usize);
    get(criterion, "get_cache", &mut bench, |stats| stats.cache_hits);
    bench.close();
}

fn main() {
    let runtime = worker::runtime();
    let mut criterion = cpu_time::criterion();
    sets(&mut criterion, &runtime);
    gets(&mut criterion, &runtime);
    criterion.final_summary();
}
