//! The index alone: bytes per key and nanoseconds per operation, on one thread.
//!
//! Owns the key set and the order of access. Must never time the making of keys unless it says so.
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]
#![expect(
    clippy::cast_precision_loss,
    reason = "counts and times are far below 2^52"
)]

use std::hint::black_box;
use std::time::Instant;

use cellar_index::{Entry, Hasher, Identity, Index};

/// Rounds of each measurement that changes nothing: the least counts, since neighbours on a machine
/// only ever add.
const ROUNDS: usize = 5;
/// Lookups in flight when prefetching: as many commands as a turn of a pipeline holds.
const BATCH: usize = 32;

#[derive(clap::Args)]
pub(crate) struct MemoryArguments {
    /// Key counts, ascending; the table grows from one to the next.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1000000,10000000,11500000,13000000,15000000,17500000,20000000"
    )]
    counts: Vec<u32>,
    /// Key counts, descending, to remove keys down to afterwards.
    #[arg(long, value_delimiter = ',', default_value = "10000000")]
    then_remove_to: Vec<u32>,
    /// Lookups of a round at each count.
    #[arg(long, default_value_t = 1_000_000)]
    lookups: u32,
}

#[derive(clap::Args)]
pub(crate) struct LookupArguments {
    /// Keys in the table.
    #[arg(long, default_value_t = 10_000_000)]
    keys: u32,
    /// Operations of a round of each kind.
    #[arg(long, default_value_t = 1_000_000)]
    operations: u32,
}

/// A table of keys `0..count`, every one with a TTL.
struct Table {
    index: Index,
    hasher: Hasher,
    count: u32,
}

impl Table {
    fn new() -> std::io::Result<Self> {
        let hasher = Hasher::new(*b"a fixed seed, 16");
        Ok(Self {
            index: Index::new(0)?,
            hasher,
            count: 0,
        })
    }

    fn id(&self, number: u32) -> Identity {
        // 24 bytes, as long as the keys of redis-benchmark with a prefix.
        let mut key = *b"key:0000000000000000000\0";
        key[16..20].copy_from_slice(&number.to_le_bytes());
        self.hasher.key(0, &key)
    }

    fn put(&self, number: u32, location: u64) {
        let entry = Entry {
            location,
            length_class: 33,
            value_type: 0,
            database: 0,
            referenced: false,
            expiry_s: 1_900_000_000,
        };
        let id = self.id(number);
        let mut lock = self.index.lock(id);
        lock.ensure_room(id).expect("there is no bound");
        lock.put(id, entry);
    }

    fn grow_to(&mut self, count: u32) {
        for number in self.count..count {
            self.put(number, u64::from(number));
        }
        self.count = self.count.max(count);
    }

    fn shrink_to(&mut self, count: u32) {
        for number in count..self.count {
            let id = self.id(number);
            self.index.lock(id).remove(id).expect("every key is there");
        }
        self.count = self.count.min(count);
    }

    /// Key numbers in an order that no prefetcher foresees.
    fn order(&self, length: u32) -> impl Iterator<Item = u32> + use<> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let count = u64::from(self.count);
        (0..length).map(move |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (((state >> 32) * count) >> 32) as u32
        })
    }

    /// Identities in such an order, made beforehand.
    fn ids(&self, length: u32) -> Vec<Identity> {
        self.order(length).map(|number| self.id(number)).collect()
    }

    /// The next lookup does not wait for the one before, and the core overlaps them as it can.
    fn lookup_ns(&self, ids: &[Identity]) -> f64 {
        least_ns(ids.len(), || {
            for id in ids {
                black_box(self.index.lookup(*id)).expect("every key is there");
            }
        })
    }

    /// Each lookup waits for the one before, as a lone request does.
    fn dependent_lookup_ns(&self, ids: &[Identity]) -> f64 {
        least_ns(ids.len(), || {
            let mut next = 0;
            for position in 0..ids.len() {
                let id = ids[(position + next) % ids.len()];
                let found = black_box(self.index.lookup(id)).expect("every key is there");
                next = usize::from(found.database);
            }
        })
    }

    fn prefetched_lookup_ns(&self, ids: &[Identity]) -> f64 {
        least_ns(ids.len(), || {
            for batch in ids.chunks(BATCH) {
                for id in batch {
                    self.index.prefetch(*id);
                }
                for id in batch {
                    self.index.prefetch_overflow(*id);
                }
                for id in batch {
                    black_box(self.index.lookup(*id)).expect("every key is there");
                }
            }
        })
    }
}

fn time_ns(operations: usize, run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_nanos() as f64 / operations as f64
}

fn least_ns(operations: usize, mut run: impl FnMut()) -> f64 {
    (0..ROUNDS)
        .map(|_| time_ns(operations, &mut run))
        .fold(f64::INFINITY, f64::min)
}

/// Prints a table of bytes per key and ns per lookup.
pub(crate) fn memory(arguments: &MemoryArguments) -> std::io::Result<()> {
    let mut table = Table::new()?;
    println!("| keys | B/key | buckets | overflow | directory | free | lookup | serial | by 32 |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for count in &arguments.counts {
        table.grow_to(*count);
        print_memory_row(&table, arguments.lookups);
    }
    for count in &arguments.then_remove_to {
        table.shrink_to(*count);
        print_memory_row(&table, arguments.lookups);
    }
    Ok(())
}

fn print_memory_row(table: &Table, lookups: u32) {
    let bytes = table.index.bytes();
    let keys = table.index.len();
    let per_key = |bytes: u64| bytes as f64 / keys as f64;
    let ids = table.ids(lookups);
    println!(
        "| {keys} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} | {:.0} |",
        per_key(bytes.total),
        per_key(bytes.buckets),
        per_key(bytes.overflow),
        per_key(bytes.directory),
        per_key(bytes.free),
        table.lookup_ns(&ids),
        table.dependent_lookup_ns(&ids),
        table.prefetched_lookup_ns(&ids),
    );
}

/// Prints ns per operation of each kind.
pub(crate) fn lookup(arguments: &LookupArguments) -> std::io::Result<()> {
    let mut table = Table::new()?;
    let insert_ns = time_ns(arguments.keys as usize, || table.grow_to(arguments.keys));
    let operations = arguments.operations as usize;
    let ids = table.ids(arguments.operations);
    let print = |name: &str, ns: f64| println!("| {name} | {ns:.0} |");
    println!("{} keys", table.index.len());
    println!("| operation | ns |");
    println!("|---|---|");
    print("insert, hash and growth included", insert_ns);
    print(
        "hash of a 24-byte key",
        least_ns(operations, || {
            drop(black_box(table.ids(arguments.operations)));
        }),
    );
    print(
        "lookup, one after the other",
        table.dependent_lookup_ns(&ids),
    );
    print("lookup, as the core overlaps them", table.lookup_ns(&ids));
    print(
        "lookup, prefetched 32 at once",
        table.prefetched_lookup_ns(&ids),
    );
    let order: Vec<u32> = table.order(arguments.operations).collect();
    let overwrite_ns = time_ns(operations, || {
        for number in &order {
            table.put(*number, 1);
        }
    });
    print("overwrite, hash included", overwrite_ns);
    let removed = (arguments.keys / 2).min(arguments.operations);
    let remove_ns = time_ns(removed as usize, || {
        table.shrink_to(arguments.keys - removed);
    });
    print("remove, hash and shrinking included", remove_ns);
    Ok(())
}
