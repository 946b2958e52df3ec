//! The tables of one run: every figure of every server, medians with least and most.
//!
//! Owns the columns of these tables; one that nobody has a figure for is left out. Must never hide
//! a column of a server that failed: it is shown with what it said.

use std::fmt::Write as _;

use super::charts::limit_names;
use super::colour;
use super::figures::{BARS, CPU, LATENCIES, Metric, Spread, THROUGHPUT, further, further_names};
use super::model::{Column, Entry, Section, Table, is_cellar};
use super::number;
use super::plots::escape;

/// A column of the table: a metric, and whether the ratio to the best peer stands beside it.
struct Shown<'a> {
    metric: &'a Metric,
    has_ratio: bool,
}

/// The table of all columns of `table`.
pub(super) fn table(table: &Table) -> String {
    let shown = shown_metrics(table);
    let figures = further_names(table);
    let mut html = String::from("<div class=\"scroll\"><table>\n<thead><tr><th>server</th>");
    for Shown { metric, has_ratio } in &shown {
        let title = header(metric);
        let _ = write!(html, "<th>{title}</th>");
        if *has_ratio {
            html.push_str("<th>of the best peer</th>");
        }
    }
    for (name, unit) in &figures {
        let _ = write!(
            html,
            "<th>{}<small>{}</small></th>",
            escape(name),
            escape(unit)
        );
    }
    html.push_str("<th>errors</th><th>steal</th></tr></thead>\n");
    let width = shown
        .iter()
        .map(|shown| 1 + usize::from(shown.has_ratio))
        .sum::<usize>();
    let width = width + figures.len() + 3;
    for column in &table.columns {
        let name = escape(&column.name);
        let _ = writeln!(
            html,
            "<tbody><tr class=\"column\"><th colspan=\"{width}\" scope=\"rowgroup\">\
             <span>{name}</span></th></tr>"
        );
        for entry in &column.entries {
            html.push_str(&row(entry, column, &shown, &figures));
        }
        html.push_str("</tbody>\n");
    }
    html.push_str("</table></div>\n");
    html + &notes(table)
}

fn header(metric: &Metric) -> String {
    match metric.unit {
        "latency" => metric.title.to_owned(),
        unit => format!("{}<small>{unit}</small>", metric.title),
    }
}

/// The metrics that some server of the table has.
fn shown_metrics(table: &Table) -> Vec<Shown<'static>> {
    let entries = || table.columns.iter().flat_map(|column| &column.entries);
    let has_peer = |metric: &Metric| {
        let mut columns = table.columns.iter();
        columns.any(|column| metric.best_peer(column).is_some())
    };
    let metrics = BARS[..2].iter().chain(&LATENCIES).chain(&BARS[2..]);
    metrics
        .filter(|metric| entries().any(|entry| metric.spread(entry).is_some()))
        .map(|metric| Shown {
            metric,
            has_ratio: [THROUGHPUT.title, CPU.title, "p99"].contains(&metric.title)
                && has_peer(metric),
        })
        .collect()
}

fn row(entry: &Entry, column: &Column, shown: &[Shown<'_>], figures: &[(&str, &str)]) -> String {
    let class = if is_cellar(&entry.server) {
        " class=\"ours\""
    } else {
        ""
    };
    let mut html = format!(
        "<tr{class}><th scope=\"row\"><i class=\"dot {}\"></i>{}{}</th>",
        colour::class(&entry.server),
        escape(&entry.server),
        if entry.is_reference() {
            "<small>all in DRAM</small>"
        } else {
            ""
        }
    );
    for Shown { metric, has_ratio } in shown {
        let spread = metric.spread(entry);
        html.push_str(&spread_cell(spread, metric.show));
        if *has_ratio {
            let ratio = spread.and_then(|spread| metric.ratio(spread.median, column));
            let text = ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}×"));
            let _ = write!(html, "<td>{text}</td>");
        }
    }
    for (name, _) in figures {
        html.push_str(&spread_cell(further(entry, name), number::count));
    }
    let errors: u64 = entry.samples.iter().map(|sample| sample.errors).sum();
    let steal = Spread::of(entry.samples.iter().map(|sample| sample.steal_share));
    let _ = write!(html, "<td>{errors}</td>");
    html.push_str(&spread_cell(steal, number::percent));
    html.push_str("</tr>\n");
    html
}

/// The median, and below it the least and the most of the rounds.
fn spread_cell(spread: Option<Spread>, show: fn(f64) -> String) -> String {
    let Some(spread) = spread else {
        return "<td>–</td>".to_owned();
    };
    let median = show(spread.median);
    if spread.count == 1 {
        return format!("<td>{median}</td>");
    }
    let (min, max) = (show(spread.min), show(spread.max));
    if min == max {
        return format!("<td>{median}<small>in all rounds</small></td>");
    }
    let range = number::range(&min, &max);
    format!("<td>{median}<small>{range}</small></td>")
}

/// What the samples of a table have to say, each once.
fn notes(table: &Table) -> String {
    let mut notes: Vec<String> = Vec::new();
    for column in &table.columns {
        for entry in &column.entries {
            for note in entry.samples.iter().flat_map(|sample| &sample.notes) {
                let note = format!("{}, {}: {note}", entry.server, column.name);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    folded("Notes", &notes)
}

/// A folded list; nothing of nothing.
fn folded(title: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let mut html = format!("<details><summary>{title}</summary><ul>\n");
    for item in items {
        let _ = writeln!(html, "<li>{}</li>", escape(item));
    }
    html + "</ul></details>\n"
}

/// What `fio` reached, beside the servers of the same run.
#[expect(clippy::cast_precision_loss, reason = "sizes of files")]
pub(super) fn limits(section: &Section) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table>\n<thead><tr><th>fio</th><th>block</th><th>depth</th>\
         <th>file</th><th>operations/s</th><th>CPU per operation<small>µs</small></th>\
         </tr></thead>\n<tbody>\n",
    );
    for name in limit_names(section) {
        let rounds: Vec<_> = section
            .limits
            .iter()
            .filter(|limit| limit.name == name)
            .collect();
        let Some(first) = rounds.first() else {
            continue;
        };
        let rate = Spread::of(rounds.iter().map(|limit| limit.reads_per_s));
        let cpu = Spread::of(rounds.iter().map(|limit| limit.cpu_s_per_operation * 1e6));
        let _ = writeln!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td>{}{}</tr>",
            escape(name),
            number::binary_bytes(first.block_bytes as f64),
            first.depth,
            number::binary_bytes(first.file_bytes as f64),
            spread_cell(rate, number::count),
            spread_cell(cpu, number::micros_plain),
        );
    }
    html.push_str("</tbody></table></div>\n");
    html
}
