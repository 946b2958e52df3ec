//! What a run leaves behind: one JSON object a line, each with its `kind`.
//!
//! ```text
//!   suites --> writer (flushes every row) --> results.jsonl --> reader --> terminal table, report
//! ```
//!
//! Owns the schema. Must never hold what can be derived: ratios, medians, minima and maxima are
//! made by whoever shows them. A figure that was not measured is absent, never zero.

mod reader;
mod writer;

use serde::{Deserialize, Serialize};

pub(crate) use reader::read;
pub(crate) use writer::Writer;

/// What went wrong with a file of results.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResultsError {
    /// The file could not be opened, read, or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is no row of this schema.
    #[error("{path}, line {line}: not a row of results: {source}")]
    Line {
        /// The file.
        path: String,
        /// The line's number, from 1.
        line: usize,
        /// What does not fit.
        source: serde_json::Error,
    },
}

/// One line of a file of results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Row {
    /// How a suite was called, and on what; comes before the rows of its suite.
    Run(Run),
    /// A server of the suite, found or not.
    Server(Server),
    /// One measurement of one server.
    Sample(Sample),
    /// A measurement over time.
    Series(Series),
    /// What the device can do by itself.
    Limit(Limit),
}

/// How a suite was called, and on what machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) suite: String,
    /// Seconds since 1970.
    pub(crate) started_unix_s: u64,
    pub(crate) machine: Machine,
    /// `disk`, or `ram` when the data's directory is on a RAM-backed file system.
    pub(crate) regime: String,
    /// `everysec`, `always` or `no`.
    pub(crate) durability: String,
    /// Whether the load has cores of its own.
    pub(crate) cpu_split: bool,
    /// Cores of the servers.
    #[serde(default)]
    pub(crate) server_cores: Vec<usize>,
    /// Cores of the load generator.
    #[serde(default)]
    pub(crate) load_cores: Vec<usize>,
    /// How the memory budget is kept, in words.
    #[serde(default)]
    pub(crate) memory_budget: String,
    /// The command line of the harness.
    pub(crate) arguments: Vec<String>,
}

/// The machine of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) cpu_model: String,
    pub(crate) cores: u32,
    pub(crate) kernel: String,
    pub(crate) memory_bytes: u64,
    /// The block device under the data's directory.
    pub(crate) device: String,
    /// The type of the file system of the data's directory.
    pub(crate) filesystem: String,
}

/// A server of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Server {
    /// The adapter's name, as in `--server NAME=PATH`.
    pub(crate) name: String,
    /// The suite that the server was looked for in.
    #[serde(default)]
    pub(crate) suite: String,
    /// Whether a binary was found and came up.
    pub(crate) found: bool,
    pub(crate) version: Option<String>,
    pub(crate) binary: Option<String>,
    pub(crate) command_line: Vec<String>,
    /// The text of its configuration file; empty when the command line is all there is.
    pub(crate) config: String,
    /// Why it is left out: the reason, or the last lines of its log.
    pub(crate) absence: Option<String>,
}

/// One measurement of one server in one round.
///
/// `operations` is 0 only when the column could not be measured: then `errors` is not 0 and the
/// first note says why, and `ops_per_s` means nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) suite: String,
    pub(crate) table: String,
    pub(crate) column: String,
    pub(crate) server: String,
    /// From 0.
    pub(crate) round: u32,
    /// The driver's whole command line, or the plan of the built-in client in words.
    pub(crate) driver_command: Vec<String>,
    pub(crate) seconds: f64,
    /// Requests that were answered, errors not counted.
    pub(crate) operations: u64,
    pub(crate) errors: u64,
    pub(crate) ops_per_s: f64,
    pub(crate) latency: Option<Latency>,
    /// Seconds of all threads of the server, user and system.
    pub(crate) server_cpu_s: f64,
    pub(crate) client_cpu_s: f64,
    /// Most bytes of DRAM that the server's process held while measured.
    pub(crate) resident_bytes: u64,
    pub(crate) device_read_bytes: Option<u64>,
    pub(crate) device_written_bytes: Option<u64>,
    /// Bytes of keys and values that clients wrote.
    pub(crate) user_bytes_written: Option<u64>,
    /// Share of the machine's CPU time that the hypervisor took away, 0 to 1.
    pub(crate) steal_share: f64,
    /// Further figures of this column, such as bytes per key.
    #[serde(default)]
    pub(crate) figures: Vec<Figure>,
    pub(crate) notes: Vec<String>,
}

/// A figure that only some columns have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    /// Noun first, as "memory per key".
    pub(crate) name: String,
    /// As "B" or "s".
    pub(crate) unit: String,
    pub(crate) value: f64,
}

/// Latencies of a sample in microseconds; absent are those that the driver does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "a unit ends every name of a figure"
)]
pub(crate) struct Latency {
    pub(crate) p50_us: Option<f64>,
    pub(crate) p90_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) p999_us: Option<f64>,
    pub(crate) max_us: Option<f64>,
    pub(crate) mean_us: Option<f64>,
}

/// A measurement over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) suite: String,
    pub(crate) table: String,
    pub(crate) column: String,
    pub(crate) server: String,
    pub(crate) round: u32,
    pub(crate) interval_s: f64,
    pub(crate) points: Vec<Point>,
}

/// One interval of a series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Point {
    /// The interval's end, in seconds since the series began.
    pub(crate) at_s: f64,
    /// Requests answered in the interval.
    pub(crate) operations: u64,
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) max_us: Option<f64>,
    /// Bytes written to the device in the interval.
    pub(crate) device_written_bytes: Option<u64>,
    /// Whether the server cleaned in the interval.
    pub(crate) cleaning: Option<bool>,
}

/// What `fio` reached on the same file, depth and cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Limit {
    pub(crate) suite: String,
    /// As "randread 4k qd80".
    pub(crate) name: String,
    pub(crate) round: u32,
    pub(crate) file_bytes: u64,
    pub(crate) block_bytes: u64,
    pub(crate) depth: u32,
    pub(crate) reads_per_s: f64,
    pub(crate) cpu_s_per_operation: f64,
    pub(crate) command: Vec<String>,
}
