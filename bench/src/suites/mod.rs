//! The suites: which servers, which loads, in which order.
//!
//! ```text
//!   Options --> Session (stage, servers, rounds) --> a suite --> drivers --> Sample
//!                                       results.jsonl, table on the terminal <--/
//! ```
//!
//! Owns the order of things. In every suite each server gets the same cores, memory, durability and
//! a fresh directory, and the order of the servers turns around from round to round.

mod churn;
mod collections;
mod limits;
mod memory;
mod options;
mod pipeline;
mod progress;
mod recovery;
mod sampling;
mod session;
mod stage;
mod statistics;
mod table;
mod threads;
mod tiered;
mod watch;
mod wire;
mod zipf;

use std::path::PathBuf;

use crate::error::BenchError;
use crate::host::cancel::Flag;
use crate::results::{self, Row};

pub(crate) use options::Options;
use options::Suite;
use session::Session;

/// `cellar-bench table`: the tables of a file of results.
#[derive(clap::Args)]
pub(crate) struct TableArguments {
    /// A file of results, one JSON object a line.
    file: PathBuf,
}

/// Runs one suite; what was measured before an error or Ctrl-C is kept and shown.
pub(crate) fn run(options: &Options) -> Result<(), BenchError> {
    let cancel = Flag::on_signals()?;
    let mut session = Session::open(options, cancel)?;
    let done = run_suite(&mut session);
    table::print(session.samples(), session.limits());
    session.say(&format!("rows are in {}", session.results_path().display()));
    done
}

fn run_suite(session: &mut Session) -> Result<(), BenchError> {
    match session.options().suite {
        Suite::Wire => wire::run(session),
        Suite::Threads => threads::run(session),
        Suite::Tiered => tiered::run(session),
        Suite::Zipf => zipf::run(session),
        Suite::Churn => churn::run(session),
        Suite::Pipeline => pipeline::run(session),
        Suite::Collections => collections::run(session),
        Suite::Recovery => recovery::run(session),
        Suite::Memory => memory::run(session),
        Suite::Limits => limits::run(session),
    }
}

/// Prints the tables of a file that an earlier run left.
pub(crate) fn print_table(arguments: &TableArguments) -> Result<(), BenchError> {
    let rows = results::read(&arguments.file)?;
    let (mut samples, mut limits) = (Vec::new(), Vec::new());
    for row in rows {
        match row {
            Row::Sample(sample) => samples.push(sample),
            Row::Limit(limit) => limits.push(limit),
            Row::Run(_) | Row::Server(_) | Row::Series(_) => {}
        }
    }
    table::print(&samples, &limits);
    Ok(())
}
