//! Sends replies off once what they show is as durable as asked, and says when enough of them wait.
//!
//! Owns the bounds on replies that a client does not take. While it takes none, its requests are
//! read on and run as long as their replies are few: a client may write all it has before it reads.

use std::future::poll_fn;
use std::task::{Context, Poll};

use cellar_storage::clock::Sleep;

use super::{Closed, Connection, OUTPUT_BYTES};
use crate::client::Event;
use crate::command::CommandError;

/// Bytes of replies that wait at most while further requests are run, one command's reply left out:
/// 13 million times `+OK`. Beyond it requests are only read, up to `client-query-buffer-limit`.
const WAITING_BYTES_MAX: usize = 64 * 1024 * 1024;
const _: () = assert!(WAITING_BYTES_MAX >= OUTPUT_BYTES);
/// Microseconds in which a client takes [`STALL_BYTES_MIN`] of stored values that wait for it, or
/// is closed: they hold the places that they lie in.
const STALL_US_MAX: u64 = 60_000_000;
/// Bytes of that: 17 KB a second, so that values are held for a minute a megabyte at most.
const STALL_BYTES_MIN: u64 = 1024 * 1024;

/// A client that is slow to take stored values.
pub(super) struct Stall {
    deadline: Sleep,
    /// Bytes that it had taken when this began.
    written_before: u64,
}

impl Connection {
    /// Writes the replies that are ready, as far as the socket takes them at once.
    pub(super) async fn flush(&mut self) -> Result<(), Closed> {
        loop {
            if poll_fn(|context| Poll::Ready(self.poll_outgoing(context)))
                .await?
                .is_pending()
            {
                return Ok(());
            }
            if self.replies.ready.reply.is_empty() {
                return Ok(());
            }
            self.wait_durable().await?;
            let batch = std::mem::take(&mut self.replies.ready);
            self.outgoing.load(batch.reply);
        }
    }

    /// Writes on what is on its way; ready when nothing is.
    pub(super) fn poll_outgoing(&mut self, context: &mut Context<'_>) -> Result<Poll<()>, Closed> {
        if self.outgoing.is_empty() {
            return Ok(Poll::Ready(()));
        }
        let stats = &self.worker.stats;
        let progress = self.outgoing.poll_write(&mut self.socket, stats, context);
        if let Poll::Ready(outcome) = progress {
            outcome?;
            self.reuse_room();
            return Ok(Poll::Ready(()));
        }
        self.client.note_output(self.waiting_bytes());
        self.check_stall(context)?;
        Ok(Poll::Pending)
    }

    /// Writes on what is on its way, beside something else that is waited for.
    pub(super) fn write_on(&mut self, context: &mut Context<'_>) -> Result<(), Closed> {
        self.poll_outgoing(context).map(drop)
    }

    /// Keeps the room of what was written for the next replies.
    fn reuse_room(&mut self) {
        let room = self.outgoing.take_room();
        let next = &mut self.replies.ready.reply;
        if next.room_bytes() == 0 {
            next.set_room(room);
        } else {
            self.worker.give_reply_room(room);
        }
    }

    /// Whether the client takes too little for too long while stored values wait for it.
    fn check_stall(&mut self, context: &mut Context<'_>) -> Result<(), Closed> {
        let holds_values = self.outgoing.holds_values() || self.replies.holds_values();
        let written_bytes = self.outgoing.written_bytes();
        let is_over = |stall: &Stall| written_bytes - stall.written_before >= STALL_BYTES_MIN;
        if !holds_values || self.stall.as_ref().is_some_and(is_over) {
            self.stall = None;
        }
        if !holds_values || self.outgoing.is_reading() {
            return Ok(());
        }
        let clock = &self.cx.shared.clock;
        let stall = self.stall.get_or_insert_with(|| Stall {
            deadline: clock.sleep(STALL_US_MAX),
            written_before: written_bytes,
        });
        if stall.deadline.as_mut().poll(context).is_ready() {
            return Err(Closed::OutputLimit);
        }
        Ok(())
    }

    /// Bytes of DRAM that replies hold.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.replies.memory_bytes() + self.outgoing.memory_bytes()
    }

    /// Whether no request may run because the client does not take its replies. They may grow as
    /// large as the requests behind them, since holding less is better, and further when those near
    /// their own bound. Behind a stored value, which holds its place, nothing runs.
    pub(super) fn is_output_full(&self) -> bool {
        if self.outgoing.is_empty() {
            return false;
        }
        let query_bytes = self.input.len();
        let is_pressed = query_bytes as u64 > self.cx.shared.config.fast.query_bytes_max() / 2;
        let bytes_max = if is_pressed {
            WAITING_BYTES_MAX
        } else {
            query_bytes.clamp(OUTPUT_BYTES, WAITING_BYTES_MAX)
        };
        self.outgoing.holds_values()
            || self.replies.holds_values()
            || self.waiting_bytes() >= bytes_max
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
            let text = CommandError::UnknownOutcome.to_string();
            for _ in 0..batch.count {
                batch.reply.error(&text);
            }
        }
        Ok(())
    }
}
