//! What one client is subscribed to.
//!
//! Owns the names on the client's side; the channels' side is in `channels`.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::Kind;

/// Bytes that a subscription takes beside its name, on both sides: entries of two trees.
const ENTRY_BYTES: usize = 128;

/// One client's subscriptions.
#[derive(Debug, Default)]
pub struct Subscriptions {
    names: [BTreeSet<Bytes>; 3],
    byte_count: usize,
}

impl Subscriptions {
    /// Adds a name; false where it was there.
    pub fn insert(&mut self, kind: Kind, name: Bytes) -> bool {
        let bytes = name.len() + ENTRY_BYTES;
        let is_new = self.names[kind as usize].insert(name);
        self.byte_count += if is_new { bytes } else { 0 };
        is_new
    }

    /// Removes a name; false where it was not there.
    pub fn remove(&mut self, kind: Kind, name: &[u8]) -> bool {
        let is_removed = self.names[kind as usize].remove(name);
        self.byte_count -= if is_removed {
            name.len() + ENTRY_BYTES
        } else {
            0
        };
        is_removed
    }

    /// All names of one kind, in their order.
    pub fn names(&self, kind: Kind) -> Vec<Bytes> {
        self.names[kind as usize].iter().cloned().collect()
    }

    /// How many there are of one kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.names[kind as usize].len()
    }

    /// The number that a confirmation of this kind tells: channels and patterns are counted
    /// together, as in Redis.
    pub fn told_count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Channel | Kind::Pattern => self.count(Kind::Channel) + self.count(Kind::Pattern),
            Kind::Shard => self.count(Kind::Shard),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.iter().all(BTreeSet::is_empty)
    }

    /// Bytes of DRAM that they take, on both sides.
    pub fn byte_count(&self) -> usize {
        self.byte_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_as_redis_tells_them() {
        let mut subscriptions = Subscriptions::default();
        let name = Bytes::from_static(b"n");
        for kind in Kind::ALL {
            assert!(subscriptions.insert(kind, name.clone()));
            assert!(!subscriptions.insert(kind, name.clone()));
        }
        assert_eq!(subscriptions.told_count(Kind::Channel), 2);
        assert_eq!(subscriptions.told_count(Kind::Pattern), 2);
        assert_eq!(subscriptions.told_count(Kind::Shard), 1);
        assert_eq!(subscriptions.byte_count(), 3 * (1 + ENTRY_BYTES));
        for kind in Kind::ALL {
            assert!(subscriptions.remove(kind, &name));
            assert!(!subscriptions.remove(kind, &name));
        }
        assert!(subscriptions.is_empty());
        assert_eq!(subscriptions.byte_count(), 0);
    }
}
