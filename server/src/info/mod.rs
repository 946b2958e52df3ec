//! INFO: everything the server tells about itself, in sections.
//!
//! Owns the choice of sections; each module owns the fields of some. Field names are Redis's where
//! the thing is Redis's: client libraries and exporters read them.

mod counters;
mod lines;
mod memory;
mod process;
mod server;
mod store;
mod upkeep;

pub use memory::MemoryFigures;
pub use upkeep::{Figure, Figures, cleaner_figures, scrub_figures};

use crate::command::Cx;
use lines::Lines;

/// A section of INFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Server,
    Clients,
    Memory,
    Persistence,
    Device,
    Cleaner,
    Scrub,
    Stats,
    Replication,
    Cpu,
    Modules,
    CommandStats,
    ErrorStats,
    LatencyStats,
    Cluster,
    Keyspace,
}

impl Section {
    const ALL: [Self; 16] = [
        Self::Server,
        Self::Clients,
        Self::Memory,
        Self::Persistence,
        Self::Device,
        Self::Cleaner,
        Self::Scrub,
        Self::Stats,
        Self::Replication,
        Self::Cpu,
        Self::Modules,
        Self::CommandStats,
        Self::ErrorStats,
        Self::LatencyStats,
        Self::Cluster,
        Self::Keyspace,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Server => "Server",
            Self::Clients => "Clients",
            Self::Memory => "Memory",
            Self::Persistence => "Persistence",
            Self::Device => "Device",
            Self::Cleaner => "Cleaner",
            Self::Scrub => "Scrub",
            Self::Stats => "Stats",
            Self::Replication => "Replication",
            Self::Cpu => "CPU",
            Self::Modules => "Modules",
            Self::CommandStats => "Commandstats",
            Self::ErrorStats => "Errorstats",
            Self::LatencyStats => "Latencystats",
            Self::Cluster => "Cluster",
            Self::Keyspace => "Keyspace",
        }
    }

    /// Whether INFO without an argument tells it.
    const fn is_default(self) -> bool {
        !matches!(self, Self::CommandStats | Self::LatencyStats)
    }

    fn write(self, cx: &Cx, lines: &mut Lines) {
        match self {
            Self::Server => server::server(cx, lines),
            Self::Clients => server::clients(cx, lines),
            Self::Memory => memory::memory(cx, lines),
            Self::Persistence => store::persistence(cx, lines),
            Self::Device => store::device(cx, lines),
            Self::Cleaner => upkeep::cleaner(cx, lines),
            Self::Scrub => upkeep::scrub(cx, lines),
            Self::Stats => counters::stats(cx, lines),
            Self::Replication => server::replication(cx, lines),
            Self::Cpu => server::cpu(lines),
            Self::Modules => {}
            Self::CommandStats => counters::command_stats(cx, lines),
            Self::ErrorStats => counters::error_stats(cx, lines),
            Self::LatencyStats => counters::latency_stats(cx, lines),
            Self::Cluster => lines.field("cluster_enabled", 0),
            Self::Keyspace => store::keyspace(cx, lines),
        }
    }
}

/// The text of INFO with these section names.
pub fn info(cx: &Cx, names: &[impl AsRef<[u8]>]) -> String {
    let mut lines = Lines::default();
    for section in Section::ALL {
        if is_wanted(section, names) {
            lines.section(section.name());
            section.write(cx, &mut lines);
        }
    }
    lines.finish()
}

fn is_wanted(section: Section, names: &[impl AsRef<[u8]>]) -> bool {
    if names.is_empty() {
        return section.is_default();
    }
    names
        .iter()
        .any(|name| match name.as_ref().to_ascii_lowercase().as_slice() {
            b"default" => section.is_default(),
            b"all" => section != Section::Modules,
            b"everything" => true,
            name => section.name().as_bytes().eq_ignore_ascii_case(name),
        })
}
