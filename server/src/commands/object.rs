//! OBJECT ENCODING, FREQ, IDLETIME, REFCOUNT, HELP: how a value is held.
//!
//! Owns what of Redis's object header has a counterpart here.

#![expect(
    clippy::needless_pass_by_value,
    reason = "all answers take what their key held"
)]

use cellar_storage::{Encoding, Snapshot};

use crate::command::{CommandError, Cx, Pending};
use crate::config::MemoryPolicy;
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
        Some(encoding) => reply.bulk(encoding_name(encoding).as_bytes()),
    }
    Ok(())
}

/// How Redis calls an encoding.
pub(super) fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Raw => "raw",
        Encoding::Int => "int",
        Encoding::Embstr => "embstr",
        Encoding::Listpack => "listpack",
        Encoding::Hashtable => "hashtable",
        Encoding::Intset => "intset",
        Encoding::Skiplist => "skiplist",
        Encoding::Quicklist => "quicklist",
        Encoding::Stream => "stream",
        Encoding::Listpackex => "listpackex",
    }
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

/// `OBJECT FREQ key`: about how often it was used of late, where a policy has that counted. Asking
/// is no use.
pub fn freq(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        if cx.store.peek(cx.db(), &args[2]).await?.is_none() {
            reply.null();
            return Ok(reply);
        }
        if !counts_uses(&cx) {
            return Err(CommandError::other(
                "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please \
                 note that when switching between policies at runtime LRU and LFU data will take \
                 some time to adjust.",
            ));
        }
        reply.integer(cx.store.use_count(cx.db(), &args[2]).cast_signed());
        Ok(reply)
    })
}

/// `OBJECT IDLETIME key`: the time of the last use is not kept.
pub fn idletime(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        if cx.store.peek(cx.db(), &args[2]).await?.is_none() {
            reply.null();
            return Ok(reply);
        }
        Err(CommandError::other(if counts_uses(&cx) {
            "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when \
             switching between policies at runtime LRU and LFU data will take some time to adjust."
        } else {
            "ERR Idle time not tracked: one bit is kept of a key's last use, not its time."
        }))
    })
}

fn counts_uses(cx: &Cx) -> bool {
    let policy = cx
        .shared
        .config
        .read(|config| config.memory.maxmemory_policy);
    matches!(policy, MemoryPolicy::AllKeysLfu | MemoryPolicy::VolatileLfu)
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
    "    About how often the key was used of late, from 0 to 15, under an LFU policy.",
    "IDLETIME <key>",
    "    An error: when a key was used last is not kept.",
    "REFCOUNT <key>",
    "    Always 1: values are not shared.",
    "HELP",
    "    Prints this help.",
];
