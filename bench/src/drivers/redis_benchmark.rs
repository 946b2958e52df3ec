//! `redis-benchmark`: many requests of one kind.
//!
//! Its trap: without `-r` every request is for the same key, so it is always given here. It ends
//! with an error at the first error reply.

use super::{Drive, Outcome, tool};
use crate::error::BenchError;
use crate::peers::Address;
use crate::results::Latency;

/// Bytes of the keys that its own tests use: `key:` and twelve digits.
pub(crate) const KEY_BYTES: u64 = 16;

/// What to ask.
#[derive(Clone, Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) address: &'a Address,
    pub(crate) connections: u32,
    pub(crate) pipeline: u32,
    pub(crate) requests: u64,
    /// Keys are drawn evenly from this many.
    pub(crate) key_count: u64,
    pub(crate) value_bytes: u64,
    pub(crate) test: Test,
}

/// One of its tests, or any command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Get,
    Set,
    /// Words in which `__rand_int__` is replaced by a number below `key_count`.
    Command(Vec<String>),
}

/// Runs it once.
pub(crate) fn run(plan: &Plan, drive: &Drive) -> Result<Outcome, BenchError> {
    let words = command_line(plan, drive)?;
    let finished = tool::run(&words, drive)?;
    let row = parse(&finished.output)?;
    let requests = plan.requests;
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let seconds = requests as f64 / row.requests_per_s;
    let written_bytes = (plan.test == Test::Set).then(|| requests * (plan.value_bytes + KEY_BYTES));
    Ok(Outcome {
        command: words,
        seconds,
        operations: requests,
        latency: Some(row.latency),
        client_cpu_s: finished.cpu_s,
        written_bytes,
        ..Outcome::default()
    })
}

fn command_line(plan: &Plan, drive: &Drive) -> Result<Vec<String>, BenchError> {
    let program = drive.tools.redis_benchmark.as_ref();
    let program = program.ok_or_else(|| BenchError::NotInstalled {
        program: "redis-benchmark".to_owned(),
        advice: "install redis-tools, or name it with --redis-benchmark".to_owned(),
    })?;
    let mut words = vec![program.display().to_string()];
    match plan.address {
        Address::Unix(path) => words.extend(["-s".to_owned(), path.display().to_string()]),
        Address::Tcp(port) => words.extend(["-p".to_owned(), port.to_string()]),
    }
    let mut option = |name: &str, value: u64| words.extend([name.to_owned(), value.to_string()]);
    option("-c", plan.connections.into());
    option("-P", plan.pipeline.into());
    option("-n", plan.requests);
    option("-r", plan.key_count);
    option("-d", plan.value_bytes);
    words.push("--csv".to_owned());
    match &plan.test {
        Test::Get => words.extend(["-t", "get"].map(str::to_owned)),
        Test::Set => words.extend(["-t", "set"].map(str::to_owned)),
        Test::Command(command) => words.extend(command.iter().cloned()),
    }
    Ok(words)
}

/// The line of a test in its CSV.
#[derive(Debug)]
struct Row {
    requests_per_s: f64,
    latency: Latency,
}

/// Reads the only line after the heading. Columns are found by their names, since versions differ;
/// commas inside the quoted name of a test are its own.
fn parse(output: &str) -> Result<Row, BenchError> {
    let refused = |what: &str| {
        let text = format!("{what} in its output: {:?}", output.trim());
        BenchError::driver("redis-benchmark", text)
    };
    let mut lines = output
        .lines()
        .map(fields)
        .skip_while(|fields| fields[0] != "test");
    let names = lines.next().ok_or_else(|| refused("no heading"))?;
    let values = lines
        .next()
        .ok_or_else(|| refused("no line for the test"))?;
    let number = |name: &str| -> Option<f64> {
        let position = names.iter().position(|field| field == name)?;
        values.get(position)?.parse().ok()
    };
    let requests_per_s = number("rps").filter(|rate| *rate > 0.0);
    let microseconds = |name| number(name).map(|ms| ms * 1000.0);
    Ok(Row {
        requests_per_s: requests_per_s.ok_or_else(|| refused("no rate"))?,
        latency: Latency {
            p50_us: microseconds("p50_latency_ms"),
            p90_us: None,
            p99_us: microseconds("p99_latency_ms"),
            p999_us: None,
            max_us: microseconds("max_latency_ms"),
            mean_us: microseconds("avg_latency_ms"),
        },
    })
}

/// The fields of a line of CSV in which all are quoted.
fn fields(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('"').trim_end_matches('"');
    line.split("\",\"").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADING: &str = concat!(
        r#""test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","#,
        r#""p95_latency_ms","p99_latency_ms","max_latency_ms""#,
    );

    #[test]
    fn a_line_of_csv_is_read_by_its_names() {
        let line = r#""SET","93023.26","0.281","0.080","0.271","0.375","0.759","1.615""#;
        let row = parse(&format!("{HEADING}\n{line}\n")).unwrap();
        assert!((row.requests_per_s - 93023.26).abs() < 1e-6);
        assert_eq!(row.latency.p50_us, Some(271.0));
        assert_eq!(row.latency.p99_us, Some(759.0));
        assert_eq!(row.latency.p999_us, None);
        let line = r#""eval return 1,2 0","64516.13","0.057","0.008","0.063","0.1","0.2","0.3""#;
        let row = parse(&format!("WARNING: no config\n{HEADING}\n{line}\n")).unwrap();
        assert!((row.requests_per_s - 64516.13).abs() < 1e-6);
    }

    #[test]
    fn output_without_a_result_is_refused() {
        let check = |output: &str, expected: &str| {
            let error = parse(output).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("", "no heading");
        check(HEADING, "no line for the test");
        check(&format!("{HEADING}\n\"SET\",\"nan\"\n"), "no rate");
        check(&format!("{HEADING}\n\"SET\",\"0.00\"\n"), "no rate");
    }

    #[test]
    fn keys_are_always_drawn_from_many() {
        let address = Address::Tcp(7000);
        let plan = Plan {
            address: &address,
            connections: 50,
            pipeline: 1,
            requests: 100,
            key_count: 1000,
            value_bytes: 3,
            test: Test::Command(vec!["hset".to_owned(), "h:__rand_int__".to_owned()]),
        };
        let mut drive = Drive {
            cores: vec![0],
            is_apart: true,
            scratch: "/x".into(),
            cancel: crate::host::cancel::Flag::default(),
            tools: super::super::Tools::default(),
        };
        assert!(matches!(
            command_line(&plan, &drive),
            Err(BenchError::NotInstalled { .. })
        ));
        drive.tools.redis_benchmark = Some("/bin/redis-benchmark".into());
        let words = command_line(&plan, &drive).unwrap().join(" ");
        let expected = "/bin/redis-benchmark -p 7000 -c 50 -P 1 -n 100 -r 1000 -d 3 --csv \
                        hset h:__rand_int__";
        assert_eq!(words, expected);
    }
}
