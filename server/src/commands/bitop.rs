//! BITOP: AND, OR, XOR, NOT of whole strings.
//!
//! Owns combining them. Reads its sources in pieces; only the result is held whole, because it is
//! written at once.

use bytes::Bytes;
use cellar_storage::{Db, Encoding, KeyLocks, Snapshot, WriteBatch};

use super::chunks::{CHUNK_BYTES, read_range};
use super::read::is_absent;
use super::string_value::expect_string;
use crate::command::{CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::resp::Args;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Xor,
    Not,
}

impl Operation {
    fn parse(name: &[u8]) -> Option<Self> {
        match name.to_ascii_lowercase().as_slice() {
            b"and" => Some(Self::And),
            b"or" => Some(Self::Or),
            b"xor" => Some(Self::Xor),
            b"not" => Some(Self::Not),
            _ => None,
        }
    }

    /// Combines a further source into the result. The source goes on with zeros.
    fn combine(self, result: &mut [u8], source: &[u8]) {
        let (common, rest) = result.split_at_mut(source.len());
        let pairs = common.iter_mut().zip(source);
        match self {
            Self::And => {
                pairs.for_each(|(to, from)| *to &= from);
                rest.fill(0);
            }
            Self::Or => pairs.for_each(|(to, from)| *to |= from),
            Self::Xor => pairs.for_each(|(to, from)| *to ^= from),
            Self::Not => unreachable!("NOT has one source"),
        }
    }
}

/// `BITOP AND | OR | XOR | NOT destkey key [key ...]`
pub fn bitop(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let operation = Operation::parse(&args[1]).ok_or(CommandError::Syntax)?;
        if operation == Operation::Not && args.len() != 4 {
            return Err(CommandError::other(
                "ERR BITOP NOT must be called with a single source key.",
            ));
        }
        let keys: Vec<(Db, &[u8])> = args[2..].iter().map(|key| (cx.db(), &key[..])).collect();
        let locks = cx.store.lock(&keys).await;
        let sources = find_sources(&cx, &locks, &args[3..]).await?;
        let result = compute(operation, &sources).await?;
        let len = result.len();
        let is_new = cx.tells(EventClass::New) && is_absent(&cx, &args[2]).await?;
        let mut batch = WriteBatch::new();
        if result.is_empty() {
            batch.remove(cx.db(), args[2].clone());
        } else {
            batch.set(cx.db(), args[2].clone(), result, Encoding::Raw, None);
        }
        let outcome = cx.store.commit_locked(&locks, batch).await?;
        if len > 0 {
            cx.notify_write(EventClass::String, "set", &args[2], is_new);
        } else if outcome.removed > 0 {
            cx.notify_gone(&args[2]);
        }
        let mut reply = cx.reply();
        reply.integer(len.cast_signed() as i64);
        Ok(reply)
    })
}

/// The sources, absent ones as nothing: they count as empty.
async fn find_sources(
    cx: &Cx,
    locks: &KeyLocks,
    keys: &[Bytes],
) -> Result<Vec<Option<Snapshot>>, CommandError> {
    let mut sources = Vec::with_capacity(keys.len());
    for key in keys {
        let found = expect_string(cx.store.get_locked(locks, cx.db(), key).await?)?;
        cx.note_lookup(key, found.is_some());
        sources.push(found);
    }
    Ok(sources)
}

/// The result, as long as the longest source.
async fn compute(
    operation: Operation,
    sources: &[Option<Snapshot>],
) -> Result<Vec<u8>, CommandError> {
    let len = sources
        .iter()
        .flatten()
        .map(Snapshot::len)
        .max()
        .unwrap_or(0);
    let mut result = Vec::with_capacity(len as usize);
    while (result.len() as u64) < len {
        let start = result.len() as u64;
        let end = len.min(start + CHUNK_BYTES);
        let first = piece(sources[0].as_ref(), start, end).await?;
        result.extend_from_slice(&first);
        result.resize(end as usize, 0);
        let chunk = &mut result[start as usize..];
        for source in &sources[1..] {
            operation.combine(chunk, &piece(source.as_ref(), start, end).await?);
        }
        if operation == Operation::Not {
            for byte in chunk {
                *byte = !*byte;
            }
        }
        tokio::task::yield_now().await;
    }
    Ok(result)
}

/// What a source has between two offsets.
async fn piece(source: Option<&Snapshot>, start: u64, end: u64) -> Result<Bytes, CommandError> {
    match source {
        Some(value) => read_range(value, start, end).await,
        None => Ok(Bytes::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::Operation;

    fn check(operation: Operation, left: &[u8], right: &[u8], expected: &[u8]) {
        let mut result = left.to_vec();
        operation.combine(&mut result, right);
        assert_eq!(result, expected, "{operation:?}");
    }

    #[test]
    fn shorter_sources_go_on_with_zeros() {
        check(
            Operation::And,
            &[0xff, 0x0f, 0xff],
            &[0xf0, 0xff],
            &[0xf0, 0x0f, 0],
        );
        check(
            Operation::Or,
            &[0x01, 0x02, 0x03],
            &[0x10],
            &[0x11, 0x02, 0x03],
        );
        check(Operation::Xor, &[0xff, 0xff], &[0x0f], &[0xf0, 0xff]);
        check(Operation::And, &[0xff], &[], &[0]);
    }
}
