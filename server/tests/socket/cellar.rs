//! A Cellar of the test's own: its process, its directory, its unix socket.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use super::Client;

const SOCKET: &str = "cellar.sock";

/// A running server; it ends, and its store is gone, with the value.
pub(crate) struct Cellar {
    process: Child,
    directory: tempfile::TempDir,
}

impl Cellar {
    /// Starts one and waits until it says that it is ready.
    pub(crate) fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let process = Command::new(env!("CARGO_BIN_EXE_cellar"))
            .args(["--port", "0", "--unixsocket", SOCKET])
            .args(["--dir", "store", "--devices", "store.cellar 1gb"])
            .args(["--workers", "2"])
            .current_dir(directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("cellar starts");
        let mut cellar = Self { process, directory };
        let log = cellar.process.stdout.take().expect("its output is piped");
        let mut lines = BufReader::new(log).lines().map_while(Result::ok);
        let is_ready = lines.any(|line| line.contains("ready to accept connections"));
        assert!(is_ready, "cellar ended before it was ready");
        cellar
    }

    /// A client of it.
    pub(crate) fn connect(&self) -> Client {
        let path = self.directory.path().join(SOCKET);
        let stream = UnixStream::connect(path).expect("it listens");
        Client::new(stream).expect("a socket can be cloned")
    }
}

impl Drop for Cellar {
    fn drop(&mut self) {
        self.process.kill().expect("it is our child");
        self.process.wait().expect("it is our child");
    }
}
