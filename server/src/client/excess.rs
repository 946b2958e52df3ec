//! Whether more waits for a client than its bounds allow.
//!
//! Owns the time since when the soft bound is exceeded.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::config::OutputLimit;

/// What waits, against one bound.
#[derive(Debug, Default)]
pub(super) struct Excess {
    /// Since when more than the soft bound waits, 0 for not now.
    soft_since_us: AtomicU64,
}

impl Excess {
    /// Whether so many waiting bytes are above the hard bound, or for too long above the soft one.
    pub(super) fn exceeds(&self, waiting_bytes: u64, limit: OutputLimit, now_us: u64) -> bool {
        let OutputLimit {
            hard_bytes,
            soft_bytes,
            soft_seconds,
        } = limit;
        if hard_bytes != 0 && waiting_bytes > hard_bytes {
            return true;
        }
        if soft_bytes == 0 || waiting_bytes <= soft_bytes {
            self.soft_since_us.store(0, Relaxed);
            return false;
        }
        let since_us = self.soft_since_us.load(Relaxed);
        if since_us == 0 {
            self.soft_since_us.store(now_us.max(1), Relaxed);
            return false;
        }
        now_us.saturating_sub(since_us) > soft_seconds.saturating_mul(1_000_000)
    }
}
