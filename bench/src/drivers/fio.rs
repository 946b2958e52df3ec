//! `fio`: what a device gives to a program that does nothing else.
//!
//! io_uring with fixed buffers and registered files, direct, on the very file of the store where
//! reads are measured. Must never write to a file that it did not make.

use std::path::Path;

use serde_json::Value;

use super::{Drive, tool};
use crate::error::BenchError;

/// What to ask of a file.
#[derive(Clone, Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) file: &'a Path,
    pub(crate) access: Access,
    /// Of the file, from its start: what was written. Beyond it reads would not reach the device.
    pub(crate) file_bytes: u64,
    /// Sizes of the blocks, and the percentage of each; together 100.
    pub(crate) sizes: &'a [(u64, u32)],
    /// Blocks begin at multiples of this.
    pub(crate) align_bytes: u64,
    /// Requests in flight, all jobs together.
    pub(crate) depth: u32,
    pub(crate) seconds: u64,
    /// One job each.
    pub(crate) cores: &'a [usize],
}

/// What is done to the file, which is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    RandomReads,
    RandomWrites,
}

/// What it reached.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    pub(crate) command: Vec<String>,
    pub(crate) operations_per_s: f64,
    /// Of all its threads, those that io_uring made for it too.
    pub(crate) cpu_s_per_operation: f64,
}

/// Runs it once.
pub(crate) fn run(plan: &Plan, drive: &Drive) -> Result<Reached, BenchError> {
    let command = command_line(plan, drive)?;
    let finished = tool::run_on(&command, plan.cores, drive)?;
    let (operations, seconds) = parse(&finished.output)?;
    Ok(Reached {
        command,
        operations_per_s: operations / seconds,
        cpu_s_per_operation: finished.cpu_s / operations,
    })
}

fn command_line(plan: &Plan, drive: &Drive) -> Result<Vec<String>, BenchError> {
    let program = drive.tools.fio.as_ref();
    let program = program.ok_or_else(|| BenchError::NotInstalled {
        program: "fio".to_owned(),
        advice: "install it, or name it with --fio".to_owned(),
    })?;
    let jobs = plan.cores.len().max(1);
    let depth = u64::from(plan.depth).div_ceil(jobs as u64);
    let cores: Vec<String> = plan.cores.iter().map(ToString::to_string).collect();
    let sizes: Vec<String> = plan
        .sizes
        .iter()
        .map(|(bytes, percent)| format!("{bytes}/{percent}"))
        .collect();
    let access = match plan.access {
        Access::RandomReads => vec!["--rw=randread".to_owned(), "--readonly".to_owned()],
        Access::RandomWrites => vec!["--rw=randwrite".to_owned()],
    };
    let mut words = vec![
        program.display().to_string(),
        "--name=limit".to_owned(),
        format!("--filename={}", plan.file.display()),
        format!("--size={}", plan.file_bytes),
        format!("--bssplit={}", sizes.join(":")),
        format!("--blockalign={}", plan.align_bytes),
        "--ioengine=io_uring".to_owned(),
        "--fixedbufs=1".to_owned(),
        "--registerfiles=1".to_owned(),
        "--direct=1".to_owned(),
        format!("--iodepth={depth}"),
        format!("--numjobs={jobs}"),
        format!("--cpus_allowed={}", cores.join(",")),
        "--cpus_allowed_policy=split".to_owned(),
        "--group_reporting".to_owned(),
        "--norandommap".to_owned(),
        "--randrepeat=0".to_owned(),
        "--time_based".to_owned(),
        format!("--runtime={}", plan.seconds),
        "--output-format=json".to_owned(),
    ];
    words.extend(access);
    Ok(words)
}

/// Operations and seconds of the only group of jobs.
fn parse(output: &str) -> Result<(f64, f64), BenchError> {
    let refused = |what: &str| BenchError::driver("fio", what.to_owned());
    // Warnings come before the JSON.
    let start = output.find('{').ok_or_else(|| refused(output.trim()))?;
    let json: Value = serde_json::from_str(&output[start..])
        .map_err(|error| refused(&format!("its JSON: {error}")))?;
    let job = &json["jobs"][0];
    let of = |kind: &str| {
        let operations = job[kind]["total_ios"].as_f64()?;
        let seconds = job[kind]["runtime"].as_f64()? / 1000.0;
        (operations > 0.0 && seconds > 0.0).then_some((operations, seconds))
    };
    let reached = of("read").or_else(|| of("write"));
    reached.ok_or_else(|| refused("it did nothing"))
}

/// The sizes of aligned reads that fetch a whole record of `record_bytes` (drawn evenly) which
/// begins anywhere in units of `unit_bytes`, with the percentage of each: what a store of such
/// records asks of its device.
pub(crate) fn read_sizes(record_bytes: (u64, u64), unit_bytes: u64, align: u64) -> Vec<(u64, u32)> {
    let (least, most) = record_bytes;
    let mut counts = std::collections::BTreeMap::<u64, u64>::new();
    let lengths = (least..=most).step_by(unit_bytes as usize);
    let mut total = 0;
    for length in lengths {
        for offset in (0..align).step_by(unit_bytes as usize) {
            *counts
                .entry((offset + length).next_multiple_of(align))
                .or_default() += 1;
            total += 1;
        }
    }
    // Percentages by their running sum, so that they add up to 100.
    let mut sum = 0;
    let mut told = 0;
    let shares = counts.into_iter().map(|(bytes, count)| {
        sum += count;
        let percent = u32::try_from(sum * 100 / total).unwrap_or(100) - told;
        told += percent;
        (bytes, percent)
    });
    shares.filter(|(_, percent)| *percent > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_seconds_are_read() {
        let output = concat!(
            "fio: some warning\n",
            r#"{"jobs": [{"read": {"total_ios": 5000, "runtime": 2500, "iops": 2000.0},"#,
            r#" "write": {"total_ios": 0, "runtime": 0}}]}"#,
        );
        assert_eq!(parse(output).unwrap(), (5000.0, 2.5));
        assert!(parse("fio: no such file").is_err());
        assert!(parse(r#"{"jobs": [{"read": {"total_ios": 0}}]}"#).is_err());
    }

    #[test]
    fn read_sizes_follow_from_records_and_alignment() {
        // 512 bytes that begin at a multiple of 512 in one of 32 cases, else span two blocks.
        assert_eq!(read_sizes((512, 512), 16, 512), [(512, 3), (1024, 97)]);
        let sizes = read_sizes((1056, 4056), 16, 512);
        assert_eq!(sizes.iter().map(|(_, percent)| percent).sum::<u32>(), 100);
        assert_eq!(sizes.first().map(|(bytes, _)| *bytes), Some(1536));
        assert_eq!(sizes.last().map(|(bytes, _)| *bytes), Some(4608));
        assert_eq!(read_sizes((1000, 1000), 16, 1000), [(1000, 1), (2000, 99)]);
    }

    #[test]
    fn reads_are_read_only_and_depth_is_shared_by_the_jobs() {
        let plan = Plan {
            file: Path::new("/x/store"),
            access: Access::RandomReads,
            file_bytes: 1 << 30,
            sizes: &[(4096, 100)],
            align_bytes: 512,
            depth: 81,
            seconds: 5,
            cores: &[0, 1],
        };
        let drive = Drive {
            cores: vec![0],
            is_apart: true,
            scratch: "/x".into(),
            cancel: crate::host::cancel::Flag::default(),
            tools: super::super::Tools {
                fio: Some("/bin/fio".into()),
                ..super::super::Tools::default()
            },
        };
        let words = command_line(&plan, &drive).unwrap().join(" ");
        for word in [
            "--readonly",
            "--iodepth=41",
            "--numjobs=2",
            "--cpus_allowed=0,1",
        ] {
            assert!(words.contains(word), "{word}: {words}");
        }
    }
}
