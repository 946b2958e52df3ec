//! One connection: what is in flight on it, and the bytes that were only half sent or received.
//!
//! Owns the socket. Must never block, and never hold more than a pipeline of commands.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use super::plan::Address;

/// What a command in flight is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Get,
    Set,
    Insert,
    /// The read of a read-modify-write; its write follows.
    RmwRead,
    RmwWrite,
}

/// A command whose reply is awaited.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) step: Step,
    pub(super) key: u64,
    /// Bytes of the value written; 0 of a read.
    pub(super) value_bytes: u32,
    /// Nanoseconds from the load's start to when the operation was sent, or due.
    pub(super) start_ns: u64,
}

#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    /// In the order in which replies come; at most a pipeline.
    pub(super) in_flight: VecDeque<InFlight>,
    /// The beginning of a reply whose end has not come.
    partial: Vec<u8>,
    /// The rest of commands that the socket did not take.
    unsent: Vec<u8>,
    /// Whether it stands in the list of connections that may send.
    pub(super) is_listed: bool,
    /// Whether the poller tells when the socket takes more.
    pub(super) is_write_awaited: bool,
}

#[derive(Debug)]
enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Connection {
    pub(super) fn open(address: &Address) -> io::Result<Self> {
        let socket = match address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_nonblocking(true)?;
                Socket::Unix(stream)
            }
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Socket::Tcp(stream)
            }
        };
        Ok(Self {
            socket,
            in_flight: VecDeque::new(),
            partial: Vec::new(),
            unsent: Vec::new(),
            is_listed: false,
            is_write_awaited: false,
        })
    }

    /// Reads behind what was left over, into `buffer`; the bytes there, None if there is nothing
    /// new. An error of kind `UnexpectedEof` is a closed connection.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let kept = self.partial.len();
        if buffer.len() < kept * 2 {
            // A reply that half fills the buffer gets a larger one: at most four times a value.
            buffer.resize(kept * 2, 0);
        }
        buffer[..kept].copy_from_slice(&self.partial);
        match self.socket.read(&mut buffer[kept..]) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                self.partial.clear();
                Ok(Some(kept + count))
            }
            Err(error) if is_transient(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps the beginning of a reply for the next `read`.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
    }

    /// Sends what was left over and then `commands`; keeps what the socket does not take.
    pub(super) fn send(&mut self, commands: &[u8]) -> io::Result<()> {
        if !self.unsent.is_empty() {
            self.unsent.extend_from_slice(commands);
            let sent = send_some(&mut self.socket, &self.unsent)?;
            self.unsent.drain(..sent);
        } else if !commands.is_empty() {
            let sent = send_some(&mut self.socket, commands)?;
            self.unsent.extend_from_slice(&commands[sent..]);
        }
        Ok(())
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }
}

fn send_some(socket: &mut Socket, bytes: &[u8]) -> io::Result<usize> {
    match socket.write(bytes) {
        Ok(count) => Ok(count),
        Err(error) if is_transient(&error) => Ok(0),
        // The server closed its end. What it said before that, and the end, are left to the read.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(bytes.len()),
        Err(error) => Err(error),
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

impl Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Unix(stream) => stream.as_fd(),
            Socket::Tcp(stream) => stream.as_fd(),
        }
    }
}
