//! Time, as the crate sees it: one trait, so that the whole engine runs under a simulated clock.
//! Owns the system's clock and the simulated one; nothing else in the crate may ask the system.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

/// A pause that ends by itself.
pub type Sleep = Pin<Box<dyn Future<Output = ()>>>;

/// Where the time comes from.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch. May jump, either way.
    fn unix_ms(&self) -> u64;

    /// Microseconds since some fixed moment. Never goes back.
    fn monotonic_us(&self) -> u64;

    /// Ends after at least `us` microseconds.
    fn sleep(&self, us: u64) -> Sleep;
}

/// The machine's clock. `sleep` needs a tokio runtime with its timer enabled.
#[derive(Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock whose monotonic time starts now.
    pub fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn unix_ms(&self) -> u64 {
        // A machine set before 1970 counts as 1970: expiry then waits instead of deleting.
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_millis() as u64)
    }

    fn monotonic_us(&self) -> u64 {
        self.origin.elapsed().as_micros() as u64
    }

    fn sleep(&self, us: u64) -> Sleep {
        Box::pin(tokio::time::sleep(Duration::from_micros(us)))
    }
}

/// Time that moves only when [`SimClock::advance_to`] says so.
#[derive(Clone, Debug)]
pub struct SimClock {
    shared: Arc<Mutex<SimTime>>,
}

/// What all copies of one simulated clock share.
#[derive(Debug)]
struct SimTime {
    now_us: u64,
    unix_ms_at_zero: u64,
    next_timer: u64,
    /// By deadline, then by age, so that equal deadlines fire in the order of their making.
    timers: BTreeMap<(u64, u64), Option<Waker>>,
}

impl SimTime {
    fn add_timer(&mut self, deadline_us: u64, waker: Option<Waker>) -> (u64, u64) {
        let key = (deadline_us, self.next_timer);
        self.next_timer += 1;
        self.timers.insert(key, waker);
        key
    }
}

impl SimClock {
    /// A clock that stands at zero, where the calendar says `unix_ms`.
    pub fn new(unix_ms: u64) -> Self {
        let time = SimTime {
            now_us: 0,
            unix_ms_at_zero: unix_ms,
            next_timer: 0,
            timers: BTreeMap::new(),
        };
        Self {
            shared: Arc::new(Mutex::new(time)),
        }
    }

    /// When the earliest sleeper wants to wake, in monotonic microseconds.
    pub fn next_deadline_us(&self) -> Option<u64> {
        self.shared
            .lock()
            .timers
            .first_key_value()
            .map(|(&(deadline, _), _)| deadline)
    }

    /// Wakes `waker` when the time has come to `us`.
    pub(crate) fn wake_at(&self, us: u64, waker: Waker) {
        self.shared.lock().add_timer(us, Some(waker));
    }

    /// Moves to `us`, and wakes every sleeper whose deadline has come. Never moves back.
    pub fn advance_to(&self, us: u64) {
        let mut due = Vec::new();
        {
            let mut time = self.shared.lock();
            time.now_us = time.now_us.max(us);
            let first_later = (time.now_us + 1, 0);
            let later = time.timers.split_off(&first_later);
            due.extend(
                std::mem::replace(&mut time.timers, later)
                    .into_values()
                    .flatten(),
            );
        }
        due.into_iter().for_each(Waker::wake);
    }
}

impl Clock for SimClock {
    fn unix_ms(&self) -> u64 {
        let time = self.shared.lock();
        time.unix_ms_at_zero + time.now_us / 1000
    }

    fn monotonic_us(&self) -> u64 {
        self.shared.lock().now_us
    }

    fn sleep(&self, us: u64) -> Sleep {
        let mut time = self.shared.lock();
        let deadline_us = time.now_us.saturating_add(us);
        let key = time.add_timer(deadline_us, None);
        Box::pin(SimSleep {
            shared: Arc::clone(&self.shared),
            key,
        })
    }
}

/// One sleeper; its timer is gone from the table once it fired or was dropped.
struct SimSleep {
    shared: Arc<Mutex<SimTime>>,
    key: (u64, u64),
}

impl Future for SimSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waker = Some(context.waker().clone());
        // A waker's end may end a task that sleeps too, so it comes after the lock's.
        let known = match self.shared.lock().timers.get_mut(&self.key) {
            None => return Poll::Ready(()),
            Some(known) => std::mem::replace(known, waker),
        };
        drop(known);
        Poll::Pending
    }
}

impl Drop for SimSleep {
    fn drop(&mut self) {
        let removed = self.shared.lock().timers.remove(&self.key);
        drop(removed); // with the lock free, as above
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_sleepers_wake_at_their_deadline_and_not_before() {
        let clock = SimClock::new(5);
        let mut sleep = clock.sleep(2_000);
        let mut context = Context::from_waker(Waker::noop());
        assert!(sleep.as_mut().poll(&mut context).is_pending());
        clock.advance_to(1_999);
        assert!(sleep.as_mut().poll(&mut context).is_pending());
        assert_eq!(clock.next_deadline_us(), Some(2_000));
        clock.advance_to(2_000);
        assert!(sleep.as_mut().poll(&mut context).is_ready());
        assert_eq!((clock.unix_ms(), clock.monotonic_us()), (7, 2_000));
    }

    #[test]
    fn a_dropped_sleeper_leaves_no_timer() {
        let clock = SimClock::new(0);
        drop(clock.sleep(10));
        assert_eq!(clock.next_deadline_us(), None);
    }

    #[test]
    fn simulated_time_never_goes_back() {
        let clock = SimClock::new(0);
        clock.advance_to(10);
        clock.advance_to(3);
        assert_eq!(clock.monotonic_us(), 10);
    }
}
