//! Appends rows to the file of results.
//!
//! Every row is flushed on its own, so that an interrupted run keeps what it measured.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{ResultsError, Row};

/// The open file of results.
pub(crate) struct Writer {
    path: PathBuf,
    file: File,
}

impl Writer {
    /// A new file at `path`, in place of one that is there.
    pub(crate) fn create(path: &Path) -> Result<Self, ResultsError> {
        let file = File::create(path).map_err(|source| failure(path, source))?;
        let path = path.to_owned();
        Ok(Self { path, file })
    }

    /// Where the rows go.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one row; it is in the file when this returns.
    pub(crate) fn write(&mut self, row: &Row) -> Result<(), ResultsError> {
        let text = serde_json::to_string(row).map_err(|error| failure(&self.path, error.into()))?;
        self.file
            .write_all(format!("{text}\n").as_bytes())
            .map_err(|source| failure(&self.path, source))
    }
}

fn failure(path: &Path, source: std::io::Error) -> ResultsError {
    let path = path.display().to_string();
    ResultsError::File { path, source }
}
