//! Hit ratios of the eviction policies: the real store on a simulated device that is full, beside
//! exact LRU and LFU of as many keys. Deterministic: all follows from the seed.
//!
//! Owns the traces and the store's part; `eviction_models` has the exact caches.
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]
#![expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]

use std::io;
use std::sync::Arc;

use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::{Latency, SimDevice, SimExecutor, SimRandom};
use cellar_storage::{
    Clock, Db, Encoding, EvictionPolicy, Handle, SEGMENT_BYTES_MIN, Store, StoreOptions,
    StoreStats, WriteBatch,
};

use super::eviction_models::{Lfu, Lru, Model};

const DB: Db = Db(0);
/// Place for the superblocks.
const RESERVED_BYTES: u64 = 1 << 20;
/// Simulated microseconds from one request to the next: 20,000 a second.
const REQUEST_US: u64 = 50;
/// Deadlines, where a policy looks at them: longer than the run.
const DEADLINE_MS: u64 = 3_600_000;
/// Requests for other keys between two scans.
const SCAN_EVERY: usize = 20_000;
/// Keys of a scan, each never asked for again.
const SCAN_KEYS: u64 = 10_000;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Requests of a trace, scans not counted; the first third warms up.
    #[arg(long, default_value_t = 1_200_000)]
    requests: usize,
    /// Keys that are asked for.
    #[arg(long, default_value_t = 250_000)]
    keys: u64,
    /// Zipf's exponent.
    #[arg(long, default_value_t = 0.99)]
    skew: f64,
    /// Bytes of a value.
    #[arg(long, default_value_t = 2000)]
    value_bytes: usize,
    /// Segments of the device, 1 MiB each.
    #[arg(long, default_value_t = 64)]
    segments: u64,
    /// Where the traces and the store's chances come from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What a store did with a trace.
struct Outcome {
    hits: u64,
    requests: u64,
    keys: u64,
    /// Bytes that the cleaner copied for each byte that clients wrote.
    copied: f64,
}

/// Prints both traces' tables.
pub(crate) fn run(arguments: &Arguments) -> io::Result<()> {
    let zipf = zipf_trace(arguments);
    let scanned = with_scans(&zipf, arguments.keys);
    for (name, trace) in [("zipf", zipf), ("zipf with scans", scanned)] {
        println!("{name}: {} requests, {} keys", trace.len(), arguments.keys);
        println!("| cache | keys held | hits, % | copied per byte written |");
        println!("|---|---|---|---|");
        let mut held = 0;
        for policy in [
            EvictionPolicy::AllKeysLru,
            EvictionPolicy::AllKeysLfu,
            EvictionPolicy::AllKeysRandom,
            EvictionPolicy::VolatileTtl,
        ] {
            let outcome = measure(arguments, policy, &trace)?;
            held = held.max(outcome.keys);
            let percent = 100.0 * outcome.hits as f64 / outcome.requests as f64;
            let (keys, copied) = (outcome.keys, outcome.copied);
            println!("| {policy:?} | {keys} | {percent:.2} | {copied:.2} |");
        }
        print_model("exact LRU", &mut Lru::new(held as usize), &trace);
        print_model("exact LFU", &mut Lfu::new(held as usize), &trace);
    }
    Ok(())
}

/// Requests whose keys follow Zipf's law, the most popular key being 0.
fn zipf_trace(arguments: &Arguments) -> Vec<u64> {
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=arguments.keys)
        .map(|rank| {
            sum += (rank as f64).powf(-arguments.skew);
            sum
        })
        .collect();
    let mut random = SimRandom::new(arguments.seed);
    let mut draw = || {
        let unit = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        sums.partition_point(|end| *end <= unit * sum) as u64
    };
    (0..arguments.requests).map(|_| draw()).collect()
}

/// The same with scans over keys that nobody else asks for.
fn with_scans(trace: &[u64], keys: u64) -> Vec<u64> {
    let mut next = keys;
    let mut mixed = Vec::new();
    for part in trace.chunks(SCAN_EVERY) {
        mixed.extend_from_slice(part);
        mixed.extend(next..next + SCAN_KEYS);
        next += SCAN_KEYS;
    }
    mixed
}

fn print_model(name: &str, model: &mut dyn Model, trace: &[u64]) {
    let (warm_up, measured) = trace.split_at(trace.len() / 3);
    for key in warm_up {
        model.request(*key);
    }
    let hits = measured.iter().filter(|key| model.request(**key)).count();
    let percent = 100.0 * hits as f64 / measured.len() as f64;
    println!("| {name} | {} | {percent:.2} | |", model.capacity());
}

/// Runs a trace against a store of its own: what is missed is loaded.
fn measure(arguments: &Arguments, policy: EvictionPolicy, trace: &[u64]) -> io::Result<Outcome> {
    let clock = SimClock::new(1_700_000_000_000);
    let bytes = RESERVED_BYTES + arguments.segments * u64::from(SEGMENT_BYTES_MIN);
    let seed = arguments.seed;
    let device = SimDevice::timed(4096, bytes, seed, clock.clone(), Latency::default());
    let mut executor = SimExecutor::new(clock.clone(), seed);
    let options = StoreOptions {
        segment_bytes: SEGMENT_BYTES_MIN,
        eviction_policy: policy,
        value_cache_bytes: 0,
        ..StoreOptions::default()
    };
    let opening = Store::open(options, vec![device], Arc::new(clock.clone()), [7; 32]);
    let store = executor.block_on(opening).map_err(io::Error::other)?;
    let handle = store.attach(0).map_err(io::Error::other)?;
    let background = Store::run_background(handle.clone());
    executor.spawner().spawn(background);
    let mut client = Client {
        handle,
        clock,
        value: vec![b'v'; arguments.value_bytes],
        expires: policy == EvictionPolicy::VolatileTtl,
    };
    let (warm_up, measured) = trace.split_at(trace.len() / 3);
    executor.block_on(async {
        client.requests(warm_up).await?;
        let before = store.stats();
        let hits = client.requests(measured).await?;
        Ok(outcome(hits, measured.len(), (&before, &store.stats())))
    })
}

fn outcome(hits: u64, requests: usize, (before, after): (&StoreStats, &StoreStats)) -> Outcome {
    let copied = after.cleaner_relocated_bytes - before.cleaner_relocated_bytes;
    let written = after.user_bytes_written - before.user_bytes_written;
    Outcome {
        hits,
        requests: requests as u64,
        keys: after.keys,
        copied: copied as f64 / written as f64,
    }
}

struct Client {
    handle: Handle,
    clock: SimClock,
    value: Vec<u8>,
    expires: bool,
}

impl Client {
    /// Asks for keys in turn, and loads what is missing: the hits.
    async fn requests(&mut self, keys: &[u64]) -> io::Result<u64> {
        let mut hits = 0;
        for key in keys {
            let name = key.to_be_bytes();
            let found = self.handle.get(DB, &name).await.map_err(io::Error::other)?;
            if found.is_some() {
                hits += 1;
            } else {
                self.load(&name).await?;
            }
            self.clock.sleep(REQUEST_US).await;
        }
        Ok(hits)
    }

    async fn load(&self, name: &[u8]) -> io::Result<()> {
        let deadline_ms = self.expires.then(|| self.clock.unix_ms() + DEADLINE_MS);
        let mut batch = WriteBatch::new();
        batch.set(
            DB,
            name.to_vec(),
            self.value.clone(),
            Encoding::Raw,
            deadline_ms,
        );
        let written = self.handle.commit(batch).await;
        written.map(|_| ()).map_err(io::Error::other)
    }
}
