//! WAIT and WAITAOF: until writes are safe.
//!
//! Owns blocking with a time limit and CLIENT UNBLOCK. There are no replicas: none ever answers.

use std::future::{pending, poll_fn};
use std::task::Poll;

use super::client::parse_timeout;
use crate::client::{ClientFlag, Event};
use crate::command::{CommandError, Cx, Pending};
use crate::number::parse_i64;
use crate::resp::Args;

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waited {
    /// What was waited for came.
    Reached,
    /// The time was up.
    TimeUp,
}

/// `WAIT numreplicas timeout`
pub fn wait(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let replica_count = parse_i64(&args[1]).ok_or(CommandError::NotInteger)?;
        let timeout_ms = parse_timeout(&args[2])?;
        if replica_count > 0 {
            block(&cx, timeout_ms, pending()).await?;
        }
        let mut reply = cx.reply();
        reply.integer(0);
        Ok(reply)
    })
}

/// `WAITAOF numlocal numreplicas timeout`
pub fn waitaof(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let local_count = parse_i64(&args[1]).ok_or(CommandError::NotInteger)?;
        if !(0..=1).contains(&local_count) {
            return Err(CommandError::other(
                "ERR value is out of range, must be between 0 and 1",
            ));
        }
        let replica_count = parse_i64(&args[2])
            .filter(|count| *count >= 0)
            .ok_or_else(|| CommandError::other("ERR value is out of range, must be positive"))?;
        let timeout_ms = parse_timeout(&args[3])?;
        // every earlier write of this client lies below the log's present end
        let lsn = cx.store.published_lsn();
        if local_count > 0 {
            let store = cx.store.clone();
            let durable = async move {
                let outcome = store.wait_durable(lsn).await;
                outcome.map_err(|_| CommandError::UnknownOutcome)
            };
            block(&cx, timeout_ms, durable).await?;
        }
        if replica_count > 0 {
            block(&cx, timeout_ms, pending()).await?;
        }
        let mut reply = cx.reply();
        reply.array(2);
        reply.integer(i64::from(cx.store.durable_lsn() >= lsn));
        reply.integer(0);
        Ok(reply)
    })
}

/// Waits for `event`, at most `timeout_ms` milliseconds (0 for ever), or until CLIENT UNBLOCK.
async fn block(
    cx: &Cx,
    timeout_ms: u64,
    event: impl Future<Output = Result<(), CommandError>>,
) -> Result<Waited, CommandError> {
    let client = cx.session.client();
    // whoever unblocked the last command may have come too late for it
    client.signal().take(Event::UnblockError);
    client.signal().take(Event::UnblockTimeout);
    client.flags().set(ClientFlag::Blocked, true);
    client.flags().set(ClientFlag::Unblockable, true);
    let mut event = std::pin::pin!(event);
    let mut time_up =
        (timeout_ms > 0).then(|| cx.store.clock().sleep(timeout_ms.saturating_mul(1000)));
    let outcome = poll_fn(|context| {
        if let Poll::Ready(outcome) = event.as_mut().poll(context) {
            return Poll::Ready(outcome.map(|()| Waited::Reached));
        }
        // the connection has registered its waker with the signal
        if client.signal().take(Event::UnblockError) {
            let text = "UNBLOCKED client unblocked via CLIENT UNBLOCK";
            return Poll::Ready(Err(CommandError::other(text)));
        }
        let is_up = time_up
            .as_mut()
            .is_some_and(|sleep| sleep.as_mut().poll(context).is_ready());
        if is_up || client.signal().take(Event::UnblockTimeout) {
            return Poll::Ready(Ok(Waited::TimeUp));
        }
        Poll::Pending
    })
    .await;
    client.flags().set(ClientFlag::Blocked, false);
    client.flags().set(ClientFlag::Unblockable, false);
    outcome
}
