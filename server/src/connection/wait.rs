//! What a connection waits for when it has nothing to do: bytes from its client, the oldest
//! command in flight, or a signal.
//!
//! Owns that choice.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use super::{Closed, Connection};
use crate::stats::Metric;

/// What ended a wait.
enum Woken {
    /// Bytes came; 0 for the end of them.
    Read(io::Result<usize>),
    /// A command in flight ended, and its reply is encoded.
    Ended,
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
            Woken::Ended => Ok(()),
            Woken::Read(Ok(0)) if self.replies.is_running() => {
                self.is_input_closed = true;
                Ok(())
            }
            Woken::Read(Ok(0) | Err(_)) => Err(Closed::ByClient),
            Woken::Read(Ok(byte_count)) => self.note_input(byte_count),
        }
    }

    /// Encodes the replies of all commands in flight that have ended by now, oldest first; false
    /// where the oldest still runs.
    fn poll_ended(&mut self, context: &mut Context<'_>) -> bool {
        let mut is_any = false;
        while let Poll::Ready(ended) = self.replies.poll_oldest(context) {
            if !is_any {
                self.replies.open(&self.worker);
            }
            is_any = true;
            self.finish(ended, true);
        }
        is_any
    }

    fn poll_woken(&mut self, context: &mut Context<'_>) -> Poll<Woken> {
        self.client.signal().register(context.waker());
        if self.client.signal().is_raised() {
            return Poll::Ready(Woken::Signal);
        }
        if self.poll_ended(context) {
            return Poll::Ready(Woken::Ended);
        }
        let may_read = !self.is_input_closed && !self.replies.is_full();
        if may_read && !self.cx.session.is_closing() {
            self.prepare_input();
            if let Poll::Ready(read) = self.socket.poll_read(context, &mut self.input) {
                return Poll::Ready(Woken::Read(read));
            }
            self.release_input();
        } else if self.is_input_closed && !self.replies.is_running() {
            return Poll::Ready(Woken::Read(Ok(0)));
        }
        self.cx.store.end_of_turn();
        self.poll_started_us = None;
        Poll::Pending
    }

    /// Writes what the client is owed when the server stops: all that was started is answered.
    pub(super) async fn wind_down(&mut self) -> Result<(), Closed> {
        while self.replies.is_running() {
            poll_fn(|context| {
                if self.poll_ended(context) {
                    return Poll::Ready(());
                }
                self.cx.store.end_of_turn();
                Poll::Pending
            })
            .await;
        }
        self.flush().await
    }

    pub(super) fn note_input(&mut self, byte_count: usize) -> Result<(), Closed> {
        self.worker
            .stats
            .add(Metric::NetInputBytes, byte_count as u64);
        self.worker.stats.add(Metric::SocketReads, 1);
        let bytes_max = self.cx.shared.config.fast.query_bytes_max();
        if self.input.len() as u64 > bytes_max {
            return Err(Closed::QueryLimit);
        }
        Ok(())
    }
}
