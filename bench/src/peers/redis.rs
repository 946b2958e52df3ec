//! Redis and Valkey: their own append-only file, no snapshots.
//!
//! Their extra threads serve sockets only; commands are executed by one.

use super::Binary;
use super::launch::{Address, Launch, Setting, command_line};

/// Redis.
pub(super) fn launch(binary: &Binary, setting: &Setting) -> Launch {
    let mut options = options(setting);
    if setting.threads > 1 {
        options.push(("--io-threads", setting.threads.to_string()));
        options.push(("--io-threads-do-reads", "yes".to_owned()));
    }
    launched(binary, setting, &options)
}

/// Valkey, whose reads are threaded without being told.
pub(super) fn launch_valkey(binary: &Binary, setting: &Setting) -> Launch {
    let mut options = options(setting);
    if setting.threads > 1 {
        options.push(("--io-threads", setting.threads.to_string()));
    }
    launched(binary, setting, &options)
}

fn launched(binary: &Binary, setting: &Setting, options: &[(&str, String)]) -> Launch {
    let words = command_line(&binary.word(), options);
    Launch::new(words, Address::Unix(setting.socket.clone()))
}

/// What Redis and its forks have in common.
pub(super) fn options(setting: &Setting) -> Vec<(&'static str, String)> {
    vec![
        ("--port", "0".to_owned()),
        ("--unixsocket", setting.socket_word()),
        ("--dir", setting.directory_word()),
        ("--save", String::new()),
        ("--appendonly", "yes".to_owned()),
        ("--appendfsync", setting.durability.name().to_owned()),
        ("--daemonize", "no".to_owned()),
    ]
}
