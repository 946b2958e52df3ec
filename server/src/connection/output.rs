//! Writes replies to the socket, once what they show is as durable as asked.
//!
//! Owns the way of large bodies, which are never copied and never held whole.

use std::future::poll_fn;
use std::io::IoSlice;
use std::ops::Range;
use std::task::Poll;

use cellar_storage::Snapshot;

use super::replies::Batch;
use super::{Closed, Connection};
use crate::client::Event;
use crate::resp::{Body, ReplyBuf};
use crate::stats::Metric;

/// Pieces of one write at most: more than these hardly gain.
const PIECE_COUNT_MAX: usize = 32;
/// Bytes of a stored value that are read for one write.
const VALUE_PART_BYTES: u64 = 256 * 1024;
/// Microseconds without any byte taken after which a client that is sent a stored value in parts
/// is closed: it holds the place that the value lies in.
const VALUE_STALL_US_MAX: u64 = 60_000_000;

/// What every reply of a batch becomes when it cannot be made durable.
const UNKNOWN_OUTCOME: &str = "MISCONF Making the write durable failed: its outcome is unknown. \
                               Writes are refused until the server is restarted.";

impl Connection {
    /// Writes all replies that are ready.
    pub(super) async fn flush(&mut self) -> Result<(), Closed> {
        if self.replies.ready.reply.is_empty() {
            return Ok(());
        }
        self.wait_durable().await?;
        let mut batch = std::mem::take(&mut self.replies.ready);
        let outcome = self.write_batch(&mut batch.reply).await;
        // the room is used again
        batch.reply.clear();
        self.replies.ready = Batch {
            reply: batch.reply,
            ..Batch::default()
        };
        outcome
    }

    /// Waits until what the ready replies show is durable, where that is asked for.
    async fn wait_durable(&mut self) -> Result<(), Closed> {
        let Some(lsn) = self.replies.ready.lsn.take() else {
            return Ok(());
        };
        if self.cx.store.durable_lsn() >= lsn {
            return Ok(());
        }
        let store = self.cx.store.clone();
        let mut durable = std::pin::pin!(store.wait_durable(lsn));
        let client = &self.client;
        let replies = &mut self.replies;
        let outcome = poll_fn(|context| {
            client.signal().register(context.waker());
            if client.signal().has(Event::Kill) {
                return Poll::Ready(Err(Closed::Killed));
            }
            let outcome = durable.as_mut().poll(context).map(Ok);
            if outcome.is_pending() {
                replies.poll_all(context);
                store.end_of_turn();
            }
            outcome
        })
        .await?;
        if let Err(error) = outcome {
            tracing::debug!(client = client.id(), "replies not durable: {error}");
            let batch = &mut self.replies.ready;
            batch.reply.clear();
            for _ in 0..batch.count {
                batch.reply.error(UNKNOWN_OUTCOME);
            }
        }
        Ok(())
    }

    async fn write_batch(&mut self, reply: &mut ReplyBuf) -> Result<(), Closed> {
        let splices = reply.take_splices();
        let bytes = reply.bytes();
        if splices.is_empty() {
            return self.write_pieces(&mut [IoSlice::new(bytes)], None).await;
        }
        let mut pieces = Vec::with_capacity(PIECE_COUNT_MAX);
        let mut at = 0;
        for splice in &splices {
            pieces.push(IoSlice::new(&bytes[at..splice.at]));
            at = splice.at;
            match &splice.body {
                Body::Bytes(body) => pieces.push(IoSlice::new(body)),
                Body::Snapshot(snapshot, range) => {
                    self.write_pieces(&mut pieces, None).await?;
                    pieces.clear();
                    self.write_value(snapshot, range.clone()).await?;
                }
            }
            if pieces.len() + 2 > PIECE_COUNT_MAX {
                self.write_pieces(&mut pieces, None).await?;
                pieces.clear();
            }
        }
        pieces.push(IoSlice::new(&bytes[at..]));
        self.write_pieces(&mut pieces, None).await
    }

    /// Writes a range of a stored value part by part.
    async fn write_value(&mut self, value: &Snapshot, range: Range<u64>) -> Result<(), Closed> {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(at + VALUE_PART_BYTES);
            let part = value.read(at..end).await.map_err(|error| {
                tracing::error!(client = self.client.id(), "reading a value failed: {error}");
                Closed::ValueLost
            })?;
            if part.len() as u64 != end - at {
                return Err(Closed::ValueLost);
            }
            self.write_pieces(&mut [IoSlice::new(&part)], Some(VALUE_STALL_US_MAX))
                .await?;
            at = end;
        }
        Ok(())
    }

    /// Writes all pieces; a client that takes nothing for `stall_us_max` is closed.
    async fn write_pieces(
        &mut self,
        mut pieces: &mut [IoSlice<'_>],
        stall_us_max: Option<u64>,
    ) -> Result<(), Closed> {
        IoSlice::advance_slices(&mut pieces, 0);
        while !pieces.is_empty() {
            let byte_count = self.write_some(pieces, stall_us_max).await?;
            IoSlice::advance_slices(&mut pieces, byte_count);
        }
        Ok(())
    }

    async fn write_some(
        &mut self,
        pieces: &[IoSlice<'_>],
        stall_us_max: Option<u64>,
    ) -> Result<usize, Closed> {
        let mut stall = None;
        let socket = &mut self.socket;
        let client = &self.client;
        let clock = &self.cx.shared.clock;
        let store = &self.cx.store;
        let replies = &mut self.replies;
        let written = poll_fn(|context| {
            if let Poll::Ready(written) = socket.poll_write(context, pieces) {
                return Poll::Ready(written.map_err(|_| Closed::ByClient));
            }
            client.signal().register(context.waker());
            if client.signal().has(Event::Kill) {
                return Poll::Ready(Err(Closed::Killed));
            }
            if let Some(us) = stall_us_max {
                let stall = stall.get_or_insert_with(|| clock.sleep(us));
                if stall.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Err(Closed::OutputLimit));
                }
            }
            let waiting: usize = pieces.iter().map(|piece| piece.len()).sum();
            client.note_output(waiting);
            // no lock waits for a socket
            replies.poll_all(context);
            store.end_of_turn();
            Poll::Pending
        })
        .await?;
        if written == 0 {
            return Err(Closed::ByClient);
        }
        self.worker
            .stats
            .add(Metric::NetOutputBytes, written as u64);
        self.worker.stats.add(Metric::SocketWrites, 1);
        Ok(written)
    }
}
