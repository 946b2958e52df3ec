//! The bound on what all arenas together take from the system.
//!
//! Owns the sum. Must never refuse what the index needs to exist at all.

use std::sync::atomic::{AtomicU64, Ordering};

/// What may be taken from the system, shared by all arenas.
pub(crate) struct Budget {
    /// 0 = no bound.
    bytes_max: AtomicU64,
    used_bytes: AtomicU64,
}

impl Budget {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max: AtomicU64::new(bytes_max),
            used_bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed)
    }

    pub(crate) fn set_bytes_max(&self, bytes: u64) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Takes `bytes` whatever the bound.
    pub(crate) fn charge(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes `bytes` where the bound allows.
    pub(crate) fn try_charge(&self, bytes: u64) -> bool {
        let used = self.used_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let bytes_max = self.bytes_max();
        let fits = bytes_max == 0 || used <= bytes_max;
        if !fits {
            self.refund(bytes);
        }
        fits
    }

    /// Gives `bytes` back.
    pub(crate) fn refund(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
impl Budget {
    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }
}
