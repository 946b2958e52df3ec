//! Microsoft's Garnet, with its log and its storage tier.

use super::Binary;
use super::launch::{Address, Durability, Launch, Setting};
use crate::host::size::mebibytes;

/// Of the memory budget: the index takes what its keys need, the runtime the rest.
const LOG_PERCENT: u64 = 50;
/// Bytes of its index for each key, by its documentation.
const INDEX_BYTES_PER_KEY: u64 = 16;

/// Strings only, so that no object store takes memory.
pub(super) fn launch(binary: &Binary, setting: &Setting) -> Launch {
    let log = mebibytes(setting.cache_share(LOG_PERCENT));
    let index = mebibytes(setting.key_count.saturating_mul(INDEX_BYTES_PER_KEY));
    let mut words = vec![binary.word()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("--bind", "127.0.0.1".to_owned());
    option("--port", setting.port.to_string());
    option("--memory", format!("{}m", power_of_two(log)));
    option("--index", format!("{}m", power_of_two(index)));
    option("--logdir", setting.inside("log"));
    option("--checkpointdir", setting.inside("checkpoint"));
    option("--minthreads", setting.threads.to_string());
    option("--maxthreads", setting.threads.to_string());
    match setting.durability {
        Durability::Everysec => option("--aof-commit-freq", "1000".to_owned()),
        Durability::Always => option("--aof-commit-freq", "0".to_owned()),
        Durability::No => option("--aof-commit-freq", "-1".to_owned()),
    }
    words.extend(["--storage-tier", "--aof"].map(str::to_owned));
    if setting.durability == Durability::Always {
        words.push("--aof-commit-wait".to_owned());
    }
    Launch::new(words, Address::Tcp(setting.port)).noting("over TCP")
}

/// The largest power of two that is not above `value`, as Garnet wants its sizes.
fn power_of_two(value: u64) -> u64 {
    1 << value.max(1).ilog2()
}
