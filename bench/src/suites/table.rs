//! The tables on the terminal: servers down, columns across, one block a figure.
//!
//! Must never show a figure that was not measured: what is missing is a dash, an error its text.

use std::fmt::Write as _;
use std::io::Write as _;

use super::statistics::Summary;
use crate::results::{Limit, Sample};

/// Prints every table. A terminal that is gone is no error: the rows are in the file.
pub(crate) fn print(samples: &[Sample], limits: &[Limit]) {
    let text = format!("{}{}", render_limits(limits), render(samples));
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// What fio reached, one line a kind of window.
fn render_limits(limits: &[Limit]) -> String {
    let mut lines = vec![
        ["fio", "operations/s", "CPU, us/operation"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for name in distinct(limits, |limit| &limit.name) {
        let rows: Vec<&Limit> = limits.iter().filter(|row| row.name == name).collect();
        let rates: Vec<f64> = rows.iter().map(|row| row.reads_per_s).collect();
        let cpu_us = rows.iter().map(|row| row.cpu_s_per_operation * 1e6);
        lines.push(vec![
            name.to_owned(),
            cell(&rates),
            cell(&cpu_us.collect::<Vec<f64>>()),
        ]);
    }
    let mut text = String::new();
    if !limits.is_empty() {
        let _ = writeln!(text);
        align(&mut text, &lines);
    }
    text
}

type Of = dyn Fn(&Sample) -> Option<f64>;

/// One figure of a sample, and how it is written.
struct Figure {
    name: String,
    of: Box<Of>,
}

fn render(samples: &[Sample]) -> String {
    let mut text = String::new();
    for table in distinct(samples, |sample| &sample.table) {
        let rows: Vec<&Sample> = samples.iter().filter(|row| row.table == table).collect();
        let _ = writeln!(text, "\n{table}");
        for figure in figures(&rows) {
            render_block(&mut text, &rows, &figure);
        }
        render_notes(&mut text, &rows);
    }
    text
}

fn distinct<'a, T>(rows: &'a [T], key: impl Fn(&'a T) -> &'a str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for row in rows {
        if !found.contains(&key(row)) {
            found.push(key(row));
        }
    }
    found
}

/// The figures that at least one of the samples has.
fn figures(rows: &[&Sample]) -> Vec<Figure> {
    let mut all = vec![
        figure("operations/s", |sample| {
            is_measured(sample).then_some(sample.ops_per_s)
        }),
        figure("server CPU, us/operation", cpu_us),
        figure("p50, us", |sample| sample.latency.as_ref()?.p50_us),
        figure("p99, us", |sample| sample.latency.as_ref()?.p99_us),
        figure("p99.9, us", |sample| sample.latency.as_ref()?.p999_us),
        figure("peak memory, MiB", |sample| {
            (sample.resident_bytes > 0).then(|| as_f64(sample.resident_bytes) / 1_048_576.0)
        }),
        figure("written to the device per byte from clients", amplification),
    ];
    let further = rows.iter().flat_map(|row| &row.figures);
    let mut names: Vec<(String, String)> = Vec::new();
    for found in further {
        let name = (found.name.clone(), found.unit.clone());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    all.extend(names.into_iter().map(|(name, unit)| Figure {
        name: format!("{name}, {unit}"),
        of: Box::new(move |sample| {
            let mut figures = sample.figures.iter();
            figures
                .find(|figure| figure.name == name)
                .map(|figure| figure.value)
        }),
    }));
    all.retain(|figure| rows.iter().any(|row| (figure.of)(row).is_some()));
    all
}

fn figure(name: &str, of: impl Fn(&Sample) -> Option<f64> + 'static) -> Figure {
    let name = name.to_owned();
    let of = Box::new(of);
    Figure { name, of }
}

fn is_measured(sample: &Sample) -> bool {
    sample.operations > 0
}

fn cpu_us(sample: &Sample) -> Option<f64> {
    let is_known = is_measured(sample) && sample.server_cpu_s > 0.0;
    is_known.then(|| sample.server_cpu_s * 1e6 / as_f64(sample.operations))
}

fn amplification(sample: &Sample) -> Option<f64> {
    let user = sample.user_bytes_written.filter(|bytes| *bytes > 0)?;
    Some(as_f64(sample.device_written_bytes?) / as_f64(user))
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

fn render_block(text: &mut String, rows: &[&Sample], figure: &Figure) {
    let columns = distinct(rows, |row| &row.column);
    let servers = distinct(rows, |row| &row.server);
    let mut lines = vec![vec![figure.name.clone()]];
    lines[0].extend(columns.iter().map(|column| (*column).to_owned()));
    for server in servers {
        let mut line = vec![server.to_owned()];
        line.extend(columns.iter().map(|column| {
            let of_cell = rows
                .iter()
                .filter(|row| row.server == server && row.column == *column);
            cell(
                &of_cell
                    .filter_map(|row| (figure.of)(row))
                    .collect::<Vec<f64>>(),
            )
        }));
        lines.push(line);
    }
    let _ = writeln!(text);
    align(text, &lines);
}

/// The median, and least and most when there are several rounds.
fn cell(values: &[f64]) -> String {
    match Summary::of(values) {
        None => "-".to_owned(),
        Some(summary) if values.len() == 1 => number(summary.median),
        Some(Summary {
            median,
            least,
            most,
        }) => {
            format!("{} ({}-{})", number(median), number(least), number(most))
        }
    }
}

/// Three digits or more, in thousands from ten thousand on.
fn number(value: f64) -> String {
    if value >= 1e4 {
        format!("{:.1}k", value / 1e3)
    } else if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

fn align(text: &mut String, lines: &[Vec<String>]) {
    let column_count = lines.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..column_count).map(width).collect();
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| {
            if column == 0 {
                format!("  {cell:width$}")
            } else {
                format!("  {cell:>width$}")
            }
        });
        let _ = writeln!(text, "{}", cells.collect::<String>().trim_end());
    }
}

/// Columns that could not be measured, and notes, each once.
fn render_notes(text: &mut String, rows: &[&Sample]) {
    let mut told = Vec::new();
    for row in rows {
        for note in &row.notes {
            let line = if is_measured(row) {
                format!("  {}: {note}", row.server)
            } else {
                format!("  {}, {}: {note}", row.server, row.column)
            };
            // Notes with figures in them differ from round to round; the file has them all.
            let key = (
                row.server.clone(),
                row.column.clone(),
                note.chars()
                    .filter(|c| !c.is_ascii_digit())
                    .collect::<String>(),
            );
            if told
                .iter()
                .all(|(line_told, key_told)| *line_told != line && *key_told != key)
            {
                told.push((line, key));
            }
        }
    }
    let steal: Vec<f64> = rows.iter().map(|row| row.steal_share * 100.0).collect();
    let steal = Summary::of(&steal).map_or(0.0, |summary| summary.most);
    let _ = writeln!(
        text,
        "\n  CPU time taken away by the hypervisor: at most {steal:.1} %"
    );
    for (line, _) in told {
        let _ = writeln!(text, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Figure as Named, Latency};

    fn sample(server: &str, column: &str, ops_per_s: f64) -> Sample {
        Sample {
            table: "wire, 4 clients".to_owned(),
            column: column.to_owned(),
            server: server.to_owned(),
            operations: 1000,
            ops_per_s,
            server_cpu_s: 0.01,
            latency: Some(Latency {
                p99_us: Some(250.0),
                ..Latency::default()
            }),
            ..Sample::default()
        }
    }

    #[test]
    fn rounds_are_medians_and_gaps_are_dashes() {
        let failed = Sample {
            operations: 0,
            errors: 1,
            ops_per_s: 0.0,
            server_cpu_s: 0.0,
            latency: None,
            notes: vec!["ERR unknown command".to_owned()],
            ..sample("cellar", "hset", 0.0)
        };
        let named = Sample {
            figures: vec![Named {
                name: "ready".to_owned(),
                unit: "s".to_owned(),
                value: 1.5,
            }],
            ..sample("redis", "get", 3.0)
        };
        let samples = [
            sample("redis", "get", 1.0),
            sample("redis", "get", 50_000.0),
            named,
            failed,
        ];
        let text = render(&samples);
        let expected = [
            "operations/s                get  hset",
            "redis         3.00 (1.00-50.0k)     -",
            "cellar                        -     -",
            "server CPU, us/operation",
            "ready, s",
            "cellar, hset: ERR unknown command",
        ];
        for line in expected {
            assert!(text.contains(line), "{line:?} in\n{text}");
        }
        assert!(!text.contains("p50"), "{text}");
    }

    #[test]
    fn numbers_have_three_digits() {
        let check = |value, expected: &str| assert_eq!(number(value), expected);
        check(0.123, "0.12");
        check(12.34, "12.3");
        check(1234.0, "1234");
        check(123_456.0, "123.5k");
    }
}
