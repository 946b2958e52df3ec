//! A client that waits in its command, as CLIENT LIST shows it and CLIENT UNBLOCK ends it.
//!
//! Owns the time limit.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use cellar_storage::clock::Sleep;

use crate::client::{ClientFlag, Event};
use crate::command::{CommandError, Cx};

/// A client that waits; it no longer does when this is dropped.
pub(crate) struct Block<'a> {
    cx: &'a Cx,
    time_up: Option<Sleep>,
    started_us: u64,
}

impl<'a> Block<'a> {
    /// Lets the client wait at most `timeout_ms` milliseconds, 0 for ever.
    pub(crate) fn begin(cx: &'a Cx, timeout_ms: u64) -> Self {
        let client = cx.session.client();
        // whoever unblocked the last command may have come too late for it
        client.signal().take(Event::UnblockError);
        client.signal().take(Event::UnblockTimeout);
        client.flags().set(ClientFlag::Blocked, true);
        client.flags().set(ClientFlag::Unblockable, true);
        let clock = cx.store.clock();
        Self {
            cx,
            time_up: (timeout_ms > 0).then(|| clock.sleep(timeout_ms.saturating_mul(1000))),
            started_us: clock.monotonic_us(),
        }
    }

    /// Waits for `event`: nothing where the time is up, or CLIENT UNBLOCK says that it is.
    pub(crate) async fn until<T>(
        &mut self,
        event: impl Future<Output = T>,
    ) -> Result<Option<T>, CommandError> {
        let signal = self.cx.session.client().signal();
        let time_up = &mut self.time_up;
        let mut event = pin!(event);
        poll_fn(|context| {
            if let Poll::Ready(output) = event.as_mut().poll(context) {
                return Poll::Ready(Ok(Some(output)));
            }
            // the connection has registered its waker with the signal
            if signal.take(Event::UnblockError) {
                let text = "UNBLOCKED client unblocked via CLIENT UNBLOCK";
                return Poll::Ready(Err(CommandError::other(text)));
            }
            let is_up = time_up
                .as_mut()
                .is_some_and(|sleep| sleep.as_mut().poll(context).is_ready());
            if is_up || signal.take(Event::UnblockTimeout) {
                return Poll::Ready(Ok(None));
            }
            Poll::Pending
        })
        .await
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        let flags = self.cx.session.client().flags();
        flags.set(ClientFlag::Blocked, false);
        flags.set(ClientFlag::Unblockable, false);
        let now_us = self.cx.store.clock().monotonic_us();
        let session = &self.cx.session;
        session.note_blocked(now_us.saturating_sub(self.started_us));
    }
}
