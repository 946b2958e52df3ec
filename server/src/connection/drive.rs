//! Commands that wait: those that have looked up all they need run beside the commands behind
//! them, the others are driven to their end first.
//!
//! Owns that choice.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::execute::{Outcome, Running};
use super::replies::Ended;
use super::{Closed, Connection};
use crate::client::{ClientFlag, Event};
use crate::command::is_exec;
use crate::resp::ReplyBuf;

/// How far a command came.
enum Progress {
    /// It has ended.
    Ended(Outcome),
    /// It waits for the device, and its place in the order of all commands is fixed.
    Linearized,
    /// It waits for an event, and there are older replies to be written.
    Owing,
}

impl Connection {
    /// Drives a command until it ends or its place in the order of all commands is fixed; in the
    /// latter case the commands behind it may start.
    pub(super) async fn drive(&mut self, mut running: Running) -> Result<(), Closed> {
        loop {
            match poll_fn(|context| self.poll_driven(&mut running, context)).await? {
                Progress::Ended(outcome) => {
                    self.now_us = self.cx.shared.clock.monotonic_us();
                    self.finish(Ended { running, outcome }, false);
                    return Ok(());
                }
                Progress::Linearized => {
                    let lsn = self.required_lsn(running.account.entry, &running.args);
                    self.replies.push(running);
                    self.replies.tail_batch().require(lsn);
                    self.measure();
                    return Ok(());
                }
                Progress::Owing => self.flush().await?,
            }
        }
    }

    fn poll_driven(
        &mut self,
        running: &mut Running,
        context: &mut Context<'_>,
    ) -> Poll<Result<Progress, Closed>> {
        self.client.signal().register(context.waker());
        // nothing is taken from a key for a client that is gone
        self.poll_blocked(context)?;
        let progress = running.poll(context);
        self.note_ripples();
        if let Poll::Ready(outcome) = progress {
            return Poll::Ready(Ok(Progress::Ended(outcome)));
        }
        if self.cx.is_linearized() {
            return Poll::Ready(Ok(Progress::Linearized));
        }
        self.poll_blocked(context)?;
        // what was answered before goes out meanwhile
        self.write_on(context)?;
        if self.is_blocked() && self.is_owing(context) {
            return Poll::Ready(Ok(Progress::Owing));
        }
        // what is in flight may hold the lock that this command waits for
        self.replies.poll_all(context);
        self.cx.store.end_of_turn();
        self.poll_started_us = None;
        Poll::Pending
    }

    /// Whether its command waits for an event: only then is it broken off, another one is about to
    /// end.
    fn is_blocked(&self) -> bool {
        self.client.flags().has(ClientFlag::Unblockable)
    }

    /// Whether there are replies that a client whose command may take for ever is to have at once.
    fn is_owing(&mut self, context: &mut Context<'_>) -> bool {
        self.poll_ended(context);
        self.outgoing.is_empty() && !self.replies.ready.reply.is_empty()
    }

    /// Looks after a client whose command waits for an event: whether it is still wanted, still
    /// there, and what others send to it.
    fn poll_blocked(&mut self, context: &mut Context<'_>) -> Result<(), Closed> {
        if !self.is_blocked() {
            return Ok(());
        }
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
            running: Running {
                mut account, args, ..
            },
            outcome,
        } = ended;
        if !is_oldest {
            account.started_us += self.cx.session.take_blocked_us();
        }
        // only a command that was driven to its end can have changed the session
        let mut is_answered = if is_oldest {
            account.is_answered
        } else {
            self.settle_reply_mode(account.is_answered)
        };
        if let Ok(reply) = &outcome
            && is_exec(account.entry)
        {
            // CLIENT REPLY inside has chosen what of its reply there is
            is_answered |= !reply.is_empty();
        }
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
