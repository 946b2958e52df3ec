//! The built-in client: what other load generators cannot do, such as Zipf's law, a fixed rate
//! without coordinated omission, and every value checked by its content.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use super::{Drive, Outcome};
use crate::error::BenchError;
use crate::load::{self, KeyChoice, Length, Mix, Pace, Plan, Summary};
use crate::peers::Address;
use crate::results::{Latency, Point};

/// Its keys: `key:` and twelve digits, as redis-benchmark's.
pub(crate) const KEY_PREFIX: &str = "key:";
/// Connections and commands in flight of a fill: enough to keep a server busy.
const FILL_CONNECTIONS: u32 = 8;
const FILL_PIPELINE: u32 = 32;

/// A closed loop of GETs of evenly drawn keys, checked by content; callers change what they want
/// otherwise.
pub(crate) fn plan(address: &Address, key_count: u64, value_bytes: RangeInclusive<usize>) -> Plan {
    let address = match address {
        Address::Unix(path) => load::Address::Unix(path.clone()),
        Address::Tcp(port) => load::Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, *port))),
    };
    Plan {
        address,
        connections: 50,
        pipeline: 1,
        pace: Pace::Closed,
        mix: Mix::GET,
        keys: KeyChoice::Uniform,
        key_count,
        key_prefix: KEY_PREFIX.to_owned(),
        value_bytes,
        verify: true,
        length: Length::Time(Duration::from_secs(1)),
        warm_up: Duration::ZERO,
        seed: 1,
        interval: Duration::ZERO,
    }
}

/// Writes every key of `plan` once.
pub(crate) fn fill(plan: &Plan, drive: &Drive) -> Result<Outcome, BenchError> {
    let fill = Plan {
        connections: FILL_CONNECTIONS,
        pipeline: FILL_PIPELINE,
        ..plan.fill()
    };
    let outcome = run(&fill, drive)?;
    if outcome.errors > 0 {
        let text = format!(
            "{} of the writes failed: {}",
            outcome.errors,
            outcome.notes.join("; ")
        );
        return Err(BenchError::driver("fill", text));
    }
    Ok(outcome)
}

/// Reads every key of `plan` twice, so that a cache that wants to see a key again has seen it.
pub(crate) fn read_all(plan: &Plan, drive: &Drive) -> Result<Outcome, BenchError> {
    let reads = Plan {
        connections: FILL_CONNECTIONS,
        pipeline: FILL_PIPELINE,
        mix: Mix::GET,
        length: Length::Operations(plan.key_count.saturating_mul(2)),
        ..plan.fill()
    };
    run(&reads, drive)
}

/// Carries the plan out once; the latencies are those of all operations.
pub(crate) fn run(plan: &Plan, drive: &Drive) -> Result<Outcome, BenchError> {
    let found = found(plan, drive)?;
    let latency = Summary::of(&found.latencies.all());
    Ok(told(plan, &found, latency))
}

/// Carries the plan out once; the latencies are those of its GETs alone.
pub(crate) fn run_for_gets(plan: &Plan, drive: &Drive) -> Result<Outcome, BenchError> {
    let found = found(plan, drive)?;
    let latency = Summary::of(&found.latencies.get);
    let mut outcome = told(plan, &found, latency);
    outcome.notes.push("latencies of GETs only".to_owned());
    Ok(outcome)
}

fn found(plan: &Plan, drive: &Drive) -> Result<load::Outcome, BenchError> {
    // With one core for the load it stays there; with several it is bound to one of them, as it is
    // one thread; shared cores leave it to the scheduler.
    let core = drive
        .is_apart
        .then(|| drive.cores.first().copied())
        .flatten();
    let found = load::run(plan, core, drive.cancel.as_atomic());
    let found =
        found.map_err(|error| BenchError::driver("cellar-bench load", error.to_string()))?;
    if found.is_cancelled {
        return Err(BenchError::Cancelled);
    }
    if found.mismatches > 0 {
        let example = found.first_mismatch.clone().unwrap_or_default();
        let text = format!(
            "{} values were not what was written: {example}",
            found.mismatches
        );
        return Err(BenchError::driver("verification", text));
    }
    Ok(found)
}

fn told(plan: &Plan, found: &load::Outcome, latency: Option<Summary>) -> Outcome {
    let mut notes = Vec::new();
    if found.misses > 0 {
        notes.push(format!("{} GETs found no key", found.misses));
    }
    notes.extend(
        found
            .first_error
            .iter()
            .map(|error| format!("first error: {error}")),
    );
    if let Some(kept) = found.punctuality {
        notes.push(format!(
            "sent late by {:.0} us at p99; {} held back by the server, {} never sent",
            kept.lateness_p99_us, kept.held_back, kept.unsent
        ));
    }
    Outcome {
        command: vec!["cellar-bench load".to_owned(), format!("{plan:?}")],
        seconds: found.seconds,
        operations: found.operations,
        errors: found.errors,
        latency: latency.map(latency_of),
        client_cpu_s: found.client_cpu_s,
        client_threads: 1,
        written_bytes: Some(found.user_bytes_written),
        notes,
        points: found.series.iter().map(point_of).collect(),
    }
}

fn latency_of(summary: Summary) -> Latency {
    Latency {
        p50_us: Some(summary.p50_us),
        p90_us: Some(summary.p90_us),
        p99_us: Some(summary.p99_us),
        p999_us: Some(summary.p999_us),
        max_us: Some(summary.max_us),
        mean_us: Some(summary.mean_us),
    }
}

/// An interval in which nothing was answered has no latencies.
fn point_of(interval: &load::Interval) -> Point {
    let answered = |value: f64| (interval.operations > 0).then_some(value);
    Point {
        at_s: interval.at_s,
        operations: interval.operations,
        p50_us: answered(interval.p50_us),
        p99_us: answered(interval.p99_us),
        max_us: answered(interval.max_us),
        device_written_bytes: None,
        cleaning: None,
    }
}
