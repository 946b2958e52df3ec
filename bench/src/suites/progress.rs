//! What is shown while a suite runs, on standard error: tables go to standard output.

use std::io::Write;
use std::time::Instant;

/// Lines with the time since the start.
pub(crate) struct Progress {
    started: Instant,
}

impl Progress {
    /// A clock that begins now.
    pub(crate) fn start() -> Self {
        let started = Instant::now();
        Self { started }
    }

    /// One line. A terminal that is gone is no reason to stop measuring.
    pub(crate) fn say(&self, text: &str) {
        let seconds = self.started.elapsed().as_secs();
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        let _ = writeln!(std::io::stderr(), "{minutes:3}:{seconds:02}  {text}");
    }
}
