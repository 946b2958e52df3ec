//! A server for the tests of the load: keeps values in a map, and misbehaves as it is told.
//!
//! Owns a unix socket and a thread for each connection. Must never outlive its test.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::plan::Address;

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// Every reply waits while the command with this number, and no other, takes this long.
    Stall {
        at: u64,
        lasts: Duration,
    },
    /// The value of this key loses a bit in its last byte.
    Corrupt(Vec<u8>),
    /// This key is never found.
    Forget(Vec<u8>),
    /// Every so many commands are answered with an error.
    Refuse {
        every: u64,
    },
    /// The connection closes at this command.
    Close {
        at: u64,
    },
    /// Replies with what is no reply.
    Babble,
    /// An error before any command, then the connection closes.
    Dismiss,
}

pub(super) struct ServerDouble {
    folder: tempfile::TempDir,
    state: Arc<State>,
}

struct State {
    fault: Fault,
    values: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    commands: AtomicU64,
    /// Held by the command that stalls, wanted by all others.
    gate: Mutex<()>,
}

impl ServerDouble {
    pub(super) fn start(fault: Fault) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let state = Arc::new(State {
            fault,
            values: Mutex::default(),
            commands: AtomicU64::new(0),
            gate: Mutex::new(()),
        });
        let accepting = Arc::clone(&state);
        // Ends with the test's process; the socket's file goes with the folder.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let state = Arc::clone(&accepting);
                std::thread::spawn(move || state.serve(stream.unwrap()));
            }
        });
        Self { folder, state }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub(super) fn address(&self) -> Address {
        Address::Unix(self.path())
    }

    pub(super) fn command_count(&self) -> u64 {
        self.state.commands.load(Ordering::SeqCst)
    }

    pub(super) fn key_count(&self) -> usize {
        self.state.values.lock().unwrap().len()
    }

    pub(super) fn put(&self, key: &[u8], value: &[u8]) {
        let mut values = self.state.values.lock().unwrap();
        values.insert(key.to_vec(), value.to_vec());
    }
}

impl State {
    /// Answers commands until the client goes away, or the fault says so.
    fn serve(&self, stream: UnixStream) {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        if self.fault == Fault::Dismiss {
            let _ = writer.write_all(b"-ERR max number of clients reached\r\n");
            return;
        }
        while let Some(command) = read_command(&mut reader) {
            let number = self.commands.fetch_add(1, Ordering::SeqCst) + 1;
            if self.fault == (Fault::Close { at: number }) {
                return;
            }
            self.wait_at_the_gate(number);
            let reply = self.reply(number, &command);
            if writer.write_all(&reply).is_err() {
                return;
            }
        }
    }

    fn wait_at_the_gate(&self, number: u64) {
        let _gate = self.gate.lock().unwrap();
        if let Fault::Stall { at, lasts } = self.fault
            && at == number
        {
            let (sender, nothing) = mpsc::channel::<()>();
            let _ = nothing.recv_timeout(lasts);
            // The sender lives until here, so that the wait is not cut short.
            drop(sender);
        }
    }

    fn reply(&self, number: u64, command: &[Vec<u8>]) -> Vec<u8> {
        if let Fault::Refuse { every } = self.fault
            && number.is_multiple_of(every)
        {
            return b"-OOM no room\r\n".to_vec();
        }
        if self.fault == Fault::Babble {
            return b"HTTP/1.1 200 OK\r\n".to_vec();
        }
        let mut values = self.values.lock().unwrap();
        match command {
            [name, key] if name == b"GET" => {
                if self.fault == Fault::Forget(key.clone()) {
                    return b"$-1\r\n".to_vec();
                }
                let Some(mut value) = values.get(key).cloned() else {
                    return b"$-1\r\n".to_vec();
                };
                if self.fault == Fault::Corrupt(key.clone()) {
                    *value.last_mut().unwrap() ^= 1;
                }
                let mut reply = format!("${}\r\n", value.len()).into_bytes();
                reply.extend_from_slice(&value);
                reply.extend_from_slice(b"\r\n");
                reply
            }
            [name, key, value] if name == b"SET" => {
                values.insert(key.clone(), value.clone());
                b"+OK\r\n".to_vec()
            }
            _ => b"-ERR unknown command\r\n".to_vec(),
        }
    }
}

/// One command's words; None when the client is gone.
fn read_command(reader: &mut impl BufRead) -> Option<Vec<Vec<u8>>> {
    let count = read_number(reader, '*')?;
    (0..count).map(|_| read_word(reader)).collect()
}

fn read_word(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let length = read_number(reader, '$')?;
    let mut word = vec![0; length + 2];
    reader.read_exact(&mut word).ok()?;
    word.truncate(length);
    Some(word)
}

fn read_number(reader: &mut impl BufRead, mark: char) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    line.trim_end().strip_prefix(mark)?.parse().ok()
}
