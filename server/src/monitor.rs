//! MONITOR: every command that runs, told to the clients that asked.
//!
//! Owns the list of those clients and the line's layout. Costs one load a command while nobody
//! asked.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use cellar_storage::Db;
use parking_lot::Mutex;

use crate::client::{Address, Client, Delivery};
use crate::resp::Args;

/// The clients that run MONITOR.
#[derive(Debug, Default)]
pub struct Monitors {
    count: AtomicUsize,
    clients: Mutex<Vec<Arc<Client>>>,
}

impl Monitors {
    /// Whether anyone listens.
    pub fn is_any(&self) -> bool {
        self.count.load(Relaxed) != 0
    }

    /// How many listen.
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Adds a client.
    pub fn add(&self, client: Arc<Client>) {
        let mut clients = self.clients.lock();
        clients.push(client);
        self.count.store(clients.len(), Relaxed);
    }

    /// Removes a client, if it is there.
    pub fn remove(&self, id: u64) {
        let mut clients = self.clients.lock();
        clients.retain(|client| client.id() != id);
        self.count.store(clients.len(), Relaxed);
    }

    /// Sends a line to all of them.
    pub fn send(&self, line: &Bytes, delivery: &mut Delivery<'_>) {
        for client in self.clients.lock().iter() {
            delivery.send(client, line.clone());
        }
    }
}

/// How a line calls a client.
pub fn source(address: &Address) -> String {
    if address.is_unix {
        format!("unix:{}", unix_path(address))
    } else {
        address.peer.clone()
    }
}

/// The line that tells of a command, encoded for the wire.
pub fn line(unix_us: u64, db: Db, source: &str, args: &Args) -> Bytes {
    let (seconds, us) = (unix_us / 1_000_000, unix_us % 1_000_000);
    let mut line = format!("+{seconds}.{us:06} [{} {source}]", db.0);
    for argument in args.iter() {
        line.push(' ');
        push_quoted(&mut line, argument);
    }
    line.push_str("\r\n");
    Bytes::from(line)
}

fn unix_path(address: &Address) -> &str {
    address.local.strip_suffix(":0").unwrap_or(&address.local)
}

/// Appends bytes in double quotes, with what is not printable escaped as Redis does.
pub fn push_quoted(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for byte in bytes {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(*byte));
            }
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x07 => out.push_str("\\a"),
            0x08 => out.push_str("\\b"),
            b' '..=b'~' => out.push(char::from(*byte)),
            other => write!(out, "\\x{other:02x}").expect("a string takes everything"),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_redis_lines() {
        let address = Address {
            peer: "127.0.0.1:5".into(),
            local: "127.0.0.1:6379".into(),
            is_unix: false,
            descriptor: 3,
            worker: 0,
        };
        let args: Args = ["set", "a\"b", "\r\n\u{1}"].into_iter().collect();
        let expected = "+7.000042 [3 127.0.0.1:5] \"set\" \"a\\\"b\" \"\\r\\n\\x01\"\r\n";
        assert_eq!(line(7_000_042, Db(3), &source(&address), &args), expected);
    }
}
