//! One command of a script.
//!
//! Owns which commands a script may call, with Redis's texts.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use cellar_storage::{Db, StoreError};

use super::interpreter::{MEMORY_BYTES_MAX, Script};
use super::running::Running;
use crate::account::{self, Ran};
use crate::command::{CommandEntry, CommandError, Cx, Flag, admit_write, resolve, run_to_end};
use crate::commands::{streams, tracking};
use crate::resp::{Args, Broken, Protocol, ReplyBuf};
use crate::session::Session;
use crate::transaction::{Effects, Posted};

/// The script needs a lock that it does not have: it is to be begun again.
pub(super) struct Conflicted;

/// How the commands of one run are run.
pub(super) struct Caller {
    cx: Cx,
    session: Rc<Session>,
    effects: Rc<Effects>,
    running: Arc<Running>,
    is_readonly: bool,
    may_run_oom: bool,
    has_flushed: bool,
    /// The script whose keys are to be tracked once it reads, and their database.
    tracked: Option<(Rc<Script>, Db)>,
}

impl Caller {
    /// The commands of a run whose surroundings are `cx`.
    pub(super) fn new(
        cx: &Cx,
        effects: &Rc<Effects>,
        running: &Arc<Running>,
        script: &Rc<Script>,
        (is_readonly, may_run_oom): (bool, bool),
    ) -> Self {
        let is_tracked = cx.session.tracks_script();
        let tracked = is_tracked.then(|| (Rc::clone(script), cx.db()));
        let session = Rc::new(cx.session.inner());
        let store = cx.store.clone();
        let mut cx = cx.within(store, effects);
        cx.session = Rc::clone(&session);
        Self {
            cx,
            session,
            effects: Rc::clone(effects),
            running: Arc::clone(running),
            is_readonly,
            may_run_oom,
            has_flushed: false,
            tracked,
        }
    }

    /// Whether a command has published what was written before it.
    pub(super) fn has_flushed(&self) -> bool {
        self.has_flushed
    }

    /// Runs a command: its reply, encoded, an error included.
    pub(super) async fn call(
        &mut self,
        args: Args,
        protocol: Protocol,
    ) -> Result<Bytes, Conflicted> {
        self.session.set_protocol(protocol);
        self.cx.next_command();
        let outcome = match resolve(&args) {
            Err(_) => {
                let text = "ERR Unknown Redis command called from script";
                account::count_error(&self.cx, text);
                Err(CommandError::other(text))
            }
            Ok(entry) => match self.admit(entry, &args) {
                Ok(()) => self.run(entry, args).await,
                Err(error) => {
                    self.session.stats().command(entry.id).rejected.add(1);
                    account::count_error(&self.cx, &error.to_string());
                    Err(error)
                }
            },
        };
        let outcome = match outcome {
            Ok(reply) => flat(reply).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(reply) => Ok(reply),
            Err(CommandError::Store(StoreError::Conflict)) => Err(Conflicted),
            Err(error) => {
                let mut reply = ReplyBuf::new(protocol);
                reply.error(&error.to_string());
                Ok(reply.into_bytes())
            }
        }
    }

    /// Whether a script may call a command.
    fn admit(&self, entry: &CommandEntry, args: &Args) -> Result<(), CommandError> {
        let refuse = |text| Err(CommandError::other(text));
        let flags = entry.spec.flags;
        let may_call_all = &self.cx.shared.scripts.may_call_all;
        if flags.has(Flag::Noscript) && !may_call_all.load(Relaxed) {
            return refuse("ERR This Redis command is not allowed from script");
        }
        if !entry.spec.accepts(args.len()) {
            return refuse("ERR Wrong number of args calling Redis command from script");
        }
        if self.cx.store.attached().is_none() && !flags.has(Flag::Loading) {
            return Err(CommandError::Loading);
        }
        if self.is_readonly && (flags.has(Flag::Write) || flags.has(Flag::MayReplicate)) {
            return refuse("ERR Write commands are not allowed from read-only scripts.");
        }
        if flags.has(Flag::Write) {
            let flags = if self.may_run_oom {
                flags.without(Flag::DenyOom)
            } else {
                flags
            };
            admit_write(&self.cx, flags)?;
            self.running.note_write();
        }
        Ok(())
    }

    async fn run(
        &mut self,
        entry: &'static CommandEntry,
        args: Args,
    ) -> Result<ReplyBuf, CommandError> {
        match entry.spec.name {
            "publish" | "spublish" => return Ok(self.post(entry, &args)),
            "flushall" | "flushdb" | "swapdb" => self.has_flushed = true,
            "xread" | "xreadgroup" => streams::refuse_block(&args)?,
            _ => {}
        }
        if entry.spec.flags.has(Flag::Readonly)
            && let Some((script, db)) = self.tracked.take()
        {
            let keys = script.keys.iter().map(|key| &key[..]);
            tracking::remember_keys(&self.cx, db, keys);
        }
        let started_us = self.cx.shared.clock.monotonic_us();
        let outcome = run_to_end(&self.cx, entry, args.clone()).await;
        let us = self.cx.shared.clock.monotonic_us() - started_us;
        self.session.stats().command(entry.id).record(us);
        let db = self.cx.db();
        let ran = Ran {
            entry,
            args: &args,
            db,
        };
        if matches!(outcome, Err(CommandError::Store(StoreError::Conflict))) {
            // it will run again
            return outcome;
        }
        let error = outcome.as_ref().err().map(ToString::to_string);
        ran.count(&self.cx, error.as_deref());
        ran.tell_monitors(&self.cx);
        outcome
    }

    /// PUBLISH and SPUBLISH: the message goes out once the script is committed.
    fn post(&self, entry: &CommandEntry, args: &Args) -> ReplyBuf {
        let is_shard = entry.spec.name == "spublish";
        let channels = &self.cx.shared.channels;
        let count = channels.receiver_count(is_shard, &args[1]);
        self.effects.post(Posted {
            is_shard,
            channel: args[1].clone(),
            payload: args[2].clone(),
        });
        let mut reply = self.cx.reply();
        reply.integer(count.cast_signed() as i64);
        reply
    }
}

/// A reply as one buffer, if a script can hold it.
async fn flat(reply: ReplyBuf) -> Result<Bytes, CommandError> {
    let flat = reply.flatten(MEMORY_BYTES_MAX).await.map_err(told)?;
    flat.ok_or_else(|| {
        CommandError::other(format!(
            "ERR the reply is larger than the {MEMORY_BYTES_MAX} bytes that a script may hold"
        ))
    })
}

/// Why a reply broke off, as the error that its command would have answered.
fn told(error: Broken) -> CommandError {
    let error = match error.downcast::<CommandError>() {
        Ok(error) => return *error,
        Err(error) => error,
    };
    match error.downcast::<StoreError>() {
        Ok(error) => CommandError::Store(*error),
        Err(error) => CommandError::other(error.to_string()),
    }
}
