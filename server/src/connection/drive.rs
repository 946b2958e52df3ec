//! Commands that wait: those that have looked up all they need run beside the commands behind
//! them, the others are driven to their end first.
//!
//! Owns that choice.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::execute::Running;
use super::replies::Ended;
use super::{Closed, Connection};
use crate::client::{ClientFlag, Event};
use crate::resp::ReplyBuf;

/// How far a command came.
enum Progress {
    /// It has ended.
    Ended,
    /// It waits for the device, and its place in the order of all commands is fixed.
    Linearized,
}

impl Connection {
    /// Drives a command until it ends or its place in the order of all commands is fixed; in the
    /// latter case the commands behind it may start.
    pub(super) async fn drive(&mut self, mut running: Running) -> Result<(), Closed> {
        let mut outcome = None;
        let progress = poll_fn(|context| {
            self.client.signal().register(context.waker());
            if let Poll::Ready(ended) = running.poll(context) {
                outcome = Some(ended);
                return Poll::Ready(Ok(Progress::Ended));
            }
            if self.cx.is_linearized() {
                return Poll::Ready(Ok(Progress::Linearized));
            }
            // only a command that waits for an event is broken off: another one is about to end
            if self.client.flags().has(ClientFlag::Unblockable) {
                self.poll_blocked(context)?;
            }
            // what was answered before goes out meanwhile
            self.write_on(context)?;
            // what is in flight may hold the lock that this command waits for
            self.replies.poll_all(context);
            self.cx.store.end_of_turn();
            self.poll_started_us = None;
            Poll::Pending
        })
        .await?;
        match (progress, outcome) {
            (Progress::Ended, Some(outcome)) => {
                self.now_us = self.cx.shared.clock.monotonic_us();
                self.finish(Ended { running, outcome }, false);
            }
            (Progress::Ended, None) => unreachable!("the outcome was stored"),
            (Progress::Linearized, _) => {
                let lsn = self.required_lsn(running.account.entry, &running.args);
                self.replies.push(running);
                self.replies.tail_batch().require(lsn);
                self.measure();
            }
        }
        Ok(())
    }

    /// Looks after a client whose command waits for an event: whether it is still wanted, and still
    /// there.
    fn poll_blocked(&mut self, context: &mut Context<'_>) -> Result<(), Closed> {
        let signal = self.client.signal();
        if signal.has(Event::Kill) {
            return Err(Closed::Killed);
        }
        if signal.has(Event::Stop) {
            return Err(Closed::Stopping);
        }
        self.prepare_input();
        while let Poll::Ready(read) = self.socket.poll_read(context, &mut self.input) {
            match read {
                Ok(0) | Err(_) => return Err(Closed::ByClient),
                Ok(byte_count) => self.note_input(byte_count)?,
            }
            self.prepare_input();
        }
        self.send_inbox();
        Ok(())
    }

    /// Sends messages to a client whose command waits for an event, once it has all its replies.
    fn send_inbox(&mut self) {
        let signal = self.client.signal();
        if self.is_settled() && signal.take(Event::Inbox) {
            let mut reply = ReplyBuf::new(self.cx.session.protocol());
            for message in self.client.receive(usize::MAX) {
                reply.message(&message);
            }
            self.outgoing.load(reply);
        }
    }

    /// Encodes the reply of a command that ended, and settles its account. `is_oldest` says that
    /// it was in flight, so that its reply goes before everything that is queued.
    pub(super) fn finish(&mut self, ended: Ended, is_oldest: bool) {
        let Ended {
            running: Running { account, args, .. },
            outcome,
        } = ended;
        // only a command that was driven to its end can have changed the session
        let is_answered = if is_oldest {
            account.is_answered
        } else {
            self.settle_reply_mode(account.is_answered)
        };
        let lsn = if is_oldest {
            None
        } else {
            self.required_lsn(account.entry, &args)
        };
        let protocol = self.cx.session.protocol();
        let batch = if is_oldest {
            &mut self.replies.ready
        } else {
            self.replies.tail_batch()
        };
        batch.reply.set_protocol(protocol);
        batch.require(lsn);
        let error = outcome.as_ref().err().map(ToString::to_string);
        if is_answered {
            batch.count += 1;
            match (outcome, &error) {
                (Ok(reply), _) => batch.reply.append(reply),
                (Err(_), Some(text)) => batch.reply.error(text),
                (Err(_), None) => unreachable!("every error has a text"),
            }
        }
        self.args = args;
        self.settle_waited(account, error.as_deref());
        self.args.clear();
        if is_oldest {
            self.replies.advance();
        }
    }

    /// Waits until CLIENT PAUSE lets the present command run.
    pub(super) async fn wait_for_pause_end(&mut self, is_write: bool) -> Result<(), Closed> {
        // what was answered before must not wait for the pause
        self.flush().await?;
        self.client.flags().set(ClientFlag::Blocked, true);
        let shared = Arc::clone(&self.cx.shared);
        let mut wait = std::pin::pin!(shared.pause.wait(is_write, &*shared.clock));
        let outcome = poll_fn(|context| {
            let signal = self.client.signal();
            signal.register(context.waker());
            if signal.has(Event::Kill) {
                return Poll::Ready(Err(Closed::Killed));
            }
            if signal.has(Event::Stop) {
                return Poll::Ready(Err(Closed::Stopping));
            }
            if wait.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            self.replies.poll_all(context);
            self.write_on(context)?;
            Poll::Pending
        })
        .await;
        self.client.flags().set(ClientFlag::Blocked, false);
        self.now_us = self.cx.shared.clock.monotonic_us();
        outcome
    }
}
