//! XTRIM, and the options that it shares with XADD.
//!
//! Owns what they mean, and in which order they are complained of.

use bytes::Bytes;

use super::arguments::{NewId, new_id, strict_id};
use super::{open, save, tell};
use crate::collections::stream::{NodeLimits, Trim, TrimTo};
use crate::command::{CommandError, Cx};
use crate::commands::access::Locked;
use crate::commands::string_value::integer;
use crate::resp::{Args, ReplyBuf};

/// Nodes that are trimmed approximately at most where the client names no limit, and bounds of the
/// entries that this comes to.
const NODES_MAX: u64 = 100;
const UNBOUNDED_NODES_LIMIT: u64 = 10_000;
const LIMIT_MAX: u64 = 1_000_000;

/// The options of XADD and XTRIM.
#[derive(Debug, Default)]
pub(super) struct Options {
    to: Option<TrimTo>,
    is_approximate: bool,
    limit: Option<u64>,
    pub(super) no_mkstream: bool,
    /// The id of XADD, and which argument it is.
    pub(super) id: Option<(NewId, usize)>,
}

impl Options {
    /// Reads the options from argument 2 on; those of XADD end with an id.
    pub(super) fn parse(args: &[Bytes], is_add: bool) -> Result<Self, CommandError> {
        let mut options = Self::default();
        let mut at = 2;
        while let Some(word) = args.get(at) {
            let values = &args[at + 1..];
            if is_add && &word[..] == b"*" {
                options.id = Some((NewId::Any, at));
                break;
            }
            at += 1;
            if let Some(is_length) = trim_word(word).filter(|_| !values.is_empty()) {
                at += options.take_target(values, is_length)?;
            } else if word.eq_ignore_ascii_case(b"limit") && !values.is_empty() {
                let limit = integer(&values[0])?;
                let limit = u64::try_from(limit)
                    .map_err(|_| CommandError::other("ERR The LIMIT argument must be >= 0."))?;
                options.limit = Some(limit);
                at += 1;
            } else if is_add && word.eq_ignore_ascii_case(b"nomkstream") {
                options.no_mkstream = true;
            } else if is_add {
                options.id = Some((new_id(word)?, at - 1));
                break;
            } else {
                return Err(CommandError::Syntax);
            }
        }
        options.check(is_add)?;
        Ok(options)
    }

    /// Takes what MAXLEN or MINID is followed by; how many arguments that are.
    fn take_target(&mut self, values: &[Bytes], is_length: bool) -> Result<usize, CommandError> {
        if self.to.is_some() {
            return Err(CommandError::other(
                "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
            ));
        }
        let has_mark = values.len() >= 2 && matches!(&values[0][..], b"~" | b"=");
        self.is_approximate = has_mark && &values[0][..] == b"~";
        let value = &values[usize::from(has_mark)];
        self.to = Some(if is_length {
            let length = u64::try_from(integer(value)?)
                .map_err(|_| CommandError::other("ERR The MAXLEN argument must be >= 0."))?;
            TrimTo::Length(length)
        } else {
            TrimTo::Id(strict_id(value, 0)?)
        });
        Ok(1 + usize::from(has_mark))
    }

    fn check(&self, is_add: bool) -> Result<(), CommandError> {
        let has_limit = self.limit.is_some_and(|limit| limit > 0);
        let complaint = if has_limit && self.to.is_none() {
            "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
        } else if !is_add && self.to.is_none() {
            "ERR syntax error, XTRIM must be called with a trimming strategy"
        } else if self.limit.is_some() && !self.is_approximate {
            "ERR syntax error, LIMIT cannot be used without the special ~ option"
        } else {
            return Ok(());
        };
        Err(CommandError::other(complaint))
    }

    /// How the stream is to be trimmed, if at all.
    pub(super) fn trim(&self, limits: NodeLimits) -> Option<Trim> {
        let default_limit = match limits.entries.saturating_mul(NODES_MAX) {
            0 => UNBOUNDED_NODES_LIMIT,
            limit => limit.min(LIMIT_MAX),
        };
        Some(Trim {
            to: self.to?,
            is_approximate: self.is_approximate,
            limit: self.limit.unwrap_or(default_limit),
        })
    }
}

/// Whether a word begins a target of trimming: true for a length, false for an id.
fn trim_word(word: &[u8]) -> Option<bool> {
    if word.eq_ignore_ascii_case(b"maxlen") {
        Some(true)
    } else if word.eq_ignore_ascii_case(b"minid") {
        Some(false)
    } else {
        None
    }
}

/// `XTRIM key (MAXLEN | MINID) [= | ~] threshold [LIMIT count]`
pub(crate) async fn xtrim(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let options = Options::parse(args, false)?;
    let Some(mut stream) = open(at.found)? else {
        reply.integer(0);
        return Ok(());
    };
    let trim = options.trim(super::node_limits(cx));
    let trim = trim.expect("the options of XTRIM name a target");
    let removed = stream.trim(trim).await?;
    if removed > 0 {
        save(cx, at.locks, &args[1], stream).await?;
        tell(cx, "xtrim", &args[1]);
    }
    reply.integer(removed.cast_signed());
    Ok(())
}
