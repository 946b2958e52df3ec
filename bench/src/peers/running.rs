//! A server that runs: started, asked until it is ready, stopped.
//!
//! Owns the data's directory and the memory group of one server; both are gone when it is dropped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::Peer;
use super::client::Client;
use super::launch::{Address, Launch};
use crate::error::BenchError;
use crate::host::cancel::Flag;
use crate::host::cgroup::Budget;
use crate::host::child::{self, Process};
use crate::host::usage::{self, Usage};

/// Recovery of the largest data set of the suites takes tens of seconds.
const READY_MAX: Duration = Duration::from_mins(5);
/// Between two attempts to be answered.
const ATTEMPT: Duration = Duration::from_millis(2);
/// Lines of a log that are shown when a server fails.
const LOG_LINES: usize = 20;

/// One running server.
#[derive(Debug)]
pub(crate) struct Running {
    peer: Peer,
    process: Process,
    launch: Launch,
    directory: PathBuf,
    log: PathBuf,
    // Dropped after the process, so that the group is empty by then.
    budget: Option<Budget>,
}

impl Running {
    /// Starts `launch` on `cores` in `directory`, which may hold an earlier life's data, and waits
    /// until it answers.
    pub(crate) fn start(
        peer: Peer,
        launch: Launch,
        (directory, cores): (&Path, &[usize]),
        budget: Option<Budget>,
        cancel: &Flag,
    ) -> Result<Self, BenchError> {
        if let Some(reason) = &launch.refusal {
            let server = peer.name().to_owned();
            let (what, log) = ("cannot be started:".to_owned(), reason.clone());
            return Err(BenchError::Server { server, what, log });
        }
        let log = directory.join("server.log");
        prepare(&launch, directory)?;
        let process = Process::start(&child::Plan {
            words: &launch.words,
            cores,
            directory,
            output: log.clone(),
            errors: log.clone(),
        })?;
        if let Some(budget) = &budget {
            budget.admit(process.pid())?;
        }
        let directory = directory.to_owned();
        let mut running = Self {
            peer,
            process,
            launch,
            directory,
            log,
            budget,
        };
        running.wait_ready(cancel)?;
        Ok(running)
    }

    fn wait_ready(&mut self, cancel: &Flag) -> Result<(), BenchError> {
        let started = Instant::now();
        while !self.answers() {
            cancel.check()?;
            self.check_alive()?;
            if started.elapsed() > READY_MAX {
                return Err(self.failure(format!("not ready after {} s:", READY_MAX.as_secs())));
            }
            thread::park_timeout(ATTEMPT);
        }
        Ok(())
    }

    /// Whether PING is answered with PONG; a server that is loading answers with an error.
    fn answers(&self) -> bool {
        let client = Client::connect(&self.launch.address);
        client.is_ok_and(|mut client| client.ask(&["PING"]).is_ok_and(|reply| reply == "PONG"))
    }

    /// An error with the log's end when the process has ended.
    pub(crate) fn check_alive(&mut self) -> Result<(), BenchError> {
        match self.process.ended()? {
            Some(_) if self.budget.as_ref().is_some_and(Budget::has_killed) => {
                Err(self.failure("was killed: its memory budget was too small for it:".to_owned()))
            }
            Some(status) => Err(self.failure(format!("ended ({status}):"))),
            None => Ok(()),
        }
    }

    /// What cannot be measured because `error` came on the way to it.
    pub(crate) fn unprepared(&mut self, error: &BenchError) -> BenchError {
        let ended = self.check_alive().err();
        ended.unwrap_or_else(|| self.failure(format!("could not be prepared: {error}")))
    }

    fn failure(&self, what: String) -> BenchError {
        let server = self.peer.name().to_owned();
        let log = child::last_lines(&self.log, LOG_LINES);
        BenchError::Server { server, what, log }
    }

    /// Which server it is.
    pub(crate) fn peer(&self) -> Peer {
        self.peer
    }

    /// The process.
    pub(crate) fn pid(&self) -> Pid {
        self.process.pid()
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &Address {
        &self.launch.address
    }

    /// What a reader must know about it.
    pub(crate) fn notes(&self) -> &[String] {
        &self.launch.notes
    }

    /// Where its data is.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// A new connection.
    pub(crate) fn client(&self) -> Result<Client, BenchError> {
        let doing = format!("connect to {} at {}", self.peer.name(), self.address());
        Client::connect(self.address()).map_err(BenchError::system(doing))
    }

    /// INFO's text, all sections; empty when the server has none.
    pub(crate) fn info(&self) -> String {
        let asked = self
            .client()
            .and_then(|mut client| client.ask(&["INFO", "everything"]));
        asked.unwrap_or_default()
    }

    /// What the process has used so far.
    pub(crate) fn usage(&self) -> Result<Usage, BenchError> {
        Usage::of(self.pid())
    }

    /// Lets the peak of its memory begin anew.
    pub(crate) fn reset_peak(&self) {
        usage::reset_peak(self.pid());
    }

    /// Ends it at once, as a crash would; its data stays.
    pub(crate) fn kill(mut self) {
        self.process.kill();
    }

    /// Asks it to end, and waits; its data stays.
    pub(crate) fn stop(mut self) {
        self.process.stop();
    }
}

/// Makes what the server wants to find.
fn prepare(launch: &Launch, directory: &Path) -> Result<(), BenchError> {
    if let Address::Unix(path) = &launch.address {
        // Left by an earlier life that was killed.
        let _ = fs::remove_file(path);
    }
    if let Some((name, text)) = &launch.config {
        let path = directory.join(name);
        let doing = format!("write {}", path.display());
        fs::write(path, text).map_err(BenchError::system(doing))?;
    }
    if let Some((path, bytes)) = &launch.store
        && !path.exists()
    {
        let doing = format!("allocate {bytes} bytes for {}", path.display());
        let file = File::create(path).map_err(BenchError::system(doing.clone()))?;
        // A store's size is far below 2^63.
        let length = bytes.cast_signed();
        nix::fcntl::posix_fallocate(&file, 0, length)
            .map_err(|error| BenchError::system(doing)(error.into()))?;
    }
    Ok(())
}

/// A port of 127.0.0.1 that nobody listened on a moment ago.
pub(crate) fn free_port() -> Result<u16, BenchError> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0));
    let address = listener.and_then(|listener| listener.local_addr());
    let address = address.map_err(BenchError::system("look for a free port"))?;
    Ok(address.port())
}
