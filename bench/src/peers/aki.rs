//! aki, by the server that is built as `f3srv`, with its file.
//!
//! It syncs in the background at any level of durability.

use super::Binary;
use super::launch::{Address, Launch, Setting, command_line};
use crate::host::size::mebibytes;

/// Of the memory budget: values that stay in DRAM; the rest is the index and the runtime.
const RESIDENT_PERCENT: u64 = 50;

/// On a file in the data's directory.
pub(super) fn launch(binary: &Binary, setting: &Setting) -> Launch {
    let resident = mebibytes(setting.cache_share(RESIDENT_PERCENT));
    let options = [
        ("-addr", format!("127.0.0.1:{}", setting.port)),
        ("-shards", setting.threads.to_string()),
        ("-aki", setting.inside("store.aki")),
        ("-resident-cap-mib", resident.to_string()),
    ];
    let words = command_line(&binary.word(), &options);
    Launch::new(words, Address::Tcp(setting.port))
        .noting("over TCP")
        .noting("has no setting for durability")
}
