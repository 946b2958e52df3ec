//! CLIENT PAUSE: commands wait until a moment, or until CLIENT UNPAUSE.
//!
//! Owns that moment. Costs one load a command while nothing is paused.

use std::sync::atomic::{AtomicU8, Ordering::Acquire, Ordering::Release};

use cellar_storage::Clock;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Which commands wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PauseMode {
    /// Those that write.
    Write = 1,
    /// All.
    All = 2,
}

const RUNNING: u8 = 0;

/// Whether commands wait, and until when.
#[derive(Debug, Default)]
pub struct Pause {
    mode: AtomicU8,
    until_us: Mutex<u64>,
    changed: Notify,
}

impl Pause {
    /// Lets commands wait until `until_us` of the monotonic clock. A longer or stricter pause that
    /// is on already stays, as in Redis.
    pub fn begin(&self, mode: PauseMode, until_us: u64, now_us: u64) {
        let mut end = self.until_us.lock();
        let is_on = *end > now_us;
        *end = if is_on { until_us.max(*end) } else { until_us };
        let before = if is_on {
            self.mode.load(Acquire)
        } else {
            RUNNING
        };
        self.mode.store(before.max(mode as u8), Release);
    }

    /// Ends the pause now.
    pub fn end(&self) {
        *self.until_us.lock() = 0;
        self.mode.store(RUNNING, Release);
        self.changed.notify_waiters();
    }

    /// Whether a command has to wait, as far as one load tells: the pause may be over already.
    pub fn may_hold(&self, is_write: bool) -> bool {
        let mode = self.mode.load(Acquire);
        mode == PauseMode::All as u8 || (mode == PauseMode::Write as u8 && is_write)
    }

    /// Waits until a command may run.
    pub async fn wait(&self, is_write: bool, clock: &dyn Clock) {
        loop {
            let changed = self.changed.notified();
            let left_us = self.until_us.lock().saturating_sub(clock.monotonic_us());
            if left_us == 0 || !self.may_hold(is_write) {
                return;
            }
            tokio::select! {
                () = changed => {}
                () = clock.sleep(left_us) => {}
            }
        }
    }

    /// Drops a pause that is over; true where there was one.
    pub fn expire(&self, now_us: u64) -> bool {
        let is_over = self.may_hold(true) && *self.until_us.lock() <= now_us;
        if is_over {
            self.end();
        }
        is_over
    }
}
