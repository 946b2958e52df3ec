//! One run of a suite: its servers, their starts, its rows.
//!
//! Owns who takes part. A server that is not there, does not come up, or ends on its own is left
//! out with the reason, and the others go on.

mod starts;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::options::{Options, Suite};
use super::progress::Progress;
use super::stage::{Layout, Stage};
use crate::drivers::{Drive, Tools};
use crate::error::BenchError;
use crate::host::cancel::Flag;
use crate::host::cores::Split;
use crate::host::facts;
use crate::peers::{self, Binary, Peer};
use crate::results::{self, Limit, Row, Sample, Writer};

pub(crate) use starts::{Memory, Need};

/// A run of a suite.
pub(crate) struct Session<'a> {
    options: &'a Options,
    cancel: Flag,
    stage: Stage,
    split: Split,
    layout: Layout,
    writer: Writer,
    progress: Progress,
    tools: Tools,
    present: Vec<(Peer, Binary)>,
    /// Those without a binary, until their rows are written.
    absent: Vec<(Peer, String)>,
    /// Command lines that the file has already.
    announced: HashSet<Vec<String>>,
    samples: Vec<Sample>,
    limits: Vec<Limit>,
}

impl<'a> Session<'a> {
    /// Makes the stage and the file of results, and looks for the servers.
    pub(crate) fn open(options: &'a Options, cancel: Flag) -> Result<Self, BenchError> {
        let names = options.peers()?;
        let binaries = options.binaries()?;
        let stage = Stage::set(options)?;
        let layout = if options.shared {
            Layout::Shared
        } else {
            Layout::Split
        };
        let doing = format!("make {}", options.out.display());
        fs::create_dir_all(&options.out).map_err(BenchError::system(doing))?;
        let started = unix_s();
        let file = format!("{}-{started}.jsonl", options.suite.name());
        let mut session = Self {
            options,
            cancel,
            split: stage.split(layout)?,
            stage,
            layout,
            writer: Writer::create(&options.out.join(file))?,
            progress: Progress::start(),
            tools: tools(options),
            present: Vec::new(),
            absent: Vec::new(),
            announced: HashSet::new(),
            samples: Vec::new(),
            limits: Vec::new(),
        };
        for peer in names {
            match peers::find(peer, &binaries) {
                Ok(binary) => session.present.push((peer, binary)),
                Err(reason) => session.absent.push((peer, reason)),
            }
        }
        session.say_absent();
        Ok(session)
    }

    /// The command line.
    pub(crate) fn options(&self) -> &'a Options {
        self.options
    }

    /// What was measured so far.
    pub(crate) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// What fio reached so far.
    pub(crate) fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// Where all data is.
    pub(crate) fn data(&self) -> &Path {
        self.stage.data()
    }

    /// Where a server's data is.
    pub(crate) fn directory(&self, peer: Peer) -> PathBuf {
        self.stage.directory(peer)
    }

    /// Threads of each server: one a core where it has cores of its own, and as many where it
    /// shares them with the load.
    pub(crate) fn threads(&self) -> usize {
        self.stage.core_count().div_ceil(2)
    }

    /// What most suites ask of a server: all threads, a cache of its own choice, a fresh store.
    pub(crate) fn need(&self, memory: Memory, (store_bytes, key_count): (u64, u64)) -> Need {
        Need {
            threads: self.threads(),
            memory,
            cache_bytes: None,
            store_bytes,
            key_count,
            keeps_data: false,
        }
    }

    /// The title of a table: durability classes and kinds of device never share one.
    pub(crate) fn titled(&self, table: &str) -> String {
        let durability = self.options.durability.name();
        format!("{table}; {durability}, {}", self.options.regime.name())
    }

    /// Length of a measurement for load generators whose unit is a second; never none.
    pub(crate) fn whole_seconds(&self, full: f64) -> u64 {
        let length = Duration::from_secs_f64(self.options.seconds(full).ceil());
        length.as_secs().max(1)
    }

    /// Where the rows are.
    pub(crate) fn results_path(&self) -> &Path {
        self.writer.path()
    }

    /// Cores of servers and load.
    pub(crate) fn split(&self) -> &Split {
        &self.split
    }

    /// Ctrl-C.
    pub(crate) fn cancel(&self) -> &Flag {
        &self.cancel
    }

    /// A line of progress.
    pub(crate) fn say(&self, text: &str) {
        self.progress.say(text);
    }

    /// The layouts to measure where a suite measures both.
    pub(crate) fn layouts(&self) -> Vec<Layout> {
        match (self.options.cpu_split, self.options.shared) {
            (true, _) => vec![Layout::Split],
            (_, true) => vec![Layout::Shared],
            (false, false) if self.options.quick => vec![Layout::Split],
            (false, false) => vec![Layout::Split, Layout::Shared],
        }
    }

    /// The layout of a suite that measures one.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Moves servers and load to the cores of `layout`, and writes how this part of the run is
    /// made.
    pub(crate) fn arrange(&mut self, layout: Layout, memory: Memory) -> Result<(), BenchError> {
        self.split = self.stage.split(layout)?;
        self.layout = layout;
        let (Memory::Budget(bytes) | Memory::BudgetBelowData(bytes)) = memory;
        let kept = self.probe_budget(bytes);
        let run = results::Run {
            suite: self.options.suite.name().to_owned(),
            started_unix_s: unix_s(),
            machine: facts::machine(self.stage.data(), self.stage.core_count()),
            regime: self.options.regime.name().to_owned(),
            durability: self.options.durability.name().to_owned(),
            cpu_split: self.split.is_apart(),
            server_cores: self.split.server.clone(),
            load_cores: self.split.load.clone(),
            memory_budget: format!("{} MiB, {kept}", bytes >> 20),
            arguments: std::env::args().collect(),
        };
        self.writer.write(&Row::Run(run))?;
        for (peer, reason) in std::mem::take(&mut self.absent) {
            self.write_absent(peer, None, reason)?;
        }
        Ok(())
    }

    /// In one line: the rows have the reasons.
    fn say_absent(&self) {
        let names: Vec<&str> = self.absent.iter().map(|(peer, _)| peer.name()).collect();
        if !names.is_empty() {
            self.say(&format!("no binary of {}: left out", names.join(", ")));
        }
    }

    /// How a budget is kept on this machine, in words.
    fn probe_budget(&mut self, bytes: u64) -> String {
        let Some((peer, _)) = self.present.first() else {
            return "not tried: no server is there".to_owned();
        };
        if let Some(budget) = self.stage.budget(*peer, bytes) {
            return format!("by a control group such as {}", budget.path().display());
        }
        let reason = self.stage.unlimited().unwrap_or("unknown");
        format!("by the servers' own settings only: {reason}")
    }

    /// Runs `work` for each server in each round; the order turns around from round to round.
    pub(crate) fn rounds(
        &mut self,
        mut work: impl FnMut(&mut Self, Peer, u32) -> Result<(), BenchError>,
    ) -> Result<(), BenchError> {
        for round in 0..self.options.round_count() {
            let mut order: Vec<Peer> = self.present.iter().map(|(peer, _)| *peer).collect();
            if !round.is_multiple_of(2) {
                order.reverse();
            }
            for peer in order {
                self.cancel.check()?;
                let done = work(self, peer, round);
                self.stage.clear(peer);
                self.leave_out_failed(peer, done)?;
            }
        }
        Ok(())
    }

    /// A server that failed takes no further part; other errors end the run.
    fn leave_out_failed(
        &mut self,
        peer: Peer,
        done: Result<(), BenchError>,
    ) -> Result<(), BenchError> {
        match done {
            Err(error @ BenchError::Server { .. }) => {
                let found = self.present.iter().position(|(other, _)| *other == peer);
                let binary = found.map(|position| self.present.remove(position).1);
                self.say(&format!("left out: {error}"));
                self.write_absent(peer, binary.as_ref(), error.to_string())
            }
            other => other,
        }
    }

    fn write_absent(
        &mut self,
        peer: Peer,
        binary: Option<&Binary>,
        reason: String,
    ) -> Result<(), BenchError> {
        self.writer.write(&Row::Server(results::Server {
            name: peer.name().to_owned(),
            suite: self.options.suite.name().to_owned(),
            found: false,
            version: binary.map(|binary| binary.version().to_owned()),
            binary: binary.map(Binary::word),
            command_line: Vec::new(),
            config: String::new(),
            absence: Some(reason),
        }))?;
        Ok(())
    }

    /// What load generators need.
    pub(crate) fn drive(&self) -> Drive {
        Drive {
            cores: self.split.load.clone(),
            is_apart: self.split.is_apart(),
            scratch: self.stage.scratch().to_owned(),
            cancel: self.cancel.clone(),
            tools: self.tools.clone(),
        }
    }

    /// Writes a row, and keeps a sample for the table.
    pub(crate) fn record(&mut self, row: Row) -> Result<(), BenchError> {
        self.writer.write(&row)?;
        match row {
            Row::Sample(sample) => self.samples.push(sample),
            Row::Limit(limit) => self.limits.push(limit),
            Row::Run(_) | Row::Server(_) | Row::Series(_) => {}
        }
        Ok(())
    }

    /// Which suite runs.
    pub(crate) fn suite(&self) -> Suite {
        self.options.suite
    }
}

fn tools(options: &Options) -> Tools {
    let found = |named: &Option<std::path::PathBuf>, program: &str| {
        named.clone().or_else(|| peers::on_path(&[program]))
    };
    Tools {
        redis_benchmark: found(&options.redis_benchmark, "redis-benchmark"),
        memtier: found(&options.memtier, "memtier_benchmark"),
        fio: found(&options.fio, "fio"),
    }
}

fn unix_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
