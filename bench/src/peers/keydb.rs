//! KeyDB, in DRAM and with its FLASH storage.
//!
//! FLASH writes everything through to RocksDB with a durability like everysec; for `always` its
//! documentation asks for the append-only file as well.

use super::launch::{Address, Durability, Launch, Setting, command_line};
use super::{Binary, redis};

/// KeyDB with all data in DRAM.
pub(super) fn launch(binary: &Binary, setting: &Setting) -> Launch {
    let mut options = redis::options(setting);
    options.push(("--server-threads", setting.threads.to_string()));
    let words = command_line(&binary.word(), &options);
    Launch::new(words, Address::Unix(setting.socket.clone()))
}

/// KeyDB with its data in RocksDB and a part of it in DRAM.
pub(super) fn launch_flash(binary: &Binary, setting: &Setting) -> Launch {
    let log = match setting.durability {
        Durability::Always => "yes",
        Durability::Everysec | Durability::No => "no",
    };
    let options = [
        ("--port", "0".to_owned()),
        ("--unixsocket", setting.socket_word()),
        ("--dir", setting.directory_word()),
        ("--save", String::new()),
        ("--appendonly", log.to_owned()),
        ("--appendfsync", setting.durability.name().to_owned()),
        ("--server-threads", setting.threads.to_string()),
        ("--maxmemory", setting.cache_share(70).to_string()),
        ("--maxmemory-policy", "allkeys-lru".to_owned()),
    ];
    let mut words = command_line(&binary.word(), &options);
    words.extend(["--storage-provider".to_owned(), "flash".to_owned()]);
    words.push(setting.inside("flash"));
    Launch::new(words, Address::Unix(setting.socket.clone()))
        .noting("durability no and everysec are the same to FLASH storage")
}
