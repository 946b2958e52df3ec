//! The binary as a child process on a unix socket.
//!
//! Owns its end: none outlives its test.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::harness::Client;

/// The device of a server whose size does not matter.
const DEVICE: &str = "store.cellar 256mb";

/// The binary with these arguments.
pub(crate) fn cellar(arguments: &[&str], directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cellar"));
    command.args(arguments).current_dir(directory);
    command
}

/// Runs it to its end.
pub(crate) fn run(arguments: &[&str], directory: &Path) -> Output {
    cellar(arguments, directory).output().unwrap()
}

/// Starts a server on a unix socket; returns once it says that it is ready.
pub(crate) fn start(directory: &Path, more: &[&str]) -> (Process, Vec<String>) {
    start_on(directory, DEVICE, more)
}

/// The same with this device.
pub(crate) fn start_on(directory: &Path, device: &str, more: &[&str]) -> (Process, Vec<String>) {
    let mut command = serving(directory, device, more);
    let mut child = Process(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = Vec::new();
    for line in BufReader::new(child.0.stdout.as_mut().unwrap()).lines() {
        lines.push(line.unwrap());
        if lines
            .last()
            .unwrap()
            .ends_with("ready to accept connections")
        {
            return (child, lines);
        }
    }
    panic!("it never was ready: {lines:?}");
}

/// A server on a unix socket, not started yet.
pub(crate) fn serving(directory: &Path, device: &str, more: &[&str]) -> Command {
    let options = [
        "--port",
        "0",
        "--unixsocket",
        "socket",
        "--unixsocketperm",
        "700",
        "--devices",
        device,
        "--segment-size",
        "1mb",
        "--workers",
        "1",
    ];
    cellar(&[&options[..], more].concat(), directory)
}

/// A connection to the server of this directory.
pub(crate) fn connect(directory: &Path) -> Client {
    Client::unix(UnixStream::connect(directory.join("socket")).unwrap())
}

/// A running binary; it is killed if the test fails before it ends.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id().cast_signed()), signal).unwrap();
    }

    /// Waits until its log holds this text.
    pub(crate) fn wait_log(&mut self, text: &str) {
        let mut lines = BufReader::new(self.0.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains(text)), "{text}");
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.0.wait().unwrap()
    }

    /// Ends it without any warning.
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// From here on every write that it makes to a file fails, or may succeed again.
    pub(crate) fn let_writes_fail(&self, fail: bool) {
        let limit = if fail {
            "--fsize=0:"
        } else {
            "--fsize=unlimited:"
        };
        let mut command = Command::new("prlimit");
        command.args(["--pid", &self.0.id().to_string(), limit]);
        assert!(command.status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // one that has ended already cannot be killed
        drop(self.0.kill());
        self.0.wait().unwrap();
    }
}
