//! What a GET or a SET costs layer by layer, by the micro-benchmarks, beside the CPU time that a
//! server was measured to spend on it, by the suites.
//!
//! ```text
//!   cargo bench --> target/criterion/GROUP/NAME/new/estimates.json --> estimates --\
//!   suite wire, suite pipeline --> results.jsonl ---------------------> operations --> table
//! ```
//!
//! Owns the table. Must never show a sum to which a part is missing.
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod estimates;
mod operations;

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::error::BenchError;
use crate::report::Spread;
use crate::results;
use estimates::{Estimate, Estimates};
use operations::{Measured, PART_COUNT};

/// What the columns of the parts are called, in the order in which a request meets them.
const PART_NAMES: [&str; PART_COUNT] = [
    "sockets, runtime",
    "parse",
    "find command",
    "store",
    "frame reply",
];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Files of results of `wire` and `pipeline`, taken on the machine of the micro-benchmarks.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where `cargo bench -p cellar-bench` left its estimates.
    #[arg(long, default_value = "target/criterion")]
    estimates: PathBuf,
}

/// Prints the table and the estimates that it was made from.
pub(crate) fn run(arguments: &Arguments) -> Result<(), BenchError> {
    let mut rows = Vec::new();
    for file in &arguments.files {
        rows.extend(results::read(file)?);
    }
    let measured = operations::measured(&rows);
    if measured.is_empty() {
        let text = "no row of `wire` or `pipeline` with `everysec` that tells Cellar's CPU time";
        return Err(BenchError::Arguments(text.to_owned()));
    }
    let mut estimates = Estimates::new(&arguments.estimates);
    let table = render(&measured, &mut estimates)?;
    print!("{table}\n{}", render_estimates(&estimates));
    Ok(())
}

fn render(measured: &[Measured], estimates: &mut Estimates) -> Result<String, BenchError> {
    let mut text = String::from("CPU time of an operation in microseconds\n\n| end to end |");
    for name in PART_NAMES {
        let _ = write!(text, " {name} |");
    }
    text.push_str(" sum | measured | rest | index, in store |\n|---|");
    text.push_str(&"---:|".repeat(PART_COUNT + 4));
    text.push('\n');
    for line in measured {
        let _ = write!(text, "| {} |", line.name);
        let mut sum_us = 0.0;
        for part in line.operation.parts {
            let us = estimates.get(part)?.us();
            sum_us += us;
            let _ = write!(text, " {us:.2} |");
        }
        let index_us: f64 = line
            .operation
            .index
            .iter()
            .map(|part| estimates.get(part).map(|estimate| estimate.us()))
            .sum::<Result<f64, _>>()?;
        let (cpu, rest_us) = (cell(line.cpu_us), line.cpu_us.median - sum_us);
        let _ = writeln!(
            text,
            " {sum_us:.2} | {cpu} | {rest_us:.2} | {index_us:.2} |"
        );
    }
    Ok(text)
}

/// The median, and least and most of the rounds.
fn cell(spread: Spread) -> String {
    let Spread {
        median, min, max, ..
    } = spread;
    if spread.count == 1 {
        return format!("{median:.2}");
    }
    format!("{median:.2} ({min:.2}-{max:.2})")
}

fn render_estimates(estimates: &Estimates) -> String {
    let mut text = String::from("| benchmark | ns | 95 % of medians |\n|---|---:|---:|\n");
    for (name, estimate) in estimates.taken() {
        let Estimate {
            point_estimate,
            confidence_interval: interval,
        } = estimate;
        let (lower, upper) = (interval.lower_bound, interval.upper_bound);
        let _ = writeln!(
            text,
            "| `{name}` | {point_estimate:.1} | {lower:.1} to {upper:.1} |"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::results::{Row, Sample};

    fn row(suite: &str, table: &str, column: &str, cpu_us: f64) -> Row {
        Row::Sample(Sample {
            suite: suite.to_owned(),
            table: table.to_owned(),
            column: column.to_owned(),
            server: "cellar".to_owned(),
            operations: 1_000_000,
            server_cpu_s: cpu_us,
            ..Sample::default()
        })
    }

    /// As criterion leaves them: other figures stand beside the median.
    fn leave(folder: &Path, name: &str, ns: f64) {
        let folder = folder.join(name).join("new");
        std::fs::create_dir_all(&folder).unwrap();
        let estimate = format!(
            r#"{{"confidence_interval":{{"confidence_level":0.95,"lower_bound":{ns},
            "upper_bound":{ns}}},"point_estimate":{ns},"standard_error":0.0}}"#
        );
        let text = format!(r#"{{"mean":{estimate},"median":{estimate},"slope":null}}"#);
        std::fs::write(folder.join("estimates.json"), text).unwrap();
    }

    #[test]
    fn parts_are_added_and_the_rest_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let rows = [
            row(
                "wire",
                "wire, 8 clients, split; everysec, disk",
                "readrandom",
                5.0,
            ),
            row(
                "wire",
                "wire, 8 clients, split; everysec, disk",
                "readrandom",
                6.0,
            ),
            row(
                "wire",
                "wire, 8 clients, split; always, disk",
                "readrandom",
                50.0,
            ),
            row(
                "wire",
                "wire, 8 clients, split; everysec, disk",
                "ycsb-a",
                9.0,
            ),
        ];
        let measured = operations::measured(&rows);
        assert_eq!(measured.len(), 1);
        for (part, ns) in [
            ("socket/get", 2000.0),
            ("resp/parse_get", 40.0),
            ("resp/find_command", 10.0),
            ("store/get_cache", 400.0),
        ] {
            leave(directory.path(), part, ns);
        }
        leave(directory.path(), "index_hash/16", 20.0);
        leave(directory.path(), "index_100000/lookup", 60.0);
        let mut estimates = Estimates::new(directory.path());
        let missing = render(&measured, &mut estimates).unwrap_err().to_string();
        assert!(missing.contains("resp/reply_bulk"), "{missing}");
        leave(directory.path(), "resp/reply_bulk", 50.0);
        let text = render(&measured, &mut estimates).unwrap();
        let expected = "| wire, 8 clients, split; everysec, disk: readrandom | 2.00 | 0.04 | \
                        0.01 | 0.40 | 0.05 | 2.50 | 5.50 (5.00-6.00) | 3.00 | 0.08 |";
        assert!(text.contains(expected), "{text}");
        let list = render_estimates(&estimates);
        assert!(
            list.contains("| `socket/get` | 2000.0 | 2000.0 to 2000.0 |"),
            "{list}"
        );
    }

    #[test]
    fn every_part_is_a_benchmark() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
        let source = |group: &str| {
            let file = group.split('_').next().unwrap();
            std::fs::read_to_string(folder.join(file).with_extension("rs")).unwrap()
        };
        for part in operations::parts() {
            let (group, name) = part.split_once('/').unwrap();
            let name = name.trim_end_matches("_by_32");
            let text = source(group);
            assert!(
                text.contains(&format!("\"{name}")) || group == "index_hash",
                "{part}"
            );
        }
    }
}
