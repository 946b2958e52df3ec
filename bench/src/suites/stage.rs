//! Where servers run: directories, sockets, cores, memory. All of it is gone at the end.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use tempfile::TempDir;

use super::options::{Options, Regime};
use crate::error::BenchError;
use crate::host::cgroup::Budget;
use crate::host::cores::{self, Split};
use crate::peers::Peer;

/// Where the RAM-backed file system usually is.
const RAM_DIRECTORY: &str = "/dev/shm";

/// The surroundings of a run.
pub(crate) struct Stage {
    data: TempDir,
    /// Sockets have short paths, as the kernel wants them.
    sockets: TempDir,
    cores: Vec<usize>,
    regime: Regime,
    /// Why no control group limits memory.
    unlimited: Option<String>,
}

/// Who runs where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The load has cores of its own.
    Split,
    /// Servers and load share all cores.
    Shared,
}

impl Layout {
    /// For the name of a table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Split => "split cores",
            Self::Shared => "shared cores",
        }
    }
}

impl Stage {
    /// Makes the directories, and sees whether memory can be limited.
    pub(crate) fn set(options: &Options) -> Result<Self, BenchError> {
        let base = match (&options.directory, options.regime) {
            (Some(directory), _) => directory.clone(),
            (None, Regime::Ram) => PathBuf::from(RAM_DIRECTORY),
            (None, Regime::Disk) => PathBuf::from("."),
        };
        let doing = format!("make a directory in {}", base.display());
        fs::create_dir_all(&base).map_err(BenchError::system(doing.clone()))?;
        check_regime(&base, options.regime)?;
        let base = base
            .canonicalize()
            .map_err(BenchError::system(doing.clone()))?;
        let data = tempfile::Builder::new()
            .prefix("cellar-bench-")
            .tempdir_in(base);
        let sockets = tempfile::Builder::new().prefix("cb-").tempdir();
        Ok(Self {
            data: data.map_err(BenchError::system(doing))?,
            sockets: sockets.map_err(BenchError::system("make a directory for sockets"))?,
            cores: cores::available()?,
            regime: options.regime,
            unlimited: None,
        })
    }

    /// Cores of servers and load.
    pub(crate) fn split(&self, layout: Layout) -> Result<Split, BenchError> {
        match layout {
            Layout::Split => Split::apart(&self.cores),
            Layout::Shared => Ok(Split::shared(&self.cores)),
        }
    }

    /// How many cores there are.
    pub(crate) fn core_count(&self) -> usize {
        self.cores.len()
    }

    /// Where all data is.
    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    /// Where load generators leave their output.
    pub(crate) fn scratch(&self) -> &Path {
        self.sockets.path()
    }

    /// The socket of a server.
    pub(crate) fn socket(&self, peer: Peer) -> PathBuf {
        self.sockets.path().join(peer.name())
    }

    /// The directory of a server.
    pub(crate) fn directory(&self, peer: Peer) -> PathBuf {
        self.data.path().join(peer.name())
    }

    /// That directory, empty.
    pub(crate) fn fresh_directory(&self, peer: Peer) -> Result<PathBuf, BenchError> {
        self.clear(peer);
        let directory = self.directory(peer);
        let doing = format!("make {}", directory.display());
        fs::create_dir_all(&directory).map_err(BenchError::system(doing))?;
        Ok(directory)
    }

    /// Removes a server's data; what is not there need not be removed.
    pub(crate) fn clear(&self, peer: Peer) {
        let _ = fs::remove_dir_all(self.directory(peer));
    }

    /// A control group with `bytes` for a server, where one can be made. On a RAM-backed file
    /// system the data's own pages would count as the server's, so there servers keep their budget
    /// by their settings alone.
    pub(crate) fn budget(&mut self, peer: Peer, bytes: u64) -> Option<Budget> {
        if self.regime == Regime::Ram {
            let text = "the RAM-backed data would count as the servers' memory";
            self.unlimited = Some(text.to_owned());
            return None;
        }
        let name = format!("cellar-bench-{}-{}", std::process::id(), peer.name());
        match Budget::create(&name, bytes) {
            Ok(budget) => Some(budget),
            Err(error) => {
                self.unlimited = Some(error.to_string());
                None
            }
        }
    }

    /// Why memory is limited by the servers' own settings only, when it is.
    pub(crate) fn unlimited(&self) -> Option<&str> {
        self.unlimited.as_deref()
    }
}

fn check_regime(base: &Path, regime: Regime) -> Result<(), BenchError> {
    let doing = format!("look at the file system of {}", base.display());
    let found = statfs(base).map_err(|error| BenchError::system(doing)(error.into()))?;
    let is_ram = found.filesystem_type() == TMPFS_MAGIC;
    let advice = match (regime, is_ram) {
        (Regime::Disk, true) => "is RAM-backed: name another --directory, or --regime ram",
        (Regime::Ram, false) => "is not RAM-backed: name another --directory, or --regime disk",
        (Regime::Disk, false) | (Regime::Ram, true) => return Ok(()),
    };
    Err(BenchError::Arguments(format!(
        "{} {advice}",
        base.display()
    )))
}
