//! One measurement: counters before, a load, counters after, a row.

use super::session::Session;
use crate::drivers::{Drive, Outcome, own};
use crate::error::BenchError;
use crate::host::steal::Ticks;
use crate::host::usage::Usage;
use crate::load::Plan;
use crate::peers::{Address, Running};
use crate::results::{Figure, Row, Sample, Series};

/// Where in the tables a measurement belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) table: &'a str,
    pub(crate) column: &'a str,
    pub(crate) round: u32,
}

/// Counters around a load.
struct Around {
    usage: Usage,
    ticks: Ticks,
}

impl Around {
    fn now(server: &Running) -> Result<Self, BenchError> {
        let usage = server.usage()?;
        let ticks = Ticks::now()?;
        Ok(Self { usage, ticks })
    }
}

impl Session<'_> {
    /// Measures one load on `server` and writes its row. A load that fails while the server lives
    /// is a row with the error; a server that ends is an error.
    pub(crate) fn measure(
        &mut self,
        server: &mut Running,
        place: &Place,
        work: impl FnOnce(&Address, &Drive) -> Result<Outcome, BenchError>,
    ) -> Result<Sample, BenchError> {
        self.measure_with(server, place, |server, drive| {
            let outcome = work(server.address(), drive)?;
            Ok((outcome, Vec::new()))
        })
    }

    /// The same, with further figures.
    pub(crate) fn measure_with(
        &mut self,
        server: &mut Running,
        place: &Place,
        work: impl FnOnce(&Running, &Drive) -> Result<(Outcome, Vec<Figure>), BenchError>,
    ) -> Result<Sample, BenchError> {
        self.cancel().check()?;
        let drive = self.drive();
        server.reset_peak();
        let before = Around::now(server)?;
        let done = work(server, &drive);
        server.check_alive()?;
        let after = Around::now(server)?;
        let (outcome, figures) = match done {
            Ok(done) => done,
            Err(error @ (BenchError::Driver { .. } | BenchError::Reply { .. })) => {
                (failed(&error), Vec::new())
            }
            Err(error) => return Err(error),
        };
        let mut sample = self.sample(server, place, (&before, &after), &outcome);
        sample.figures = figures;
        self.say(&line(&sample, place));
        self.record(Row::Sample(sample.clone()))?;
        self.record_points(server, place, outcome)?;
        Ok(sample)
    }

    /// Does what comes before a measurement, such as a fill. A server that cannot be brought there
    /// is left out, and the others go on.
    pub(crate) fn prepare(
        &mut self,
        server: &mut Running,
        what: &str,
        work: impl FnOnce(&Drive) -> Result<Outcome, BenchError>,
    ) -> Result<Outcome, BenchError> {
        self.cancel().check()?;
        self.say(&format!("   {:11}  {what}", server.peer().name()));
        match work(&self.drive()) {
            Err(error @ (BenchError::Driver { .. } | BenchError::Reply { .. })) => {
                Err(server.unprepared(&error))
            }
            other => other,
        }
    }

    /// Writes all keys anew and reads them, so that what fits into memory is read from there.
    /// redis-benchmark's values are not the built-in client's, which checks what it reads.
    pub(crate) fn warm_reads(
        &mut self,
        server: &mut Running,
        plan: &Plan,
    ) -> Result<(), BenchError> {
        self.prepare(server, "fill", |drive| own::fill(plan, drive))?;
        self.prepare(server, "warm-up", |drive| own::read_all(plan, drive))?;
        Ok(())
    }

    fn sample(
        &self,
        server: &Running,
        place: &Place,
        (before, after): (&Around, &Around),
        outcome: &Outcome,
    ) -> Sample {
        let (was, is) = (&before.usage, &after.usage);
        let has_device = self.options().regime == super::options::Regime::Disk;
        let moved = |was: u64, is: u64| has_device.then(|| is.saturating_sub(was));
        let mut notes = outcome.notes.clone();
        notes.extend(outcome.busy_note());
        notes.extend_from_slice(server.notes());
        Sample {
            suite: self.suite().name().to_owned(),
            table: self.titled(place.table),
            column: place.column.to_owned(),
            server: server.peer().name().to_owned(),
            round: place.round,
            driver_command: outcome.command.clone(),
            seconds: outcome.seconds,
            operations: outcome.operations,
            errors: outcome.errors,
            ops_per_s: outcome.ops_per_s(),
            latency: outcome.latency.clone(),
            server_cpu_s: is.cpu_s - was.cpu_s,
            client_cpu_s: outcome.client_cpu_s,
            resident_bytes: is.resident_peak_bytes,
            device_read_bytes: moved(was.device_read_bytes, is.device_read_bytes),
            device_written_bytes: moved(was.device_written_bytes, is.device_written_bytes),
            user_bytes_written: outcome.written_bytes,
            steal_share: after.ticks.stolen_share_since(before.ticks),
            figures: Vec::new(),
            notes,
        }
    }

    fn record_points(
        &mut self,
        server: &Running,
        place: &Place,
        outcome: Outcome,
    ) -> Result<(), BenchError> {
        let Some(first) = outcome.points.first() else {
            return Ok(());
        };
        let series = Series {
            suite: self.suite().name().to_owned(),
            table: self.titled(place.table),
            column: place.column.to_owned(),
            server: server.peer().name().to_owned(),
            round: place.round,
            interval_s: first.at_s,
            points: outcome.points,
        };
        self.record(Row::Series(series))
    }
}

/// A load that could not be carried out.
fn failed(error: &BenchError) -> Outcome {
    Outcome {
        errors: 1,
        notes: vec![error.to_string()],
        ..Outcome::default()
    }
}

/// What progress shows of a sample.
fn line(sample: &Sample, place: &Place) -> String {
    let Sample { server, column, .. } = sample;
    let (table, round) = (place.table, place.round + 1);
    let head = format!("{round}  {server:11}  {table}, {column}:");
    if sample.operations == 0 {
        let note = sample.notes.first().map_or("", String::as_str);
        return format!("{head} {}", note.lines().next().unwrap_or_default());
    }
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let cpu_us = sample.server_cpu_s * 1e6 / sample.operations as f64;
    let p99 = sample.latency.as_ref().and_then(|latency| latency.p99_us);
    let p99 = p99.map_or(String::new(), |us| format!(", p99 {us:.0} us"));
    let errors = match sample.errors {
        0 => String::new(),
        count => format!(", {count} ERRORS"),
    };
    let rate = sample.ops_per_s;
    format!("{head} {rate:.0}/s, {cpu_us:.2} us of server CPU each{p99}{errors}")
}
