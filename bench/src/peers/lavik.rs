//! Lavik.
//!
//! It wants its file to be there at its size, in units of 8 MiB, and listens on TCP only. A reply
//! does not wait for its flush, which comes within 100 ms, at any level of durability.

use super::Binary;
use super::launch::{Address, Launch, Setting, command_line};
use crate::host::size::mebibytes;

const STORE_UNIT_BYTES: u64 = 8 << 20;
const STORE_BYTES_MIN: u64 = 80 << 20;
/// MiB of buffers for each worker: its own default is 256.
const BUFFER_MIB_MAX: u64 = 256;
/// A smaller arena leaves no room for its write blocks.
const BUFFER_MIB_MIN: u64 = 64;

/// On a file in the data's directory.
pub(super) fn launch(binary: &Binary, setting: &Setting) -> Launch {
    let bytes = setting.store_bytes.max(STORE_BYTES_MIN);
    let bytes = bytes.next_multiple_of(STORE_UNIT_BYTES);
    let share = mebibytes(setting.memory_bytes) / 4 / setting.threads as u64;
    let buffers = share.clamp(BUFFER_MIB_MIN, BUFFER_MIB_MAX);
    let options = [
        ("--bind", "127.0.0.1".to_owned()),
        ("--port", setting.port.to_string()),
        ("--metrics-port", "0".to_owned()),
        ("--threads", setting.threads.to_string()),
        ("--registered-buffer-mb-per-worker", buffers.to_string()),
        ("--data-file", setting.inside("lavik.data")),
        ("--log-dir", setting.directory_word()),
    ];
    let words = command_line(&binary.word(), &options);
    let mut launch = Launch::new(words, Address::Tcp(setting.port));
    launch.store = Some((setting.directory.join("lavik.data"), bytes));
    launch
        .noting("over TCP")
        .noting("replies never wait for a sync: durability always is not offered")
}
