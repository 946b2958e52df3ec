//! When the operations of an open loop are due.
//!
//! Owns the schedule and what is known of how it was kept. Must never shift a due time because an
//! earlier operation was late: that would hide the lateness from every latency after it.
#![expect(
    clippy::cast_precision_loss,
    reason = "numbers of operations and nanoseconds are far below 2^52"
)]
#![expect(clippy::cast_sign_loss, reason = "times are not negative")]

use hdrhistogram::Histogram;

use super::outcome::{Punctuality, histogram, quantile_us, us};

/// Operation number i is due i / rate seconds after the start.
#[derive(Debug)]
pub(super) struct Schedule {
    interval_ns: f64,
    next: u64,
    lateness: Histogram<u64>,
    /// Whether the last look at the schedule found no connection free.
    is_held_back: bool,
    held_back: u64,
    unsent: u64,
}

impl Schedule {
    pub(super) fn new(rate_per_s: f64) -> Self {
        Self {
            interval_ns: 1e9 / rate_per_s,
            next: 0,
            lateness: histogram(),
            is_held_back: false,
            held_back: 0,
            unsent: 0,
        }
    }

    /// When the next operation is due, in nanoseconds from the start.
    pub(super) fn due_ns(&self) -> u64 {
        (self.next as f64 * self.interval_ns) as u64
    }

    /// Takes the next operation, which is sent now; its due time.
    pub(super) fn take(&mut self, now_ns: u64, is_counted: bool) -> u64 {
        let due_ns = self.due_ns();
        self.next += 1;
        if is_counted && self.is_held_back {
            self.held_back += 1;
        } else if is_counted {
            self.lateness.saturating_record(now_ns - due_ns);
        }
        due_ns
    }

    /// Operations are due and no connection is free.
    pub(super) fn hold_back(&mut self) {
        self.is_held_back = true;
    }

    /// Everything due was sent.
    pub(super) fn is_caught_up(&mut self) {
        self.is_held_back = false;
    }

    /// Takes the next operation without sending it, if it was due before `end_ns`.
    pub(super) fn give_up(&mut self, end_ns: u64) -> Option<u64> {
        let due_ns = self.due_ns();
        if due_ns >= end_ns {
            return None;
        }
        self.next += 1;
        self.unsent += 1;
        Some(due_ns)
    }

    pub(super) fn punctuality(&self) -> Punctuality {
        Punctuality {
            lateness_p99_us: quantile_us(&self.lateness, 0.99),
            lateness_max_us: us(self.lateness.max()),
            held_back: self.held_back,
            unsent: self.unsent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_does_not_move_the_schedule() {
        let mut schedule = Schedule::new(1000.0);
        let due: Vec<u64> = (0..5).map(|_| schedule.take(9_000_000, true)).collect();
        assert_eq!(due, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000]);
        assert!((schedule.punctuality().lateness_max_us - 9000.0).abs() < 20.0);
    }

    #[test]
    fn the_servers_delay_is_not_called_the_clients() {
        let mut schedule = Schedule::new(1000.0);
        schedule.take(0, true);
        schedule.hold_back();
        schedule.take(50_000_000, true);
        schedule.is_caught_up();
        schedule.take(2_000_000, true);
        assert!(schedule.give_up(3_000_000).is_none());
        assert_eq!(schedule.give_up(3_000_001), Some(3_000_000));
        let found = schedule.punctuality();
        assert_eq!((found.held_back, found.unsent), (1, 1));
        assert!(found.lateness_max_us < 1.0);
    }
}
