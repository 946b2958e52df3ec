//! BITFIELD and BITFIELD_RO: integers of any width inside a string.
//!
//! Owns their grammar and the order of their operations. Reads and rewrites only the words that the
//! operations touch.

use bytes::Bytes;
use cellar_storage::{Encoding, Snapshot};

use super::bit_integer::{IntegerType, Overflow};
use super::bit_words::Words;
use super::bits::parse_offset;
use super::read::find_string;
use super::string_value::{check_length, expect_string, integer};
use crate::command::{CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::resp::{Args, ReplyBuf};

/// Operations between two chances for other commands of the worker: some tens of microseconds.
const TURN_OPERATIONS: usize = 256;

#[derive(Debug, Clone, Copy)]
enum Action {
    Get,
    Set(i64, Overflow),
    Add(i64, Overflow),
}

#[derive(Debug, Clone, Copy)]
struct Operation {
    action: Action,
    integer_type: IntegerType,
    /// Number of its first bit.
    offset: u64,
}

impl Operation {
    fn writes(&self) -> bool {
        match self.action {
            Action::Get => false,
            Action::Set(..) | Action::Add(..) => true,
        }
    }

    fn last_byte(&self) -> u64 {
        (self.offset + self.integer_type.bits() - 1) / 8
    }

    /// Carries the operation out; nothing is answered for one that failed on overflow.
    async fn run(&self, words: &mut Words<'_>) -> Result<Option<i64>, CommandError> {
        let Self {
            action,
            integer_type,
            offset,
        } = *self;
        let old = integer_type.decode(words.get(offset, integer_type.bits()).await?);
        let (new, answer) = match action {
            Action::Get => return Ok(Some(old)),
            Action::Set(value, overflow) => (integer_type.set(value, overflow), Some(old)),
            Action::Add(increment, overflow) => {
                let new = integer_type.add(old, increment, overflow);
                (new, new)
            }
        };
        let Some(new) = new else { return Ok(None) };
        words.put(offset, integer_type.bits(), new.cast_unsigned());
        Ok(answer)
    }
}

/// `BITFIELD key [GET type offset | [OVERFLOW WRAP | SAT | FAIL] (SET type offset value |
/// INCRBY type offset increment) ...]`
pub fn bitfield(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let operations = parse(&args[2..], cx.shared.bulk_bytes_max())?;
        if operations.iter().any(Operation::writes) {
            write(&cx, &args[1], &operations).await
        } else {
            read(&cx, &args[1], &operations).await
        }
    })
}

/// `BITFIELD_RO key [GET type offset ...]`
pub fn bitfield_ro(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let operations = parse(&args[2..], cx.shared.bulk_bytes_max())?;
        if operations.iter().any(Operation::writes) {
            return Err(CommandError::other(
                "ERR BITFIELD_RO only supports the GET subcommand",
            ));
        }
        read(&cx, &args[1], &operations).await
    })
}

fn parse(arguments: &[Bytes], bytes_max: u64) -> Result<Vec<Operation>, CommandError> {
    let mut operations = Vec::new();
    let mut overflow = Overflow::Wrap;
    let mut rest = arguments;
    while let [name, arguments @ ..] = rest {
        match (name.to_ascii_lowercase().as_slice(), arguments) {
            (b"overflow", [kind, after @ ..]) => {
                overflow = Overflow::parse(kind)?;
                rest = after;
                continue;
            }
            (b"get", [_, _, after @ ..]) | (b"set" | b"incrby", [_, _, _, after @ ..]) => {
                rest = after;
            }
            _ => return Err(CommandError::Syntax),
        }
        let integer_type = IntegerType::parse(&arguments[0])?;
        let offset = parse_scaled_offset(&arguments[1], integer_type, bytes_max)?;
        let action = match name[0].to_ascii_lowercase() {
            b'g' => Action::Get,
            b's' => Action::Set(integer(&arguments[2])?, overflow),
            _ => Action::Add(integer(&arguments[2])?, overflow),
        };
        operations.push(Operation {
            action,
            integer_type,
            offset,
        });
    }
    Ok(operations)
}

/// A bit's number, or after `#` the number of an integer of this type.
fn parse_scaled_offset(
    text: &[u8],
    integer_type: IntegerType,
    bytes_max: u64,
) -> Result<u64, CommandError> {
    match text.split_first() {
        Some((b'#', number)) => parse_offset(number, integer_type.bits(), bytes_max),
        _ => parse_offset(text, 1, bytes_max),
    }
}

async fn read(cx: &Cx, key: &Bytes, operations: &[Operation]) -> Result<ReplyBuf, CommandError> {
    let found = find_string(cx, key).await?;
    run_all(cx, operations, &mut Words::new(found.as_ref())).await
}

async fn write(cx: &Cx, key: &Bytes, operations: &[Operation]) -> Result<ReplyBuf, CommandError> {
    let db = cx.db();
    let locks = cx.store.lock(&[(db, key)]).await;
    let found = expect_string(cx.store.get_locked(&locks, db, key).await?)?;
    let mut words = Words::new(found.as_ref());
    // the string grows up to the last written bit, even where the write fails on overflow
    let written = operations.iter().filter(|operation| operation.writes());
    if let Some(last) = written.map(Operation::last_byte).max() {
        check_length(cx, last + 1, &[])?;
        words.grow(last + 1).await?;
    }
    let reply = run_all(cx, operations, &mut words).await?;
    let is_raw = found
        .as_ref()
        .is_some_and(|value: &Snapshot| value.encoding() == Encoding::Raw);
    let is_changed = words.are_changed();
    if is_changed || !is_raw {
        for (offset, data) in words.into_runs().await? {
            cx.store.write_range(&locks, db, key, offset, &data).await?;
        }
    }
    if is_changed {
        cx.notify_write(EventClass::String, "setbit", key, found.is_none());
    }
    Ok(reply)
}

async fn run_all(
    cx: &Cx,
    operations: &[Operation],
    words: &mut Words<'_>,
) -> Result<ReplyBuf, CommandError> {
    let mut reply = cx.reply();
    reply.array(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        match operation.run(words).await? {
            Some(value) => reply.integer(value),
            None => reply.null(),
        }
        if index % TURN_OPERATIONS == TURN_OPERATIONS - 1 {
            tokio::task::yield_now().await;
        }
    }
    Ok(reply)
}
