//! Servers beside the device by itself: what share of `fio`'s operations they reach, and what CPU
//! time a read costs them beyond `fio` and a server that answers from DRAM.
//!
//! Owns the pairing of a column with the window of `fio` at the same depth on the same cores, by
//! the names that the suite `limits` gives both. Must never pair windows of two runs.

use std::fmt::Write as _;

use super::figures::{CPU, Spread, THROUGHPUT};
use super::model::{Column, Entry, Section};
use super::number;
use super::plots::escape;

/// The beginning of the name of a window on a server's own records, as "randread records qd80, one
/// core".
const WINDOW: &str = "randread records";

/// What `fio` reached in the windows of one name.
struct Window {
    /// Behind the comma of its name: which cores.
    cores: String,
    depth: u32,
    rate: f64,
    cpu_us: f64,
}

/// The table; nothing if the run has no such windows.
pub(super) fn beside(section: &Section) -> String {
    let mut rows = String::new();
    for window in windows(section) {
        for table in &section.tables {
            let is_on_its_cores = table.name.contains(&window.cores);
            let columns = table.columns.iter();
            let of_its_depth = columns.filter(|column| depth(&column.name) == Some(window.depth));
            for column in of_its_depth.filter(|_| is_on_its_cores) {
                rows.push_str(&column_rows(&window, &table.name, column));
            }
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<h3>Servers beside the device by itself</h3>\n\
         <div class=\"scroll\"><table>\n<thead><tr><th>column</th><th>server</th>\
         <th>fio<small>reads/s</small></th><th>server<small>GETs/s</small></th>\
         <th>share of fio's</th><th>fio's CPU<small>µs a read</small></th>\
         <th>CPU from DRAM<small>µs a GET, of the reference</small></th>\
         <th>server's CPU<small>µs a GET</small></th><th>of both together</th></tr></thead>\n\
         <tbody>{rows}</tbody></table></div>\n"
    )
}

fn windows(section: &Section) -> Vec<Window> {
    let names = super::charts::limit_names(section).into_iter();
    let windows = names.filter(|name| name.starts_with(WINDOW)).map(|name| {
        let rounds = || {
            section
                .limits
                .iter()
                .filter(move |limit| limit.name == name)
        };
        let median = |of: fn(&crate::results::Limit) -> f64| {
            Spread::of(rounds().map(of)).map(|spread| spread.median)
        };
        Some(Window {
            cores: name.split_once(", ")?.1.to_owned(),
            depth: rounds().next()?.depth,
            rate: median(|limit| limit.reads_per_s)?,
            cpu_us: median(|limit| limit.cpu_s_per_operation * 1e6)?,
        })
    });
    windows.flatten().collect()
}

/// Commands in flight of a column such as "GET, 8 x 16 in flight".
fn depth(column: &str) -> Option<u32> {
    let product = column.strip_suffix(" in flight")?.rsplit_once(", ")?.1;
    let (connections, pipeline) = product.split_once(" x ")?;
    connections
        .parse::<u32>()
        .ok()?
        .checked_mul(pipeline.parse().ok()?)
}

/// A row for each server that reads from the device.
fn column_rows(window: &Window, table: &str, column: &Column) -> String {
    let mut entries = column.entries.iter();
    let reference = entries.find(|entry| entry.is_reference());
    let from_dram = reference.and_then(|entry| Some(CPU.spread(entry)?.median));
    let mut rows = String::new();
    for entry in column.entries.iter().filter(|entry| !entry.is_reference()) {
        let name = format!("{table} · {}", column.name);
        rows.push_str(&row(window, &name, (entry, from_dram)).unwrap_or_default());
    }
    rows
}

fn row(window: &Window, name: &str, (entry, from_dram): (&Entry, Option<f64>)) -> Option<String> {
    let rate = THROUGHPUT.spread(entry)?.median;
    let cpu_us = CPU.spread(entry)?.median;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let together = from_dram.map(|dram_us| number::ratio(cpu_us / (dram_us + window.cpu_us)));
    let mut row = String::new();
    let _ = writeln!(
        row,
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td><b>{}</b></td>\
         <td>{}</td><td>{}</td><td>{}</td><td><b>{}</b></td></tr>",
        escape(name),
        escape(&entry.server),
        number::count(window.rate),
        number::count(rate),
        number::percent(rate / window.rate),
        number::micros_plain(window.cpu_us),
        or_none(from_dram.map(number::micros_plain)),
        number::micros_plain(cpu_us),
        or_none(together),
    );
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::sections;
    use crate::report::tests::{run, sample};
    use crate::results::{Limit, Row, Sample};

    fn window(name: &str, depth: u32, reads_per_s: f64) -> Row {
        Row::Limit(Limit {
            suite: "wire".to_owned(),
            name: name.to_owned(),
            round: 0,
            file_bytes: 1 << 30,
            block_bytes: 4096,
            depth,
            reads_per_s,
            cpu_s_per_operation: 8e-6,
            command: Vec::new(),
        })
    }

    fn gets(server: &str, column: &str, rate: f64) -> Sample {
        Sample {
            table: "limits, one core; everysec, disk".to_owned(),
            column: column.to_owned(),
            // 20 us for each operation.
            server_cpu_s: rate * 20e-6,
            ..sample(server, 0, rate)
        }
    }

    #[test]
    fn a_server_is_compared_with_fio_at_its_own_depth() {
        let mut reference = gets("redis", "GET, 8 x 16 in flight", 90_000.0);
        reference
            .notes
            .push("a reference: all data in DRAM".to_owned());
        let rows = vec![
            Row::Run(run("wire")),
            window("randread 4k qd128", 128, 99_999.0),
            window("randread records qd80, one core", 80, 11_111.0),
            window("randread records qd128, one core", 128, 40_000.0),
            window("randread records qd128, all cores", 128, 22_222.0),
            Row::Sample(gets("cellar", "GET, 8 x 16 in flight", 36_000.0)),
            Row::Sample(reference),
        ];
        let html = beside(&sections(rows).unwrap()[0]);
        assert_eq!(html.matches("<tr>").count(), 2, "{html}");
        // 36 of 40; 20 us beside 20 of the reference and 8 of fio.
        assert!(
            html.contains("90.0 %") && html.contains("<b>0.71</b>"),
            "{html}"
        );
    }

    #[test]
    fn depths_are_read_from_columns() {
        assert_eq!(depth("GET, 80 x 1 in flight"), Some(80));
        assert_eq!(depth("GET, 8 x 16 in flight"), Some(128));
        assert_eq!(depth("GET"), None);
    }
}
