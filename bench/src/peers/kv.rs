//! kv, a single-file store with a server that takes redis-server's words.

use super::Binary;
use super::launch::{Address, Launch, Setting, command_line};

/// On a file in the data's directory.
pub(super) fn launch(binary: &Binary, setting: &Setting) -> Launch {
    let options = [
        ("--port", "0".to_owned()),
        ("--unixsocket", setting.socket_word()),
        ("--dir", setting.directory_word()),
        ("--appendonly", "yes".to_owned()),
        ("--appendfsync", setting.durability.name().to_owned()),
        ("--maxmemory", setting.cache_share(70).to_string()),
        ("--cardinality", setting.key_count.max(1).to_string()),
    ];
    let words = command_line(&binary.word(), &options);
    // A Go program: as many threads as the cores that it is bound to.
    Launch::new(words, Address::Unix(setting.socket.clone()))
        .noting("its threads follow the cores it is bound to")
        .noting("durability no and everysec are the same")
}
