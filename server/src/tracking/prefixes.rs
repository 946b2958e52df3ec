//! Who wants to know of all changed keys that begin with a prefix.
//!
//! Owns the prefixes, and which keys go to whom.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use parking_lot::Mutex;

/// All prefixes with their clients' ids.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    clients: Mutex<BTreeMap<Bytes, Vec<u64>>>,
    count: AtomicUsize,
}

impl Prefixes {
    /// Whether there is any.
    pub(super) fn is_any(&self) -> bool {
        self.count() != 0
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Adds a client's prefixes.
    pub(super) fn add(&self, id: u64, prefixes: Vec<Bytes>) {
        let mut clients = self.clients.lock();
        for prefix in prefixes {
            let ids = clients.entry(prefix).or_default();
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        self.count.store(clients.len(), Relaxed);
    }

    /// Removes a client.
    pub(super) fn remove(&self, id: u64) {
        let mut clients = self.clients.lock();
        clients.retain(|_, ids| {
            ids.retain(|other| *other != id);
            !ids.is_empty()
        });
        self.count.store(clients.len(), Relaxed);
    }

    /// Calls `tell` for each prefix and each of its clients with the changed keys that begin with
    /// it, and whose doing their last changes were.
    pub(super) fn tell(
        &self,
        names: &BTreeMap<Bytes, Option<u64>>,
        mut tell: impl FnMut(u64, &[(&[u8], Option<u64>)]),
    ) {
        for (prefix, ids) in self.clients.lock().iter() {
            let with_prefix = names
                .range(prefix.clone()..)
                .take_while(|(name, _)| name.starts_with(prefix));
            let keys: Vec<_> = with_prefix
                .map(|(name, actor)| (&name[..], *actor))
                .collect();
            if !keys.is_empty() {
                for id in ids {
                    tell(*id, &keys);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_prefix_gets_its_keys() {
        let prefixes = Prefixes::default();
        prefixes.add(1, vec![Bytes::from_static(b"a"), Bytes::from_static(b"b")]);
        prefixes.add(2, vec![Bytes::new()]);
        let names = ["a1", "a2", "c"].map(|name| (Bytes::from(name), None));
        let mut told = Vec::new();
        prefixes.tell(&names.into_iter().collect(), |id, keys| {
            let keys: Vec<_> = keys
                .iter()
                .map(|(key, _)| key.escape_ascii().to_string())
                .collect();
            told.push(format!("{id}: {}", keys.join(" ")));
        });
        assert_eq!(told, ["2: a1 a2 c", "1: a1 a2"]);
        prefixes.remove(1);
        assert_eq!(prefixes.count(), 1);
        prefixes.remove(2);
        assert!(!prefixes.is_any());
    }
}
