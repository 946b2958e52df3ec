//! `cellar-bench report`: one HTML file from files of results.
//!
//! ```text
//!   results --> model (sections, tables, columns, servers) --> figures (medians, ratios)
//!                 page --> overview, tables, beside, charts (plots), facts, cost --> report.html
//! ```
//!
//! The page needs nothing but itself: drawings, style and the little script of the cost model are
//! inside. Owns what is shown and how. Must never show an estimate as a measurement.

mod beside;
mod charts;
mod colour;
mod facts;
mod figures;
pub(crate) mod model;
pub(crate) mod number;
mod overview;
mod page;
mod plots;
mod tables;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub(crate) use figures::Spread;
pub(crate) use plots::escape;

use crate::cost::{self, Assumptions};
use crate::results::{self, ResultsError};

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReportError {
    #[error(transparent)]
    Results(#[from] ResultsError),
    #[error("a row of suite `{suite}` comes before any run of that suite")]
    NoRun { suite: String },
    #[error(transparent)]
    Cost(#[from] cost::CostError),
    #[error("{path}: {source}")]
    Write {
        path: String,
        source: std::io::Error,
    },
}

/// A page of tables and plots from results.
#[derive(clap::Args)]
pub(crate) struct ReportArguments {
    /// Files of results, as the suites write them.
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// The page.
    #[arg(long, default_value = "report.html")]
    out: PathBuf,
    /// Assumptions of the cost model; see `cellar-bench cost --print-assumptions`.
    #[arg(long)]
    assumptions: Option<PathBuf>,
}

/// Reads the results and writes the page.
pub(crate) fn run(arguments: &ReportArguments) -> Result<(), ReportError> {
    let mut sections = Vec::new();
    for path in &arguments.results {
        sections.extend(model::sections(results::read(path)?)?);
    }
    let assumptions = match &arguments.assumptions {
        Some(path) => Assumptions::read(path)?,
        None => Assumptions::default(),
    };
    let page = page::page(&sections, &assumptions);
    std::fs::write(&arguments.out, page).map_err(|source| ReportError::Write {
        path: arguments.out.display().to_string(),
        source,
    })
}
