//! `cellar-bench`: measures Cellar beside other servers, and its layers one by one.
//!
//! ```text
//!   suites --> peers (servers) + drivers (load generators, ours in load) --> results (JSON lines)
//!      \--> host (cores, memory, counters)
//!   layers (no server)
//! ```
//!
//! Owns the command line. Must never be needed to run the server.

mod cost;
mod drivers;
mod error;
mod host;
mod layers;
mod load;
mod peers;
mod report;
mod results;
mod suites;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use host::cancel::Flag;

/// Benchmarks of Cellar and its peers, and of Cellar's layers.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// One suite of measurements of several servers, which this starts and stops.
    Suite(suites::Options),
    /// The tables of a file of results.
    Table(suites::TableArguments),
    /// Bytes of DRAM per key, and ns per lookup, at several key counts.
    IndexMemory(layers::index::MemoryArguments),
    /// ns per lookup, insert, overwrite and remove at one key count.
    IndexLookup(layers::index::LookupArguments),
    /// Write amplification of cleaning policies, simulated.
    Cleaner(layers::cleaner::Arguments),
    /// Hit ratios of the eviction policies beside exact LRU and LFU, on a simulated device.
    Eviction(layers::eviction::Arguments),
    /// CPU time of a GET and a SET layer by layer, beside a server's.
    Budget(layers::budget::Arguments),
    /// A load on a server that is running: rates, latencies, every value read checked.
    Load(load::LoadArguments),
    /// A page of tables and plots from files of results.
    Report(report::ReportArguments),
    /// Nodes and monthly cost of a workload, from files of results and assumptions.
    Cost(cost::CostArguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().bench) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when standard error is gone.
            let _ = writeln!(io::stderr(), "cellar-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(bench: Bench) -> io::Result<()> {
    match bench {
        Bench::Suite(options) => suites::run(&options).map_err(io::Error::other),
        Bench::Table(arguments) => suites::print_table(&arguments).map_err(io::Error::other),
        Bench::IndexMemory(arguments) => layers::index::memory(&arguments),
        Bench::IndexLookup(arguments) => layers::index::lookup(&arguments),
        Bench::Cleaner(arguments) => layers::cleaner::run(&arguments),
        Bench::Eviction(arguments) => layers::eviction::run(&arguments),
        Bench::Budget(arguments) => layers::budget::run(&arguments).map_err(io::Error::other),
        Bench::Load(arguments) => {
            let cancel = Flag::on_signals().map_err(io::Error::other)?;
            load::run_by_hand(&arguments, cancel.as_atomic())
        }
        Bench::Report(arguments) => report::run(&arguments).map_err(io::Error::other),
        Bench::Cost(arguments) => cost::run(&arguments).map_err(io::Error::other),
    }
}
