//! The replies of a connection, in the order of its requests.
//!
//! ```text
//!  ready: encoded replies that may go out
//!  queue: [ running ] [ encoded ] [ running ] ...   what stands behind the oldest running command
//! ```
//!
//! Owns the order and the bound on running commands.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use cellar_storage::Lsn;

use super::execute::{Outcome, Running};
use crate::resp::{Protocol, ReplyBuf};
use crate::worker::Worker;

/// Commands of one connection that wait for the device at the same time, at most: enough to hide
/// a device's latency, few enough that one client does not take a worker's queue.
const IN_FLIGHT_COUNT_MAX: usize = 32;

/// Encoded replies and what must be durable before they go out.
#[derive(Default)]
pub(super) struct Batch {
    /// The replies.
    pub(super) reply: ReplyBuf,
    /// How many they are, messages of the inbox left out.
    pub(super) count: usize,
    /// Where the log must be durable up to before they go out; nothing where it need not be.
    pub(super) lsn: Option<Lsn>,
}

impl Batch {
    /// Adds to what must be durable.
    pub(super) fn require(&mut self, lsn: Option<Lsn>) {
        self.lsn = self.lsn.max(lsn);
    }

    fn append(&mut self, other: Self) {
        self.reply.append(other.reply);
        self.count += other.count;
        self.require(other.lsn);
    }
}

enum Entry {
    Running(Running),
    /// A command that ended before an older one.
    Ended(Ended),
    Encoded(Batch),
}

impl Entry {
    fn poll(&mut self, context: &mut Context<'_>) {
        let Self::Running(running) = self else { return };
        let Poll::Ready(outcome) = running.poll(context) else {
            return;
        };
        let ended = std::mem::replace(self, Self::Encoded(Batch::default()));
        if let Self::Running(running) = ended {
            *self = Self::Ended(Ended { running, outcome });
        }
    }
}

/// A command that was in flight, and what it came to.
pub(super) struct Ended {
    /// The command.
    pub(super) running: Running,
    /// Its outcome.
    pub(super) outcome: Outcome,
}

/// All replies of a connection that were not written yet.
#[derive(Default)]
pub(super) struct Replies {
    /// What may go out.
    pub(super) ready: Batch,
    queue: VecDeque<Entry>,
    running_count: usize,
}

impl Replies {
    /// Prepares for a turn: an idle connection holds no room.
    pub(super) fn open(&mut self, worker: &Worker) {
        if self.ready.reply.room_bytes() == 0 {
            self.ready.reply.set_room(worker.take_reply_room());
        }
    }

    /// Gives the room back once nothing waits.
    pub(super) fn release(&mut self, worker: &Worker) {
        if self.ready.reply.is_empty() && self.ready.reply.room_bytes() > 0 {
            worker.give_reply_room(self.ready.reply.take_room());
        }
    }

    /// Where the next reply is encoded.
    pub(super) fn tail(&mut self, protocol: Protocol) -> &mut ReplyBuf {
        let reply = &mut self.tail_batch().reply;
        reply.set_protocol(protocol);
        reply
    }

    /// The batch that the next reply belongs to.
    pub(super) fn tail_batch(&mut self) -> &mut Batch {
        if self.queue.is_empty() {
            return &mut self.ready;
        }
        if !matches!(self.queue.back(), Some(Entry::Encoded(_))) {
            self.queue.push_back(Entry::Encoded(Batch::default()));
        }
        match self.queue.back_mut() {
            Some(Entry::Encoded(batch)) => batch,
            Some(Entry::Running(_) | Entry::Ended(_)) | None => {
                unreachable!("an encoded batch was just pushed")
            }
        }
    }

    /// Adds a command that waits for the device.
    pub(super) fn push(&mut self, running: Running) {
        self.running_count += 1;
        self.queue.push_back(Entry::Running(running));
    }

    /// Drives the oldest command in flight; ready when it has ended.
    pub(super) fn poll_oldest(&mut self, context: &mut Context<'_>) -> Poll<Ended> {
        if let Some(entry) = self.queue.front_mut() {
            entry.poll(context);
        }
        match self.queue.pop_front() {
            Some(Entry::Ended(ended)) => {
                self.running_count -= 1;
                Poll::Ready(ended)
            }
            Some(entry) => {
                self.queue.push_front(entry);
                Poll::Pending
            }
            None => Poll::Pending,
        }
    }

    /// Drives all commands in flight: they may hold the locks of their keys until they have found
    /// their values, and must not do so while this connection waits for something else.
    pub(super) fn poll_all(&mut self, context: &mut Context<'_>) {
        for entry in &mut self.queue {
            entry.poll(context);
        }
    }

    /// Moves what was encoded behind a command that ended to what may go out. The ended command's
    /// own reply is to be put into `ready` before.
    pub(super) fn advance(&mut self) {
        while let Some(Entry::Encoded(_)) = self.queue.front() {
            if let Some(Entry::Encoded(batch)) = self.queue.pop_front() {
                self.ready.append(batch);
            }
        }
    }

    /// Whether no further command may start.
    pub(super) fn is_full(&self) -> bool {
        self.running_count >= IN_FLIGHT_COUNT_MAX
    }

    /// Whether a command runs.
    pub(super) fn is_running(&self) -> bool {
        self.running_count > 0
    }

    /// Whether nothing waits to be written or to end.
    pub(super) fn is_settled(&self) -> bool {
        self.queue.is_empty() && self.ready.reply.is_empty()
    }

    /// Bytes of DRAM that waiting replies hold.
    pub(super) fn memory_bytes(&self) -> usize {
        let ready = self.ready.reply.memory_bytes();
        if self.queue.is_empty() {
            return ready;
        }
        let queued = self.queue.iter().map(|entry| match entry {
            Entry::Encoded(batch) => batch.reply.memory_bytes(),
            Entry::Running(_) | Entry::Ended(_) => 0,
        });
        ready + queued.sum::<usize>()
    }

    /// Whether a reply holds the place of a stored value.
    pub(super) fn holds_values(&self) -> bool {
        let queued = |entry: &Entry| match entry {
            Entry::Encoded(batch) => batch.reply.value_count() > 0,
            Entry::Running(_) | Entry::Ended(_) => false,
        };
        self.ready.reply.value_count() > 0 || self.queue.iter().any(queued)
    }

    /// Bytes of room that replies are encoded in.
    pub(super) fn room_bytes(&self) -> usize {
        self.ready.reply.room_bytes()
    }
}
