//! The two kinds of sockets that clients come over.
//!
//! Owns nothing but the choice between them.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// A client's socket, registered with its worker's runtime.
#[derive(Debug)]
pub enum Socket {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a unix socket.
    Unix(UnixStream),
}

impl Socket {
    /// Reads into the room of `buffer`; 0 bytes mean that the client sends nothing more. A read
    /// that does not fill the room tells the runtime that the socket is empty, which saves the
    /// read that would find that out.
    pub(super) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        use std::future::Future;
        match self {
            Self::Tcp(stream) => pin!(stream.read_buf(buffer)).poll(context),
            Self::Unix(stream) => pin!(stream.read_buf(buffer)).poll(context),
        }
    }

    /// Writes some of the pieces.
    pub(super) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => write(Pin::new(stream), context, pieces),
            Self::Unix(stream) => write(Pin::new(stream), context, pieces),
        }
    }
}

fn write(
    stream: Pin<&mut impl AsyncWrite>,
    context: &mut Context<'_>,
    pieces: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    match pieces {
        // the plain call is the cheaper one
        [piece] => stream.poll_write(context, piece),
        _ => stream.poll_write_vectored(context, pieces),
    }
}
