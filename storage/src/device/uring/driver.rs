//! The task that keeps a thread's ring moving: it submits after the tasks that are runnable now,
//! and reaps when the kernel says that something ended. Owns the ring's readiness and the timeout
//! tick; must never hold the thread for longer than one sweep of the completion queue.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::unix::AsyncFd;

use super::ring::{Driven, Ring};
use crate::clock::{Clock, Sleep};

/// How often old requests are looked for, in microseconds, while any are in flight.
const TICK_US: u64 = 1_000_000;
/// Sweeps of the completion queue in one poll; then the other tasks get their turn.
const SWEEPS_MAX: usize = 4;

thread_local! {
    /// This thread's ring, while a driver and a channel keep it.
    static RING: RefCell<Weak<Ring>> = const { RefCell::new(Weak::new()) };
}

/// This thread's ring, made and driven from the first call on. Needs a tokio `LocalSet` with I/O
/// and time enabled, and panics outside of one.
pub(super) fn thread_ring(clock: &Arc<dyn Clock>) -> io::Result<Rc<Ring>> {
    let known = RING
        .with_borrow(Weak::upgrade)
        .filter(|ring| !ring.is_closed());
    if let Some(ring) = known {
        return Ok(ring);
    }
    let ring = Ring::new(Arc::clone(clock))?;
    let readiness = Ring::readiness(&ring)?;
    tokio::task::spawn_local(Driver {
        readiness,
        tick: None,
    });
    RING.set(Rc::downgrade(&ring));
    Ok(ring)
}

struct Driver {
    /// The ring, registered with the runtime.
    readiness: AsyncFd<Driven>,
    /// Ends when it is time to look for old requests.
    tick: Option<Sleep>,
}

impl Driver {
    fn ring(&self) -> &Ring {
        &self.readiness.get_ref().0
    }

    /// Reaps until the kernel has nothing more to say for now.
    fn sweep(&self, context: &mut Context<'_>) {
        for _ in 0..SWEEPS_MAX {
            match self.readiness.poll_read_ready(context) {
                Poll::Ready(Ok(mut guard)) => {
                    guard.clear_ready();
                    self.ring().reap();
                }
                // The runtime ends.
                Poll::Ready(Err(_)) | Poll::Pending => return,
            }
        }
        context.waker().wake_by_ref();
    }

    /// Looks for old requests once a tick.
    fn tick(&mut self, context: &mut Context<'_>) {
        if self.tick.is_none() && self.ring().in_flight() > 0 {
            self.tick = Some(self.ring().clock().sleep(TICK_US));
        }
        if let Some(tick) = &mut self.tick
            && tick.as_mut().poll(context).is_ready()
        {
            self.tick = None;
            self.ring().expire();
            context.waker().wake_by_ref();
        }
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.ring().set_driver(context.waker());
        self.ring().reap();
        self.ring().submit();
        self.sweep(context);
        self.tick(context);
        Poll::Pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.ring().close();
    }
}
