//! The servers that are compared, one adapter each.
//!
//! ```text
//!   Peer --find--> binary --adapter--> Launch (words, config file, address) --running--> Running
//! ```
//!
//! Owns what is particular to a server: its binary's names, its words for threads, durability and
//! memory, and the traps that a fair comparison must step around. Must never report a server that
//! did not answer.

mod aki;
mod cellar;
pub(crate) mod client;
mod dragonfly;
mod find;
mod garnet;
mod keydb;
mod kv;
mod kvrocks;
mod launch;
mod lavik;
mod pika;
mod redis;
mod running;

pub(crate) use find::{Binary, find, on_path};
pub(crate) use launch::{Address, Durability, Launch, Setting};
pub(crate) use running::{Running, free_port};

/// A server that the harness knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Peer {
    Cellar,
    CellarSpdk,
    Redis,
    Valkey,
    Keydb,
    KeydbFlash,
    Kvrocks,
    Dragonfly,
    Garnet,
    Lavik,
    Kv,
    Aki,
    Pika,
}

impl Peer {
    /// All of them, in the order of the tables.
    pub(crate) const ALL: [Self; 13] = [
        Self::Cellar,
        Self::CellarSpdk,
        Self::Redis,
        Self::Valkey,
        Self::Keydb,
        Self::KeydbFlash,
        Self::Kvrocks,
        Self::Dragonfly,
        Self::Garnet,
        Self::Lavik,
        Self::Kv,
        Self::Aki,
        Self::Pika,
    ];

    /// As in `--server NAME=PATH`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cellar => "cellar",
            Self::CellarSpdk => "cellar-spdk",
            Self::Redis => "redis",
            Self::Valkey => "valkey",
            Self::Keydb => "keydb",
            Self::KeydbFlash => "keydb-flash",
            Self::Kvrocks => "kvrocks",
            Self::Dragonfly => "dragonfly",
            Self::Garnet => "garnet",
            Self::Lavik => "lavik",
            Self::Kv => "kv",
            Self::Aki => "aki",
            Self::Pika => "pika",
        }
    }

    /// The server of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|peer| peer.name() == name)
    }

    /// The binary's names on PATH.
    fn programs(self) -> &'static [&'static str] {
        match self {
            // Found as `cellar` it would be a build that nobody said has SPDK.
            Self::CellarSpdk => &["cellar-spdk"],
            Self::Cellar => &["cellar"],
            Self::Redis => &["redis-server"],
            Self::Valkey => &["valkey-server"],
            Self::Keydb => &["keydb-server"],
            Self::KeydbFlash => &["keydb-flash-server", "keydb-server"],
            Self::Kvrocks => &["kvrocks"],
            Self::Dragonfly => &["dragonfly"],
            Self::Garnet => &["GarnetServer", "garnet-server"],
            Self::Lavik => &["lavik"],
            Self::Kv => &["kv"],
            Self::Aki => &["aki", "f3srv"],
            Self::Pika => &["pika"],
        }
    }

    /// What to ask its binary for its version.
    fn version_word(self) -> &'static str {
        match self {
            Self::Pika => "-v",
            Self::Cellar
            | Self::CellarSpdk
            | Self::Redis
            | Self::Valkey
            | Self::Keydb
            | Self::KeydbFlash
            | Self::Kvrocks
            | Self::Dragonfly
            | Self::Garnet
            | Self::Lavik
            | Self::Kv
            | Self::Aki => "--version",
        }
    }

    /// Whether all data must fit into DRAM: then a data set larger than the memory budget can only
    /// be shown outside the budget, as a reference.
    pub(crate) fn holds_all_in_dram(self) -> bool {
        match self {
            Self::Redis | Self::Valkey | Self::Keydb => true,
            Self::Cellar
            | Self::CellarSpdk
            | Self::KeydbFlash
            | Self::Kvrocks
            | Self::Dragonfly
            | Self::Garnet
            | Self::Lavik
            | Self::Kv
            | Self::Aki
            | Self::Pika => false,
        }
    }

    /// How this server is started for `setting`.
    pub(crate) fn launch(self, binary: &Binary, setting: &Setting) -> Launch {
        match self {
            Self::Cellar => cellar::launch(binary, setting),
            Self::CellarSpdk => cellar::launch_spdk(binary, setting),
            Self::Redis => redis::launch(binary, setting),
            Self::Valkey => redis::launch_valkey(binary, setting),
            Self::Keydb => keydb::launch(binary, setting),
            Self::KeydbFlash => keydb::launch_flash(binary, setting),
            Self::Kvrocks => kvrocks::launch(binary, setting),
            Self::Dragonfly => dragonfly::launch(binary, setting),
            Self::Garnet => garnet::launch(binary, setting),
            Self::Lavik => lavik::launch(binary, setting),
            Self::Kv => kv::launch(binary, setting),
            Self::Aki => aki::launch(binary, setting),
            Self::Pika => pika::launch(binary, setting),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use launch::tests::setting;

    fn words(peer: Peer, durability: Durability) -> String {
        let binary = Binary::at("/bin/server".into(), "1.0".to_owned());
        let launch = peer.launch(&binary, &setting(durability));
        let config = launch.config.map(|(_, text)| text).unwrap_or_default();
        format!("{} {config}", launch.words.join(" "))
    }

    #[test]
    fn every_server_has_a_name_of_its_own() {
        for peer in Peer::ALL {
            assert_eq!(Peer::named(peer.name()), Some(peer));
        }
        assert_eq!(Peer::named("memcached"), None);
    }

    #[test]
    fn every_launch_names_its_directory_and_differs_by_durability() {
        for peer in Peer::ALL {
            let everysec = words(peer, Durability::Everysec);
            assert!(everysec.contains("/data/x"), "{}: {everysec}", peer.name());
            let has_always =
                !matches!(peer, Peer::Dragonfly | Peer::Lavik | Peer::Aki | Peer::Pika);
            let differs = everysec != words(peer, Durability::Always);
            assert_eq!(differs, has_always, "{}", peer.name());
        }
    }

    #[test]
    fn kvrocks_steps_around_its_traps() {
        let everysec = words(Peer::Kvrocks, Durability::Everysec);
        assert!(everysec.contains("rocksdb.compression no"), "{everysec}");
        assert!(everysec.contains("workers 2"), "{everysec}");
        let always = words(Peer::Kvrocks, Durability::Always);
        assert!(always.contains("workers 8"), "{always}");
        assert!(
            always.contains("rocksdb.write_options.sync yes"),
            "{always}"
        );
    }
}
