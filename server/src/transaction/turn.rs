//! The time that a transaction takes of its worker.
//!
//! Owns when it gives way: a transaction of any length is many turns.

use std::sync::Arc;

use cellar_storage::Clock;

/// Microseconds after which the worker's other coroutines run: as long as a connection's turn.
const TURN_US_MAX: u64 = 50;

/// The present turn.
pub(super) struct Turn {
    clock: Arc<dyn Clock>,
    started_us: u64,
    now_us: u64,
}

impl Turn {
    pub(super) fn new(clock: &Arc<dyn Clock>) -> Self {
        let now_us = clock.monotonic_us();
        Self {
            clock: Arc::clone(clock),
            started_us: now_us,
            now_us,
        }
    }

    /// Begins a turn: what came before it was waiting.
    pub(super) fn begin(&mut self) {
        self.look();
        self.started_us = self.now_us;
    }

    /// Looks at the clock.
    pub(super) fn look(&mut self) {
        self.now_us = self.clock.monotonic_us();
    }

    /// Microseconds of the monotonic clock as of the last look.
    pub(super) fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Lets others run where the turn has taken its time.
    pub(super) async fn give_way(&mut self) {
        if self.now_us - self.started_us >= TURN_US_MAX {
            tokio::task::yield_now().await;
            self.begin();
        }
    }
}
