//! The drawings of one table: bars of each figure, latency percentiles, figures over time.
//!
//! Owns which figures become which drawing. Must never draw a figure that no server has.
#![expect(
    clippy::cast_precision_loss,
    reason = "counts and bytes are far below 2^52"
)]

use super::colour;
use super::figures::{BARS, LATENCIES, Metric, Spread, further, further_names};
use super::model::{Entry, Section, Table};
use super::number;
use super::plots::{Bar, BarGroup, DotGroup, DotRow, Moment, bars, dots, lines};
use crate::results::{Limit, Series};

/// All drawings of a table.
pub(super) fn charts(table: &Table) -> String {
    let mut drawn: Vec<String> = BARS
        .iter()
        .map(|metric| metric_bars(metric, table))
        .collect();
    drawn.insert(1, percentiles(table));
    drawn.extend(further_figures(table));
    drawn.extend(over_time(table));
    in_grid(&drawn)
}

fn in_grid(drawn: &[String]) -> String {
    let drawn = drawn.concat();
    if drawn.is_empty() {
        return drawn;
    }
    format!("<div class=\"charts\">\n{drawn}</div>\n")
}

fn metric_bars(metric: &Metric, table: &Table) -> String {
    let groups: Vec<BarGroup> = table
        .columns
        .iter()
        .map(|column| BarGroup {
            name: column.name.clone(),
            bars: column
                .entries
                .iter()
                .filter_map(|entry| Some(bar(&entry.server, metric.spread(entry)?, metric.show)))
                .collect(),
        })
        .collect();
    bars(metric.title, metric.unit, &groups, metric.show)
}

fn bar(server: &str, spread: Spread, show: fn(f64) -> String) -> Bar {
    Bar {
        server: server.to_owned(),
        class: colour::class(server),
        spread,
        text: show(spread.median),
    }
}

fn percentiles(table: &Table) -> String {
    let row = |entry: &Entry| {
        let us = LATENCIES.map(|metric| metric.spread(entry).map(|spread| spread.median));
        us.iter().any(Option::is_some).then(|| DotRow {
            server: entry.server.clone(),
            class: colour::class(&entry.server),
            us,
        })
    };
    let groups: Vec<DotGroup> = table
        .columns
        .iter()
        .map(|column| DotGroup {
            name: column.name.clone(),
            rows: column.entries.iter().filter_map(row).collect(),
        })
        .collect();
    dots("Latency percentiles", &groups)
}

/// Bars of each further figure that some columns have, such as bytes per key.
fn further_figures(table: &Table) -> Vec<String> {
    let names = further_names(table).into_iter();
    let drawn = names.map(|(name, unit)| {
        let figure = |entry: &Entry| Some(bar(&entry.server, further(entry, name)?, number::count));
        let groups: Vec<BarGroup> = table
            .columns
            .iter()
            .map(|column| BarGroup {
                name: column.name.clone(),
                bars: column.entries.iter().filter_map(figure).collect(),
            })
            .collect();
        bars(&capitalized(name), unit, &groups, number::count)
    });
    drawn.collect()
}

fn capitalized(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(characters).collect()
}

/// A drawing for each server of each column that has series: the round of the median throughput.
/// All of a column have the same scale.
fn over_time(table: &Table) -> Vec<String> {
    let mut drawn = Vec::new();
    for column in &table.columns {
        let chosen: Vec<(&Entry, Vec<Moment>, u32)> = column
            .entries
            .iter()
            .filter_map(|entry| {
                let series = median_round(&entry.series)?;
                Some((entry, moments(series), series.round))
            })
            .collect();
        let rates = chosen.iter().flat_map(|(_, moments, _)| moments);
        let most = rates
            .map(|moment| moment.operations_per_s)
            .fold(0.0, f64::max);
        for (entry, moments, round) in &chosen {
            let title = format!(
                "{} · {} over time (round {} of {})",
                entry.server,
                column.name,
                round + 1,
                entry.series.len()
            );
            drawn.push(lines(&title, moments, most, &colour::class(&entry.server)));
        }
    }
    drawn
}

fn median_round(series: &[Series]) -> Option<&Series> {
    let total = |series: &Series| {
        series
            .points
            .iter()
            .map(|point| point.operations)
            .sum::<u64>()
    };
    let mut sorted: Vec<&Series> = series.iter().filter(|s| !s.points.is_empty()).collect();
    sorted.sort_by_key(|series| total(series));
    sorted.get(sorted.len() / 2).copied()
}

fn moments(series: &Series) -> Vec<Moment> {
    let mut before_s = 0.0;
    let moment = |point: &crate::results::Point| {
        let seconds: f64 = point.at_s - before_s;
        let seconds = if seconds > 0.0 {
            seconds
        } else {
            series.interval_s
        };
        before_s = point.at_s;
        Moment {
            at_s: point.at_s,
            operations_per_s: point.operations as f64 / seconds,
            p99_us: point.p99_us,
            written_bytes_per_s: point
                .device_written_bytes
                .map(|bytes| bytes as f64 / seconds),
            is_cleaning: point.cleaning == Some(true),
        }
    };
    series.points.iter().map(moment).collect()
}

/// What the device does by itself, as bars.
pub(super) fn limit_charts(section: &Section) -> String {
    in_grid(&[
        limit_bars(
            section,
            ("Device limit", "operations/s"),
            |limit| limit.reads_per_s,
            number::count,
        ),
        limit_bars(
            section,
            ("fio's CPU per operation", "µs"),
            |limit| limit.cpu_s_per_operation * 1e6,
            number::micros_plain,
        ),
    ])
}

/// One figure of each limit. The limits' names are long, so each is a group of its own.
fn limit_bars(
    section: &Section,
    (title, unit): (&str, &str),
    of: fn(&Limit) -> f64,
    show: fn(f64) -> String,
) -> String {
    let group = |name: &str| {
        let rounds = section.limits.iter().filter(|limit| limit.name == name);
        let spread = Spread::of(rounds.map(of).filter(|value| *value > 0.0));
        BarGroup {
            name: name.to_owned(),
            bars: spread
                .map(|spread| bar("fio", spread, show))
                .into_iter()
                .collect(),
        }
    };
    let groups: Vec<BarGroup> = limit_names(section).into_iter().map(group).collect();
    bars(title, unit, &groups, show)
}

/// The limits' names in the order in which they were measured.
pub(super) fn limit_names(section: &Section) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for limit in &section.limits {
        if !names.contains(&limit.name.as_str()) {
            names.push(&limit.name);
        }
    }
    names
}
