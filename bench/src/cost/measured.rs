//! What the results tell the cost model: each server's rates on a core, and its memory for a key.
//!
//! Owns where in the results that stands. Must never take rates of one server from two runs.
#![expect(clippy::cast_precision_loss, reason = "a handful of cores")]

use crate::report::Spread;
use crate::report::model::{Column, Entry, Section};

/// Where rates are looked for, the first that has both: suite, column of reads, column of writes.
const RATES: [(&str, &str, &str); 4] = [
    ("tiered", "GET", "SET"),
    ("zipf", "GET", "SET"),
    ("wire", "readrandom", "overwrite"),
    ("threads", "GET", "SET"),
];

/// Where memory for a key is looked for.
const MEMORY_SUITE: &str = "memory";
/// What it is called, the better one first: what a server keeps for its keys by its own account,
/// which leaves out buffers and caches that do not grow with them; else how much the process grew.
const MEMORY_FIGURES: [&str; 2] = ["index memory per key", "resident memory per key"];

/// What was measured of one server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) server: String,
    pub(crate) rates: Option<Rates>,
    pub(crate) memory: Option<Memory>,
}

/// Commands a second for each core of the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rates {
    pub(crate) reads_per_core_s: f64,
    pub(crate) writes_per_core_s: f64,
    /// Suite, table and conditions.
    pub(crate) source: String,
}

/// Bytes of memory for each key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Memory {
    pub(crate) bytes_per_key: f64,
    /// Of the values that were stored, which a server in memory holds as well.
    pub(crate) value_bytes: f64,
    /// The figure's name.
    pub(crate) figure: &'static str,
}

/// All servers of the results, in their order.
pub(crate) fn measured(sections: &[Section]) -> Vec<Measured> {
    let columns = sections.iter().flat_map(|section| &section.tables);
    let entries = columns
        .flat_map(|table| &table.columns)
        .flat_map(|column| &column.entries);
    let mut names: Vec<&str> = Vec::new();
    for entry in entries {
        if !names.contains(&entry.server.as_str()) {
            names.push(&entry.server);
        }
    }
    names
        .into_iter()
        .map(|server| Measured {
            server: server.to_owned(),
            rates: rates(sections, server),
            memory: memory(sections, server),
        })
        .collect()
}

/// The rates of the first suite, run and table that has both columns of the server.
fn rates(sections: &[Section], server: &str) -> Option<Rates> {
    RATES.iter().find_map(|(suite, reads, writes)| {
        let of_suite = sections
            .iter()
            .filter(|section| section.run.suite == *suite);
        of_suite.into_iter().find_map(|section| {
            let cores = section.run.server_cores.len().max(1) as f64;
            section.tables.iter().find_map(|table| {
                let rate = |name: &str| {
                    let column = table.columns.iter().find(|column| column.name == name)?;
                    Some(median_rate(entry(column, server)?)? / cores)
                };
                Some(Rates {
                    reads_per_core_s: rate(reads)?,
                    writes_per_core_s: rate(writes)?,
                    source: format!(
                        "{reads} and {writes} of \"{}\" ({})",
                        table.name,
                        section.conditions()
                    ),
                })
            })
        })
    })
}

fn entry<'a>(column: &'a Column, server: &str) -> Option<&'a Entry> {
    column.entries.iter().find(|entry| entry.server == server)
}

fn median_rate(entry: &Entry) -> Option<f64> {
    let measured = entry.samples.iter().filter(|sample| sample.operations > 0);
    Spread::of(measured.map(|sample| sample.ops_per_s)).map(|spread| spread.median)
}

/// The memory for a key in the first table whose name tells the size of the values.
fn memory(sections: &[Section], server: &str) -> Option<Memory> {
    let of_suite = || {
        sections
            .iter()
            .filter(|section| section.run.suite == MEMORY_SUITE)
    };
    MEMORY_FIGURES.iter().find_map(|figure| {
        let mut tables = of_suite().flat_map(|section| &section.tables);
        tables.find_map(|table| {
            let columns = table.columns.iter();
            let mut entries = columns.filter_map(|column| entry(column, server));
            let bytes_per_key = entries.find_map(|entry| median_figure(entry, figure))?;
            (bytes_per_key > 0.0).then_some(Memory {
                bytes_per_key,
                value_bytes: last_number(&table.name)?,
                figure,
            })
        })
    })
}

fn median_figure(entry: &Entry, name: &str) -> Option<f64> {
    let figures = entry.samples.iter().flat_map(|sample| &sample.figures);
    let values = figures.filter(|figure| figure.name == name);
    Spread::of(values.map(|figure| figure.value)).map(|spread| spread.median)
}

/// The last number in a name such as "memory, values of 100 B".
fn last_number(name: &str) -> Option<f64> {
    let mut words = name.split(|c: char| !c.is_ascii_digit());
    words.rfind(|word| !word.is_empty())?.parse().ok()
}
