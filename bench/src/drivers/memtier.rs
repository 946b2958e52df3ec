//! `memtier_benchmark`: GETs and SETs of keys and value sizes drawn from ranges.
//!
//! Its traps:
//! - without `--distinct-client-seed` all connections draw the same keys in step;
//! - `--random-data` is one buffer at changing offsets and compresses well, so servers that
//!   compress must be told not to;
//! - its totals divide by a duration that some versions get wrong by a second. The rate is
//!   therefore taken from its own progress line, which is right, and the count from the totals.

use serde_json::Value;

use super::{Drive, Outcome, tool};
use crate::error::BenchError;
use crate::peers::Address;
use crate::results::Latency;

/// Its keys: the prefix and a number of up to seven digits.
const KEY_BYTES: u64 = 15;

/// What to ask.
#[derive(Clone, Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) address: &'a Address,
    pub(crate) connections: u32,
    pub(crate) pipeline: u32,
    pub(crate) key_count: u64,
    /// Least and most bytes of a value.
    pub(crate) value_bytes: (u64, u64),
    pub(crate) mix: Mix,
}

/// Which requests, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mix {
    /// A SET for each key, once.
    Fill,
    /// `sets` SETs for every `gets` GETs, of keys drawn evenly.
    Ratio { sets: u32, gets: u32, seconds: u64 },
}

/// Runs it once.
pub(crate) fn run(plan: &Plan, drive: &Drive) -> Result<Outcome, BenchError> {
    let json = drive.scratch.join("memtier.json");
    let mut words = command_line(plan, drive)?;
    words.extend(["--json-out-file".to_owned(), json.display().to_string()]);
    let finished = tool::run(&words, drive)?;
    let doing = format!("read {}", json.display());
    let text = std::fs::read_to_string(json).map_err(BenchError::system(doing))?;
    let totals = parse(&text)?;
    let progress = [finished.output.as_str(), finished.errors.as_str()].concat();
    let rate = progress_rate(&progress);
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let seconds = rate.map_or(finished.seconds, |rate| totals.count as f64 / rate);
    let value_bytes = u64::midpoint(plan.value_bytes.0, plan.value_bytes.1);
    let errors = error_count(&progress);
    Ok(Outcome {
        command: words,
        seconds,
        operations: totals.count.saturating_sub(errors),
        errors,
        latency: Some(totals.latency),
        client_cpu_s: finished.cpu_s,
        client_threads: threads(plan, drive),
        written_bytes: Some(totals.sets * (value_bytes + KEY_BYTES)),
        notes: totals.notes,
        ..Outcome::default()
    })
}

fn command_line(plan: &Plan, drive: &Drive) -> Result<Vec<String>, BenchError> {
    let program = drive.tools.memtier.as_ref();
    let program = program.ok_or_else(|| BenchError::NotInstalled {
        program: "memtier_benchmark".to_owned(),
        advice: "build it from its public source and name it with --memtier".to_owned(),
    })?;
    let threads = threads(plan, drive);
    let mut words = vec![program.display().to_string()];
    match plan.address {
        Address::Unix(path) => words.extend(["-S".to_owned(), path.display().to_string()]),
        Address::Tcp(port) => words.extend(["-p".to_owned(), port.to_string()]),
    }
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("-t", threads.to_string());
    option("-c", (plan.connections / threads).to_string());
    option("--pipeline", plan.pipeline.to_string());
    option("--key-minimum", "1".to_owned());
    option("--key-maximum", plan.key_count.to_string());
    let (least, most) = plan.value_bytes;
    option("--data-size-range", format!("{least}-{most}"));
    option("--data-size-pattern", "R".to_owned());
    match plan.mix {
        Mix::Fill => {
            option("-n", "allkeys".to_owned());
            option("--key-pattern", "P:P".to_owned());
            option("--ratio", "1:0".to_owned());
        }
        Mix::Ratio {
            sets,
            gets,
            seconds,
        } => {
            option("--test-time", seconds.to_string());
            option("--key-pattern", "R:R".to_owned());
            option("--ratio", format!("{sets}:{gets}"));
        }
    }
    option("--print-percentiles", "50,90,99,99.9".to_owned());
    let flags = [
        "--random-data",
        "--distinct-client-seed",
        "--hide-histogram",
    ];
    words.extend(flags.map(str::to_owned));
    Ok(words)
}

/// One a core of the load.
fn threads(plan: &Plan, drive: &Drive) -> u32 {
    let cores = u32::try_from(drive.cores.len()).unwrap_or(1);
    cores.clamp(1, plan.connections.max(1))
}

#[derive(Debug)]
struct Totals {
    count: u64,
    sets: u64,
    latency: Latency,
    notes: Vec<String>,
}

/// Reads the totals of its JSON.
fn parse(text: &str) -> Result<Totals, BenchError> {
    let json: Value = serde_json::from_str(text)
        .map_err(|error| BenchError::driver("memtier_benchmark", format!("its JSON: {error}")))?;
    let all = &json["ALL STATS"];
    let totals = &all["Totals"];
    let count = totals["Count"].as_u64().filter(|count| *count > 0);
    let count = count.ok_or_else(|| {
        BenchError::driver("memtier_benchmark", "no request was answered".to_owned())
    })?;
    let microseconds = |value: &Value| value.as_f64().map(|ms| ms * 1000.0);
    let percentile = |name: &str| microseconds(&totals["Percentile Latencies"][name]);
    let misses_per_s = all["Gets"]["Misses/sec"].as_f64().unwrap_or_default();
    let gets_per_s = all["Gets"]["Ops/sec"].as_f64().unwrap_or_default();
    let mut notes = Vec::new();
    if misses_per_s > 0.0 && gets_per_s > 0.0 {
        let percent = misses_per_s / gets_per_s * 100.0;
        notes.push(format!("{percent:.1} % of the GETs found no key"));
    }
    Ok(Totals {
        count,
        sets: all["Sets"]["Count"].as_u64().unwrap_or_default(),
        latency: Latency {
            p50_us: percentile("p50.00"),
            p90_us: percentile("p90.00"),
            p99_us: percentile("p99.00"),
            p999_us: percentile("p99.90"),
            max_us: microseconds(&totals["Max Latency"]),
            mean_us: microseconds(&totals["Average Latency"]),
        },
        notes,
    })
}

/// The mean rate of the last progress line, `... (avg:  131022) ops/sec, ...`.
fn progress_rate(output: &str) -> Option<f64> {
    let (before, _) = output.rsplit_once(") ops/sec")?;
    let (_, rate) = before.rsplit_once("(avg:")?;
    rate.trim().parse().ok().filter(|rate| *rate > 0.0)
}

/// Error replies: it prints a line for each and counts it as answered.
fn error_count(output: &str) -> u64 {
    output.matches("error response").count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read() {
        let text = r#"{"ALL STATS": {
            "Runtime": {"Total duration": 1001, "Time unit": "MILLISECONDS"},
            "Sets": {"Count": 131068, "Ops/sec": 130982.34},
            "Gets": {"Count": 131063, "Ops/sec": 130977.34, "Misses/sec": 1309.77},
            "Totals": {"Count": 262131, "Ops/sec": 261959.68, "Latency": 0.0,
                "Max Latency": 4.319,
                "Percentile Latencies": {"p50.00": 0.079, "p90.00": 0.111,
                    "p99.00": 0.167, "p99.90": 0.287, "p100.0": 4.319}}}}"#;
        let totals = parse(text).unwrap();
        assert_eq!((totals.count, totals.sets), (262_131, 131_068));
        let p999_us = totals.latency.p999_us.unwrap();
        assert!((p999_us - 287.0).abs() < 1e-6);
        assert_eq!(totals.latency.mean_us, None);
        assert_eq!(totals.notes, ["1.0 % of the GETs found no key"]);
        assert!(parse(r#"{"ALL STATS": {"Totals": {"Count": 0}}}"#).is_err());
        assert!(parse("Segmentation fault").is_err());
    }

    #[test]
    fn the_rate_is_that_of_the_last_progress_line() {
        let line = concat!(
            "[RUN #1 50%,   1 secs]  1 threads 10 conns:      134015 ops,  133996 ",
            "(avg:  133996) ops/sec, 322.56MB/sec (avg: 322.56MB/sec),  0.07 (avg:  0.07) msec",
            "\r[RUN #1 100%,   2 secs]  0 threads 10 conns:      262131 ops,  133996 ",
            "(avg:  131022) ops/sec, 322.56MB/sec (avg: 316.63MB/sec),  0.07 (avg:  0.08) msec",
        );
        assert_eq!(progress_rate(line), Some(131_022.0));
        assert_eq!(progress_rate("nothing"), None);
        assert_eq!(
            error_count("handle error response: -OOM\nhandle error response: -ERR\n"),
            2
        );
    }

    #[test]
    fn clients_are_spread_over_the_loads_cores() {
        let address = Address::Unix("/x/s".into());
        let plan = Plan {
            address: &address,
            connections: 80,
            pipeline: 1,
            key_count: 1000,
            value_bytes: (1000, 4000),
            mix: Mix::Ratio {
                sets: 1,
                gets: 1,
                seconds: 5,
            },
        };
        let drive = Drive {
            cores: vec![2, 3],
            is_apart: true,
            scratch: "/x".into(),
            cancel: crate::host::cancel::Flag::default(),
            tools: super::super::Tools {
                memtier: Some("/bin/memtier".into()),
                ..super::super::Tools::default()
            },
        };
        let words = command_line(&plan, &drive).unwrap().join(" ");
        assert!(
            words.starts_with("/bin/memtier -S /x/s -t 2 -c 40 "),
            "{words}"
        );
        assert!(words.contains(" --ratio 1:1 "), "{words}");
        assert!(words.contains(" --distinct-client-seed "), "{words}");
    }
}
