//! What can go wrong in the harness, in one type.
//!
//! Must never swallow what the system or a server said: every variant carries it.

use std::io;

use crate::results::ResultsError;

/// Why a run, a server or a measurement failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// Ctrl-C, or a request to terminate.
    #[error("interrupted; what was measured is kept")]
    Cancelled,
    /// A file or a process could not be worked with.
    #[error("{doing}: {source}")]
    System {
        /// What was tried, with the path or the program.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program was not found.
    #[error("{program} is not installed: {advice}")]
    NotInstalled {
        /// The program.
        program: String,
        /// What to do about it.
        advice: String,
    },
    /// A server ended or did not come up.
    #[error("{server} {what}\n{log}")]
    Server {
        /// The adapter's name.
        server: String,
        /// What happened to it.
        what: String,
        /// The last lines of its log.
        log: String,
    },
    /// A load generator failed, or printed what is no result.
    #[error("{driver}: {what}")]
    Driver {
        /// The load generator.
        driver: String,
        /// Its last lines, or what was expected.
        what: String,
    },
    /// A server answered with an error.
    #[error("{command}: {reply}")]
    Reply {
        /// What was asked.
        command: String,
        /// The server's error.
        reply: String,
    },
    /// The command line asks for what cannot be.
    #[error("{0}")]
    Arguments(String),
    /// The file of results failed.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl BenchError {
    /// A function that says of an I/O error what was tried.
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source }
    }

    /// An error of a load generator.
    pub(crate) fn driver(driver: &str, what: impl Into<String>) -> Self {
        let driver = driver.to_owned();
        let what = what.into();
        Self::Driver { driver, what }
    }
}
