//! The figures that a report derives from samples: medians of the rounds, ratios to the best peer.
//!
//! Owns the list of figures, each with its unit and its better direction. Must never fill in what
//! was not measured.
#![expect(
    clippy::cast_precision_loss,
    reason = "counts and bytes are far below 2^52"
)]

use super::model::{Column, Entry, Table, is_cellar};
use super::number;
use crate::results::Sample;

/// A figure of a sample.
pub(super) struct Metric {
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    pub(super) better: Better,
    /// None where it was not measured.
    pub(super) of: fn(&Sample) -> Option<f64>,
    pub(super) show: fn(f64) -> String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Better {
    Higher,
    Lower,
}

/// Median of the rounds, with the least and the most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) count: usize,
}

/// The best of a column's peers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Best<'a> {
    pub(super) server: &'a str,
    pub(super) median: f64,
    /// Whether it had all its data in DRAM where others had not.
    pub(super) is_reference: bool,
}

pub(super) const THROUGHPUT: Metric = Metric {
    title: "Throughput",
    unit: "operations/s",
    better: Better::Higher,
    of: |sample| (sample.operations > 0).then_some(sample.ops_per_s),
    show: number::count,
};

pub(super) const CPU: Metric = Metric {
    title: "Server CPU per operation",
    unit: "µs of all threads",
    better: Better::Lower,
    of: |sample| {
        (sample.server_cpu_s > 0.0)
            .then(|| per_operation(sample, sample.server_cpu_s * 1e6))
            .flatten()
    },
    show: number::micros_plain,
};

pub(super) const MEMORY: Metric = Metric {
    title: "Memory",
    unit: "resident bytes at the most",
    better: Better::Lower,
    of: |sample| (sample.resident_bytes > 0).then_some(sample.resident_bytes as f64),
    show: number::bytes,
};

pub(super) const DEVICE_READ: Metric = Metric {
    title: "Device reads",
    unit: "bytes per operation",
    better: Better::Lower,
    of: |sample| per_operation(sample, sample.device_read_bytes? as f64),
    show: number::bytes,
};

pub(super) const DEVICE_WRITTEN: Metric = Metric {
    title: "Device writes",
    unit: "bytes per operation",
    better: Better::Lower,
    of: |sample| per_operation(sample, sample.device_written_bytes? as f64),
    show: number::bytes,
};

pub(super) const AMPLIFICATION: Metric = Metric {
    title: "Write amplification",
    unit: "device bytes per byte that clients wrote",
    better: Better::Lower,
    of: |sample| {
        let user_bytes = sample.user_bytes_written.filter(|bytes| *bytes > 0)?;
        Some(sample.device_written_bytes? as f64 / user_bytes as f64)
    },
    show: number::ratio,
};

pub(super) const P50: Metric = latency("p50", |sample| sample.latency.as_ref()?.p50_us);
pub(super) const P90: Metric = latency("p90", |sample| sample.latency.as_ref()?.p90_us);
pub(super) const P99: Metric = latency("p99", |sample| sample.latency.as_ref()?.p99_us);
pub(super) const P999: Metric = latency("p99.9", |sample| sample.latency.as_ref()?.p999_us);
pub(super) const MAX: Metric = latency("max", |sample| sample.latency.as_ref()?.max_us);

/// The figures that are drawn as bars, in this order.
pub(super) const BARS: [&Metric; 6] = [
    &THROUGHPUT,
    &CPU,
    &MEMORY,
    &DEVICE_READ,
    &DEVICE_WRITTEN,
    &AMPLIFICATION,
];

/// The latencies, from the usual one to the worst.
pub(super) const LATENCIES: [&Metric; 5] = [&P50, &P90, &P99, &P999, &MAX];

const fn latency(title: &'static str, of: fn(&Sample) -> Option<f64>) -> Metric {
    Metric {
        title,
        unit: "latency",
        better: Better::Lower,
        of,
        show: number::micros,
    }
}

fn per_operation(sample: &Sample, amount: f64) -> Option<f64> {
    (sample.operations > 0).then(|| amount / sample.operations as f64)
}

impl Spread {
    /// None of no values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let count = sorted.len();
        Some(Self {
            median: f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]),
            min,
            max,
            count,
        })
    }
}

impl Metric {
    /// The spread over the rounds of one server.
    pub(super) fn spread(&self, entry: &Entry) -> Option<Spread> {
        Spread::of(entry.samples.iter().filter_map(self.of))
    }

    /// The best median among the peers of a column; among the references only if there are no
    /// others.
    pub(super) fn best_peer<'a>(&self, column: &'a Column) -> Option<Best<'a>> {
        let best = |is_reference: bool| {
            column
                .entries
                .iter()
                .filter(|entry| !is_cellar(&entry.server) && entry.is_reference() == is_reference)
                .filter_map(|entry| {
                    Some(Best {
                        server: &entry.server,
                        median: self.spread(entry)?.median,
                        is_reference,
                    })
                })
                .max_by(|a, b| match self.better {
                    Better::Higher => a.median.total_cmp(&b.median),
                    Better::Lower => b.median.total_cmp(&a.median),
                })
        };
        best(false).or_else(|| best(true))
    }

    /// A median as a multiple of the best peer's.
    pub(super) fn ratio(&self, median: f64, column: &Column) -> Option<f64> {
        let best = self.best_peer(column)?;
        (best.median > 0.0).then(|| median / best.median)
    }
}

/// Names and units of the figures that only some columns have, in the order in which they come.
pub(super) fn further_names(table: &Table) -> Vec<(&str, &str)> {
    let entries = table.columns.iter().flat_map(|column| &column.entries);
    let samples = entries.flat_map(|entry| &entry.samples);
    let mut names: Vec<(&str, &str)> = Vec::new();
    for figure in samples.flat_map(|sample| &sample.figures) {
        if !names.iter().any(|(name, _)| *name == figure.name) {
            names.push((&figure.name, &figure.unit));
        }
    }
    names
}

/// The spread of such a figure over the rounds of one server.
pub(super) fn further(entry: &Entry, name: &str) -> Option<Spread> {
    let figures = entry.samples.iter().flat_map(|sample| &sample.figures);
    let values = figures.filter(|figure| figure.name == name);
    Spread::of(values.map(|figure| figure.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::sample;

    fn entry(server: &str, rates: &[f64]) -> Entry {
        Entry {
            server: server.to_owned(),
            samples: rates.iter().map(|rate| sample(server, 0, *rate)).collect(),
            series: Vec::new(),
        }
    }

    #[test]
    fn a_median_is_the_middle_of_the_rounds() {
        let spread = Spread::of([3.0, 1.0, 10.0]).unwrap();
        assert_eq!((spread.median, spread.min, spread.max), (3.0, 1.0, 10.0));
        let even = Spread::of([1.0, 2.0]).unwrap();
        assert!((even.median - 1.5).abs() < 1e-9);
        assert!(Spread::of([]).is_none());
    }

    #[test]
    fn the_best_peer_is_the_fastest_or_the_cheapest_that_is_not_ours() {
        let column = Column {
            name: "get".to_owned(),
            entries: vec![
                entry("cellar", &[500.0]),
                entry("redis", &[100.0, 300.0, 200.0]),
                entry("valkey", &[150.0]),
            ],
        };
        let best = THROUGHPUT.best_peer(&column).unwrap();
        assert_eq!((best.server, best.median), ("redis", 200.0));
        assert_eq!(THROUGHPUT.ratio(500.0, &column), Some(2.5));
        // Each sample of the tests takes a second of CPU.
        let best = CPU.best_peer(&column).unwrap();
        assert_eq!((best.server, best.median), ("redis", 5000.0));
    }

    #[test]
    fn a_reference_is_compared_with_only_if_there_is_no_peer() {
        let mut reference = entry("redis", &[900.0]);
        reference.samples[0].notes = vec!["a reference: all data in DRAM".to_owned()];
        let mut column = Column {
            name: "get".to_owned(),
            entries: vec![entry("cellar", &[500.0]), reference],
        };
        let best = THROUGHPUT.best_peer(&column).unwrap();
        assert_eq!((best.server, best.is_reference), ("redis", true));
        column.entries.push(entry("kvrocks", &[100.0]));
        let best = THROUGHPUT.best_peer(&column).unwrap();
        assert_eq!((best.server, best.is_reference), ("kvrocks", false));
    }

    #[test]
    fn what_was_not_measured_is_absent() {
        let mut failed = sample("redis", 0, 0.0);
        failed.operations = 0;
        for metric in [&THROUGHPUT, &CPU, &DEVICE_READ] {
            assert_eq!((metric.of)(&failed), None, "{}", metric.title);
        }
        assert_eq!((AMPLIFICATION.of)(&sample("redis", 0, 10.0)), None);
    }
}
