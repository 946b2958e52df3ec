//! What criterion estimated, as it left it in its folder.
//!
//! Owns the names of its files. Must never take a benchmark that is not there for a free one.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::BenchError;

/// A figure of one benchmark, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Estimate {
    pub(super) point_estimate: f64,
    pub(super) confidence_interval: Interval,
}

impl Estimate {
    pub(super) fn us(&self) -> f64 {
        self.point_estimate / 1000.0
    }
}

/// Where the figure lies, with the confidence of criterion's settings.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Interval {
    pub(super) lower_bound: f64,
    pub(super) upper_bound: f64,
}

/// A file of estimates. The median counts: on a busy machine the mean tells of the neighbours.
#[derive(Deserialize)]
struct File {
    median: Estimate,
}

/// The estimates of a folder, read as they are asked for.
pub(super) struct Estimates {
    folder: PathBuf,
    taken: Vec<(String, Estimate)>,
}

impl Estimates {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            taken: Vec::new(),
        }
    }

    /// Those that were asked for, in that order.
    pub(super) fn taken(&self) -> &[(String, Estimate)] {
        &self.taken
    }

    /// The median of the last run of a benchmark, `GROUP/NAME`.
    pub(super) fn get(&mut self, name: &str) -> Result<Estimate, BenchError> {
        if let Some((_, estimate)) = self.taken.iter().find(|(taken, _)| taken == name) {
            return Ok(estimate.clone());
        }
        let path = self.folder.join(name).join("new").join("estimates.json");
        let doing = || format!("benchmark {name}: {}", path.display());
        let text = std::fs::read_to_string(&path).map_err(BenchError::system(doing()))?;
        let file: File = serde_json::from_str(&text)
            .map_err(|error| BenchError::system(doing())(error.into()))?;
        self.taken.push((name.to_owned(), file.median.clone()));
        Ok(file.median)
    }
}
