//! `cellar-bench cost`: how many nodes a workload needs on each server, and what they cost a month.
//!
//! ```text
//!   results --> measured (rates on a core, memory a key) --\
//!   assumptions (workload, headroom, nodes, prices) --------> model --> table, page
//! ```
//!
//! Owns the model. Must never call an assumption a measurement, and says what it leaves out.
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod assumptions;
mod measured;
mod model;
mod page;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::PathBuf;

pub(crate) use assumptions::Assumptions;
pub(crate) use page::html;

use crate::report::{ReportError, model::Section, model::sections, number};
use crate::results;
use model::{bill, candidates};

/// What the model knows nothing of.
const LEFT_OUT: [&str; 9] = [
    "Network: bandwidth of a node, traffic between zones, and what either costs.",
    "Replication: its CPU, its lag, reads served by replicas.",
    "Rates are taken to grow with the cores of a node, and values to be as large as those measured; \
     neither is so at the limit of a device or of a network.",
    "The device's own limits of reads, writes and wear.",
    "Skew: one hot key or shard needs a node that the mean does not ask for.",
    "Memory that a cache would make use of: reads are taken to cost what they cost in the suite named.",
    "Compression, where a server has it and the data allow it.",
    "Operations: people, backups, monitoring, licences and support.",
    "Discounts, reserved and spot prices, taxes; a node that is too small or too large for the job.",
];

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CostError {
    #[error("{path}: {source}")]
    Read {
        path: String,
        source: std::io::Error,
    },
    #[error("{path}: {source}")]
    Syntax {
        path: String,
        source: Box<toml::de::Error>,
    },
    #[error("assumptions: {rule}")]
    Assumption { rule: &'static str },
}

/// Nodes and monthly cost of a workload, from results and assumptions.
#[derive(clap::Args)]
pub(crate) struct CostArguments {
    /// Files of results, as the suites write them.
    #[arg(required_unless_present = "print_assumptions")]
    results: Vec<PathBuf>,
    /// Assumptions in place of the default ones.
    #[arg(long)]
    assumptions: Option<PathBuf>,
    /// Prints the default assumptions, a file to start from, and ends.
    #[arg(long)]
    print_assumptions: bool,
    /// Data of one copy in TB, in place of that of the assumptions.
    #[arg(long)]
    data_tb: Option<f64>,
    /// Bytes of a value.
    #[arg(long)]
    value_bytes: Option<f64>,
    /// Commands a second at the peak.
    #[arg(long)]
    peak_rate: Option<f64>,
    /// Share of the commands that read, 0 to 1.
    #[arg(long)]
    read_share: Option<f64>,
    /// Copies of the data.
    #[arg(long)]
    copies: Option<u32>,
}

impl CostArguments {
    fn assumptions(&self) -> Result<Assumptions, CostError> {
        let mut assumptions = match &self.assumptions {
            Some(path) => Assumptions::read(path)?,
            None => Assumptions::default(),
        };
        let workload = &mut assumptions.workload;
        let replace = |place: &mut f64, value: Option<f64>| *place = value.unwrap_or(*place);
        replace(&mut workload.data_tb, self.data_tb);
        replace(&mut workload.value_bytes, self.value_bytes);
        replace(&mut workload.peak_rate_per_s, self.peak_rate);
        replace(&mut workload.read_share, self.read_share);
        workload.copies = self.copies.unwrap_or(workload.copies);
        assumptions.validate()?;
        Ok(assumptions)
    }
}

/// Prints the table of nodes and cost.
pub(crate) fn run(arguments: &CostArguments) -> Result<(), ReportError> {
    if arguments.print_assumptions {
        print!("{}", assumptions::TEXT);
        return Ok(());
    }
    let assumptions = arguments.assumptions()?;
    let mut found = Vec::new();
    for path in &arguments.results {
        found.extend(sections(results::read(path)?)?);
    }
    print!("{}", table(&found, &assumptions));
    Ok(())
}

/// The terminal's table.
fn table(sections: &[Section], assumptions: &Assumptions) -> String {
    let (found, unknown) = candidates(&measured::measured(sections), assumptions);
    let workload = &assumptions.workload;
    let mut text = format!(
        "{} TB in {} copies, values of {} B, {}/s at the peak, {} of them reads\n\n",
        workload.data_tb,
        workload.copies,
        workload.value_bytes,
        number::count(workload.peak_rate_per_s),
        number::percent(workload.read_share),
    );
    let head = [
        "reads/s", "writes/s", "B a key", "device", "memory", "rate", "nodes", "a month",
    ];
    let _ = write!(text, "{:<14}", "server");
    for name in head {
        let _ = write!(text, "{name:>10}");
    }
    text.push_str("  limit\n");
    for candidate in &found {
        let bill = bill(candidate, assumptions);
        let _ = writeln!(
            text,
            "{:<14}{:>10}{:>10}{:>10.1}{:>10}{:>10}{:>10}{:>10}{:>10}  {}",
            candidate.server,
            number::count(candidate.reads_per_core_s),
            number::count(candidate.writes_per_core_s),
            candidate.memory_bytes_per_key,
            bill.by_device,
            bill.by_memory,
            bill.by_rate,
            bill.nodes,
            number::money(bill.per_month),
            bill.limit(),
        );
    }
    if found.is_empty() {
        text.push_str("no server: the results have no rates that the model could use\n");
    }
    text.push_str(
        "\nRates are of one core. `device`, `memory`, `rate`: the primaries each asks for.\n",
    );
    for candidate in &found {
        let _ = writeln!(
            text,
            "{}: rates: {}; memory: {}",
            candidate.server, candidate.rates_source, candidate.memory_source
        );
    }
    for name in unknown {
        let _ = writeln!(
            text,
            "{name}: left out, no rates of reads and writes were measured"
        );
    }
    text.push_str("\nLeft out of the model:\n");
    for item in LEFT_OUT {
        let _ = writeln!(text, "- {item}");
    }
    text
}
