//! Real servers, real load generators, a second of each: the harness from its command line to its
//! rows.
//!
//! Servers are found as users' are: `redis-server` on PATH, `cellar` beside this test's own binary
//! or on PATH. What is not installed is passed over with a line that says so.

#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What a run printed and wrote.
struct Run {
    rows: Vec<Value>,
    shown: String,
}

/// `cellar` where cargo puts it, when it was built.
fn cellar() -> Option<PathBuf> {
    let bench = Path::new(env!("CARGO_BIN_EXE_cellar-bench"));
    let beside = bench.with_file_name("cellar");
    beside.is_file().then_some(beside)
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !is_there {
        println!("passed over: {program} is not installed");
    }
    is_there
}

/// A script in place of Redis, as a word for `--server`.
fn server_script(directory: &Path, script: &str) -> String {
    let path = directory.join("redis");
    std::fs::write(&path, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    format!("redis={}", path.display())
}

/// What the harness is to call the file system of a build, which it checks.
fn regime(directory: &Path) -> &'static str {
    let found = nix::sys::statfs::statfs(directory).unwrap();
    if found.filesystem_type() == nix::sys::statfs::TMPFS_MAGIC {
        "ram"
    } else {
        "disk"
    }
}

/// Runs a quick suite of `arguments`, with its data on the disk that holds the build.
fn run(arguments: &[&str]) -> Run {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let data = directory.path().join("data");
    let out = directory.path().join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cellar-bench"));
    command.arg("suite").args(arguments).arg("--quick");
    command.arg("--directory").arg(&data).arg("--out").arg(&out);
    command.arg("--regime").arg(regime(directory.path()));
    if let Some(cellar) = cellar() {
        command
            .arg("--server")
            .arg(format!("cellar={}", cellar.display()));
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    assert_eq!(
        std::fs::read_dir(&data).unwrap().count(),
        0,
        "data is left behind"
    );
    let files: Vec<_> = std::fs::read_dir(&out)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(files.len(), 1);
    let text = std::fs::read_to_string(files[0].path()).unwrap();
    Run {
        rows: text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
        shown: String::from_utf8_lossy(&output.stdout).into_owned(),
    }
}

impl Run {
    fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.rows.iter().filter(move |row| row["kind"] == kind)
    }

    fn samples_of<'a>(&'a self, server: &'a str) -> Vec<&'a Value> {
        self.of_kind("sample")
            .filter(|row| row["server"] == server)
            .collect()
    }
}

/// The layout that the machine has cores for.
fn layout() -> &'static str {
    match std::thread::available_parallelism() {
        Ok(count) if count.get() > 1 => "--cpu-split",
        _ => "--shared",
    }
}

#[test]
fn wire_measures_every_server_that_is_there() {
    let mut expected = Vec::new();
    if is_installed("redis-server") {
        expected.push("redis");
    }
    if cellar().is_some() {
        expected.push("cellar");
    } else {
        println!("passed over: cellar is not built");
    }
    let run = run(&[
        "wire",
        "--servers",
        "redis,cellar,aki",
        layout(),
        "--keys",
        "500",
    ]);
    assert_eq!(run.rows[0]["kind"], "run");
    assert!(
        run.rows[0]["machine"]["kernel"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    );
    for server in &expected {
        let samples = run.samples_of(server);
        let columns: Vec<_> = samples
            .iter()
            .map(|row| row["column"].as_str().unwrap())
            .collect();
        let all = ["fillrandom", "overwrite", "readrandom", "ycsb-a", "ycsb-c"];
        assert_eq!(columns, all, "{server}");
        for sample in samples {
            assert!(sample["operations"].as_u64().unwrap() > 0, "{sample}");
            assert_eq!(sample["errors"], 0, "{sample}");
            assert!(
                sample["latency"]["p99_us"].as_f64().unwrap() > 0.0,
                "{sample}"
            );
        }
        assert!(run.shown.contains(server), "{}", run.shown);
    }
    let absent = run
        .of_kind("server")
        .find(|row| row["name"] == "aki")
        .unwrap();
    if absent["found"] == false {
        assert!(
            absent["absence"]
                .as_str()
                .unwrap()
                .contains("--server aki=PATH"),
            "{absent}"
        );
        assert!(run.samples_of("aki").is_empty());
    }
}

#[test]
fn collections_keep_the_error_of_a_command_that_is_not_known() {
    if !is_installed("redis-benchmark") || !is_installed("redis-server") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let script = "#!/bin/sh\nexec redis-server \"$@\" --rename-command HSET ''\n";
    let server = server_script(directory.path(), script);
    let run = run(&[
        "collections",
        "--servers",
        "redis",
        "--server",
        &server,
        layout(),
        "--keys",
        "50",
    ]);
    let samples = run.samples_of("redis");
    assert_eq!(samples.len(), 12);
    let (failed, measured): (Vec<&Value>, Vec<&Value>) =
        samples.into_iter().partition(|row| row["column"] == "HSET");
    assert_eq!(failed[0]["operations"], 0);
    assert_eq!(failed[0]["errors"], 1);
    let note = failed[0]["notes"][0].as_str().unwrap();
    assert!(note.contains("unknown command"), "{note}");
    assert!(
        measured
            .iter()
            .all(|row| row["errors"] == 0 && row["operations"] != 0)
    );
}

#[test]
fn a_server_that_does_not_come_up_is_left_out_with_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let script = "#!/bin/sh\necho 'no such option: --appendonly'\nexit 1\n";
    let server = server_script(directory.path(), script);
    let run = run(&["wire", "--servers", "redis", "--server", &server, layout()]);
    assert!(run.samples_of("redis").is_empty());
    let left_out = run
        .of_kind("server")
        .find(|row| row["found"] == false)
        .unwrap();
    let absence = left_out["absence"].as_str().unwrap();
    assert!(
        absence.contains("no such option: --appendonly"),
        "{absence}"
    );
}
