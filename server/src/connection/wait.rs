//! What a connection waits for when it has nothing to do: bytes from its client, the oldest
//! command in flight, room in its socket, or a signal.
//!
//! Owns that choice.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use super::{Closed, Connection};
use crate::client::Event;
use crate::stats::Metric;

/// Bytes of requests that wait at most before authentication: several times the largest one that is
/// taken then.
const UNAUTHENTICATED_QUERY_BYTES_MAX: u64 = 1024 * 1024;

/// What ended a wait.
enum Woken {
    /// Bytes came; 0 for the end of them.
    Read(io::Result<usize>),
    /// A command in flight ended, and its reply is encoded.
    Ended,
    /// Replies were written that something waited for.
    Written,
    /// The connection cannot go on.
    Closed(Closed),
    /// Somebody else wants something.
    Signal,
}

impl Connection {
    /// Waits for something to do, and takes what has come.
    pub(super) async fn wait(&mut self) -> Result<(), Closed> {
        self.release_input();
        self.replies.release(&self.worker);
        self.note_buffers();
        let woken = poll_fn(|context| self.poll_woken(context)).await;
        match woken {
            Woken::Signal => self.check_signal(),
            Woken::Ended | Woken::Written => Ok(()),
            Woken::Closed(closed) => Err(closed),
            Woken::Read(Ok(0)) => {
                self.is_input_closed = true;
                Ok(())
            }
            Woken::Read(Err(_)) => Err(Closed::ByClient),
            Woken::Read(Ok(byte_count)) => self.note_input(byte_count),
        }
    }

    /// Encodes the replies of all commands in flight that have ended by now, oldest first; false
    /// where the oldest still runs.
    pub(super) fn poll_ended(&mut self, context: &mut Context<'_>) -> bool {
        let mut is_any = false;
        while let Poll::Ready(ended) = self.replies.poll_oldest(context) {
            if !is_any {
                self.replies.open(&self.worker);
                self.now_us = self.cx.shared.clock.monotonic_us();
            }
            is_any = true;
            self.finish(ended, true);
        }
        is_any
    }

    fn poll_woken(&mut self, context: &mut Context<'_>) -> Poll<Woken> {
        self.client.signal().register(context.waker());
        if self.is_signalled() {
            return Poll::Ready(Woken::Signal);
        }
        if self.poll_ended(context) {
            return Poll::Ready(Woken::Ended);
        }
        match self.poll_room(context) {
            Ok(false) => {}
            Ok(true) => return Poll::Ready(Woken::Written),
            Err(closed) => return Poll::Ready(Woken::Closed(closed)),
        }
        if self.is_input_closed {
            if !self.replies.is_running() && self.outgoing.is_empty() {
                return Poll::Ready(Woken::Closed(Closed::ByClient));
            }
        } else if !self.is_stopped() {
            self.prepare_input();
            if let Poll::Ready(read) = self.socket.poll_read(context, &mut self.input) {
                return Poll::Ready(Woken::Read(read));
            }
            self.release_input();
        }
        self.cx.store.end_of_turn();
        self.poll_started_us = None;
        Poll::Pending
    }

    /// Writes on; true where that lets something go on: the last byte is written, or requests that
    /// were held back may run.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Result<bool, Closed> {
        if self.outgoing.is_empty() {
            return Ok(false);
        }
        let was_full = self.is_output_full();
        let is_written = self.poll_outgoing(context)?.is_ready();
        Ok(is_written || (was_full && !self.is_output_full()))
    }

    /// Writes what the client is owed when the server stops: all that was started is answered.
    pub(super) async fn wind_down(&mut self) -> Result<(), Closed> {
        while !self.is_settled() {
            self.flush().await?;
            poll_fn(|context| self.poll_owed(context)).await?;
        }
        Ok(())
    }

    /// Ready when there is something more to write, or nothing.
    fn poll_owed(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        self.client.signal().register(context.waker());
        if self.client.signal().has(Event::Kill) {
            return Poll::Ready(Err(Closed::Killed));
        }
        if self.poll_ended(context) {
            return Poll::Ready(Ok(()));
        }
        let is_written = self.poll_outgoing(context)?.is_ready();
        if is_written && !self.replies.is_running() {
            return Poll::Ready(Ok(()));
        }
        self.cx.store.end_of_turn();
        Poll::Pending
    }

    pub(super) fn note_input(&mut self, byte_count: usize) -> Result<(), Closed> {
        self.worker
            .stats
            .add(Metric::NetInputBytes, byte_count as u64);
        self.worker.stats.add(Metric::SocketReads, 1);
        let mut bytes_max = self.cx.shared.config.fast.query_bytes_max();
        if !self.cx.session.is_authenticated() {
            bytes_max = bytes_max.min(UNAUTHENTICATED_QUERY_BYTES_MAX);
        }
        // what waits for EXEC is a part of the requests that were not run yet
        let queued_bytes = self.cx.session.transaction().borrow().memory_bytes();
        if (self.input.len() + queued_bytes) as u64 > bytes_max {
            return Err(Closed::QueryLimit);
        }
        Ok(())
    }
}
