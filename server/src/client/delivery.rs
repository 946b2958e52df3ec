//! Handing messages to clients of all workers, each worker woken at most once.
//!
//! Owns the list of clients that a worker has to look after. Waking a connection of another worker
//! is a system call, and one of its own worker's is a few instructions: so another worker is woken
//! once, and wakes its connections itself.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Client, Event, Registry};
use crate::config::OutputLimit;

/// Clients of one worker whose inboxes were filled by others.
#[derive(Debug, Default)]
pub struct Postbox {
    /// Each stands here once for a time that its inbox was empty.
    waiting: Mutex<Vec<Arc<Client>>>,
    filled: Notify,
}

impl Postbox {
    fn post(&self, clients: &[Arc<Client>]) {
        let mut waiting = self.waiting.lock();
        let was_empty = waiting.is_empty();
        waiting.extend_from_slice(clients);
        drop(waiting);
        if was_empty {
            self.filled.notify_one();
        }
    }

    /// Wakes the connections of the worker that runs this, for ever.
    pub async fn serve(&self) {
        loop {
            self.filled.notified().await;
            let clients = std::mem::take(&mut *self.waiting.lock());
            for client in clients {
                client.signal().raise(Event::Inbox);
            }
        }
    }
}

/// Messages that one thread hands out; the workers of their receivers are woken when it is
/// dropped.
pub struct Delivery<'a> {
    postboxes: &'a [Postbox],
    registry: &'a Registry,
    /// The worker of this thread, where it is one.
    worker: Option<usize>,
    limit: OutputLimit,
    now_us: u64,
    others: Vec<Arc<Client>>,
}

impl<'a> Delivery<'a> {
    /// Nothing handed out yet; `limit` bounds what may wait in an inbox.
    pub fn new(
        (postboxes, registry): (&'a [Postbox], &'a Registry),
        worker: Option<usize>,
        (limit, now_us): (OutputLimit, u64),
    ) -> Self {
        Self {
            postboxes,
            registry,
            worker,
            limit,
            now_us,
            others: Vec::new(),
        }
    }

    /// The client with this id.
    pub fn client(&self, id: u64) -> Option<Arc<Client>> {
        self.registry.get(id)
    }

    /// Puts an encoded message into a client's inbox. Above its bound the client is closed.
    pub fn send(&mut self, client: &Arc<Client>, message: Bytes) {
        if !client.put(message, self.limit, self.now_us) {
            return;
        }
        if self.worker == Some(client.address().worker) {
            client.signal().raise(Event::Inbox);
        } else {
            self.others.push(Arc::clone(client));
        }
    }
}

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        self.others.sort_by_key(|client| client.address().worker);
        let groups = self
            .others
            .chunk_by(|one, next| one.address().worker == next.address().worker);
        for clients in groups {
            self.postboxes[clients[0].address().worker].post(clients);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Address;

    const NO_LIMIT: OutputLimit = OutputLimit {
        hard_bytes: 0,
        soft_bytes: 0,
        soft_seconds: 0,
    };

    fn client(id: u64, worker: usize) -> Arc<Client> {
        let address = Address {
            peer: String::new(),
            local: String::new(),
            is_unix: false,
            descriptor: 0,
            worker,
        };
        Arc::new(Client::new(id, address, 0))
    }

    #[test]
    fn another_worker_is_told_once_of_each_client() {
        let postboxes = [Postbox::default(), Postbox::default()];
        let registry = Registry::default();
        let (near, far) = (client(1, 0), client(2, 1));
        for _ in 0..3 {
            let mut delivery = Delivery::new((&postboxes, &registry), Some(0), (NO_LIMIT, 0));
            delivery.send(&near, Bytes::from_static(b"m"));
            delivery.send(&far, Bytes::from_static(b"m"));
        }
        assert!(near.signal().has(Event::Inbox) && !far.signal().has(Event::Inbox));
        assert!(postboxes[0].waiting.lock().is_empty());
        assert_eq!(postboxes[1].waiting.lock().len(), 1);
        assert_eq!(far.receive(usize::MAX).len(), 3);
    }

    #[test]
    fn a_client_that_takes_nothing_is_closed_at_its_bound() {
        let (client, registry) = (client(1, 0), Registry::default());
        let limit = OutputLimit {
            hard_bytes: 10_000,
            soft_bytes: 1_000,
            soft_seconds: 1,
        };
        let send = |bytes: usize, now_us| {
            let mut delivery = Delivery::new((&[], &registry), Some(0), (limit, now_us));
            delivery.send(&client, Bytes::from(vec![b'm'; bytes]));
            client.signal().has(Event::Kill)
        };
        assert!(!send(2_000, 0), "above the soft bound for no time");
        assert!(!send(1, 1_000_000));
        assert!(send(1, 1_000_002), "for longer than a second");
        let waiting = client.receive(usize::MAX).len();
        assert_eq!(waiting, 0, "what it did not take is gone");
    }
}
