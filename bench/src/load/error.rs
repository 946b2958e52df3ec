//! Why a load could not be carried out.
//!
//! Owns the error. Must never stand for an error that a server answered: those are counted.

use std::io;

/// A load that did not come to its end; nothing of it counts.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error("load: {what}")]
    Plan { what: &'static str },
    #[error("load: cannot connect to {address}: {source}; is the server up?")]
    Connect { address: String, source: io::Error },
    #[error("load: cannot stay on core {core}: {source}")]
    Pin { core: usize, source: nix::Error },
    #[error("load: cannot wait for sockets: {source}")]
    Wait { source: nix::Error },
    #[error("load: connection {connection}: cannot {action}: {source}")]
    Socket {
        connection: usize,
        action: &'static str,
        source: io::Error,
    },
    #[error(
        "load: the server closed connection {connection} with {in_flight} commands in flight; \
         it said: {said}"
    )]
    Closed {
        connection: usize,
        in_flight: usize,
        said: String,
    },
    #[error("load: connection {connection}: no reply to GET or SET: \"{bytes}\"")]
    Protocol { connection: usize, bytes: String },
    #[error("load: no reply for {seconds} s with {in_flight} commands in flight")]
    Stalled { seconds: u64, in_flight: usize },
}
