//! What is wrong with a configuration, told with file, line and key.
//!
//! Owns the texts of start-up errors about the configuration.

use std::fmt;
use std::path::PathBuf;

/// Where an option got its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A line of the config file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A flag of the command line.
    Flag,
}

impl Origin {
    /// The option as the user sees it, with its place.
    pub(super) fn describe(&self, section: &str, key: &str) -> String {
        match self {
            Self::Default => format!("default of {section}.{key}"),
            Self::File { path, line } => format!("{}:{line}: {section}.{key}", path.display()),
            Self::Flag => format!("flag --{key}"),
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: cannot read the config file: {cause}", path.display())]
    ReadFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// The file has a key or a section that does not exist.
    #[error("{}:{line}: unknown {what} '{name}'{hint}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// `key` or `section`.
        what: &'static str,
        /// Its name.
        name: String,
        /// What may have been meant, with a leading `: `, or nothing.
        hint: String,
    },
    /// An option has a value that it cannot have.
    #[error("{}: {complaint}", origin.describe(section, key))]
    Value {
        /// Where the value comes from.
        origin: Origin,
        /// The option's section.
        section: &'static str,
        /// The option.
        key: &'static str,
        /// What is wrong.
        complaint: String,
    },
}

/// An option whose value does not go with the others or with the machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The option.
    pub key: &'static str,
    /// What is wrong.
    pub complaint: String,
}

impl Invalid {
    pub(super) fn new(key: &'static str, complaint: impl fmt::Display) -> Self {
        Self {
            key,
            complaint: complaint.to_string(),
        }
    }
}
