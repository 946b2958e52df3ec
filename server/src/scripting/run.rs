//! Runs a script as one transaction.
//!
//! Owns its repetition where a lock was missing, and what is told to others once it is committed.

use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::{Db, Handle, StoreError};

use super::ask::{Answer, Ask};
use super::call::{Caller, Conflicted};
use super::course::Stop;
use super::functions::{FunctionSpec, Library};
use super::interpreter::{Code, Failure, Script};
use super::pool::Interpreters;
use super::register::Entry;
use super::running::Running;
use super::sha1::Sha1;
use super::shebang::{self, ScriptFlags};
use super::stack::{Fiber, Progress};
use crate::command::{CommandError, Cx};
use crate::config::Threshold;
use crate::resp::{Args, ReplyBuf};
use crate::shared::Shared;
use crate::transaction::Effects;

/// Microseconds that a library may take to register its functions, as in Redis.
const LOAD_US_MAX: u64 = 500_000;

/// What a client wants to be run.
pub(crate) enum Subject {
    /// A script: its name and its whole text.
    Script(Sha1, Bytes),
    /// A function.
    Function(Arc<Library>, FunctionSpec),
}

/// A client's wish.
pub(crate) struct Request {
    /// What is to be run.
    pub(crate) subject: Subject,
    /// The command that it came with.
    pub(crate) command: Args,
    /// Its keys.
    pub(crate) keys: Vec<Bytes>,
    /// Its other arguments.
    pub(crate) arguments: Vec<Bytes>,
    /// Whether the command is one of those that do not write.
    pub(crate) is_readonly: bool,
}

/// What a run came to: the script's reply or error. Both are committed.
type Outcome = Result<ReplyBuf, Failure>;

/// Compiles a script, for the error.
pub(crate) async fn check(cx: &Cx, name: Sha1, text: &[u8]) -> Result<(), CommandError> {
    let (_, start) = shebang::parse(text)?;
    let interpreters = Interpreters::of_this_worker();
    let place = interpreters.enter(&cx.shared.clock).await?;
    let outcome = place.interpreter.compile(name, &text[start..]);
    place.leave();
    outcome.map(|_| ()).map_err(CommandError::other)
}

/// Runs a script: its reply.
pub(crate) async fn run(cx: &Cx, request: Request) -> Result<ReplyBuf, CommandError> {
    let run = Run::new(cx, request)?;
    let outcome = if cx.may_block() {
        run.as_transaction().await?
    } else {
        // within a transaction, which is repeated as a whole
        match run.once(cx).await? {
            (_, Some(Conflicted)) => return Err(StoreError::Conflict.into()),
            (caller, None) => caller,
        }
    };
    run.tell();
    outcome.map_err(|failure| {
        if failure.is_counted {
            cx.session.note_error_counted();
        }
        CommandError::other(failure.text)
    })
}

/// What an interpreter is to run, the function's name if it is one, and what it says of itself.
fn prepare(subject: Subject) -> Result<(Code, Option<String>, ScriptFlags), CommandError> {
    match subject {
        Subject::Script(name, text) => {
            let (flags, start) = shebang::parse(&text)?;
            Ok((Code::Text(name, text.slice(start..)), None, flags))
        }
        Subject::Function(library, spec) => {
            let flags = ScriptFlags::of(&spec);
            let function = Some(spec.name.clone());
            Ok((Code::Function(library, spec.name), function, flags))
        }
    }
}

/// Runs a library: what it registers.
pub(crate) async fn load(
    shared: &Shared,
    name: String,
    text: Bytes,
    start: usize,
) -> Result<Library, CommandError> {
    let command: Args = [&b"function"[..], b"load"].into_iter().collect();
    let running = &shared.scripts.running;
    let running = running.enter(Some(name.clone()), &command);
    let entries = register(shared, &running, text.slice(start..)).await;
    shared.scripts.running.leave(&running);
    let functions = entries?.into_iter().map(|entry| entry.spec).collect();
    Ok(Library::new(name, text, functions))
}

async fn register(
    shared: &Shared,
    running: &Arc<Running>,
    text: Bytes,
) -> Result<Vec<Entry>, CommandError> {
    let interpreters = Interpreters::of_this_worker();
    let mut place = interpreters.enter(&shared.clock).await?;
    let course = Rc::clone(place.interpreter.course());
    course.begin(running);
    running.begin(shared.clock.monotonic_us());
    let interpreter = Rc::clone(&place.interpreter);
    let stack = place.stack.take().expect("a place is entered with a stack");
    let mut fiber = Fiber::new(stack, course.switch(), move || interpreter.register(&text));
    let (mut answer, mut is_late) = (Answer::Go, false);
    let outcome = loop {
        match fiber.resume(answer) {
            Progress::Ended(outcome) => break outcome,
            Progress::Asks(Ask::Pause) => {
                tokio::task::yield_now().await;
                is_late = shared.clock.monotonic_us() - running.started_us() > LOAD_US_MAX;
                answer = if is_late { Answer::Stop } else { Answer::Go };
            }
            // a library has no way to call while it registers
            Progress::Asks(Ask::Call(..)) => answer = Answer::Stop,
        }
    };
    place.stack = fiber.into_stack();
    course.write_log();
    place.leave();
    if is_late {
        let text = "ERR Error registering functions: FUNCTION LOAD timeout";
        return Err(CommandError::other(text));
    }
    outcome.map_err(CommandError::other)
}

/// Tells others, once it is time, that something has run for long.
fn note_if_busy(shared: &Shared, running: &Running) {
    let threshold = shared.config.fast.threshold(Threshold::BusyMs);
    let limit_us = threshold.unsigned_abs().saturating_mul(1000);
    let us = shared.clock.monotonic_us() - running.started_us();
    if us >= limit_us && !running.is_busy() {
        tracing::warn!(
            "Slow script detected: still in execution after {} milliseconds.",
            us / 1000
        );
        shared.scripts.running.note_busy(running);
    }
}

struct Run<'a> {
    cx: &'a Cx,
    script: Rc<Script>,
    running: Arc<Running>,
    effects: Rc<Effects>,
    is_readonly: bool,
    may_run_oom: bool,
}

impl<'a> Run<'a> {
    fn new(cx: &'a Cx, request: Request) -> Result<Self, CommandError> {
        let (code, function, flags) = prepare(request.subject)?;
        if request.is_readonly && !flags.is_silent && !flags.is_readonly {
            let text = "ERR Can not execute a script with write flag using *_ro command.";
            return Err(CommandError::other(text));
        }
        let is_readonly = request.is_readonly || flags.is_readonly;
        let script = Script {
            code,
            keys: request.keys,
            arguments: request.arguments,
        };
        cx.show(&request.command, cx.db());
        let running = &cx.shared.scripts.running;
        Ok(Self {
            cx,
            script: Rc::new(script),
            running: running.enter(function, &request.command),
            effects: Rc::default(),
            is_readonly,
            may_run_oom: flags.may_run_oom,
        })
    }

    /// Runs it until it has all its locks, and commits what it wrote.
    async fn as_transaction(&self) -> Result<Outcome, CommandError> {
        let store: &Handle = &self.cx.store;
        let keys = self.script.keys.iter();
        let keys: Vec<(Db, &[u8])> = keys.map(|key| (self.cx.db(), &key[..])).collect();
        let mut transaction = store.begin(&keys).await;
        loop {
            let mut cx = self.cx.clone();
            cx.store = transaction.handle().into();
            let (outcome, _) = self.once(&cx).await?;
            let Some(conflict) = transaction.conflict() else {
                transaction.commit().await?;
                return Ok(outcome);
            };
            self.effects.clear();
            drop(transaction);
            transaction = store.begin_again(&keys, conflict).await;
        }
    }

    /// Runs it once. After a conflict its outcome means nothing.
    async fn once(&self, cx: &Cx) -> Result<(Outcome, Option<Conflicted>), CommandError> {
        let rights = (self.is_readonly, self.may_run_oom);
        let mut caller = Caller::new(cx, &self.effects, &self.running, &self.script, rights);
        let interpreters = Interpreters::of_this_worker();
        let mut place = interpreters.enter(&cx.shared.clock).await?;
        let course = Rc::clone(place.interpreter.course());
        course.begin(&self.running);
        self.running.begin(cx.shared.clock.monotonic_us());
        let (script, protocol) = (Rc::clone(&self.script), cx.protocol());
        let interpreter = Rc::clone(&place.interpreter);
        let stack = place.stack.take().expect("a place is entered with a stack");
        let mut fiber = Fiber::new(stack, course.switch(), move || {
            interpreter.run(&script, protocol)
        });
        let mut answer = Answer::Go;
        let mut conflicted = None;
        let outcome = loop {
            match fiber.resume(answer) {
                Progress::Ended(outcome) => break outcome,
                Progress::Asks(Ask::Pause) => {
                    note_if_busy(&cx.shared, &self.running);
                    tokio::task::yield_now().await;
                    answer = Answer::Go;
                }
                Progress::Asks(Ask::Call(args, protocol)) => {
                    answer = match caller.call(args, protocol).await {
                        Ok(reply) => Answer::Reply(reply),
                        Err(conflict) => {
                            conflicted = Some(conflict);
                            Answer::Stop
                        }
                    };
                }
            }
        };
        place.stack = fiber.into_stack();
        if conflicted.is_none() {
            course.write_log();
        }
        if caller.has_flushed() && course.stop() == Some(Stop::Abandoned) {
            return Err(CommandError::other(
                "ERR the script met others after it had flushed: what it did before stands",
            ));
        }
        place.leave();
        Ok((outcome, conflicted))
    }

    /// Tells others of what is committed.
    fn tell(&self) {
        for line in self.effects.take_lines() {
            self.cx.show_line(line);
        }
        for held in self.effects.events.take() {
            self.cx.notify(held.class, held.event, held.db, &held.key);
        }
        for posted in self.effects.take_posted() {
            self.cx.post(posted);
        }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.cx.shared.scripts.running.leave(&self.running);
    }
}
