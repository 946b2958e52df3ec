//! From a request to its command, and whether that may run now.
//!
//! Owns the order of the checks, which is Redis's: the name, the number of arguments, the
//! password, whether the store is loading, whether it takes writes.

use std::fmt::Write;

use cellar_storage::{Lsn, StoreError};

use super::{CommandEntry, CommandError, Cx, Flag, Flags, Group, Handler, find};
use crate::config::Threshold;
use crate::resp::Args;
use crate::scripting::flags_of;

/// Bytes of a name, and of all arguments together, that an unknown command's error repeats.
const UNKNOWN_BYTES_MAX: usize = 128;

/// The command or subcommand that a request names.
pub fn resolve(args: &Args) -> Result<&'static CommandEntry, CommandError> {
    let entry = find(&args[0]).ok_or_else(|| unknown_command(args))?;
    if entry.subcommands.is_empty() {
        return Ok(entry);
    }
    let Some(name) = args.get(1) else {
        return match entry.spec.handler {
            Handler::Subcommands => Err(CommandError::arity(entry.full_name.as_str())),
            Handler::Now(_) | Handler::Try(..) | Handler::Wait(_) => Ok(entry),
        };
    };
    entry
        .subcommand(name)
        .ok_or_else(|| CommandError::UnknownSubcommand {
            command: entry.spec.name.to_ascii_uppercase(),
            subcommand: cut_text(name, UNKNOWN_BYTES_MAX),
        })
}

/// Whether the command may run.
pub fn admit(cx: &Cx, entry: &'static CommandEntry, args: &Args) -> Result<(), CommandError> {
    if !entry.spec.accepts(args.len()) {
        return Err(CommandError::arity(entry.full_name.as_str()));
    }
    if !cx.session.is_authenticated() && !entry.spec.flags.has(Flag::NoAuth) {
        return Err(CommandError::other("NOAUTH Authentication required."));
    }
    if cx.session.is_confined() && !is_for_subscribers(entry) {
        let name = &entry.full_name;
        return Err(CommandError::other(format!(
            "ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / \
             RESET are allowed in this context"
        )));
    }
    let transaction = cx.session.transaction().borrow();
    if transaction.is_open() && entry.spec.flags.has(Flag::NoMulti) {
        let text = "ERR Command not allowed inside a transaction";
        return Err(CommandError::other(text));
    }
    if cx.store.attached().is_none() && !entry.spec.flags.has(Flag::Loading) {
        return Err(CommandError::Loading);
    }
    if !entry.spec.flags.has(Flag::AllowBusy) {
        cx.shared.scripts.running.refuse()?;
    }
    let flags = if is_exec(entry) {
        transaction.flags()
    } else {
        flags_of(&cx.shared.scripts, entry, args)
    };
    admit_write(cx, flags)
}

/// Whether a command runs what was queued since MULTI.
pub fn is_exec(entry: &CommandEntry) -> bool {
    entry.spec.group == Group::Transactions && entry.spec.name == "exec"
}

/// Whether a command is run at once between MULTI and EXEC, and not queued.
pub fn is_never_queued(entry: &CommandEntry) -> bool {
    matches!(
        entry.spec.name,
        "multi" | "exec" | "discard" | "watch" | "quit" | "reset"
    )
}

/// Whether a client may run the command whose replies and messages look alike.
fn is_for_subscribers(entry: &CommandEntry) -> bool {
    matches!(
        entry.spec.name,
        "ping"
            | "subscribe"
            | "unsubscribe"
            | "psubscribe"
            | "punsubscribe"
            | "ssubscribe"
            | "sunsubscribe"
            | "quit"
            | "reset"
    )
}

/// Whether the store takes the command's writes: a refused command stores nothing of its arguments.
pub(crate) fn admit_write(cx: &Cx, flags: Flags) -> Result<(), CommandError> {
    if !flags.has(Flag::Write) {
        return Ok(());
    }
    if cx.shared.config.fast.threshold(Threshold::MinReplicas) > 0 {
        // there is none
        let text = "NOREPLICAS Not enough good replicas to write.";
        return Err(CommandError::other(text));
    }
    let store = cx.store.store();
    match store.admit_command(flags.has(Flag::DenyOom)) {
        Err(StoreError::Latched) => {
            let reason = store.latch_reason().unwrap_or_default();
            Err(CommandError::Latched(reason))
        }
        outcome => outcome.map_err(CommandError::from),
    }
}

/// Where the log must be durable up to before a reply may show what the command did or saw.
pub fn required_lsn(cx: &Cx, entry: &CommandEntry, args: &Args) -> Option<Lsn> {
    cx.store.attached()?;
    let flags = entry.spec.flags;
    if entry.spec.group == Group::Scripting {
        // a script may come to other keys than those it declares
        return Some(cx.store.published_lsn());
    }
    if entry.spec.keys.is_empty() {
        let touches_data = flags.has(Flag::Write) || flags.has(Flag::Readonly) || is_exec(entry);
        return touches_data.then(|| cx.store.published_lsn());
    }
    if flags.has(Flag::Write) && (entry.spec.keys.len() > 1 || flags.has(Flag::MovableKeys)) {
        // sources and destinations may lie in different databases, or be named by an option
        return Some(cx.store.published_lsn());
    }
    let positions = entry.spec.keys.iter().flat_map(|keys| keys.positions(args));
    positions
        .map(|position| cx.store.key_lsn(cx.db(), &args[position]))
        .max()
}

fn unknown_command(args: &Args) -> CommandError {
    let mut shown = String::new();
    for argument in &args[1..] {
        if shown.len() >= UNKNOWN_BYTES_MAX {
            break;
        }
        let text = cut_text(argument, UNKNOWN_BYTES_MAX - shown.len());
        write!(shown, "'{text}' ").expect("a string takes everything");
    }
    let name = cut_text(&args[0], UNKNOWN_BYTES_MAX);
    CommandError::other(format!(
        "ERR unknown command '{name}', with args beginning with: {shown}"
    ))
}

fn cut_text(bytes: &[u8], bytes_max: usize) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(bytes_max)]).into_owned()
}
