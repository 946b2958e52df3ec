//! `cellar-bench load` by hand: arguments, and the table of what was found.
//!
//! Owns the form of both. Must never change what a load measures.
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Value, json};

use super::outcome::{Outcome, Summary};
use super::plan::{Address, KeyChoice, Length, Mix, Pace, Plan};

/// A load on a server that is running.
#[derive(clap::Args)]
pub(crate) struct LoadArguments {
    #[command(flatten)]
    server: ServerArguments,
    /// Connections.
    #[arg(long, default_value_t = 50)]
    connections: u32,
    /// Commands in flight on one connection at most.
    #[arg(long, default_value_t = 1)]
    pipeline: u32,
    /// fill, get, set, ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-f, or percents such as
    /// get=50,set=30,rmw=10,insert=10.
    #[arg(long, default_value = "get")]
    mix: MixName,
    /// Which keys; by default as the mix has them in YCSB, else uniform.
    #[arg(long)]
    keys: Option<KeysName>,
    /// Exponent of the zipfian choice.
    #[arg(long, default_value_t = KeyChoice::THETA_OF_YCSB)]
    theta: f64,
    /// Keys that are there, or with `--mix fill` are to be.
    #[arg(long, default_value_t = 100_000)]
    key_count: u64,
    /// What stands before a key's twelve digits.
    #[arg(long, default_value = "key:")]
    key_prefix: String,
    /// Bytes of a value: one size, or two joined by a dash.
    #[arg(long, default_value = "1000-4000")]
    value_bytes: Sizes,
    /// Takes values as they come, without a look at their content.
    #[arg(long)]
    no_verify: bool,
    /// How long, in seconds.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// How many operations, instead of how long.
    #[arg(long)]
    operations: Option<u64>,
    /// Seconds of load before anything is counted.
    #[arg(long, default_value_t = 0.0)]
    warm_up: f64,
    /// Operations a second, whether or not the server keeps up; as fast as it goes when absent.
    #[arg(long)]
    rate: Option<f64>,
    /// Seconds of an interval of the series in the JSON; none when 0.
    #[arg(long, default_value_t = 0.0)]
    interval: f64,
    /// Seed of all draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The core that the client stays on.
    #[arg(long)]
    core: Option<usize>,
    /// Prints JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct ServerArguments {
    /// The server's unix socket.
    #[arg(long)]
    socket: Option<PathBuf>,
    /// The server's address and port.
    #[arg(long)]
    tcp: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum KeysName {
    Uniform,
    Zipfian,
    Sequential,
    Latest,
}

/// A mix, and the keys that go with it by default.
#[derive(Clone, Copy, Debug)]
struct MixName {
    mix: Mix,
    keys: KeysName,
    is_fill: bool,
}

impl FromStr for MixName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mix, keys) = match text {
            "fill" => (Mix::SET, KeysName::Sequential),
            "get" => (Mix::GET, KeysName::Uniform),
            "set" => (Mix::SET, KeysName::Uniform),
            "ycsb-a" => (Mix::YCSB_A, KeysName::Zipfian),
            "ycsb-b" => (Mix::YCSB_B, KeysName::Zipfian),
            "ycsb-c" => (Mix::YCSB_C, KeysName::Zipfian),
            "ycsb-d" => (Mix::YCSB_D, KeysName::Latest),
            "ycsb-f" => (Mix::YCSB_F, KeysName::Zipfian),
            shares => (shares_of(shares)?, KeysName::Uniform),
        };
        Ok(Self {
            mix,
            keys,
            is_fill: text == "fill",
        })
    }
}

fn shares_of(text: &str) -> Result<Mix, String> {
    let mut mix = Mix::of(0, 0, 0, 0);
    for part in text.split(',') {
        let (name, share) = part
            .split_once('=')
            .ok_or_else(|| format!("`{part}` is neither a mix nor a share such as get=50"))?;
        let share = share
            .parse()
            .map_err(|_| format!("`{share}` is no whole number of percent"))?;
        match name {
            "get" => mix.get = share,
            "set" => mix.set = share,
            "rmw" => mix.rmw = share,
            "insert" => mix.insert = share,
            _ => return Err(format!("`{name}` is none of get, set, rmw, insert")),
        }
    }
    Ok(mix)
}

/// Sizes of values.
#[derive(Clone, Debug)]
struct Sizes(RangeInclusive<usize>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no size"));
        Ok(Self(number(first)?..=number(last)?))
    }
}

impl LoadArguments {
    fn plan(&self) -> io::Result<Plan> {
        let address = match (&self.server.socket, self.server.tcp) {
            (Some(path), _) => Address::Unix(path.clone()),
            (None, Some(address)) => Address::Tcp(address),
            (None, None) => return Err(io::Error::other("name --socket or --tcp")),
        };
        let plan = Plan {
            address,
            connections: self.connections,
            pipeline: self.pipeline,
            pace: self.rate.map_or(Pace::Closed, Pace::OpenPerSecond),
            mix: self.mix.mix,
            keys: match self.keys.unwrap_or(self.mix.keys) {
                KeysName::Uniform => KeyChoice::Uniform,
                KeysName::Zipfian => KeyChoice::Zipfian { theta: self.theta },
                KeysName::Sequential => KeyChoice::Sequential,
                KeysName::Latest => KeyChoice::Latest,
            },
            key_count: self.key_count,
            key_prefix: self.key_prefix.clone(),
            value_bytes: self.value_bytes.0.clone(),
            verify: !self.no_verify,
            length: match self.operations {
                Some(count) => Length::Operations(count),
                None => Length::Time(seconds("seconds", self.seconds)?),
            },
            warm_up: seconds("warm-up", self.warm_up)?,
            seed: self.seed,
            interval: seconds("interval", self.interval)?,
        };
        Ok(if self.mix.is_fill { plan.fill() } else { plan })
    }
}

fn seconds(name: &str, value: f64) -> io::Result<Duration> {
    Duration::try_from_secs_f64(value)
        .map_err(|error| io::Error::other(format!("--{name} {value}: {error}")))
}

/// Carries the load out and prints what it found. Values that were not what was written, and errors
/// that the server answered, are an error of the command too.
pub(crate) fn run_by_hand(arguments: &LoadArguments, cancel: &AtomicBool) -> io::Result<()> {
    let plan = arguments.plan()?;
    let outcome = super::run(&plan, arguments.core, cancel).map_err(io::Error::other)?;
    if arguments.json {
        println!("{}", as_json(&outcome));
    } else {
        print!("{}", as_table(&outcome));
    }
    match (&outcome.first_mismatch, &outcome.first_error) {
        (Some(mismatch), _) => Err(io::Error::other(format!(
            "{} values are not what was written, first {mismatch}",
            outcome.mismatches
        ))),
        (None, Some(error)) => Err(io::Error::other(format!(
            "the server answered {} errors, first: {error}",
            outcome.errors
        ))),
        (None, None) => Ok(()),
    }
}

/// Microseconds of the client's CPU for an operation.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn client_us(outcome: &Outcome) -> f64 {
    outcome.client_cpu_s * 1e6 / (outcome.operations.max(1) as f64)
}

fn as_table(outcome: &Outcome) -> String {
    let mut text = format!(
        "{:.0} operations/s: {} in {:.2} s, {} hits, {} misses, {} errors, {} mismatches, \
         {:.2} us of client CPU each\n",
        outcome.operations_per_s(),
        outcome.operations,
        outcome.seconds,
        outcome.hits,
        outcome.misses,
        outcome.errors,
        outcome.mismatches,
        client_us(outcome),
    );
    if let Some(punctuality) = outcome.punctuality {
        let _ = writeln!(
            text,
            "sent late by the client: p99 {:.0} us, max {:.0} us; held back by the server: {}, \
             never sent: {}",
            punctuality.lateness_p99_us,
            punctuality.lateness_max_us,
            punctuality.held_back,
            punctuality.unsent,
        );
    }
    let _ = writeln!(
        text,
        "{:>6} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "", "count", "p50 us", "p90 us", "p99 us", "p99.9 us", "max us"
    );
    for (name, histogram) in kinds(outcome) {
        if let Some(summary) = Summary::of(histogram) {
            let _ = writeln!(
                text,
                "{name:>6} {:>12} {:>10.1} {:>10.1} {:>10.1} {:>10.1} {:>10.1}",
                histogram.len(),
                summary.p50_us,
                summary.p90_us,
                summary.p99_us,
                summary.p999_us,
                summary.max_us,
            );
        }
    }
    text
}

fn kinds(outcome: &Outcome) -> [(&'static str, &hdrhistogram::Histogram<u64>); 3] {
    let latencies = &outcome.latencies;
    [
        ("get", &latencies.get),
        ("set", &latencies.set),
        ("rmw", &latencies.rmw),
    ]
}

fn as_json(outcome: &Outcome) -> Value {
    let latency = |summary: Summary| {
        json!({
            "p50_us": summary.p50_us, "p90_us": summary.p90_us, "p99_us": summary.p99_us,
            "p999_us": summary.p999_us, "max_us": summary.max_us, "mean_us": summary.mean_us,
        })
    };
    let latencies: serde_json::Map<String, Value> = kinds(outcome)
        .into_iter()
        .filter_map(|(name, histogram)| Some((name.to_owned(), latency(Summary::of(histogram)?))))
        .collect();
    let series: Vec<Value> = outcome
        .series
        .iter()
        .map(|interval| {
            json!({
                "at_s": interval.at_s, "operations": interval.operations,
                "p50_us": interval.p50_us, "p99_us": interval.p99_us, "max_us": interval.max_us,
            })
        })
        .collect();
    json!({
        "ops_per_s": outcome.operations_per_s(), "operations": outcome.operations,
        "seconds": outcome.seconds, "hits": outcome.hits, "misses": outcome.misses,
        "errors": outcome.errors, "mismatches": outcome.mismatches,
        "client_cpu_s": outcome.client_cpu_s,
        "user_bytes_written": outcome.user_bytes_written,
        "user_bytes_read": outcome.user_bytes_read,
        "late_p99_us": outcome.punctuality.map(|found| found.lateness_p99_us),
        "late_max_us": outcome.punctuality.map(|found| found.lateness_max_us),
        "held_back": outcome.punctuality.map(|found| found.held_back),
        "unsent": outcome.punctuality.map(|found| found.unsent),
        "is_cancelled": outcome.is_cancelled,
        "latency": latencies, "series": series,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_are_read_by_name_and_by_share() {
        let mix = |text: &str| text.parse::<MixName>().map(|name| name.mix);
        assert_eq!(mix("ycsb-b"), Ok(Mix::YCSB_B));
        assert_eq!(
            mix("get=50,set=30,rmw=10,insert=10"),
            Ok(Mix::of(50, 30, 10, 10))
        );
        for bad in ["ycsb-z", "get", "get=x", "put=100"] {
            assert_eq!(mix(bad).is_err(), bad != "get", "{bad}");
        }
        assert!("fill".parse::<MixName>().unwrap().is_fill);
    }

    #[test]
    fn sizes_are_one_or_two_numbers() {
        let sizes = |text: &str| text.parse::<Sizes>().map(|sizes| sizes.0);
        assert_eq!(sizes("1024"), Ok(1024..=1024));
        assert_eq!(sizes("1000-4000"), Ok(1000..=4000));
        assert!(sizes("4k").is_err());
    }
}
