//! What the change of a key sets off: the chances of clients that waited for it, and those that
//! these open for others.
//!
//! Owns who waits for whom. A chance never waits for a ripple, so no circle of waiting can close.

use std::cell::RefCell;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::mpsc;

/// Ripples that a thread keeps for whoever asks what it has begun: as many as an ordinary
/// transaction changes keys. Beyond them the changes that nobody waits for are the background's.
const BEGUN_COUNT_MAX: usize = 256;

/// A chance's share in the ripple that it belongs to; the ripple ends with its last share.
#[derive(Debug, Clone)]
pub(super) struct Share(#[expect(dead_code, reason = "what counts is that it is held")] Sender);

type Sender = mpsc::Sender<Infallible>;

/// The chances that one change set off.
#[derive(Debug)]
pub(crate) struct Ripple(mpsc::Receiver<Infallible>);

impl Ripple {
    /// Ready when all of its chances are over.
    pub(crate) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll_recv(context).map(drop)
    }
}

/// The chance that a thread acts for.
#[derive(Debug, Clone)]
struct Cause {
    queue: usize,
    share: Share,
}

thread_local! {
    /// Set while a client that has a chance is driven.
    static CAUSE: RefCell<Option<Cause>> = const { RefCell::new(None) };
    /// What this thread's changes set off and nobody has asked for.
    static BEGUN: RefCell<Vec<Ripple>> = const { RefCell::new(Vec::new()) };
}

/// A share for the chance that a change on this thread opens: in the ripple that the change
/// belongs to, or in a new one.
pub(super) fn begin() -> Share {
    if let Some(share) = CAUSE.with_borrow(|cause| cause.as_ref().map(|cause| cause.share.clone()))
    {
        return share;
    }
    // nothing is ever sent: the channel tells when its last sender is gone
    let (sender, receiver) = mpsc::channel(1);
    BEGUN.with_borrow_mut(|begun| {
        if begun.len() < BEGUN_COUNT_MAX {
            begun.push(Ripple(receiver));
        }
    });
    Share(sender)
}

/// Whether this thread acts for a chance of this queue.
pub(super) fn is_caused_by(queue: usize) -> bool {
    CAUSE.with_borrow(|cause| cause.as_ref().is_some_and(|cause| cause.queue == queue))
}

/// Whether changes on this thread have set something off.
pub(crate) fn has_begun() -> bool {
    BEGUN.with_borrow(|begun| !begun.is_empty())
}

/// Takes what changes on this thread have set off.
pub(crate) fn take_begun() -> Vec<Ripple> {
    BEGUN.take()
}

/// A future that acts for a chance.
pub(super) struct Acting<F> {
    future: Pin<Box<F>>,
    cause: Cause,
}

impl<F> Acting<F> {
    /// Acts for a chance of the queue with this number.
    pub(super) fn new(queue: usize, share: Share, future: F) -> Self {
        Self {
            future: Box::pin(future),
            cause: Cause { queue, share },
        }
    }
}

impl<F: Future> Future for Acting<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let acting = self.get_mut();
        let before = CAUSE.replace(Some(acting.cause.clone()));
        let outcome = acting.future.as_mut().poll(context);
        CAUSE.set(before);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::Waker;

    fn is_over(ripple: &mut Ripple) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        ripple.poll_end(&mut context).is_ready()
    }

    #[test]
    fn a_ripple_ends_with_the_last_turn_that_it_set_off() {
        let first = begin();
        assert!(has_begun());
        let mut ripple = take_begun().pop().unwrap();
        assert!(!has_begun() && !is_over(&mut ripple));
        let acting = Acting::new(7, first.clone(), async {
            assert!(is_caused_by(7) && !is_caused_by(8));
            begin()
        });
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(second) = pin!(acting).poll(&mut context) else {
            panic!("it does not wait")
        };
        assert!(!is_caused_by(7) && !has_begun());
        drop(first);
        assert!(!is_over(&mut ripple));
        drop(second);
        assert!(is_over(&mut ripple));
    }

    #[test]
    fn what_nobody_asks_for_is_bounded() {
        let shares: Vec<Share> = (0..2 * BEGUN_COUNT_MAX).map(|_| begin()).collect();
        assert_eq!(take_begun().len(), BEGUN_COUNT_MAX);
        drop(shares);
    }
}
