//! What a starting server says to the person who started it.
//!
//! Owns the words.

use std::fmt::Write;

use crate::config::{AppendFsync, Config, size_text};
use crate::listener::Listeners;
use crate::start::worker_count;

/// The lines of the banner.
pub fn banner(config: &Config, listeners: &Listeners) -> String {
    let mut out = format!("Cellar {}\n", env!("CARGO_PKG_VERSION"));
    let mut line = |name: &str, text: &str| {
        writeln!(out, "  {name:<12} {text}").expect("a string takes everything");
    };
    for place in listeners.describe() {
        line("listens on", &place);
    }
    let pinned = if config.workers.pin_workers {
        ", one to a core"
    } else {
        ""
    };
    line("workers", &format!("{}{pinned}", worker_count(config)));
    for device in &config.storage.devices.0 {
        let path = config.device_path(device);
        let size = device.size_bytes.map_or("whole".into(), |bytes| {
            format!("up to {}", size_text(bytes))
        });
        line("device", &format!("{} ({size})", path.display()));
    }
    line("durability", durability(config.storage.appendfsync));
    line(
        "memory",
        &match config.memory.maxmemory.get() {
            0 => "no bound (maxmemory 0)".into(),
            bytes => format!("at most {}", size_text(bytes)),
        },
    );
    line("type next", &next_step(config, listeners));
    out
}

fn durability(level: AppendFsync) -> &'static str {
    match level {
        AppendFsync::Always => "always: a reply means that the write is safe",
        AppendFsync::Everysec => "everysec: a write is safe within a second",
        AppendFsync::No => "no: a write is safe when the device gets around to it",
    }
}

fn next_step(config: &Config, listeners: &Listeners) -> String {
    let place = match (listeners.addresses().first(), &listeners.unix) {
        (Some(address), _) if address.ip().is_loopback() || address.ip().is_unspecified() => {
            format!("-p {}", address.port())
        }
        (Some(address), _) => format!("-h {} -p {}", address.ip(), address.port()),
        (None, Some((path, _))) => format!("-s {}", path.display()),
        (None, None) => String::new(),
    };
    let password = if config.security.requirepass.is_empty() {
        ""
    } else {
        " --askpass"
    };
    format!("redis-cli {place}{password} set greeting hello")
}
