//! How many keys each database holds.
//!
//! Owns the numbers behind DBSIZE and `expires`. Must never count a collection's page as a key.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::entry::{DATABASE_END, Entry};

/// Copies of the counters, chosen by partition, so that writers seldom share a cache line. A key
/// always counts in its partition's copy, so no copy ever goes below zero.
const STRIPES: usize = 16;

#[repr(align(128))]
struct Stripe {
    keys: [AtomicU64; DATABASE_END as usize],
    expiring: [AtomicU64; DATABASE_END as usize],
}

pub(crate) struct Counters {
    stripes: Box<[Stripe]>,
}

impl Counters {
    pub(crate) fn new() -> Self {
        let stripe = |_| Stripe {
            keys: [const { AtomicU64::new(0) }; DATABASE_END as usize],
            expiring: [const { AtomicU64::new(0) }; DATABASE_END as usize],
        };
        Self {
            stripes: (0..STRIPES).map(stripe).collect(),
        }
    }

    pub(crate) const BYTES: u64 = (STRIPES * size_of::<Stripe>()) as u64;

    pub(crate) fn add(&self, partition: u16, entry: &Entry) {
        if entry.is_key() {
            let stripe = &self.stripes[usize::from(partition) % STRIPES];
            let expiring = u64::from(entry.expiry_s != 0);
            stripe.keys[usize::from(entry.database)].fetch_add(1, Ordering::Relaxed);
            stripe.expiring[usize::from(entry.database)].fetch_add(expiring, Ordering::Relaxed);
        }
    }

    pub(crate) fn subtract(&self, partition: u16, entry: &Entry) {
        if entry.is_key() {
            let stripe = &self.stripes[usize::from(partition) % STRIPES];
            let expiring = u64::from(entry.expiry_s != 0);
            stripe.keys[usize::from(entry.database)].fetch_sub(1, Ordering::Relaxed);
            stripe.expiring[usize::from(entry.database)].fetch_sub(expiring, Ordering::Relaxed);
        }
    }

    pub(crate) fn keys(&self, database: u8) -> u64 {
        let of = |stripe: &Stripe| stripe.keys[usize::from(database)].load(Ordering::Relaxed);
        self.stripes.iter().map(of).sum()
    }

    pub(crate) fn expiring(&self, database: u8) -> u64 {
        let of = |stripe: &Stripe| stripe.expiring[usize::from(database)].load(Ordering::Relaxed);
        self.stripes.iter().map(of).sum()
    }

    pub(crate) fn all_keys(&self) -> u64 {
        (0..DATABASE_END).map(|database| self.keys(database)).sum()
    }
}
