//! A reply that is encoded portion by portion, as the client takes it.
//!
//! ```text
//!   head, count        encoded at once, in the reply itself
//!   Portions           a coroutine that goes on encoding, and stops while enough waits
//!      Outlet          its end: where it encodes, and waits for room
//!      next()          the connection's end: what is there to be written
//! ```
//!
//! Owns how much is encoded ahead of the socket. Must never know what is encoded. The coroutine
//! must hold no lock: whatever it reads, it has pinned.

use std::cell::RefCell;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::{Protocol, ReplyBuf};

/// Bytes of a portion from which its coroutine waits until they are taken: as much as one write
/// of a socket takes. What it encodes in one step comes on top.
pub(crate) const PORTION_BYTES: usize = 64 * 1024;

/// Why a reply cannot be continued. What was sent of it cannot be taken back.
pub type Broken = Box<dyn Error>;

/// Where a coroutine encodes.
pub struct Outlet {
    portion: Rc<RefCell<ReplyBuf>>,
}

impl Outlet {
    /// Takes what is encoded and not taken, to go on with it.
    pub(crate) fn take(&self) -> ReplyBuf {
        take(&self.portion)
    }

    /// Puts it back.
    pub(crate) fn put(&self, portion: ReplyBuf) {
        self.portion.replace(portion);
    }

    /// Waits until what is encoded is less than a portion.
    pub(crate) async fn room(&self) {
        // whoever takes the portion polls the coroutine afterwards: nobody need be woken
        poll_fn(|_| {
            if self.portion.borrow().memory_bytes() < PORTION_BYTES {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

/// A coroutine that encodes.
type Encoding = Pin<Box<dyn Future<Output = Result<(), Broken>>>>;

/// The rest of a reply.
pub struct Portions {
    portion: Rc<RefCell<ReplyBuf>>,
    /// Goes on encoding; nothing once it has ended.
    rest: Option<Encoding>,
}

impl Portions {
    /// A reply that `make` encodes.
    pub(crate) fn new<F>(protocol: Protocol, make: impl FnOnce(Outlet) -> F) -> Self
    where
        F: Future<Output = Result<(), Broken>> + 'static,
    {
        let portion = Rc::new(RefCell::new(ReplyBuf::new(protocol)));
        let outlet = Outlet {
            portion: Rc::clone(&portion),
        };
        Self {
            portion,
            rest: Some(Box::pin(make(outlet))),
        }
    }

    /// The next portion; nothing in the end.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<ReplyBuf>, Broken>> {
        if let Some(rest) = &mut self.rest {
            match rest.as_mut().poll(context) {
                Poll::Ready(outcome) => {
                    self.rest = None;
                    outcome?;
                }
                Poll::Pending if self.portion.borrow().memory_bytes() < PORTION_BYTES => {
                    return Poll::Pending;
                }
                Poll::Pending => {}
            }
        }
        let portion = take(&self.portion);
        Poll::Ready(Ok((!portion.is_empty()).then_some(portion)))
    }
}

fn take(portion: &RefCell<ReplyBuf>) -> ReplyBuf {
    let protocol = portion.borrow().protocol();
    portion.replace(ReplyBuf::new(protocol))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(outlet: &Outlet, bytes: usize) {
        let mut portion = outlet.take();
        portion.raw(&vec![b'x'; bytes]);
        outlet.put(portion);
    }

    async fn next(portions: &mut Portions) -> Result<Option<ReplyBuf>, Broken> {
        poll_fn(|context| portions.poll_next(context)).await
    }

    #[tokio::test]
    async fn no_more_than_a_portion_and_a_step_is_encoded_ahead() {
        const STEP: usize = 1000;
        let encoded = Rc::new(RefCell::new(0));
        let count = Rc::clone(&encoded);
        let mut portions = Portions::new(Protocol::Resp2, |outlet| async move {
            for _ in 0..PORTION_BYTES {
                add(&outlet, STEP);
                *count.borrow_mut() += STEP;
                tokio::task::yield_now().await;
                outlet.room().await;
            }
            Ok(())
        });
        let mut taken = 0;
        while let Some(portion) = next(&mut portions).await.unwrap() {
            taken += portion.bytes().len();
            assert!(portion.bytes().len() < PORTION_BYTES + STEP);
            assert_eq!(*encoded.borrow(), taken);
        }
        assert_eq!(taken, PORTION_BYTES * STEP);
    }

    #[tokio::test]
    async fn what_breaks_off_is_told_in_its_turn() {
        let mut portions = Portions::new(Protocol::Resp3, |outlet| async move {
            add(&outlet, PORTION_BYTES);
            outlet.room().await;
            Err("broken".into())
        });
        assert!(next(&mut portions).await.unwrap().is_some());
        assert!(next(&mut portions).await.is_err());
        assert!(next(&mut portions).await.unwrap().is_none());
    }
}
