//! Pika.
//!
//! Listens on TCP, and on the ports 1000 and 2000 above for its own use. RocksDB's log is written,
//! not synced, at any level of durability; its own binary log, for replication, is off.

use super::Binary;
use super::launch::{Address, Launch, Setting};

/// Of the memory budget: the rest is memtables, and the page cache of its files.
const BLOCK_CACHE_PERCENT: u64 = 50;

/// With a configuration file.
pub(super) fn launch(binary: &Binary, setting: &Setting) -> Launch {
    let file = "pika.conf";
    let words = vec![binary.word(), "-c".to_owned(), setting.inside(file)];
    let mut launch = Launch::new(words, Address::Tcp(setting.port));
    launch.config = Some((file.to_owned(), config(setting)));
    launch
        .noting("over TCP")
        .noting("has no setting for durability")
}

fn config(setting: &Setting) -> String {
    let memtable = (setting.memory_bytes / 16).clamp(8 << 20, 64 << 20);
    let folder = |name: &str| format!("{}/", setting.inside(name));
    let lines = [
        ("port", setting.port.to_string()),
        ("thread-num", setting.threads.to_string()),
        ("thread-pool-size", setting.threads.to_string()),
        ("log-path", folder("log")),
        ("db-path", folder("db")),
        ("dump-path", folder("dump")),
        ("db-sync-path", folder("dbsync")),
        ("pidfile", setting.inside("pika.pid")),
        ("timeout", "0".to_owned()),
        ("write-binlog", "no".to_owned()),
        ("compression", "none".to_owned()),
        ("write-buffer-size", memtable.to_string()),
        (
            "block-cache",
            setting.cache_share(BLOCK_CACHE_PERCENT).to_string(),
        ),
        ("databases", "1".to_owned()),
        // Its own cache of whole values would come on top of the budget.
        ("cache-model", "0".to_owned()),
    ];
    let lines = lines
        .iter()
        .map(|(name, value)| format!("{name} : {value}\n"));
    lines.collect()
}
