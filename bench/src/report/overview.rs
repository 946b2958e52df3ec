//! Cellar beside the best of its peers in every column, on one screen.
//!
//! Owns the summary. Must never leave out a column in which Cellar loses.

use super::figures::{Better, CPU, Metric, P99, THROUGHPUT};
use super::model::{Column, Entry, Section, is_cellar};
use super::number;
use super::plots::escape;

/// Within this share of the best peer, neither is called better: the rounds differ by as much.
const EVEN: f64 = 0.05;

/// The table of all columns that have a server of ours and a peer; nothing if none has.
pub(super) fn overview(sections: &[Section]) -> String {
    let sections = sections.iter().enumerate();
    let bodies: String = sections
        .map(|(index, section)| body(index, section))
        .collect();
    if bodies.is_empty() {
        return bodies;
    }
    format!(
        "<section id=\"overview\"><h2>At a glance</h2>\n\
         <p>Cellar's median in each column as a multiple of the best peer's: throughput (higher is \
         better), server CPU per operation and p99 (lower is better). Differences below {} are \
         called even. Where no peer took part within the memory budget, the multiple is of one \
         that has all data in DRAM.</p>\n\
         <div class=\"scroll\"><table>\n<thead><tr><th>column</th>\
         <th>throughput<small>operations/s</small></th><th>of the best peer</th>\
         <th>CPU per operation<small>µs</small></th><th>of the best peer</th>\
         <th>p99</th><th>of the best peer</th></tr></thead>\n{bodies}</table></div></section>\n",
        number::percent(EVEN).replace(' ', "&nbsp;")
    )
}

/// The rows of one run under its name.
fn body(index: usize, section: &Section) -> String {
    let mut rows = String::new();
    for table in &section.tables {
        for column in &table.columns {
            let ours = column.entries.iter();
            for entry in ours.filter(|entry| is_cellar(&entry.server)) {
                rows.push_str(&row(&table.name, (entry, column)));
            }
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<tbody><tr class=\"column\"><th colspan=\"7\" scope=\"rowgroup\"><span>\
         <a href=\"#run-{index}\">{}</a>: {}</span></th></tr>\n{rows}</tbody>\n",
        escape(&section.run.suite),
        escape(&section.conditions())
    )
}

fn row(table: &str, (entry, column): (&Entry, &Column)) -> String {
    let cells = [&THROUGHPUT, &CPU, &P99].map(|metric| compared(metric, entry, column));
    if cells.iter().all(Option::is_none) {
        return String::new();
    }
    let mut html = format!(
        "<tr><th scope=\"row\">{} · {}<small>{}</small></th>",
        escape(table),
        escape(&column.name),
        escape(&entry.server),
    );
    for cell in cells {
        html.push_str(&cell.unwrap_or_else(|| "<td>–</td><td>–</td>".to_owned()));
    }
    html + "</tr>\n"
}

/// Our median, and its multiple of the best peer's; None without either. A reference in DRAM is
/// neither better nor worse.
fn compared(metric: &Metric, entry: &Entry, column: &Column) -> Option<String> {
    let median = metric.spread(entry)?.median;
    let best = metric.best_peer(column)?;
    let ratio = metric.ratio(median, column)?;
    let gain = match metric.better {
        Better::Higher => ratio - 1.0,
        Better::Lower => 1.0 - ratio,
    };
    let class = match gain {
        _ if best.is_reference => "even",
        gain if gain > EVEN => "better",
        gain if gain < -EVEN => "worse",
        _ => "even",
    };
    let told = if best.is_reference {
        format!("{} in DRAM", best.server)
    } else {
        format!("{class}, {}", best.server)
    };
    Some(format!(
        "<td>{}</td><td><b class=\"{class}\">{ratio:.2}×</b><small>{}</small></td>",
        (metric.show)(median),
        escape(&told)
    ))
}
