//! Starts of servers: what a suite wants of one, and its row in the file.

use super::Session;
use crate::error::BenchError;
use crate::peers::{self, Binary, Peer, Running, Setting};
use crate::results::{self, Row};

/// What a suite wants of a server's start, beside what the command line says.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    pub(crate) threads: usize,
    pub(crate) memory: Memory,
    /// Bytes of a cache of values, where the suite sets it.
    pub(crate) cache_bytes: Option<u64>,
    /// Bytes that the store may take on its device.
    pub(crate) store_bytes: u64,
    pub(crate) key_count: u64,
    /// Whether the server finds the data of its earlier life.
    pub(crate) keeps_data: bool,
}

/// DRAM of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// At most this many bytes.
    Budget(u64),
    /// The data set is larger than the budget; a server that holds all data in DRAM takes part as a
    /// reference outside it.
    BudgetBelowData(u64),
}

impl Session<'_> {
    /// Starts a server on its cores.
    pub(crate) fn start(&mut self, peer: Peer, need: &Need) -> Result<Running, BenchError> {
        let cores = self.split.server.clone();
        self.start_on(peer, need, &cores)
    }

    /// Starts a server on `cores`.
    pub(crate) fn start_on(
        &mut self,
        peer: Peer,
        need: &Need,
        cores: &[usize],
    ) -> Result<Running, BenchError> {
        let directory = if need.keeps_data {
            self.stage.directory(peer)
        } else {
            self.stage.fresh_directory(peer)?
        };
        let (memory_bytes, is_reference) = match need.memory {
            Memory::Budget(bytes) => (bytes, false),
            Memory::BudgetBelowData(bytes) => (bytes, peer.holds_all_in_dram()),
        };
        let setting = Setting {
            directory: directory.clone(),
            socket: self.stage.socket(peer),
            port: peers::free_port()?,
            threads: need.threads,
            durability: self.options.durability,
            memory_bytes,
            cache_bytes: need.cache_bytes,
            store_bytes: need.store_bytes,
            key_count: need.key_count,
            spdk_device: self.options.spdk_device.clone(),
        };
        let binary = self.binary(peer)?;
        let mut launch = peer.launch(&binary, &setting);
        let budget = if is_reference {
            let note = "a reference: all data in DRAM, outside the memory budget";
            launch = launch.noting(note);
            None
        } else {
            self.stage.budget(peer, memory_bytes)
        };
        self.announce(peer, &binary, &launch)?;
        Running::start(peer, launch, (&directory, cores), budget, &self.cancel)
    }

    fn binary(&self, peer: Peer) -> Result<Binary, BenchError> {
        let mut present = self.present.iter();
        let found = present.find(|(other, _)| *other == peer);
        found.map(|(_, binary)| binary.clone()).ok_or_else(|| {
            BenchError::Arguments(format!(
                "this suite needs {}, which is not there",
                peer.name()
            ))
        })
    }

    /// Whether a server takes part.
    pub(crate) fn has(&self, peer: Peer) -> bool {
        self.present.iter().any(|(other, _)| *other == peer)
    }

    /// Writes a command line that the file does not have yet; ports differ from start to start.
    fn announce(
        &mut self,
        peer: Peer,
        binary: &Binary,
        launch: &peers::Launch,
    ) -> Result<(), BenchError> {
        let mut key = launch.words.clone();
        key.extend(launch.config.iter().map(|(_, text)| text.clone()));
        if let peers::Address::Tcp(port) = launch.address {
            let port = port.to_string();
            for word in &mut key {
                *word = word.replace(&port, "PORT");
            }
        }
        if !self.announced.insert(key) {
            return Ok(());
        }
        self.writer.write(&Row::Server(results::Server {
            name: peer.name().to_owned(),
            suite: self.options.suite.name().to_owned(),
            found: true,
            version: Some(binary.version().to_owned()),
            binary: Some(binary.word()),
            command_line: launch.words.clone(),
            config: launch
                .config
                .as_ref()
                .map_or(String::new(), |(_, text)| text.clone()),
            absence: None,
        }))?;
        Ok(())
    }
}
