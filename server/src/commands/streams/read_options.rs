//! The arguments of XREAD and XREADGROUP.
//!
//! Owns what they mean, and in which order they are complained of.

use std::ops::Range;

use bytes::Bytes;

use super::arguments::strict_id;
use crate::blocking::parse_timeout_ms;
use crate::collections::stream::EntryId;
use crate::command::CommandError;
use crate::commands::string_value::integer;
use crate::resp::Args;

/// What a command wants of its streams.
#[derive(Debug)]
pub(super) struct ReadOptions {
    /// How long it waits at most, 0 for ever; nothing where it does not wait.
    pub(super) block_ms: Option<u64>,
    /// Entries of each stream at most.
    pub(super) count: u64,
    /// The arguments that are keys; as many ids follow.
    pub(super) keys: Range<usize>,
    /// For whom it reads.
    pub(super) reader: Option<Reader>,
}

/// A consumer of a group.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) group: Bytes,
    pub(super) consumer: Bytes,
    /// Whether entries are delivered and forgotten.
    pub(super) no_ack: bool,
}

/// From where on a stream is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// `$`: what comes after the command.
    Last,
    /// `>`: what no consumer of the group was offered.
    Delivered,
    /// What has a greater id.
    Id(EntryId),
}

impl After {
    /// The id of one key. It is read once the key's type is known.
    pub(super) fn parse(text: &[u8], is_group: bool) -> Result<Self, CommandError> {
        match text {
            b"$" if is_group => Err(CommandError::other(
                "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the \
                 history of this consumer by specifying a proper ID, or use the > ID to get new \
                 messages. The $ ID would just return an empty result set.",
            )),
            b"$" => Ok(Self::Last),
            b">" if !is_group => Err(CommandError::other(
                "ERR The > ID can be specified only when calling XREADGROUP using the GROUP \
                 <group> <consumer> option.",
            )),
            b">" => Ok(Self::Delivered),
            text => strict_id(text, 0).map(|id| {
                // the greatest id there is means the same to Redis
                if is_group && id == EntryId::MAX {
                    Self::Delivered
                } else {
                    Self::Id(id)
                }
            }),
        }
    }
}

fn only_in_groups(option: &str) -> CommandError {
    CommandError::other(format!(
        "ERR The {option} option is only supported by XREADGROUP. You called XREAD instead."
    ))
}

impl ReadOptions {
    /// Reads the arguments up to the keys.
    pub(super) fn parse(args: &Args, is_group: bool) -> Result<Self, CommandError> {
        let (mut block_ms, mut count, mut no_ack) = (None, 0, false);
        let (mut names, mut keys) = (None, None);
        let mut at = 1;
        while let Some(word) = args.get(at) {
            let values = &args[at + 1..];
            let is = |name: &[u8], value_count| {
                word.eq_ignore_ascii_case(name) && values.len() >= value_count
            };
            at += 1;
            if is(b"block", 1) {
                block_ms = Some(parse_timeout_ms(&values[0])?);
                at += 1;
            } else if is(b"count", 1) {
                count = integer(&values[0])?.max(0).unsigned_abs();
                at += 1;
            } else if is(b"streams", 1) {
                keys = Some(key_range(at, args.len(), is_group)?);
                break;
            } else if is(b"group", 2) {
                if !is_group {
                    return Err(only_in_groups("GROUP"));
                }
                names = Some((values[0].clone(), values[1].clone()));
                at += 2;
            } else if is(b"noack", 0) {
                if !is_group {
                    return Err(only_in_groups("NOACK"));
                }
                no_ack = true;
            } else {
                return Err(CommandError::Syntax);
            }
        }
        let keys = keys.ok_or(CommandError::Syntax)?;
        let reader = names.map(|(group, consumer)| Reader {
            group,
            consumer,
            no_ack,
        });
        if is_group && reader.is_none() {
            let text = "ERR Missing GROUP option for XREADGROUP";
            return Err(CommandError::other(text));
        }
        let count = if count == 0 { u64::MAX } else { count };
        Ok(Self {
            block_ms,
            count,
            keys,
            reader,
        })
    }
}

/// Refuses XREAD or XREADGROUP of a script that would wait.
pub(crate) fn refuse_block(args: &Args) -> Result<(), CommandError> {
    let mut words = args[1..].iter();
    while let Some(word) = words.next() {
        let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
        let value_count = if is(b"count") {
            1
        } else if is(b"group") {
            2
        } else if is(b"streams") {
            return Ok(());
        } else if is(b"block") && words.len() > 0 {
            let name = String::from_utf8_lossy(&args[0]);
            return Err(CommandError::other(format!(
                "ERR {name} command is not allowed with BLOCK option from scripts"
            )));
        } else {
            0
        };
        words = words
            .as_slice()
            .get(value_count..)
            .unwrap_or_default()
            .iter();
    }
    Ok(())
}

fn key_range(first: usize, end: usize, is_group: bool) -> Result<Range<usize>, CommandError> {
    let count = end - first;
    if count.is_multiple_of(2) {
        return Ok(first..first + count / 2);
    }
    let (name, id) = if is_group {
        ("xreadgroup", '>')
    } else {
        ("xread", '$')
    };
    Err(CommandError::other(format!(
        "ERR Unbalanced '{name}' list of streams: for each stream key an ID or '{id}' must be \
         specified."
    )))
}
