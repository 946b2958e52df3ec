//! All clients, by id.
//!
//! Owns ids and the count that `maxclients` bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use dashmap::DashMap;
use tokio::sync::Notify;

use super::{Address, Client};

/// All connected clients.
#[derive(Debug, Default)]
pub struct Registry {
    clients: DashMap<u64, Arc<Client>>,
    last_id: AtomicU64,
    emptied: Notify,
}

impl Registry {
    /// Registers a new client.
    pub fn connect(&self, address: Address, now_us: u64) -> Arc<Client> {
        let id = self.last_id.fetch_add(1, Relaxed) + 1;
        let client = Arc::new(Client::new(id, address, now_us));
        self.clients.insert(id, Arc::clone(&client));
        client
    }

    /// Forgets a client.
    pub fn disconnect(&self, id: u64) {
        self.clients.remove(&id);
        if self.clients.is_empty() {
            self.emptied.notify_waiters();
        }
    }

    /// Waits until there is none.
    pub async fn wait_until_empty(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.clients.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.clients.len()
    }

    /// The client with this id.
    pub fn get(&self, id: u64) -> Option<Arc<Client>> {
        self.clients.get(&id).map(|client| Arc::clone(&client))
    }

    /// All of them, the oldest first.
    pub fn list(&self) -> Vec<Arc<Client>> {
        let mut clients: Vec<_> = self
            .clients
            .iter()
            .map(|client| Arc::clone(client.value()))
            .collect();
        clients.sort_unstable_by_key(|client| client.id());
        clients
    }
}
