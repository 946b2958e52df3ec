//! Exact caches of a fixed number of keys, to compare the store's policies with.

use std::collections::{BTreeSet, HashMap};

/// A cache that is asked for keys and loads what it misses.
pub(crate) trait Model {
    /// Whether the key was there; it is now.
    fn request(&mut self, key: u64) -> bool;

    /// Keys that it holds.
    fn capacity(&self) -> usize;
}

/// Evicts the key that was not used for the longest time.
pub(crate) struct Lru {
    capacity: usize,
    now: u64,
    used_at: HashMap<u64, u64>,
    order: BTreeSet<(u64, u64)>,
}

impl Lru {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            now: 0,
            used_at: HashMap::new(),
            order: BTreeSet::new(),
        }
    }
}

impl Model for Lru {
    fn request(&mut self, key: u64) -> bool {
        self.now += 1;
        let before = self.used_at.insert(key, self.now);
        if let Some(before) = before {
            self.order.remove(&(before, key));
        }
        self.order.insert((self.now, key));
        if self.order.len() > self.capacity
            && let Some((_, evicted)) = self.order.pop_first()
        {
            self.used_at.remove(&evicted);
        }
        before.is_some()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Evicts the key that was used the fewest times since it was loaded, the longest unused of those.
pub(crate) struct Lfu {
    capacity: usize,
    now: u64,
    uses: HashMap<u64, (u64, u64)>,
    order: BTreeSet<(u64, u64, u64)>,
}

impl Lfu {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            now: 0,
            uses: HashMap::new(),
            order: BTreeSet::new(),
        }
    }
}

impl Model for Lfu {
    fn request(&mut self, key: u64) -> bool {
        self.now += 1;
        let before = self.uses.get(&key).copied();
        if let Some((count, used_at)) = before {
            self.order.remove(&(count, used_at, key));
        } else if self.order.len() == self.capacity
            && let Some((_, _, evicted)) = self.order.pop_first()
        {
            self.uses.remove(&evicted);
        }
        let count = before.map_or(0, |(count, _)| count) + 1;
        self.uses.insert(key, (count, self.now));
        self.order.insert((count, self.now, key));
        before.is_some()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(model: &mut dyn Model, keys: &[u64]) -> usize {
        keys.iter().filter(|key| model.request(**key)).count()
    }

    #[test]
    fn lru_evicts_the_longest_unused() {
        let mut lru = Lru::new(2);
        assert_eq!(hits(&mut lru, &[1, 2, 1, 3]), 1);
        assert_eq!(hits(&mut lru, &[1, 3]), 2);
        assert_eq!(hits(&mut lru, &[2]), 0);
    }

    #[test]
    fn lfu_evicts_the_least_used() {
        let mut lfu = Lfu::new(2);
        assert_eq!(hits(&mut lfu, &[1, 1, 2, 3]), 1);
        assert_eq!(hits(&mut lfu, &[1, 3]), 2);
        assert_eq!(hits(&mut lfu, &[2]), 0);
    }
}
