//! Runs one request: finds its command, asks whether it may run, and runs it as far as it goes
//! without waiting.
//!
//! Owns what is left of a command that waits. Its accounts are in `accounts`.

use std::task::{Context, Poll};

use cellar_storage::Lsn;

use super::accounts::Account;
use super::{Closed, Connection};
use crate::command::{
    Attempt, CommandEntry, CommandError, Flag, Handler, Pending, admit, is_exec, is_never_queued,
    required_lsn, resolve,
};
use crate::commands::{tracking, transactions};
use crate::resp::{Args, ReplyBuf, ReplyMark};
use crate::scripting::flags_of;
use crate::session::ReplyMode;
use crate::tracking::actor;

/// A command that waits, with what its account needs.
pub(super) struct Running {
    /// Its code.
    pub(super) future: Pending,
    /// What it is.
    pub(super) account: Account,
    /// Its arguments.
    pub(super) args: Args,
    /// Whose doing its changes are.
    actor: Option<u64>,
}

impl Running {
    /// Drives it; a large value in its reply lets go of its key's lock before it counts as ended.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Outcome> {
        loop {
            match actor::during(self.actor, || self.future.as_mut().poll(context)) {
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

/// What a request waits for.
#[expect(
    clippy::large_enum_variant,
    reason = "moved once; a box would be an allocation more"
)]
pub(super) enum Step {
    /// The end of CLIENT PAUSE; then the command runs.
    Unpause(&'static CommandEntry),
    /// The pages of a value in the reply that begins here, to let go of its key's lock.
    Pin(ReplyMark),
    /// The command's own end.
    Drive(Running),
}

impl Connection {
    /// Runs the request in `args` as far as it goes without waiting: what it waits for, if
    /// anything.
    pub(super) fn execute(&mut self) -> Option<Step> {
        let entry = self.choose()?;
        if self.is_held(entry) {
            return Some(Step::Unpause(entry));
        }
        self.run_now(entry)
    }

    /// Sees a request to its end, or to where the commands behind it may start.
    pub(super) async fn go_on(&mut self, mut step: Step) -> Result<(), Closed> {
        loop {
            match step {
                Step::Unpause(entry) => {
                    self.wait_for_pause_end(self.is_write(entry)).await?;
                    match self.run_now(entry) {
                        Some(next) => step = next,
                        None => return Ok(()),
                    }
                }
                Step::Pin(mark) => {
                    self.pin_values(mark).await;
                    return Ok(());
                }
                Step::Drive(running) => return self.drive(running).await,
            }
        }
    }

    /// Lets large values of the reply that was just encoded go of their keys' locks.
    async fn pin_values(&mut self, mark: ReplyMark) {
        let reply = &mut self.replies.tail_batch().reply;
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

    /// Runs a command as far as it goes without waiting.
    fn run_now(&mut self, entry: &'static CommandEntry) -> Option<Step> {
        self.cx.next_command();
        self.client.note_command(entry, self.now_us);
        if self.cx.session.transaction().borrow().is_open() && !is_never_queued(entry) {
            self.queue(entry);
            return None;
        }
        let actor = self.actor(entry);
        if self.cx.session.is_tracking() {
            tracking::remember(&self.cx, entry, &self.args);
        }
        let session = &self.cx.session;
        let was_answered = matches!(session.reply_mode(), ReplyMode::On | ReplyMode::SkipNext);
        let batch = self.replies.tail_batch();
        let reply = &mut batch.reply;
        reply.set_protocol(session.protocol());
        let mark = reply.mark();
        let outcome = actor::during(actor, || match entry.spec.handler {
            Handler::Now(run) => run(&self.cx, &self.args, reply).map(|()| Attempt::Done),
            Handler::Try(run, _) => run(&self.cx, &self.args, reply),
            Handler::Wait(_) => Ok(Attempt::Wait),
            Handler::Subcommands => unreachable!("resolve leads to a subcommand"),
        });
        let error = match outcome {
            Ok(Attempt::Done) => None,
            Ok(Attempt::Later(future)) => {
                let account = self.open_account(entry, was_answered);
                let args = std::mem::take(&mut self.args);
                return Some(Step::Drive(Running {
                    future,
                    account,
                    args,
                    actor,
                }));
            }
            Ok(Attempt::Wait) => {
                let account = self.open_account(entry, was_answered);
                return Some(Step::Drive(self.start(account, actor)));
            }
            Err(error) => {
                let text = error.to_string();
                reply.truncate(mark);
                reply.error(&text);
                Some(text)
            }
        };
        if session.reply_mode() == ReplyMode::On && was_answered {
            batch.count += 1;
        } else {
            self.settle_silence(mark, was_answered);
        }
        if self.cx.shared.config.fast.is_always_durable() {
            let lsn = required_lsn(&self.cx, entry, &self.args);
            self.replies.tail_batch().require(lsn);
        }
        self.settle_now(entry, error.as_deref());
        let is_pinned = self.replies.tail_batch().reply.is_pinned();
        (!is_pinned).then_some(Step::Pin(mark))
    }

    /// Starts the waiting form of the request in `args`.
    fn start(&mut self, account: Account, actor: Option<u64>) -> Running {
        let run = match account.entry.spec.handler {
            Handler::Try(_, run) | Handler::Wait(run) => run,
            Handler::Now(_) | Handler::Subcommands => unreachable!("these never wait"),
        };
        let args = self.args.clone();
        let future = run(self.cx.clone(), std::mem::take(&mut self.args));
        Running {
            future,
            account,
            args,
            actor,
        }
    }

    /// Who is told to be the one who changes keys, if anybody asks: no one where the command only
    /// reads.
    fn actor(&self, entry: &CommandEntry) -> Option<u64> {
        let is_asked = self.cx.shared.tracking.is_any();
        let flags = entry.spec.flags;
        let may_write = flags.has(Flag::Write) || flags.has(Flag::MayReplicate) || is_exec(entry);
        (is_asked && may_write).then(|| self.client.id())
    }

    /// Answers a request that is not run. Of a transaction nothing will run then.
    fn reject(&mut self, entry: Option<&'static CommandEntry>, error: &CommandError) {
        let mut text = error.to_string();
        if let Some(entry) = entry {
            self.worker.stats.command(entry.id).rejected.add(1);
        }
        let transaction = self.cx.session.transaction();
        if let Some(entry) = entry.filter(|entry| is_exec(entry)) {
            text = transactions::abort(error).to_string();
            transaction.borrow_mut().close(&self.client);
            self.show(entry);
        } else {
            transaction.borrow_mut().flag();
        }
        self.count_error(&text);
        self.answer(|reply| reply.error(&text));
    }

    /// Keeps the request in `args` for EXEC.
    fn queue(&mut self, entry: &'static CommandEntry) {
        let mut transaction = self.cx.session.transaction().borrow_mut();
        let flags = flags_of(&self.cx.shared.scripts, entry, &self.args);
        transaction.push(entry, &self.args, flags, &self.client);
        drop(transaction);
        self.answer(|reply| reply.simple("QUEUED"));
    }

    /// Answers a request that was not run.
    fn answer(&mut self, encode: impl FnOnce(&mut ReplyBuf)) {
        if self.settle_reply_mode(self.cx.session.reply_mode() == ReplyMode::On) {
            let batch = self.replies.tail_batch();
            encode(&mut batch.reply);
            batch.count += 1;
        }
    }

    /// Whether the request in `args` has to wait for the end of CLIENT PAUSE.
    fn is_held(&self, entry: &CommandEntry) -> bool {
        let pause = &self.cx.shared.pause;
        pause.may_hold(true) && pause.may_hold(self.is_write(entry))
    }

    /// Whether the request in `args` writes, or EXEC will.
    fn is_write(&self, entry: &CommandEntry) -> bool {
        let flags = if is_exec(entry) {
            self.cx.session.transaction().borrow().flags()
        } else {
            flags_of(&self.cx.shared.scripts, entry, &self.args)
        };
        flags.has(Flag::Write) || flags.has(Flag::MayReplicate)
    }

    /// Takes a reply back that CLIENT REPLY does not want, unless the command changed its mind.
    fn settle_silence(&mut self, mark: ReplyMark, was_answered: bool) {
        let is_answered = self.settle_reply_mode(was_answered);
        let batch = self.replies.tail_batch();
        if is_answered {
            batch.count += 1;
        } else {
            batch.reply.truncate(mark);
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
}
