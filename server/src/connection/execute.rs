//! Runs one request: finds its command, asks whether it may run, runs it, and keeps the accounts.
//!
//! Owns the accounts of a command: statistics, slow log, latency history, MONITOR, and what must
//! be durable before its reply.

use std::task::{Context, Poll};

use cellar_storage::Lsn;

use super::{Closed, Connection};
use crate::command::{
    Attempt, CommandEntry, CommandError, Flag, Handler, Pending, admit, required_lsn, resolve,
    visible_arguments,
};
use crate::latency::Sample;
use crate::monitor;
use crate::resp::{Args, ReplyBuf, ReplyMark};
use crate::session::ReplyMode;
use crate::slowlog::{SlowEntry, cut_arguments};
use crate::stats::Metric;

/// A command that waits, with what its account needs.
pub(super) struct Running {
    /// Its code.
    pub(super) future: Pending,
    /// What it is.
    pub(super) account: Account,
    /// Its arguments.
    pub(super) args: Args,
}

impl Running {
    /// Drives it; a large value in its reply lets go of its key's lock before it counts as ended.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Outcome> {
        loop {
            match self.future.as_mut().poll(context) {
                Poll::Ready(Ok(mut reply)) if !reply.is_pinned() => {
                    self.future = Box::pin(async move {
                        reply.pin_values().await?;
                        Ok(reply)
                    });
                }
                outcome => return outcome,
            }
        }
    }
}

/// What a command came to.
pub(super) type Outcome = Result<ReplyBuf, CommandError>;

/// How far a request came without waiting.
#[expect(
    clippy::large_enum_variant,
    reason = "moved once; a box would be an allocation more"
)]
enum Ran {
    /// It is answered; where its reply begins.
    Done(ReplyMark),
    /// This is left of it.
    Waits(Running),
}

/// What is known of a command from its start.
#[derive(Clone, Copy)]
pub(super) struct Account {
    pub(super) entry: &'static CommandEntry,
    pub(super) started_us: u64,
    pub(super) is_answered: bool,
}

impl Connection {
    /// Runs the request in `args`.
    pub(super) async fn execute(&mut self) -> Result<(), Closed> {
        let Some(entry) = self.choose() else {
            return Ok(());
        };
        let flags = entry.spec.flags;
        let is_write = flags.has(Flag::Write) || flags.has(Flag::MayReplicate);
        if self.cx.shared.pause.may_hold(is_write) {
            self.wait_for_pause_end(is_write).await?;
        }
        let account = self.open_account(entry);
        match self.run_now(account) {
            Ran::Done(mark) => {
                self.pin_values(mark).await;
                Ok(())
            }
            Ran::Waits(running) => self.drive(running).await,
        }
    }

    /// Lets large values of the reply that was just encoded go of their keys' locks.
    async fn pin_values(&mut self, mark: ReplyMark) {
        let reply = &mut self.replies.tail_batch().reply;
        if reply.is_pinned() {
            return;
        }
        if let Err(error) = reply.pin_values().await {
            let text = CommandError::from(error).to_string();
            reply.truncate(mark);
            reply.error(&text);
            self.count_error(&text);
        }
    }

    /// The command that the request in `args` names, if it may run; else the request is answered
    /// with the reason.
    fn choose(&mut self) -> Option<&'static CommandEntry> {
        let entry = match resolve(&self.args) {
            Ok(entry) => entry,
            Err(error) => {
                self.reject(None, &error);
                return None;
            }
        };
        if let Err(error) = admit(&self.cx, entry, &self.args) {
            self.reject(Some(entry), &error);
            return None;
        }
        Some(entry)
    }

    fn open_account(&mut self, entry: &'static CommandEntry) -> Account {
        self.cx.next_command();
        self.client.note_command(entry, self.now_us);
        if self.cx.shared.monitors.is_any() {
            self.tell_monitors(entry);
        }
        let mode = self.cx.session.reply_mode();
        let is_answered = matches!(mode, ReplyMode::On | ReplyMode::SkipNext);
        Account {
            entry,
            started_us: self.now_us,
            is_answered,
        }
    }

    /// Runs the request as far as it goes without waiting.
    fn run_now(&mut self, account: Account) -> Ran {
        let reply = self.replies.tail(self.cx.session.protocol());
        let mark = reply.mark();
        let outcome = match account.entry.spec.handler {
            Handler::Now(run) => run(&self.cx, &self.args, reply).map(|()| Attempt::Done),
            Handler::Try(run, _) => run(&self.cx, &self.args, reply),
            Handler::Wait(_) => Ok(Attempt::Wait),
            Handler::Subcommands => unreachable!("resolve leads to a subcommand"),
        };
        let error = match outcome {
            Ok(Attempt::Done) => None,
            Ok(Attempt::Later(future)) => {
                let args = std::mem::take(&mut self.args);
                return Ran::Waits(Running {
                    future,
                    account,
                    args,
                });
            }
            Ok(Attempt::Wait) => return Ran::Waits(self.start(account)),
            Err(error) => {
                let text = error.to_string();
                reply.truncate(mark);
                reply.error(&text);
                Some(text)
            }
        };
        let is_answered = self.settle_reply_mode(account.is_answered);
        let lsn = self.required_lsn(account.entry, &self.args);
        let batch = self.replies.tail_batch();
        if !is_answered {
            batch.reply.truncate(mark);
        }
        batch.count += usize::from(is_answered);
        batch.require(lsn);
        self.now_us = self.cx.shared.clock.monotonic_us();
        self.settle_account(account, error.as_deref());
        Ran::Done(mark)
    }

    /// Answers a request that is not run.
    fn reject(&mut self, entry: Option<&CommandEntry>, error: &CommandError) {
        let text = error.to_string();
        if let Some(entry) = entry {
            self.worker.stats.command(entry.id).rejected.add(1);
        }
        self.count_error(&text);
        if self.settle_reply_mode(self.cx.session.reply_mode() == ReplyMode::On) {
            let batch = self.replies.tail_batch();
            batch.reply.error(&text);
            batch.count += 1;
        }
    }

    /// Ends the effect of CLIENT REPLY SKIP and OFF on the present command; returns whether it is
    /// answered after all.
    pub(super) fn settle_reply_mode(&self, was_answered: bool) -> bool {
        let session = &self.cx.session;
        match session.reply_mode() {
            // CLIENT REPLY ON answers, whatever was before
            ReplyMode::On => true,
            ReplyMode::Off => false,
            ReplyMode::SkipNext => {
                session.set_reply_mode(ReplyMode::Skip);
                was_answered
            }
            ReplyMode::Skip => {
                session.set_reply_mode(ReplyMode::On);
                false
            }
        }
    }

    /// Where the log must be durable up to before the command's reply goes out.
    pub(super) fn required_lsn(&self, entry: &CommandEntry, args: &Args) -> Option<Lsn> {
        if !self.cx.shared.config.fast.is_always_durable() {
            return None;
        }
        required_lsn(&self.cx, entry, args)
    }

    /// Counts an error reply.
    pub(super) fn count_error(&self, text: &str) {
        self.worker.stats.add(Metric::ErrorReplies, 1);
        self.cx.shared.errors.add(text);
    }

    /// Counts a command that ended at `now_us`.
    pub(super) fn settle_account(&mut self, account: Account, error: Option<&str>) {
        let Account {
            entry, started_us, ..
        } = account;
        let us = self.now_us.saturating_sub(started_us);
        self.worker.stats.add(Metric::Commands, 1);
        let stats = self.worker.stats.command(entry.id);
        stats.record(us);
        if let Some(text) = error {
            stats.failed.add(1);
            self.count_error(text);
        }
        let fast = &self.cx.shared.config.fast;
        if fast.is_slow(us) && !entry.spec.flags.has(Flag::SkipSlowlog) {
            self.note_slow(entry, us);
        }
        if fast.is_latency_event(us) {
            let is_fast = entry.spec.flags.has(Flag::Fast);
            let event = if is_fast { "fast-command" } else { "command" };
            let unix_seconds = self.cx.shared.clock.unix_ms() / 1000;
            let sample = Sample {
                unix_seconds,
                ms: us / 1000,
            };
            self.cx.shared.latency.lock().add(event, sample);
        }
    }

    fn note_slow(&self, entry: &CommandEntry, us: u64) {
        let shared = &self.cx.shared;
        let count_max = shared
            .config
            .read(|config| config.monitoring.slowlog_max_len.get());
        let slow = SlowEntry {
            id: 0,
            unix_seconds: shared.clock.unix_ms() / 1000,
            us,
            args: cut_arguments(&visible_arguments(entry, &self.args)),
            peer: self.client.address().peer.clone(),
            client_name: self.client.labels().name,
        };
        shared
            .slowlog
            .lock()
            .push(slow, count_max.unsigned_abs() as usize);
    }

    fn tell_monitors(&self, entry: &CommandEntry) {
        let flags = entry.spec.flags;
        if flags.has(Flag::SkipMonitor) || flags.has(Flag::Admin) {
            return;
        }
        let shared = &self.cx.shared;
        let unix_us = shared.clock.unix_ms() * 1000;
        let args = visible_arguments(entry, &self.args);
        let line = monitor::line(unix_us, self.cx.db(), self.client.address(), &args);
        shared
            .monitors
            .send(&line, shared.config.fast.inbox_limit(), self.now_us);
    }
}
