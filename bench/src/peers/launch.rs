//! What a suite asks of a server, and what an adapter makes of it.

use std::fmt;
use std::path::PathBuf;

use clap::ValueEnum;

/// When a write is safe from a crash, in Redis's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Durability {
    Everysec,
    Always,
    No,
}

impl Durability {
    /// As in `appendfsync`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Everysec => "everysec",
            Self::Always => "always",
            Self::No => "no",
        }
    }
}

/// What a suite asks of a server.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// Fresh, for the data.
    pub(crate) directory: PathBuf,
    /// For servers that listen on unix sockets.
    pub(crate) socket: PathBuf,
    /// A free port of 127.0.0.1, for the others.
    pub(crate) port: u16,
    pub(crate) threads: usize,
    pub(crate) durability: Durability,
    /// Bytes of DRAM that the server may use in all.
    pub(crate) memory_bytes: u64,
    /// Of these, bytes for a cache of values; when absent, the adapter's share of `memory_bytes`.
    pub(crate) cache_bytes: Option<u64>,
    /// Bytes that the store may take on its device.
    pub(crate) store_bytes: u64,
    pub(crate) key_count: u64,
    /// A device of SPDK, as `spdk://NAME`.
    pub(crate) spdk_device: Option<String>,
}

impl Setting {
    /// `part` of the directory, as a word.
    pub(crate) fn inside(&self, part: &str) -> String {
        self.directory.join(part).display().to_string()
    }

    /// The directory, as a word.
    pub(crate) fn directory_word(&self) -> String {
        self.directory.display().to_string()
    }

    /// The socket's path, as a word.
    pub(crate) fn socket_word(&self) -> String {
        self.socket.display().to_string()
    }

    /// Bytes of a cache where the rest of the memory is the server's own: `percent` of all.
    pub(crate) fn cache_share(&self, percent: u64) -> u64 {
        self.cache_bytes
            .unwrap_or(self.memory_bytes / 100 * percent)
    }
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Unix(PathBuf),
    /// A port of 127.0.0.1.
    Tcp(u16),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp(port) => write!(f, "127.0.0.1:{port}"),
        }
    }
}

/// How a server is started.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// Program and arguments.
    pub(crate) words: Vec<String>,
    /// Name in the data's directory and text of its configuration file.
    pub(crate) config: Option<(String, String)>,
    pub(crate) address: Address,
    /// A file that has to be there at that size.
    pub(crate) store: Option<(PathBuf, u64)>,
    /// What a reader must know to judge the figures.
    pub(crate) notes: Vec<String>,
    /// Why it cannot be started at all.
    pub(crate) refusal: Option<String>,
}

impl Launch {
    /// A command line that listens at `address`.
    pub(crate) fn new(words: Vec<String>, address: Address) -> Self {
        Self {
            words,
            config: None,
            address,
            store: None,
            notes: Vec::new(),
            refusal: None,
        }
    }

    /// With a note for the reader.
    pub(crate) fn noting(mut self, note: &str) -> Self {
        self.notes.push(note.to_owned());
        self
    }
}

/// Words of a command line from a program and pairs of option and value.
pub(crate) fn command_line(program: &str, options: &[(&str, String)]) -> Vec<String> {
    let options = options.iter();
    let words = options.flat_map(|(name, value)| [(*name).to_owned(), value.clone()]);
    std::iter::once(program.to_owned()).chain(words).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two threads, 1 GiB of memory, a store of 4 GiB under /data/x.
    pub(crate) fn setting(durability: Durability) -> Setting {
        Setting {
            directory: "/data/x".into(),
            socket: "/data/s".into(),
            port: 7000,
            threads: 2,
            durability,
            memory_bytes: 1 << 30,
            cache_bytes: None,
            store_bytes: 4 << 30,
            key_count: 1000,
            spdk_device: None,
        }
    }

    #[test]
    fn a_cache_is_what_was_asked_for_or_a_share() {
        let mut setting = setting(Durability::No);
        assert_eq!(setting.cache_share(50), (1 << 30) / 100 * 50);
        setting.cache_bytes = Some(7);
        assert_eq!(setting.cache_share(50), 7);
    }
}
