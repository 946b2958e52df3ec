//! The server to compare with, in a directory of its own.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use crate::socket::Client;

/// A stock server on a private unix socket; it ends with the value.
pub(crate) struct Redis {
    process: Child,
    directory: tempfile::TempDir,
}

impl Redis {
    /// Nothing where there is no `redis-server` of version 7.
    pub(crate) fn start() -> Option<Self> {
        let program = "redis-server";
        let version = Command::new(program).arg("--version").output().ok()?;
        let is_7 = String::from_utf8_lossy(&version.stdout).contains("v=7.");
        is_7.then(|| Self::run(program))
    }

    /// The program that `REDIS_SERVER` names, of any version; nothing where it names none.
    pub(crate) fn start_named() -> Option<Self> {
        let program = std::env::var("REDIS_SERVER").ok()?;
        Some(Self::run(&program))
    }

    fn run(program: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let process = Command::new(program)
            .args(["--port", "0", "--save", "", "--appendonly", "no"])
            .args(["--unixsocket", "redis.sock"])
            .current_dir(directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("redis-server starts");
        let mut redis = Self { process, directory };
        let log = redis.process.stdout.take().expect("its output is piped");
        let mut lines = BufReader::new(log).lines().map_while(Result::ok);
        let is_ready = lines.any(|line| line.contains("eady to accept connections"));
        assert!(is_ready, "redis-server ended before it was ready");
        redis
    }

    pub(crate) fn connect(&self) -> Client {
        let path = self.directory.path().join("redis.sock");
        let stream = UnixStream::connect(path).expect("it listens");
        Client::new(stream).expect("a socket can be cloned")
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.process.kill().expect("it is our child");
        self.process.wait().expect("it is our child");
    }
}
