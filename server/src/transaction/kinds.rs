//! What kinds of commands there are to a transaction.
//!
//! Owns the lists. A command that is in none of them is run in its place, and once.

use crate::command::{CommandEntry, Flag};

/// Whether a command publishes what was written before it.
pub(super) fn is_flush(entry: &CommandEntry) -> bool {
    matches!(entry.spec.name, "flushall" | "flushdb" | "swapdb")
}

/// Whether a command sends a message: whoever gets it finds what the transaction wrote.
pub(super) fn is_late(entry: &CommandEntry) -> bool {
    entry.spec.flags.has(Flag::Pubsub) && entry.spec.flags.has(Flag::MayReplicate)
}

/// Whether a repetition has to run a command again: because of the store, or because it says how
/// the commands behind it are to be understood.
pub(super) fn is_repeated(entry: &CommandEntry) -> bool {
    let flags = entry.spec.flags;
    flags.has(Flag::Write)
        || flags.has(Flag::Readonly)
        || matches!(
            entry.full_name.as_str(),
            "select" | "hello" | "client|reply"
        )
}
