//! `cellar-bench`: measures the layers of Cellar one by one, and prints tables.
//!
//! Owns the command line. Must never be needed to run the server.

mod cleaner;
mod eviction_bench;
mod eviction_models;
mod index_bench;

use clap::{Parser, Subcommand};

/// Benchmarks of Cellar, one subcommand a layer.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// Bytes of DRAM per key, and ns per lookup, at several key counts.
    IndexMemory(index_bench::MemoryArguments),
    /// ns per lookup, insert, overwrite and remove at one key count.
    IndexLookup(index_bench::LookupArguments),
    /// Write amplification of cleaning policies, simulated.
    Cleaner(cleaner::Arguments),
    /// Hit ratios of the eviction policies beside exact LRU and LFU, on a simulated device.
    Eviction(eviction_bench::Arguments),
}

fn main() -> std::io::Result<()> {
    match Arguments::parse().bench {
        Bench::IndexMemory(arguments) => index_bench::memory(&arguments),
        Bench::IndexLookup(arguments) => index_bench::lookup(&arguments),
        Bench::Cleaner(arguments) => cleaner::run(&arguments),
        Bench::Eviction(arguments) => eviction_bench::run(&arguments),
    }
}
