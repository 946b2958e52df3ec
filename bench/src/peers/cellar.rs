//! Cellar, on a file by io_uring or on a device of SPDK.

use super::Binary;
use super::launch::{Address, Launch, Setting, command_line};

/// Write buffers, tables and sockets of a small server, which the cache must leave room for.
const OWN_BYTES: u64 = 96 << 20;
/// Bytes of the index for each key, all slack included, as documented.
const INDEX_BYTES_PER_KEY: u64 = 32;
/// A cache below this holds nothing worth looking for.
const CACHE_BYTES_MIN: u64 = 1 << 20;

/// On a file in the data's directory.
pub(super) fn launch(binary: &Binary, setting: &Setting) -> Launch {
    let device = format!("store.cellar {}", setting.store_bytes);
    let words = command_line(&binary.word(), &options(setting, device));
    Launch::new(words, Address::Unix(setting.socket.clone()))
}

/// On a device of SPDK.
pub(super) fn launch_spdk(binary: &Binary, setting: &Setting) -> Launch {
    let device = setting.spdk_device.clone();
    let words = options(setting, device.clone().unwrap_or_default());
    let words = command_line(&binary.word(), &words);
    let mut launch = Launch::new(words, Address::Unix(setting.socket.clone()));
    if device.is_none() {
        let text = "no device: name one with --spdk-device spdk://NAME";
        launch.refusal = Some(text.to_owned());
    }
    launch
}

fn options(setting: &Setting, device: String) -> Vec<(&'static str, String)> {
    vec![
        ("--port", "0".to_owned()),
        ("--unixsocket", setting.socket_word()),
        ("--dir", setting.directory_word()),
        ("--devices", device),
        ("--appendfsync", setting.durability.name().to_owned()),
        ("--workers", setting.threads.to_string()),
        ("--value-cache", cache_bytes(setting).to_string()),
    ]
}

/// The memory that index, buffers and sockets leave.
fn cache_bytes(setting: &Setting) -> u64 {
    let index = setting.key_count.saturating_mul(INDEX_BYTES_PER_KEY);
    let left = setting.memory_bytes.saturating_sub(OWN_BYTES + index);
    setting.cache_bytes.unwrap_or(left).max(CACHE_BYTES_MIN)
}

#[cfg(test)]
mod tests {
    use super::super::launch::Durability;
    use super::super::launch::tests::setting;
    use super::*;

    #[test]
    fn the_cache_is_what_index_and_buffers_leave() {
        let mut setting = setting(Durability::Everysec);
        assert_eq!(cache_bytes(&setting), (1 << 30) - OWN_BYTES - 32_000);
        setting.memory_bytes = 1 << 20;
        assert_eq!(cache_bytes(&setting), CACHE_BYTES_MIN);
        setting.cache_bytes = Some(5 << 20);
        assert_eq!(cache_bytes(&setting), 5 << 20);
    }

    #[test]
    fn spdk_needs_a_device() {
        let mut setting = setting(Durability::Everysec);
        let binary = Binary::at("/bin/cellar".into(), String::new());
        assert!(launch_spdk(&binary, &setting).refusal.is_some());
        setting.spdk_device = Some("spdk://Nvme0n1".to_owned());
        let launch = launch_spdk(&binary, &setting);
        assert!(launch.refusal.is_none());
        assert!(launch.words.contains(&"spdk://Nvme0n1".to_owned()));
    }
}
