//! Waits until clients that waited for a key that was just changed have had their chances: whoever
//! changed it is answered then, and finds what they left.
//!
//! Owns that wait. It ends: no chance waits for anything that waits for a chance.

use std::future::poll_fn;
use std::task::{Context, Poll};

use super::{Closed, Connection};
use crate::blocking::{has_begun, take_begun};
use crate::client::Event;

impl Connection {
    /// Notes the chances that the present command has opened.
    pub(super) fn note_ripples(&mut self) {
        if has_begun() {
            self.ripples.append(&mut take_begun());
        }
    }

    /// Waits for the end of all chances that the present command has begun.
    pub(super) async fn settle(&mut self) -> Result<(), Closed> {
        self.note_ripples();
        if self.ripples.is_empty() {
            return Ok(());
        }
        poll_fn(|context| self.poll_settled(context)).await
    }

    fn poll_settled(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        let signal = self.client.signal();
        signal.register(context.waker());
        if signal.has(Event::Kill) {
            return Poll::Ready(Err(Closed::Killed));
        }
        if signal.has(Event::Stop) {
            return Poll::Ready(Err(Closed::Stopping));
        }
        self.ripples
            .retain_mut(|ripple| ripple.poll_end(context).is_pending());
        if self.ripples.is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.write_on(context)?;
        self.replies.poll_all(context);
        self.cx.store.end_of_turn();
        self.poll_started_us = None;
        Poll::Pending
    }
}
