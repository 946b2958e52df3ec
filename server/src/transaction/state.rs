//! Where a connection stands between WATCH, MULTI and EXEC.
//!
//! Owns the marks of that which others see in CLIENT LIST.

use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::{Db, Handle};

use super::queue::Queue;
use super::watches::Watches;
use crate::client::{Client, ClientFlag};
use crate::command::{CommandEntry, Flags};
use crate::resp::Args;

/// What a connection has said since MULTI, and what it watches.
#[derive(Default)]
pub(crate) struct Transaction {
    queue: Option<Queue>,
    /// Whether a command was refused since MULTI, so that EXEC runs none.
    is_flagged: bool,
    watches: Watches,
}

impl Transaction {
    /// MULTI: commands are queued from here on.
    pub(crate) fn open(&mut self, client: &Client) {
        self.queue = Some(Queue::default());
        client.flags().set(ClientFlag::Multi, true);
        self.note(client);
    }

    /// Whether commands are queued.
    pub(crate) fn is_open(&self) -> bool {
        self.queue.is_some()
    }

    /// A command was refused: where commands are queued, none of them will run.
    pub(crate) fn flag(&mut self) {
        self.is_flagged |= self.is_open();
    }

    /// Whether a command was refused.
    pub(crate) fn is_flagged(&self) -> bool {
        self.is_flagged
    }

    /// Queues a command, unless it is known already that it will not run.
    pub(crate) fn push(
        &mut self,
        entry: &'static CommandEntry,
        args: &Args,
        flags: Flags,
        client: &Client,
    ) {
        let is_lost = self.is_flagged || client.flags().has(ClientFlag::WatchBroken);
        if let Some(queue) = self.queue.as_mut().filter(|_| !is_lost) {
            queue.push(entry, args, flags);
            self.note(client);
        }
    }

    /// All flags of the queued commands.
    pub(crate) fn flags(&self) -> Flags {
        self.queue.as_ref().map_or(Flags::default(), Queue::flags)
    }

    /// Watches a key from now on; true where it was not watched before.
    pub(crate) fn watch(
        &mut self,
        store: &Handle,
        target: (Db, &Bytes),
        client: &Arc<Client>,
    ) -> bool {
        let is_new = self.watches.add(store, target, client);
        self.note(client);
        is_new
    }

    /// Notes that a key was there when its watch began.
    pub(crate) fn note_present(&self, db: Db, key: &Bytes) {
        self.watches.note_present(db, key);
    }

    /// UNWATCH: no key is watched, and no watch is broken.
    pub(crate) fn unwatch(&mut self, client: &Client) {
        self.watches = Watches::default();
        // no watch is left that could set it again
        client.flags().set(ClientFlag::WatchBroken, false);
        self.note(client);
    }

    /// Takes what EXEC needs; [`Self::close`] is still to be called.
    pub(crate) fn take(&mut self) -> (Queue, Watches) {
        let queue = self.queue.as_mut().map(std::mem::take);
        (queue.unwrap_or_default(), std::mem::take(&mut self.watches))
    }

    /// DISCARD, and the end of EXEC: nothing is queued and nothing watched.
    pub(crate) fn close(&mut self, client: &Client) {
        self.queue = None;
        self.is_flagged = false;
        client.flags().set(ClientFlag::Multi, false);
        self.unwatch(client);
    }

    /// Bytes that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let queue_bytes = self.queue.as_ref().map_or(0, Queue::memory_bytes);
        queue_bytes + self.watches.memory_bytes()
    }

    fn note(&self, client: &Client) {
        let count = self.queue.as_ref().map(|queue| queue.commands().len());
        client.note_transaction(count, self.memory_bytes());
    }
}
