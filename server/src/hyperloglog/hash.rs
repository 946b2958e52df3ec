//! What an element does to a sketch: which register it belongs to, and how rare its hash is.
//!
//! Owns the hash: `MurmurHash64A` (Austin Appleby, public domain) with Redis's seed. It may never
//! change, or stored sketches would count their elements twice.

use super::{RANK_BITS, REGISTER_BITS, REGISTER_COUNT};

const SEED: u64 = 0xadc8_3b19;
const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
const SHIFT: u32 = 47;

/// The register of an element, and its rank: one more than the zeros at the lower end of what is
/// left of its hash.
pub(crate) fn observe(element: &[u8]) -> (usize, u8) {
    let hash = murmur64a(element);
    let register = hash as usize & (REGISTER_COUNT - 1);
    let rest = hash >> REGISTER_BITS | 1 << RANK_BITS;
    (register, rest.trailing_zeros() as u8 + 1)
}

fn murmur64a(bytes: &[u8]) -> u64 {
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let mut mixed = u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        mixed ^= mixed >> SHIFT;
        hash = (hash ^ mixed.wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> SHIFT;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^ hash >> SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hyperloglog::RANK_MAX;

    #[test]
    fn elements_have_the_registers_that_redis_gives_them() {
        let mut seen = [b"1", b"2", b"3"].map(|element| observe(element));
        seen.sort_unstable();
        assert_eq!(seen, [(7527, 1), (10_973, 1), (15_371, 4)]);
    }

    #[test]
    fn ranks_stay_within_a_register() {
        for number in 0..10_000_u32 {
            let (register, rank) = observe(&number.to_le_bytes());
            assert!(register < REGISTER_COUNT && (1..=RANK_MAX).contains(&rank));
        }
    }
}
