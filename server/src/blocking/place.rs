//! Where clients wait: the queue of every key that somebody waits for.
//!
//! Owns which keys are watched: those that have a queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::task::Poll;

use bytes::Bytes;
use cellar_storage::Db;
use dashmap::DashMap;
use smallvec::SmallVec;

use super::queue::{KeyQueue, Ticket};
use super::ripple::Share;
use crate::client::Event;
use crate::command::Cx;

/// A key of a database.
type Key = (Db, Bytes);

/// The queues of all keys that clients wait for.
#[derive(Default)]
pub struct Blocking {
    queues: DashMap<Key, Arc<KeyQueue>>,
    last_ticket: AtomicU64,
    /// Exchanges of databases.
    swap_count: AtomicU64,
}

impl Blocking {
    /// How many keys clients wait for.
    pub fn key_count(&self) -> usize {
        self.queues.len()
    }

    /// Databases were exchanged: what waits for any key gets a chance. Who is about to join a queue
    /// finds that the count has changed.
    pub(crate) fn note_swapped(&self) {
        self.swap_count.fetch_add(1, SeqCst);
        for queue in &self.queues {
            queue.note_changed(true);
        }
    }

    /// How often databases were exchanged.
    pub(super) fn swap_count(&self) -> u64 {
        self.swap_count.load(SeqCst)
    }

    /// Whether somebody has a chance who waits for this key.
    pub(super) fn is_busy(&self, db: Db, key: &Bytes) -> bool {
        let queue = self.queues.get(&(db, key.clone()));
        queue.is_some_and(|queue| queue.is_busy())
    }

    /// Takes a place behind all who wait for these keys; with `heeds_loss` a key that is gone is a
    /// chance as well. The caller has the keys locked, so that
    /// nobody changes one between its last look and this.
    pub(super) fn join(&self, cx: &Cx, keys: &[Bytes], heeds_loss: bool) -> Place<'_> {
        let ticket = Ticket(self.last_ticket.fetch_add(1, Relaxed) + 1);
        let client = cx.session.client();
        // from its last place
        client.signal().take(Event::Chance);
        let join = |key: &Bytes| {
            // a slice would keep the whole read buffer in memory
            let key = (cx.db(), Bytes::copy_from_slice(key));
            let queue = self.queues.entry(key.clone());
            let queue = queue.or_insert_with(|| KeyQueue::open(&cx.store, (key.0, &key.1)));
            queue.join(ticket, client, heeds_loss);
            let queue = Arc::clone(&queue);
            (key, queue)
        };
        Place {
            blocking: self,
            ticket,
            queues: keys.iter().map(join).collect(),
        }
    }
}

/// One client's places in the queues of its keys; left when dropped.
pub(super) struct Place<'a> {
    blocking: &'a Blocking,
    ticket: Ticket,
    queues: SmallVec<[(Key, Arc<KeyQueue>); 1]>,
}

/// A key's queue in which a client has the chance.
pub(super) struct Chance {
    /// Which of the client's keys it is.
    pub(super) key: usize,
    /// The queue's number.
    pub(super) queue: usize,
    /// A share in what the chance belongs to.
    pub(super) share: Share,
}

impl Place<'_> {
    /// Waits for a chance. Whoever drives it has registered with the client's signal.
    pub(super) async fn chance(&self) -> Chance {
        std::future::poll_fn(|_| {
            let chance = self
                .queues
                .iter()
                .enumerate()
                .find_map(|(key, (_, queue))| {
                    let share = queue.share(self.ticket)?;
                    let queue = queue.id();
                    Some(Chance { key, queue, share })
                });
            chance.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Makes sure that the key's next change will be heard of; the caller locks it next.
    pub(super) fn refresh(&self, cx: &Cx, key: usize) {
        let ((db, name), queue) = &self.queues[key];
        queue.refresh(&cx.store, (*db, name));
    }

    /// Ends a chance and waits on; the chance goes on to the next only where `passes_on`.
    pub(super) fn end_chance(&self, key: usize, passes_on: bool) {
        self.queues[key].1.end_chance(self.ticket, passes_on);
    }

    /// Whether others are to try before the client that has the chance at a key, which is locked.
    pub(super) fn is_overtaken(&self, key: usize) -> bool {
        self.queues[key].1.is_overtaken(self.ticket)
    }

    /// Opens a chance in all of its queues: because databases were exchanged, or because it left
    /// something to others who may be through by now.
    pub(super) fn open_chances(&self, is_moved: bool) {
        for (_, queue) in &self.queues {
            queue.note_changed(is_moved);
        }
    }

    /// Leaves all queues. Chances go on to the next, but not that of a key that was just emptied.
    pub(super) fn leave(&mut self, emptied: Option<&Bytes>) {
        for (key, queue) in std::mem::take(&mut self.queues) {
            let passes_on = emptied != Some(&key.1);
            let queues = &self.blocking.queues;
            // whoever comes next must not join a queue that is about to go
            let is_last = |_: &Key, queue: &Arc<KeyQueue>| queue.leave(self.ticket, passes_on);
            if queues.remove_if(&key, is_last).is_some() {
                queue.close();
            }
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.leave(None);
    }
}
