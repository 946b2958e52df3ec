//! Which operations of the suites are taken apart, and into which benchmarks.
//!
//! Owns that list. An operation is on it where the benchmarks have its sizes, its number of keys,
//! its connections and its depth: keys of 16 bytes, values of 1 KiB found in DRAM, `everysec`.

use crate::report::Spread;
use crate::results::{Row, Sample};

/// Sockets and runtime, parse, find command, store, frame reply.
pub(super) const PART_COUNT: usize = 5;
/// Whose CPU time.
const SERVER: &str = "cellar";
/// The durability that the benchmarks of the store run with, as table names have it.
const DURABILITY: &str = "; everysec";

/// An operation of a suite.
pub(super) struct Operation {
    suite: &'static str,
    /// How the names of its tables begin.
    table: &'static str,
    column: &'static str,
    /// Benchmarks that add up, one operation each.
    pub(super) parts: [&'static str; PART_COUNT],
    /// Of the store's part: what its index takes.
    pub(super) index: [&'static str; 2],
}

const INDEX: [&str; 2] = ["index_hash/16", "index_100000/lookup"];
const INDEX_BY_32: [&str; 2] = ["index_hash/16", "index_100000/lookup_by_32"];
const INDEX_WRITE: [&str; 2] = ["index_hash/16", "index_100000/replace"];

const fn get(
    (suite, table, column): (&'static str, &'static str, &'static str),
    socket: &'static str,
) -> Operation {
    Operation {
        suite,
        table,
        column,
        parts: [
            socket,
            "resp/parse_get",
            "resp/find_command",
            "store/get_cache",
            "resp/reply_bulk",
        ],
        index: INDEX,
    }
}

const fn set(
    (suite, table, column): (&'static str, &'static str, &'static str),
    (socket, parse): (&'static str, &'static str),
) -> Operation {
    Operation {
        suite,
        table,
        column,
        parts: [
            socket,
            parse,
            "resp/find_command",
            "store/set",
            "resp/reply_ok",
        ],
        index: INDEX_WRITE,
    }
}

const OPERATIONS: [Operation; 6] = [
    get(("wire", "wire, 8 clients", "readrandom"), "socket/get"),
    set(
        ("wire", "wire, 8 clients", "overwrite"),
        ("socket/set", "resp/parse_set"),
    ),
    get(("pipeline", "pipeline, GET", "-P 1"), "socket/get_of_50"),
    Operation {
        parts: [
            "socket/get_of_50_by_32",
            "resp/parse_get_by_32",
            "resp/find_command",
            "store/get_cache_by_32",
            "resp/reply_bulk",
        ],
        index: INDEX_BY_32,
        ..get(("pipeline", "pipeline, GET", "-P 32"), "")
    },
    set(
        ("pipeline", "pipeline, SET", "-P 1"),
        ("socket/set_of_50", "resp/parse_set"),
    ),
    set(
        ("pipeline", "pipeline, SET", "-P 32"),
        ("socket/set_of_50_by_32", "resp/parse_set_by_32"),
    ),
];

/// An operation in one table of the results.
pub(super) struct Measured {
    pub(super) operation: &'static Operation,
    /// Table and column.
    pub(super) name: String,
    /// The server's CPU time for each operation, in microseconds, of all rounds.
    pub(super) cpu_us: Spread,
}

/// Every operation of the list that the rows have.
pub(super) fn measured(rows: &[Row]) -> Vec<Measured> {
    let samples: Vec<&Sample> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Sample(sample) => Some(sample),
            Row::Run(_) | Row::Server(_) | Row::Series(_) | Row::Limit(_) => None,
        })
        .filter(|sample| sample.server == SERVER && sample.table.contains(DURABILITY))
        .collect();
    OPERATIONS
        .iter()
        .flat_map(|operation| in_tables(operation, &samples))
        .collect()
}

fn in_tables(operation: &'static Operation, samples: &[&Sample]) -> Vec<Measured> {
    let mut tables: Vec<(&str, Vec<f64>)> = Vec::new();
    for sample in samples {
        let is_it = sample.suite == operation.suite
            && sample.table.starts_with(operation.table)
            && sample.column == operation.column;
        let Some(us) = cpu_us(sample).filter(|_| is_it) else {
            continue;
        };
        match tables.iter_mut().find(|(name, _)| *name == sample.table) {
            Some((_, rounds)) => rounds.push(us),
            None => tables.push((&sample.table, vec![us])),
        }
    }
    let with_spread = tables.into_iter().filter_map(|(table, rounds)| {
        Some(Measured {
            operation,
            name: format!("{table}: {}", operation.column),
            cpu_us: Spread::of(rounds)?,
        })
    });
    with_spread.collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn cpu_us(sample: &Sample) -> Option<f64> {
    let is_known = sample.operations > 0 && sample.server_cpu_s > 0.0;
    is_known.then(|| sample.server_cpu_s * 1e6 / sample.operations as f64)
}

/// All benchmarks that the list names.
#[cfg(test)]
pub(super) fn parts() -> impl Iterator<Item = &'static str> {
    OPERATIONS
        .iter()
        .flat_map(|operation| operation.parts.into_iter().chain(operation.index))
}
