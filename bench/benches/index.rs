//! The index: nanoseconds of each operation, on one thread.
//!
//! Owns the key set and the order of access, which no prefetcher foresees. Identities are made
//! beforehand: the hash is a benchmark of its own.

mod cpu_time;

use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use cellar_index::{Entry, Hasher, Identity, Index};
use criterion::{Criterion, SamplingMode, Throughput};

use cpu_time::CpuTime;

/// Keys in the table: as many as `wire` has, whose buckets fit the processor's caches, and as many
/// as do not. `KEYS=10000000` takes the place of the second.
const KEY_COUNTS: [u32; 2] = [100_000, 1_000_000];
/// Names the larger table.
const KEY_COUNT_VARIABLE: &str = "KEYS";
/// Lookups that are prefetched together: as many commands as a turn holds.
const BATCH: usize = 32;
/// Identities in an order that no prefetcher foresees, taken in turn: their buckets alone are more
/// than the processor's caches hold, where the table is.
const ORDER_COUNT: usize = 1 << 20;

/// A table of keys `0..count`, and some of them in an order that no prefetcher foresees.
struct Table {
    index: Index,
    hasher: Hasher,
    count: u32,
    order: Vec<Identity>,
    /// Where the next benchmark goes on.
    next: Cell<usize>,
}

impl Table {
    fn new(count: u32) -> Self {
        let index = Index::new(0).expect("there is address space");
        let hasher = Hasher::new(*b"a fixed seed, 16");
        let mut table = Self {
            index,
            hasher,
            count,
            order: Vec::new(),
            next: Cell::new(0),
        };
        table.put_all(
            &(0..count)
                .map(|number| table.id(number))
                .collect::<Vec<_>>(),
        );
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let numbers = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (((state >> 32) * u64::from(count)) >> 32) as u32
        });
        table.order = numbers
            .take(ORDER_COUNT)
            .map(|number| table.id(number))
            .collect();
        table
    }

    fn id(&self, number: u32) -> Identity {
        self.hasher.key(0, format!("key:{number:012}").as_bytes())
    }

    /// Identities of as many keys that are not in the table.
    fn fresh(&self, count: u64) -> Vec<Identity> {
        let numbers = self.count..self.count + count as u32;
        numbers.map(|number| self.id(number)).collect()
    }

    fn put_all(&self, ids: &[Identity]) {
        for id in ids {
            let entry = Entry {
                location: 7,
                length_class: 33,
                value_type: 0,
                database: 0,
                referenced: false,
                expiry_s: 0,
            };
            let mut lock = self.index.lock(*id);
            lock.ensure_room(*id).expect("there is no bound");
            lock.put(*id, entry);
        }
    }

    fn remove_all(&self, ids: &[Identity]) {
        for id in ids {
            self.index.lock(*id).remove(*id).expect("it is there");
        }
    }

    /// The next identities of keys that are in the table.
    fn known(&self, count: u64) -> Vec<Identity> {
        let start = self.next.get();
        let end = start + count as usize;
        self.next.set(end % ORDER_COUNT);
        (start..end)
            .map(|position| self.order[position % ORDER_COUNT])
            .collect()
    }

    /// Each lookup waits for the one before, as a lone request does.
    fn lookup_alone(&self, ids: &[Identity]) {
        let mut shift = 0;
        for position in 0..ids.len() {
            let id = ids[(position + shift) % ids.len()];
            let found = black_box(self.index.lookup(id)).expect("it is there");
            shift = usize::from(found.database);
        }
    }

    fn lookup_batches(&self, ids: &[Identity]) {
        for batch in ids.chunks(BATCH) {
            for id in batch {
                self.index.prefetch(*id);
            }
            for id in batch {
                self.index.prefetch_overflow(*id);
            }
            for id in batch {
                black_box(self.index.lookup(*id)).expect("it is there");
            }
        }
    }
}

/// CPU time of `work`.
fn timed(work: impl FnOnce()) -> Duration {
    let start = cpu_time::now();
    work();
    cpu_time::since(start)
}

fn hash(criterion: &mut Criterion<CpuTime>) {
    let hasher = Hasher::new(*b"a fixed seed, 16");
    let mut group = criterion.benchmark_group("index_hash");
    for bytes in [16, 40] {
        let key = vec![b'k'; bytes];
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(bytes.to_string(), |bencher| {
            bencher.iter(|| hasher.key(0, black_box(&key)));
        });
    }
    group.finish();
}

fn operations(criterion: &mut Criterion<CpuTime>, key_count: u32) {
    let table = Table::new(key_count);
    let mut group = criterion.benchmark_group(format!("index_{key_count}"));
    // What is inserted is removed again, outside the time taken: every sample finds the same table.
    group.sampling_mode(SamplingMode::Flat);
    for (name, work) in [
        ("lookup", Table::lookup_alone as fn(&Table, &[Identity])),
        ("lookup_by_32", Table::lookup_batches),
        ("replace", Table::put_all),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|count| {
                let ids = table.known(count);
                timed(|| work(&table, &ids))
            });
        });
    }
    group.bench_function("insert", |bencher| {
        bencher.iter_custom(|count| {
            let ids = table.fresh(count);
            let spent = timed(|| table.put_all(&ids));
            table.remove_all(&ids);
            spent
        });
    });
    group.bench_function("remove", |bencher| {
        bencher.iter_custom(|count| {
            let ids = table.fresh(count);
            table.put_all(&ids);
            timed(|| table.remove_all(&ids))
        });
    });
    group.finish();
}

fn main() {
    let [small, large] = KEY_COUNTS;
    let named = std::env::var(KEY_COUNT_VARIABLE).ok();
    let large = named.map_or(large, |count| count.parse().expect("KEYS is a number"));
    let mut criterion = cpu_time::criterion();
    hash(&mut criterion);
    for key_count in [small, large] {
        operations(&mut criterion, key_count);
    }
    criterion.final_summary();
}
