//! EXEC: runs the queued commands by their own handlers, on a store that shows what they wrote, and
//! commits that as one batch.
//!
//! A command may want a key that was not foreseen and that somebody else holds. Then all locks are
//! let go, and the commands run again with that key's lock taken in its turn. Nothing was
//! published by then; what is no matter of the store does not happen twice. Every repetition knows
//! one key more, so they end. They run again, too, where somebody else flushed or exchanged a
//! database meanwhile.
//!
//! Owns the order of commands, and that none of them holds the worker for long.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use cellar_storage::{Conflict, Db, Handle, StoreError};

use super::Effects;
use super::keys::keys_of;
use super::kinds::{is_flush, is_late, is_repeated};
use super::queue::{Queue, Queued};
use super::start::Start;
use super::turn::Turn;
use super::watches::Watches;
use crate::account::Ran;
use crate::client::{ClientFlag, Event};
use crate::command::{Attempt, CommandError, Cx, Flag, Handler, Pending};
use crate::commands::tracking;
use crate::resp::ReplyBuf;
use crate::session::{ReplyMode, Session};

/// Reads of one transaction that wait for the device at the same time: as many as of a pipeline.
const IN_FLIGHT_COUNT_MAX: usize = 32;

/// Runs a transaction: nothing where a watch is broken. After an error none of it has happened.
pub(crate) async fn run(
    cx: &Cx,
    queue: &Queue,
    watches: &Watches,
) -> Result<Option<ReplyBuf>, CommandError> {
    let mut run = Run::new(cx, queue.commands());
    let Some(store) = cx.store.attached() else {
        // only commands that do without the store were queued
        run.attempt(&cx.within(cx.store.clone(), &run.effects), || false)
            .await;
        return Ok(Some(run.finish().await));
    };
    if cx.session.client().flags().has(ClientFlag::WatchBroken) {
        return Ok(None);
    }
    let mut keys = keys_of(queue.commands(), cx.db());
    keys.extend(watches.keys());
    let mut transaction = store.begin(&keys).await;
    loop {
        let handle = transaction.handle();
        if !run.is_published() && is_broken(cx, watches, &handle).await? {
            return Ok(None);
        }
        let inner = cx.within(handle.into(), &run.effects);
        run.attempt(&inner, || transaction.conflict().is_some())
            .await;
        if let Some(error) = run.failure.take() {
            return Err(error.into());
        }
        let conflict = match transaction.conflict() {
            Some(conflict) => {
                drop(transaction);
                conflict
            }
            None => match transaction.commit().await {
                Ok(_) => break,
                Err(StoreError::Conflict) => Conflict::default(),
                Err(error) => return Err(error.into()),
            },
        };
        run.rewind();
        transaction = store.begin_again(&keys, conflict).await;
    }
    run.tell_events().await;
    run.run_late().await;
    Ok(Some(run.finish().await))
}

async fn is_broken(cx: &Cx, watches: &Watches, store: &Handle) -> Result<bool, CommandError> {
    let flags = cx.session.client().flags();
    Ok(flags.has(ClientFlag::WatchBroken) || watches.has_changed(store).await?)
}

/// One command of the transaction.
#[derive(Default)]
struct Slot {
    /// What it answered, if it ran.
    reply: Option<ReplyBuf>,
    /// Whether its account is settled: a repetition is not counted.
    is_settled: bool,
}

/// A read that has looked up all it needs and waits for the device.
struct InFlight {
    index: usize,
    future: Pending,
    started_us: u64,
    db: Db,
    is_answered: bool,
}

struct Run<'a> {
    cx: &'a Cx,
    commands: &'a [Queued],
    slots: Vec<Slot>,
    in_flight: VecDeque<InFlight>,
    effects: Rc<Effects>,
    /// What stands before it is published: it does not run again.
    start: Start,
    turn: Turn,
    /// The reply without its elements.
    head: ReplyBuf,
    reply_bytes: usize,
    /// Why it cannot be committed, if that is known.
    failure: Option<StoreError>,
}

impl<'a> Run<'a> {
    fn new(cx: &'a Cx, commands: &'a [Queued]) -> Self {
        let mut head = cx.reply();
        if is_answered(&cx.session) {
            head.array(commands.len());
        }
        Self {
            cx,
            commands,
            slots: commands.iter().map(|_| Slot::default()).collect(),
            in_flight: VecDeque::new(),
            effects: Rc::default(),
            start: Start::at(0, &cx.session),
            turn: Turn::new(&cx.shared.clock),
            head,
            reply_bytes: 0,
            failure: None,
        }
    }

    /// Whether some of it is published.
    fn is_published(&self) -> bool {
        self.start.index > 0
    }

    /// Runs what has not run yet, up to the end or to a conflict.
    async fn attempt(&mut self, cx: &Cx, is_in_conflict: impl Fn() -> bool) {
        let mut cx = cx.clone();
        self.turn.begin();
        for index in self.start.index..self.commands.len() {
            let entry = self.commands[index].entry;
            if self.slots[index].reply.is_some() || is_late(entry) {
                continue;
            }
            if !entry.spec.flags.has(Flag::Readonly) {
                // what is read page by page is read as it was before
                self.land().await;
            }
            let is_done = self.run_command(&mut cx, index).await;
            if is_in_conflict() {
                self.slots[index].reply = None;
                return;
            }
            if self.failure.is_some() {
                return;
            }
            if is_flush(entry) && is_done {
                self.tell_events().await;
                self.start = Start::at(index + 1, &self.cx.session);
            }
        }
        self.land().await;
    }

    /// Runs one command to its end, or to where the commands behind it may run; false where it
    /// failed.
    async fn run_command(&mut self, cx: &mut Cx, index: usize) -> bool {
        cx.next_command();
        self.effects.take_linearized();
        if cx.session.is_tracking() {
            let Queued { entry, args } = &self.commands[index];
            tracking::remember(cx, entry, args);
        }
        let is_answered = is_answered(&self.cx.session);
        let started_us = self.turn.now_us();
        let mut future = match begin(cx, &self.commands[index]) {
            Begun::Ended(outcome) => {
                let terms = (started_us, cx.db(), is_answered);
                return self.end(index, outcome, terms).await;
            }
            Begun::Waits(future) => future,
        };
        let effects = &self.effects;
        let progress = poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending if effects.take_linearized() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        if let Some(outcome) = progress.await {
            let terms = (started_us, cx.db(), is_answered);
            return self.end(index, outcome, terms).await;
        }
        self.in_flight.push_back(InFlight {
            index,
            future,
            started_us,
            db: cx.db(),
            is_answered,
        });
        if self.in_flight.len() == IN_FLIGHT_COUNT_MAX {
            self.land_oldest().await;
        }
        true
    }

    /// Sees all reads in flight to their ends.
    async fn land(&mut self) {
        while !self.in_flight.is_empty() {
            self.land_oldest().await;
        }
    }

    async fn land_oldest(&mut self) {
        if let Some(read) = self.in_flight.pop_front() {
            let outcome = read.future.await;
            let terms = (read.started_us, read.db, read.is_answered);
            self.end(read.index, outcome, terms).await;
        }
    }

    /// Keeps what a command came to, and settles its account; false where it failed.
    async fn end(
        &mut self,
        index: usize,
        outcome: Result<ReplyBuf, CommandError>,
        (started_us, db, is_answered): (u64, Db, bool),
    ) -> bool {
        let mut outcome = outcome;
        if let Ok(reply) = &mut outcome
            && !reply.is_pinned()
        {
            // before a later command writes the key
            outcome = match reply.pin_values().await {
                Ok(()) => outcome,
                Err(error) => Err(error.into()),
            };
        }
        if let Err(CommandError::Store(error @ StoreError::BatchTooLong { .. })) = &outcome {
            self.failure = Some(error.clone());
        }
        let error = outcome.as_ref().err().map(ToString::to_string);
        let mut reply = outcome.unwrap_or_else(|_| self.cx.reply());
        if let Some(text) = &error {
            reply.error(text);
        }
        self.turn.look();
        if !self.slots[index].is_settled {
            self.slots[index].is_settled = true;
            let Queued { entry, args } = &self.commands[index];
            let ran = Ran { entry, args, db };
            let us = self.turn.now_us().saturating_sub(started_us);
            ran.settle(self.cx, us, error.as_deref());
        }
        self.keep(index, reply, is_answered);
        self.turn.give_way().await;
        error.is_none()
    }

    /// Keeps a reply, unless CLIENT REPLY does not want it or the client has too many.
    fn keep(&mut self, index: usize, mut reply: ReplyBuf, is_answered: bool) {
        // CLIENT REPLY ON answers, whatever was before, and so does a change of subscriptions
        let is_switched_on = self.commands[index].entry.full_name == "client|reply"
            && self.cx.session.reply_mode() == ReplyMode::On;
        let has_pushed = self.take_pushed(&mut reply);
        let is_wanted = is_answered || is_switched_on || has_pushed;
        self.reply_bytes += reply.memory_bytes();
        let client = self.cx.session.client();
        let limit = self.cx.shared.config.fast.output_limit();
        let is_too_much =
            !limit.is_none() && client.exceeds(self.reply_bytes as u64, limit, self.turn.now_us());
        if is_too_much {
            // as in Redis the transaction goes on and its client will not hear of it
            client.kill();
        }
        if !is_wanted || is_too_much {
            reply.clear();
        }
        self.slots[index].reply = Some(reply);
    }

    /// Takes what a command answered by messages; true where it did.
    fn take_pushed(&self, reply: &mut ReplyBuf) -> bool {
        let session = &self.cx.session;
        let has_pushed = session.take_has_pushed();
        if has_pushed {
            session.client().signal().take(Event::Inbox);
            for message in session.client().receive(usize::MAX) {
                reply.message(&message);
            }
        }
        has_pushed
    }

    /// Prepares for a repetition: what is published stays, and so does what is not the store's.
    fn rewind(&mut self) {
        self.in_flight.clear();
        self.effects.clear();
        self.start.restore(&self.cx.session);
        for (slot, command) in self
            .slots
            .iter_mut()
            .zip(self.commands)
            .skip(self.start.index)
        {
            if is_repeated(command.entry) {
                slot.reply = None;
            }
        }
    }

    /// Tells of what is published.
    async fn tell_events(&mut self) {
        for line in self.effects.take_lines() {
            self.cx.show_line(line);
        }
        for held in self.effects.events.take() {
            self.cx.notify(held.class, held.event, held.db, &held.key);
            self.turn.look();
            self.turn.give_way().await;
        }
        for posted in self.effects.take_posted() {
            self.cx.post(posted);
        }
    }

    /// Runs the commands that tell others what they may want to look at now.
    async fn run_late(&mut self) {
        let mut cx = self.cx.within(self.cx.store.clone(), &self.effects);
        for index in 0..self.commands.len() {
            if is_late(self.commands[index].entry) {
                self.run_command(&mut cx, index).await;
            }
        }
        self.land().await;
    }

    /// Puts the whole reply together.
    async fn finish(mut self) -> ReplyBuf {
        let mut whole = self.head;
        for reply in self.slots.into_iter().filter_map(|slot| slot.reply) {
            whole.append(reply);
            self.turn.look();
            self.turn.give_way().await;
        }
        whole
    }
}

/// How far a command came without waiting.
enum Begun {
    Ended(Result<ReplyBuf, CommandError>),
    Waits(Pending),
}

fn begin(cx: &Cx, Queued { entry, args }: &Queued) -> Begun {
    let mut reply = cx.reply();
    let attempt = match entry.spec.handler {
        Handler::Now(run) => run(cx, args, &mut reply).map(|()| Attempt::Done),
        Handler::Try(run, _) => run(cx, args, &mut reply),
        Handler::Wait(_) => Ok(Attempt::Wait),
        Handler::Subcommands => unreachable!("resolve leads to a subcommand"),
    };
    match attempt {
        Ok(Attempt::Done) => Begun::Ended(Ok(reply)),
        Ok(Attempt::Later(future)) => Begun::Waits(future),
        Ok(Attempt::Wait) => match entry.spec.handler {
            Handler::Try(_, run) | Handler::Wait(run) => {
                Begun::Waits(run(cx.clone(), args.clone()))
            }
            Handler::Now(_) | Handler::Subcommands => unreachable!("these never wait"),
        },
        Err(error) => Begun::Ended(Err(error)),
    }
}

fn is_answered(session: &Session) -> bool {
    matches!(session.reply_mode(), ReplyMode::On | ReplyMode::SkipNext)
}
