//! Apache Kvrocks.
//!
//! Its traps: compression is on by default, and a load generator's values compress well; a worker
//! waits while a synced write is under way, so that with as many workers as cores group commit has
//! nobody to group.

use super::Binary;
use super::launch::{Address, Durability, Launch, Setting};
use crate::host::size::mebibytes;

/// Workers when every write is synced.
const WORKERS_SYNCED: usize = 8;
/// Of the memory budget: the rest is memtables, and the page cache of its files.
const BLOCK_CACHE_PERCENT: u64 = 50;
/// MiB of each memtable; Kvrocks keeps up to four.
const MEMTABLE_MIB: u64 = 64;
const MEMTABLE_MIB_MIN: u64 = 8;

/// With a configuration file.
pub(super) fn launch(binary: &Binary, setting: &Setting) -> Launch {
    let file = "kvrocks.conf";
    let words = vec![binary.word(), "-c".to_owned(), setting.inside(file)];
    let mut launch = Launch::new(words, Address::Unix(setting.socket.clone()));
    launch.config = Some((file.to_owned(), config(setting)));
    launch.noting("durability no and everysec are the same: its log is written, not synced")
}

fn config(setting: &Setting) -> String {
    let (workers, sync) = match setting.durability {
        Durability::Always => (WORKERS_SYNCED, "yes"),
        Durability::Everysec | Durability::No => (setting.threads, "no"),
    };
    let cache = mebibytes(setting.cache_share(BLOCK_CACHE_PERCENT));
    let memtable = (mebibytes(setting.memory_bytes) / 16).clamp(MEMTABLE_MIB_MIN, MEMTABLE_MIB);
    let lines = [
        ("bind", "127.0.0.1".to_owned()),
        ("port", setting.port.to_string()),
        ("unixsocket", setting.socket_word()),
        ("dir", setting.directory_word()),
        ("log-dir", "stdout".to_owned()),
        ("daemonize", "no".to_owned()),
        ("workers", workers.to_string()),
        ("rocksdb.compression", "no".to_owned()),
        ("rocksdb.block_cache_size", cache.to_string()),
        ("rocksdb.write_buffer_size", memtable.to_string()),
        ("rocksdb.write_options.sync", sync.to_owned()),
    ];
    let lines = lines
        .iter()
        .map(|(name, value)| format!("{name} {value}\n"));
    lines.collect()
}
