//! Whether the elements of a value that comes from elsewhere all differ.
//!
//! Owns a keyed hash of each. With 128 bits, two elements that are told to be one although they
//! differ are as unlikely as two keys that the index takes for one.

use std::collections::HashSet;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// Elements that were seen.
pub(crate) struct Distinct {
    key: u64,
    hashes: HashSet<u128>,
}

impl Distinct {
    /// None were; `key` is not known to whoever chose the elements.
    pub(crate) fn new(key: u64) -> Self {
        let hashes = HashSet::new();
        Self { key, hashes }
    }

    /// Whether this one was not seen before.
    pub(crate) fn is_first(&mut self, element: &[u8]) -> bool {
        let mut hasher = SipHasher13::new_with_keys(self.key, !self.key);
        hasher.write(element);
        self.hashes.insert(hasher.finish128().as_u128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_is_first_once() {
        let mut distinct = Distinct::new(7);
        for number in 0..10_000u32 {
            assert!(distinct.is_first(&number.to_le_bytes()));
        }
        for number in 0..10_000u32 {
            assert!(!distinct.is_first(&number.to_le_bytes()));
        }
    }
}
