//! Dragonfly, with its tiering to files.
//!
//! It keeps no log: what was written since the last snapshot is lost in a crash, at any level of
//! durability. Tiering needs io_uring.

use super::Binary;
use super::launch::{Address, Launch, Setting};

/// Dragonfly wants at least this much for each thread.
const BYTES_PER_THREAD_MIN: u64 = 256 << 20;

/// Without snapshots.
pub(super) fn launch(binary: &Binary, setting: &Setting) -> Launch {
    let memory = setting.cache_share(90);
    let memory = memory.max(BYTES_PER_THREAD_MIN * setting.threads as u64);
    let words = vec![
        binary.word(),
        format!("--port={}", setting.port),
        "--bind=127.0.0.1".to_owned(),
        format!("--unixsocket={}", setting.socket_word()),
        format!("--dir={}", setting.directory_word()),
        "--dbfilename=".to_owned(),
        format!("--proactor_threads={}", setting.threads),
        format!("--maxmemory={memory}"),
        format!("--tiered_prefix={}", setting.inside("tier")),
        "--logtostderr".to_owned(),
        "--version_check=false".to_owned(),
    ];
    Launch::new(words, Address::Unix(setting.socket.clone()))
        .noting("keeps no log: not durable at any setting")
}
