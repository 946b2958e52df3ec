//! Runs a load generator to its end, on the load's cores, with its output in files.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::Drive;
use crate::error::BenchError;
use crate::host::child::{Plan, Process};

/// A load generator that is not done by then has lost its server.
const RUN_MAX: Duration = Duration::from_hours(1);
/// Lines of its output that an error shows.
const LINES_SHOWN: usize = 10;

/// What a load generator left behind.
pub(super) struct Finished {
    pub(super) output: String,
    pub(super) errors: String,
    /// From its start to its end.
    pub(super) seconds: f64,
    /// User and system time of it and its children.
    pub(super) cpu_s: f64,
}

/// Runs `words`; an exit code that is not 0 is an error with the last lines.
pub(super) fn run(words: &[String], drive: &Drive) -> Result<Finished, BenchError> {
    run_on(words, &drive.cores, drive)
}

/// The same, on other cores than the load's.
pub(super) fn run_on(
    words: &[String],
    cores: &[usize],
    drive: &Drive,
) -> Result<Finished, BenchError> {
    let output = drive.scratch.join("driver.out");
    let errors = drive.scratch.join("driver.err");
    for path in [&output, &errors] {
        let doing = format!("empty {}", path.display());
        fs::write(path, "").map_err(BenchError::system(doing))?;
    }
    let before_s = children_cpu_s()?;
    let started = Instant::now();
    let mut process = Process::start(&Plan {
        words,
        cores,
        directory: &drive.scratch,
        output: output.clone(),
        errors: errors.clone(),
    })?;
    let status = process.wait(RUN_MAX, &drive.cancel, |_| ())?;
    let read = |path| {
        let bytes = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let finished = Finished {
        output: read(&output),
        errors: read(&errors),
        seconds: started.elapsed().as_secs_f64(),
        cpu_s: children_cpu_s()? - before_s,
    };
    if status.success() {
        return Ok(finished);
    }
    let text = format!("{}\n{}", finished.output, finished.errors);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let shown = lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n");
    Err(BenchError::driver(&words[0], format!("{status}: {shown}")))
}

/// CPU time of all children that have ended: nothing but one load generator ends while it runs.
fn children_cpu_s() -> Result<f64, BenchError> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_err(|error| BenchError::system("ask for the children's CPU time")(error.into()))?;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "CPU time in us is far below 2^52"
)]
fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}
