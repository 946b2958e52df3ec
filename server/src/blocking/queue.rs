//! The clients that wait for one key, in the order in which they began to, and who has the chance.
//!
//! Owns the chance: at most one client has it. Its lock is the innermost of all, held for moments
//! and never while anything else is called.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::{Db, Handle, KeyChange, KeyWatcher, Watch};
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::ripple::{self, Share};
use crate::client::{Client, Event};

/// A client's number in all queues that it waits in: who waits longer has the lower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(pub(super) u64);

/// The clients that wait for one key.
#[derive(Default)]
pub(super) struct KeyQueue {
    state: Mutex<State>,
    /// What tells of the key's changes. It keeps this queue alive until [`Self::close`].
    watch: Mutex<Option<Watch>>,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<Ticket, Waiting>,
    chance: Option<Chance>,
    /// Whether the database was flushed or exchanged since the watch began: it sees nothing now.
    is_moved: bool,
}

/// A client that waits.
#[derive(Debug)]
struct Waiting {
    client: Arc<Client>,
    /// Whether it is to try as well when the key is gone.
    heeds_loss: bool,
}

/// Who tries now.
#[derive(Debug)]
struct Chance {
    ticket: Ticket,
    /// Whether the key was changed since the chance began: then it starts over with the first.
    is_changed: bool,
    /// The ripples that end when nobody has the chance any more.
    shares: SmallVec<[Share; 1]>,
}

impl State {
    /// The chance goes to `next`; the client to wake.
    fn give(&mut self, next: Option<Ticket>, shares: SmallVec<[Share; 1]>) -> Given {
        let client = next.and_then(|ticket| Some((ticket, self.waiting.get(&ticket)?)));
        match client {
            Some((ticket, waiting)) => {
                let woken = Arc::clone(&waiting.client);
                self.chance = Some(Chance {
                    ticket,
                    is_changed: false,
                    shares,
                });
                Given::Chance(woken)
            }
            None => Given::Over(shares),
        }
    }

    fn first(&self) -> Option<Ticket> {
        self.waiting.first_key_value().map(|(ticket, _)| *ticket)
    }

    /// Whether somebody wants to know when the key is gone.
    fn heeds_loss(&self) -> bool {
        self.waiting.values().any(|waiting| waiting.heeds_loss)
    }

    fn after(&self, ticket: Ticket) -> Option<Ticket> {
        let behind = (Bound::Excluded(ticket), Bound::Unbounded);
        self.waiting.range(behind).next().map(|(next, _)| *next)
    }
}

/// What became of the chance; to be acted on when the queue is no longer locked.
enum Given {
    /// This client has it.
    Chance(Arc<Client>),
    /// Nobody has it: ripples end when their shares are dropped, which wakes who waits for them.
    Over(SmallVec<[Share; 1]>),
}

impl Given {
    fn tell(self) {
        match self {
            Self::Chance(client) => client.signal().raise(Event::Chance),
            Self::Over(shares) => drop(shares),
        }
    }
}

impl KeyQueue {
    /// A queue that is told of the changes of a key.
    pub(super) fn open(store: &Handle, (db, key): (Db, &Bytes)) -> Arc<Self> {
        let queue = Arc::new(Self::default());
        queue.watch(store, (db, key));
        queue
    }

    fn watch(self: &Arc<Self>, store: &Handle, (db, key): (Db, &Bytes)) {
        let watcher: Arc<dyn KeyWatcher> = Arc::<Self>::clone(self);
        let watch = store.watch(db, key, &watcher);
        let old = self.watch.lock().replace(watch);
        drop(old);
    }

    /// Watches again where the key's database has become another one. The caller locks the key
    /// next and looks at it then, so that nothing is missed.
    pub(super) fn refresh(self: &Arc<Self>, store: &Handle, target: (Db, &Bytes)) {
        let is_moved = std::mem::take(&mut self.state.lock().is_moved);
        if is_moved {
            self.watch(store, target);
        }
    }

    /// Watches no longer.
    pub(super) fn close(&self) {
        let watch = self.watch.lock().take();
        drop(watch);
    }

    /// A number by which a thread knows that it acts for this queue.
    pub(super) fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Adds a client behind all others.
    pub(super) fn join(&self, ticket: Ticket, client: &Arc<Client>, heeds_loss: bool) {
        let mut state = self.state.lock();
        // a client may name a key twice
        debug_assert!(state.waiting.keys().all(|other| *other <= ticket));
        let client = Arc::clone(client);
        let waiting = Waiting { client, heeds_loss };
        state.waiting.insert(ticket, waiting);
    }

    /// Removes a client. If it has the chance, the next one gets it: where `passes_on` is false
    /// only if the key was changed meanwhile, or somebody wants to know that it is gone. True:
    /// nobody waits any more.
    pub(super) fn leave(&self, ticket: Ticket, passes_on: bool) -> bool {
        let mut state = self.state.lock();
        state.waiting.remove(&ticket);
        let is_empty = state.waiting.is_empty();
        let given = end_chance(&mut state, ticket, passes_on);
        drop(state);
        if let Some(given) = given {
            given.tell();
        }
        is_empty
    }

    /// Ends the chance of a client that found nothing for itself and waits on.
    pub(super) fn end_chance(&self, ticket: Ticket, passes_on: bool) {
        let given = end_chance(&mut self.state.lock(), ticket, passes_on);
        if let Some(given) = given {
            given.tell();
        }
    }

    /// A share in what a client's chance belongs to, if it has the chance.
    pub(super) fn share(&self, ticket: Ticket) -> Option<Share> {
        let state = self.state.lock();
        let chance = state
            .chance
            .as_ref()
            .filter(|chance| chance.ticket == ticket)?;
        chance.shares.first().cloned()
    }

    /// Whether the key was changed since a client got its chance, and others wait longer: then they
    /// are to try first. Whoever has the key locked is told of all changes.
    pub(super) fn is_overtaken(&self, ticket: Ticket) -> bool {
        let state = self.state.lock();
        let chance = state.chance.as_ref();
        let is_changed = chance.is_some_and(|chance| chance.ticket == ticket && chance.is_changed);
        is_changed && state.first() != Some(ticket)
    }

    /// Whether somebody has the chance: whoever comes now must not go before those who wait.
    pub(super) fn is_busy(&self) -> bool {
        self.state.lock().chance.is_some()
    }

    /// The key was changed, by anybody on any thread: the first client has its chance.
    pub(super) fn note_changed(&self, is_moved: bool) {
        let mut state = self.state.lock();
        state.is_moved |= is_moved;
        if state.waiting.is_empty() {
            return;
        }
        let share = ripple::begin();
        if let Some(chance) = &mut state.chance {
            chance.is_changed = true;
            chance.shares.push(share);
            return;
        }
        let first = state.first();
        let given = state.give(first, SmallVec::from_iter([share]));
        drop(state);
        given.tell();
    }
}

impl KeyWatcher for KeyQueue {
    fn key_changed(&self, change: KeyChange) {
        match change {
            KeyChange::Moved { existed: _ } => self.note_changed(true),
            // what a client that has the chance changes itself is no news
            KeyChange::Written if !ripple::is_caused_by(self.id()) => self.note_changed(false),
            KeyChange::Written => {}
            KeyChange::Removed => {
                let is_news = self.state.lock().heeds_loss();
                // else there is nothing to have
                if is_news {
                    self.note_changed(false);
                }
            }
        }
    }
}

fn end_chance(state: &mut State, ticket: Ticket, passes_on: bool) -> Option<Given> {
    let chance = state.chance.take_if(|chance| chance.ticket == ticket)?;
    let next = if chance.is_changed {
        state.first()
    } else if passes_on || state.heeds_loss() {
        state.after(ticket)
    } else {
        None
    };
    Some(state.give(next, chance.shares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Address;

    fn client(id: u64) -> Arc<Client> {
        let address = Address {
            peer: String::new(),
            local: String::new(),
            is_unix: false,
            descriptor: 0,
            worker: 0,
        };
        Arc::new(Client::new(id, address, 0))
    }

    fn queue(count: u64) -> KeyQueue {
        let queue = KeyQueue::default();
        for number in 1..=count {
            queue.join(Ticket(number), &client(number), false);
        }
        queue
    }

    fn chance(queue: &KeyQueue) -> Option<u64> {
        queue
            .state
            .lock()
            .chance
            .as_ref()
            .map(|chance| chance.ticket.0)
    }

    #[test]
    fn the_turn_goes_round_in_order() {
        let queue = queue(3);
        assert!(!queue.is_busy());
        queue.note_changed(false);
        assert_eq!(chance(&queue), Some(1));
        queue.end_chance(Ticket(2), true);
        assert_eq!(chance(&queue), Some(1), "it was not its chance");
        queue.end_chance(Ticket(1), true);
        assert_eq!(chance(&queue), Some(2));
        assert!(!queue.leave(Ticket(2), true));
        assert_eq!(chance(&queue), Some(3));
        queue.end_chance(Ticket(3), true);
        assert_eq!(chance(&queue), None);
        assert!(!queue.leave(Ticket(1), true));
        assert!(queue.leave(Ticket(3), true));
    }

    #[test]
    fn an_empty_key_ends_it() {
        let queue = queue(2);
        queue.note_changed(false);
        queue.end_chance(Ticket(1), false);
        assert_eq!(chance(&queue), None);
    }

    #[test]
    fn a_change_meanwhile_starts_over() {
        let queue = queue(3);
        queue.note_changed(false);
        queue.end_chance(Ticket(1), true);
        queue.note_changed(false);
        assert_eq!(chance(&queue), Some(2));
        queue.end_chance(Ticket(2), false);
        assert_eq!(chance(&queue), Some(1));
        assert!(queue.share(Ticket(1)).is_some() && queue.share(Ticket(2)).is_none());
    }

    #[test]
    fn who_waits_longer_tries_a_change_first() {
        let queue = queue(2);
        queue.note_changed(false);
        queue.end_chance(Ticket(1), true);
        assert!(!queue.is_overtaken(Ticket(2)));
        queue.note_changed(false);
        assert!(queue.is_overtaken(Ticket(2)));
        queue.end_chance(Ticket(2), true);
        assert_eq!(chance(&queue), Some(1));
        queue.note_changed(false);
        assert!(!queue.is_overtaken(Ticket(1)));
    }

    #[test]
    fn a_loss_is_told_to_who_heeds_it() {
        let queue = queue(1);
        queue.key_changed(KeyChange::Removed);
        assert_eq!(chance(&queue), None);
        queue.join(Ticket(2), &client(2), true);
        queue.key_changed(KeyChange::Removed);
        assert_eq!(chance(&queue), Some(1));
        queue.end_chance(Ticket(1), false);
        assert_eq!(chance(&queue), Some(2));
    }

    #[test]
    fn a_watch_that_sees_nothing_any_more_is_noticed() {
        let queue = queue(1);
        queue.key_changed(KeyChange::Removed);
        assert_eq!(chance(&queue), None);
        queue.key_changed(KeyChange::Moved { existed: false });
        assert_eq!(chance(&queue), Some(1));
        assert!(queue.state.lock().is_moved);
    }

    #[test]
    fn who_leaves_in_its_turn_hands_it_on() {
        let queue = queue(2);
        queue.note_changed(false);
        queue.leave(Ticket(1), true);
        assert_eq!(chance(&queue), Some(2));
        queue.leave(Ticket(2), true);
        assert_eq!(chance(&queue), None);
        queue.note_changed(false);
        assert_eq!(chance(&queue), None);
    }
}
