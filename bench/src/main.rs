//! `cellar-bench`: measures the layers of Cellar one by one, and prints tables.
//!
//! Owns the command line. Must never be needed to run the server.

mod layers;
mod load;
mod results;

use std::sync::atomic::AtomicBool;

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
    IndexMemory(layers::index::MemoryArguments),
    /// ns per lookup, insert, overwrite and remove at one key count.
    IndexLookup(layers::index::LookupArguments),
    /// Write amplification of cleaning policies, simulated.
    Cleaner(layers::cleaner::Arguments),
    /// Hit ratios of the eviction policies beside exact LRU and LFU, on a simulated device.
    Eviction(layers::eviction::Arguments),
    /// A load on a server that is running: rates, latencies, every value read checked.
    Load(load::LoadArguments),
}

fn main() -> std::io::Result<()> {
    match Arguments::parse().bench {
        Bench::IndexMemory(arguments) => layers::index::memory(&arguments),
        Bench::IndexLookup(arguments) => layers::index::lookup(&arguments),
        Bench::Cleaner(arguments) => layers::cleaner::run(&arguments),
        Bench::Eviction(arguments) => layers::eviction::run(&arguments),
        Bench::Load(arguments) => load::run_by_hand(&arguments, &AtomicBool::new(false)),
    }
}
