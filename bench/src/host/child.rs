//! Processes that the harness starts: bound to cores, their output in a file, ended with their
//! owner.
//!
//! Must never leave a process behind, and must never signal one that it did not start.

use std::fs::{File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::cancel::Flag;
use super::cores;
use crate::error::BenchError;

/// Between two looks at a process that is waited for.
const LOOK: Duration = Duration::from_millis(5);
/// A server that was asked to end has this long to write what it wants to keep.
const STOP_MAX: Duration = Duration::from_secs(30);

/// What to start, and where.
#[derive(Clone, Debug)]
pub(crate) struct Plan<'a> {
    /// Program and arguments.
    pub(crate) words: &'a [String],
    pub(crate) cores: &'a [usize],
    pub(crate) directory: &'a Path,
    /// Standard output is appended here.
    pub(crate) output: PathBuf,
    /// Standard error is appended here; may be the same file.
    pub(crate) errors: PathBuf,
}

/// A started process; killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts `plan` in a process group of its own, so that the terminal's Ctrl-C reaches only
    /// the harness, which ends it in order.
    pub(crate) fn start(plan: &Plan) -> Result<Self, BenchError> {
        let (program, arguments) = plan.words.split_first().ok_or_else(|| {
            BenchError::Arguments("an empty command line cannot be started".to_owned())
        })?;
        let output = append(&plan.output)?;
        let errors = append(&plan.errors)?;
        // Cores are inherited from the thread that starts a process, so one of its own does it.
        let spawned = thread::scope(|scope| {
            let started = scope.spawn(|| {
                cores::bind_thread(plan.cores)?;
                Command::new(program)
                    .args(arguments)
                    .current_dir(plan.directory)
                    .stdin(Stdio::null())
                    .stdout(output)
                    .stderr(errors)
                    .process_group(0)
                    .spawn()
                    .map_err(BenchError::system(format!("start {program}")))
            });
            started.join().expect("the starting thread does not panic")
        });
        Ok(Self { child: spawned? })
    }

    /// The process's id.
    pub(crate) fn pid(&self) -> Pid {
        // A pid is a positive i32 by the kernel's definition.
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// How it ended, when it has.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>, BenchError> {
        self.child
            .try_wait()
            .map_err(BenchError::system("look at a process"))
    }

    /// Waits for the end; `look` is called on the way. After `at_most`, or when cancelled, the
    /// process is killed.
    pub(crate) fn wait(
        &mut self,
        at_most: Duration,
        cancel: &Flag,
        mut look: impl FnMut(Pid),
    ) -> Result<ExitStatus, BenchError> {
        let started = Instant::now();
        loop {
            look(self.pid());
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if cancel.is_set() {
                self.kill();
                return Err(BenchError::Cancelled);
            }
            if started.elapsed() > at_most {
                self.kill();
                let text = format!("not done after {} s, killed", at_most.as_secs());
                return Err(BenchError::driver("process", text));
            }
            thread::park_timeout(LOOK);
        }
    }

    /// Asks the process to end, and kills it when it takes too long.
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::SIGTERM);
        let started = Instant::now();
        while started.elapsed() < STOP_MAX {
            if matches!(self.ended(), Ok(Some(_))) {
                return;
            }
            thread::park_timeout(LOOK);
        }
        self.kill();
    }

    /// Ends the process and its group at once, as a power cut would, and waits for its end.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        let _ = self.child.wait();
    }

    fn signal(&mut self, signal: Signal) {
        // A pid that was waited for may belong to someone else by now.
        if matches!(self.ended(), Ok(None)) {
            let _ = killpg(self.pid(), signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn append(path: &Path) -> Result<File, BenchError> {
    let doing = format!("open {}", path.display());
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.map_err(BenchError::system(doing))
}

/// The last `count` lines of a file; empty when it cannot be read.
pub(crate) fn last_lines(path: &Path, count: usize) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Waits `time`, or until everything is to end.
pub(crate) fn pause(time: Duration, cancel: &Flag) -> Result<(), BenchError> {
    let started = Instant::now();
    while started.elapsed() < time {
        cancel.check()?;
        thread::park_timeout(LOOK.min(time));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(script: &str, directory: &Path) -> Process {
        let words = ["sh", "-c", script].map(str::to_owned);
        let cores = cores::available().unwrap();
        Process::start(&Plan {
            words: &words,
            cores: &cores[..1],
            directory,
            output: directory.join("out"),
            errors: directory.join("out"),
        })
        .unwrap()
    }

    #[test]
    fn output_is_kept_and_the_end_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let mut process = started("echo one; echo two >&2; exit 3", directory.path());
        let status = process
            .wait(Duration::from_secs(20), &Flag::default(), |_| ())
            .unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(last_lines(&directory.path().join("out"), 1), "two");
        assert_eq!(last_lines(&directory.path().join("absent"), 1), "");
    }

    #[test]
    fn a_process_ends_when_it_is_asked_to() {
        let _signals = Flag::on_signals().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mut process = started("exec sleep 100", directory.path());
        let asked = Instant::now();
        process.stop();
        assert!(asked.elapsed() < STOP_MAX, "it was killed");
        assert!(process.ended().unwrap().is_some());
    }

    #[test]
    fn cancelling_and_dropping_kill() {
        let directory = tempfile::tempdir().unwrap();
        let cancel = Flag::default();
        let mut process = started("exec sleep 100", directory.path());
        cancel.set();
        let error = process
            .wait(Duration::from_secs(20), &cancel, |_| ())
            .unwrap_err();
        assert!(matches!(error, BenchError::Cancelled));
        let process = started("exec sleep 100", directory.path());
        let pid = process.pid();
        drop(process);
        assert!(killpg(pid, None).is_err());
    }
}
