//! The command line of `cellar-bench suite`.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::ValueEnum;

use crate::error::BenchError;
use crate::host::size;
use crate::peers::{Durability, Peer};

/// One suite of measurements of several servers in one run.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The suite.
    pub(crate) suite: Suite,
    /// A server's binary, as NAME=PATH; repeatable. Others are looked for on PATH.
    #[arg(long = "server", value_name = "NAME=PATH")]
    pub(crate) server: Vec<String>,
    /// Only these servers, in this order.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) servers: Vec<String>,
    /// Rounds; each measures every server once [default: 3, threads: 5].
    #[arg(long)]
    pub(crate) rounds: Option<u32>,
    /// The load on cores of its own: the default where only one layout is measured.
    #[arg(long, conflicts_with = "shared")]
    pub(crate) cpu_split: bool,
    /// Servers and load on the same cores.
    #[arg(long)]
    pub(crate) shared: bool,
    /// When a write is safe from a crash; one class a run, since tables never mix them.
    #[arg(long, value_enum, default_value = "everysec")]
    pub(crate) durability: Durability,
    /// Where the servers' data goes, in a directory that is removed at the end
    /// [default: the current one; /dev/shm in the regime ram].
    #[arg(long)]
    pub(crate) directory: Option<PathBuf>,
    /// The kind of device under the data.
    #[arg(long, value_enum, default_value = "disk")]
    pub(crate) regime: Regime,
    /// DRAM of each server, as 1280mb [default: by suite].
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_budget: Option<String>,
    /// Keys of the data set [default: by suite].
    #[arg(long)]
    pub(crate) keys: Option<u64>,
    /// Seconds of a measurement [default: by suite].
    #[arg(long)]
    pub(crate) seconds: Option<f64>,
    /// Clients of `wire`, one table each [default: 4,8].
    #[arg(long, value_delimiter = ',')]
    pub(crate) clients: Vec<u32>,
    /// A few seconds in all: shows that everything works, measures nothing of worth.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Where the file of results goes.
    #[arg(long, default_value = "bench-results")]
    pub(crate) out: PathBuf,
    /// Operations a second of the open loop of `tiered`; without it that column is left out.
    #[arg(long)]
    pub(crate) offered_rate: Option<f64>,
    /// The device of cellar-spdk, as spdk://NAME.
    #[arg(long)]
    pub(crate) spdk_device: Option<String>,
    /// redis-benchmark, where it is not on PATH.
    #[arg(long)]
    pub(crate) redis_benchmark: Option<PathBuf>,
    /// memtier_benchmark, where it is not on PATH.
    #[arg(long)]
    pub(crate) memtier: Option<PathBuf>,
    /// fio, where it is not on PATH.
    #[arg(long)]
    pub(crate) fio: Option<PathBuf>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Suite {
    /// Random fills, overwrites, reads and YCSB mixes of 1 KB values from 4 and 8 clients.
    Wire,
    /// redis-benchmark's GET and SET from 500 clients at 1, 2 and 4 server threads.
    Threads,
    /// Values of 1 to 4 KB, far more of them than memory: GET, 1:1, SET.
    Tiered,
    /// Reads by Zipf's law with a cache of 5, 10 and 20 % of the data.
    Zipf,
    /// Overwrites of a store that is 80 % full, then reads beside them.
    Churn,
    /// GET and SET with 1, 8, 32 and 128 commands in flight.
    Pipeline,
    /// Hashes, lists, sets, sorted sets.
    Collections,
    /// From kill -9 to the first answer.
    Recovery,
    /// Bytes of memory for each key.
    Memory,
    /// The device by itself beside the server on it.
    Limits,
}

impl Suite {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::Threads => "threads",
            Self::Tiered => "tiered",
            Self::Zipf => "zipf",
            Self::Churn => "churn",
            Self::Pipeline => "pipeline",
            Self::Collections => "collections",
            Self::Recovery => "recovery",
            Self::Memory => "memory",
            Self::Limits => "limits",
        }
    }

    fn rounds(self) -> u32 {
        match self {
            // As on the page that this suite repeats.
            Self::Threads => 5,
            Self::Wire
            | Self::Tiered
            | Self::Zipf
            | Self::Churn
            | Self::Pipeline
            | Self::Collections
            | Self::Recovery
            | Self::Memory
            | Self::Limits => 3,
        }
    }
}

/// The kind of device under the data; figures of the two are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Regime {
    /// A real device.
    Disk,
    /// A file on a RAM-backed file system, faster than any core.
    Ram,
}

impl Regime {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Ram => "ram",
        }
    }
}

impl Options {
    /// How often each server is measured.
    pub(crate) fn round_count(&self) -> u32 {
        let default = if self.quick { 1 } else { self.suite.rounds() };
        self.rounds.unwrap_or(default).max(1)
    }

    /// The servers that were asked for, all of them when none was.
    pub(crate) fn peers(&self) -> Result<Vec<Peer>, BenchError> {
        if self.servers.is_empty() {
            return Ok(Peer::ALL.to_vec());
        }
        self.servers.iter().map(|name| peer(name)).collect()
    }

    /// The binaries that were named.
    pub(crate) fn binaries(&self) -> Result<HashMap<Peer, PathBuf>, BenchError> {
        let named = self.server.iter().map(|word| {
            let (name, path) = word.split_once('=').ok_or_else(|| {
                BenchError::Arguments(format!("--server {word}: write NAME=PATH"))
            })?;
            Ok((peer(name)?, PathBuf::from(path)))
        });
        named.collect()
    }

    /// Bytes of DRAM for each server, `default` unless the command line says otherwise.
    pub(crate) fn memory_bytes(&self, default: u64) -> Result<u64, BenchError> {
        let text = self.memory_budget.as_ref();
        text.map_or(Ok(default), |text| size::parse(text))
    }

    /// Keys of the data set: what the command line says, else `full`, or `quick` in a quick run.
    pub(crate) fn key_count(&self, full: u64, quick: u64) -> u64 {
        let default = if self.quick { quick } else { full };
        self.keys.unwrap_or(default).max(1)
    }

    /// Length of a measurement in the same way.
    pub(crate) fn seconds(&self, full: f64) -> f64 {
        const QUICK_S: f64 = 0.5;
        let default = if self.quick { QUICK_S } else { full };
        self.seconds.unwrap_or(default).clamp(0.1, 86_400.0)
    }
}

fn peer(name: &str) -> Result<Peer, BenchError> {
    Peer::named(name).ok_or_else(|| {
        let known: Vec<&str> = Peer::ALL.iter().map(|peer| peer.name()).collect();
        BenchError::Arguments(format!("no server {name}; known are {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn options(line: &str) -> Options {
        Line::parse_from(format!("suite {line}").split_whitespace()).options
    }

    #[test]
    fn servers_and_binaries_are_named() {
        let options = options("wire --servers redis,cellar --server redis=/bin/r");
        assert_eq!(options.peers().unwrap(), [Peer::Redis, Peer::Cellar]);
        assert_eq!(
            options.binaries().unwrap()[&Peer::Redis],
            PathBuf::from("/bin/r")
        );
        let error = super::tests::options("wire --servers memcached")
            .peers()
            .unwrap_err();
        assert!(error.to_string().contains("no server memcached"), "{error}");
        assert!(
            super::tests::options("wire --server redis")
                .binaries()
                .is_err()
        );
    }

    #[test]
    fn defaults_follow_the_suite_and_quick() {
        assert_eq!(options("threads").round_count(), 5);
        assert_eq!(options("wire").round_count(), 3);
        assert_eq!(options("wire --quick").round_count(), 1);
        assert_eq!(options("wire --quick --rounds 2").round_count(), 2);
        assert_eq!(options("wire --quick").key_count(100, 10), 10);
        assert_eq!(options("wire --keys 7").key_count(100, 10), 7);
        let bytes = options("tiered --memory-budget 1280mb")
            .memory_bytes(1)
            .unwrap();
        assert_eq!(bytes, 1280 << 20);
        assert!(
            options("tiered --memory-budget lots")
                .memory_bytes(1)
                .is_err()
        );
    }
}
