//! Rows of results in the order in which a report shows them: sections, tables, columns, servers.
//!
//! ```text
//!   section (a run: suite, regime, durability, cores) --> tables --> columns --> entries (servers)
//! ```
//!
//! Owns the grouping. A row belongs to the last run of its suite before it, so that what was
//! measured under different conditions never meets in one table. Must never drop a row.

use super::ReportError;
use crate::results::{Limit, Row, Run, Sample, Series, Server};

/// One run of a suite and all that it found.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) run: Run,
    pub(crate) servers: Vec<Server>,
    pub(crate) tables: Vec<Table>,
    pub(crate) limits: Vec<Limit>,
}

/// Columns that belong together.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
}

/// One load, on each server.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) entries: Vec<Entry>,
}

/// What one load found of one server, a sample a round.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) server: String,
    pub(crate) samples: Vec<Sample>,
    pub(crate) series: Vec<Series>,
}

/// The sections of rows that come from one file.
pub(crate) fn sections(rows: Vec<Row>) -> Result<Vec<Section>, ReportError> {
    let mut sections: Vec<Section> = Vec::new();
    for row in rows {
        match row {
            Row::Run(run) => sections.push(Section {
                run,
                servers: Vec::new(),
                tables: Vec::new(),
                limits: Vec::new(),
            }),
            Row::Server(server) => section(&mut sections, &server.suite)?.servers.push(server),
            Row::Limit(limit) => section(&mut sections, &limit.suite)?.limits.push(limit),
            Row::Sample(sample) => {
                let place = [&sample.suite, &sample.table, &sample.column, &sample.server]
                    .map(String::as_str);
                entry(&mut sections, place)?.samples.push(sample);
            }
            Row::Series(series) => {
                let place = [&series.suite, &series.table, &series.column, &series.server]
                    .map(String::as_str);
                entry(&mut sections, place)?.series.push(series);
            }
        }
    }
    Ok(sections)
}

/// The last run of the suite; of any suite for a row that names none.
fn section<'a>(sections: &'a mut [Section], suite: &str) -> Result<&'a mut Section, ReportError> {
    let mut candidates = sections.iter_mut().rev();
    candidates
        .find(|section| suite.is_empty() || section.run.suite == suite)
        .ok_or_else(|| ReportError::NoRun {
            suite: suite.to_owned(),
        })
}

/// The place of suite, table, column and server, made if it is new.
fn entry<'a>(
    sections: &'a mut [Section],
    [suite, table, column, server]: [&str; 4],
) -> Result<&'a mut Entry, ReportError> {
    let tables = &mut section(sections, suite)?.tables;
    let columns = &mut found_or_new(
        tables,
        |found| found.name == table,
        || Table {
            name: table.to_owned(),
            columns: Vec::new(),
        },
    )
    .columns;
    let entries = &mut found_or_new(
        columns,
        |found| found.name == column,
        || Column {
            name: column.to_owned(),
            entries: Vec::new(),
        },
    )
    .entries;
    Ok(found_or_new(
        entries,
        |found| found.server == server,
        || Entry {
            server: server.to_owned(),
            samples: Vec::new(),
            series: Vec::new(),
        },
    ))
}

fn found_or_new<T>(
    list: &mut Vec<T>,
    is_wanted: impl Fn(&T) -> bool,
    new: impl FnOnce() -> T,
) -> &mut T {
    let index = list.iter().position(is_wanted).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    });
    &mut list[index]
}

impl Section {
    /// What tells this run from others of its suite.
    pub(crate) fn conditions(&self) -> String {
        let cores = if self.run.cpu_split {
            "load on cores of its own"
        } else {
            "load and server share cores"
        };
        format!(
            "{}, appendfsync {}, {cores}",
            match self.run.regime.as_str() {
                "ram" => "RAM-backed file",
                "disk" => "real device",
                other => other,
            },
            self.run.durability
        )
    }
}

impl Entry {
    /// Whether the server took part outside the memory budget, with all its data in DRAM. The
    /// suites say so in a note.
    pub(crate) fn is_reference(&self) -> bool {
        let mut notes = self.samples.iter().flat_map(|sample| &sample.notes);
        notes.any(|note| note.starts_with("a reference"))
    }
}

/// Whether a server is one of ours; all others are its peers.
pub(crate) fn is_cellar(server: &str) -> bool {
    server.starts_with("cellar")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{run, sample};

    #[test]
    fn what_was_measured_under_other_conditions_never_meets() {
        let mut always = run("wire");
        always.durability = "always".to_owned();
        let rows = vec![
            Row::Run(run("wire")),
            Row::Sample(sample("redis", 0, 100.0)),
            Row::Sample(sample("cellar", 0, 110.0)),
            Row::Sample(sample("redis", 1, 120.0)),
            Row::Run(always),
            Row::Sample(sample("redis", 0, 10.0)),
        ];
        let sections = sections(rows).unwrap();
        assert_eq!(sections.len(), 2);
        let column = &sections[0].tables[0].columns[0];
        let counts: Vec<_> = column
            .entries
            .iter()
            .map(|entry| (entry.server.as_str(), entry.samples.len()))
            .collect();
        assert_eq!(counts, [("redis", 2), ("cellar", 1)]);
        assert!(sections[1].conditions().contains("appendfsync always"));
        assert_eq!(sections[1].tables[0].columns[0].entries.len(), 1);
    }

    #[test]
    fn a_row_without_a_run_is_an_error() {
        let error = sections(vec![Row::Sample(sample("redis", 0, 1.0))]).unwrap_err();
        assert!(error.to_string().contains("`wire`"), "{error}");
    }
}
