//! OBJECT ENCODING, FREQ, IDLETIME, REFCOUNT, HELP: how a value is held.
//!
//! Owns what of Redis's object header has a counterpart here.

#![expect(
    clippy::needless_pass_by_value,
    reason = "all answers take what their key held"
)]

use cellar_storage::{Encoding, Snapshot};

use crate::command::{CommandError, Cx};
use crate::resp::{Args, ReplyBuf};

/// `OBJECT ENCODING key`
pub fn answer_encoding(
    _: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    match found.map(|found| found.encoding()) {
        None => reply.null(),
        Some(Encoding::Raw) => reply.bulk(b"raw"),
        Some(Encoding::Int) => reply.bulk(b"int"),
        Some(Encoding::Embstr) => reply.bulk(b"embstr"),
    }
    Ok(())
}

/// `OBJECT REFCOUNT key`: values are never shared between keys.
pub fn answer_refcount(
    _: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    match found {
        None => reply.null(),
        Some(_) => reply.integer(1),
    }
    Ok(())
}

/// `OBJECT FREQ key`: only one bit is kept of how often a key is used, whatever the policy.
pub fn answer_freq(
    _: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    if found.is_some() {
        return Err(CommandError::other(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please \
             note that when switching between policies at runtime LRU and LFU data will take some \
             time to adjust.",
        ));
    }
    reply.null();
    Ok(())
}

/// `OBJECT IDLETIME key`: the time of the last use is not kept.
pub fn answer_idletime(
    _: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    if found.is_some() {
        return Err(CommandError::other(
            "ERR Idle time not tracked: one bit is kept of a key's last use, not its time.",
        ));
    }
    reply.null();
    Ok(())
}

/// `OBJECT HELP`
pub fn help(_: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.array(HELP.len());
    for line in HELP {
        reply.simple(line);
    }
    Ok(())
}

const HELP: [&str; 11] = [
    "OBJECT <subcommand> [<arg> ...]. Subcommands are:",
    "ENCODING <key>",
    "    How the value is held: int, embstr or raw.",
    "FREQ <key>",
    "    An error: how often a key is used is not counted.",
    "IDLETIME <key>",
    "    An error: when a key was used last is not kept.",
    "REFCOUNT <key>",
    "    Always 1: values are not shared.",
    "HELP",
    "    Prints this help.",
];
