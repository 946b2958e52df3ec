//! `cellar check`: is everything in a store what was written there, and if not, what can be done?
//!
//! Owns the order of looking, telling and mending, and the verdict. What is looked at and how it is
//! mended is the store's business.

mod json;
mod text;

use std::io::{self, Write};
use std::sync::Arc;

use cellar_storage::check::{CheckProgress, Report, Step, check, repair};
use cellar_storage::device::uring::OpenMode;
use cellar_storage::{Clock, Device, SystemClock};

use crate::config::{Config, StoreCheck};
use crate::{devices, start};

/// Progress is told this often, in percent.
const TOLD_PERCENT: u64 = 10;

/// What a check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is damaged.
    Clean,
    /// Something is, or still is after a repair.
    Damaged,
}

/// Checks the configured store, and repairs it if that is wanted and needed. The report goes to
/// `out`, how far it is to `progress`. The error says why the store cannot be checked.
pub fn run(
    config: &Config,
    wanted: StoreCheck,
    out: &mut dyn Write,
    progress: &mut dyn Write,
) -> Result<Verdict, String> {
    let runtime = start::runtime().map_err(|cause| cause.to_string())?;
    let mut told = Told {
        out,
        progress,
        json: wanted.json,
        failure: None,
        percent: 0,
    };
    runtime.block_on(async {
        let before = look(config, &mut told).await?;
        if before.is_clean() || !wanted.repair {
            return Ok(verdict(&before));
        }
        mend(config, &mut told).await?;
        Ok(verdict(&look(config, &mut told).await?))
    })
}

fn verdict(report: &Report) -> Verdict {
    if report.is_clean() {
        Verdict::Clean
    } else {
        Verdict::Damaged
    }
}

/// Checks, and tells the report.
async fn look(config: &Config, told: &mut Told<'_>) -> Result<Report, String> {
    let (devices, clock) = open(config, OpenMode::ReadOnly)?;
    told.percent = 0;
    let mut watch = |progress| told.note_progress(progress);
    let report = check(devices, clock, &mut watch).await;
    let report = report.map_err(|error| error.to_string())?;
    told.report(&report);
    told.finish()?;
    Ok(report)
}

/// Repairs, and tells each step before it is taken.
async fn mend(config: &Config, told: &mut Told<'_>) -> Result<(), String> {
    let (devices, clock) = open(config, OpenMode::Existing)?;
    let mut tell = |step: &Step| told.step(step);
    let done = repair(devices, clock, &mut tell).await;
    done.map_err(|error| format!("the repair did not come to its end: {error}"))?;
    told.finish()
}

type Opened = (Vec<Arc<dyn Device>>, Arc<dyn Clock>);

fn open(config: &Config, mode: OpenMode) -> Result<Opened, String> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let devices = devices::open(config, mode, &clock)?;
    Ok((devices, clock))
}

/// Where things are told. What cannot be told is remembered, and ends the run at its next stage.
struct Told<'a> {
    out: &'a mut dyn Write,
    progress: &'a mut dyn Write,
    json: bool,
    failure: Option<io::Error>,
    percent: u64,
}

impl Told<'_> {
    fn report(&mut self, report: &Report) {
        let text = if self.json {
            json::report(report)
        } else {
            text::report(report)
        };
        self.write(&text);
    }

    fn step(&mut self, step: &Step) {
        let text = if self.json {
            json::step(step)
        } else {
            text::step(step)
        };
        self.write(&text);
    }

    fn write(&mut self, text: &str) {
        let written = self.out.write_all(text.as_bytes());
        let done = written.and_then(|()| self.out.flush());
        self.failure = self.failure.take().or(done.err());
    }

    fn note_progress(&mut self, progress: CheckProgress) {
        let CheckProgress {
            segments_done,
            segments_total,
        } = progress;
        let percent = segments_done * 100 / segments_total.max(1);
        if percent / TOLD_PERCENT == self.percent / TOLD_PERCENT {
            return;
        }
        self.percent = percent;
        let line = format!("checked {segments_done} of {segments_total} segments\n");
        // with standard error closed nobody wants to know how far it is
        drop(self.progress.write_all(line.as_bytes()));
    }

    fn finish(&mut self) -> Result<(), String> {
        self.failure.take().map_or(Ok(()), |cause| {
            Err(format!("cannot write the report: {cause}"))
        })
    }
}
