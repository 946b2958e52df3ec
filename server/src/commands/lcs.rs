//! LCS: the longest common subsequence of two strings.
//!
//! Owns the command's grammar and its answers; the algorithm is in `subsequence`.

use bytes::Bytes;
use cellar_storage::{Lookup, Snapshot, ValueType};

use super::string_value::{integer, read_up_to};
use super::subsequence::{Match, Table, length};
use crate::command::{CommandError, Cx, Pending};
use crate::resp::{Args, ReplyBuf};

/// Bytes that Redis needs for one pair of bytes. Its bound on their sum is ours as well, although
/// one bit a pair is enough here.
const PAIR_BYTES: u64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Options {
    answers_length: bool,
    answers_matches: bool,
    match_length_min: u64,
    with_match_length: bool,
}

impl Options {
    fn parse(arguments: &[Bytes]) -> Result<Self, CommandError> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(option) = rest.next() {
            match option.to_ascii_lowercase().as_slice() {
                b"len" => options.answers_length = true,
                b"idx" => options.answers_matches = true,
                b"withmatchlen" => options.with_match_length = true,
                b"minmatchlen" => {
                    let min = integer(rest.next().ok_or(CommandError::Syntax)?)?;
                    options.match_length_min = u64::try_from(min).unwrap_or(0);
                }
                _ => return Err(CommandError::Syntax),
            }
        }
        if options.answers_length && options.answers_matches {
            return Err(CommandError::other(
                "ERR If you want both the length and indexes, please just use IDX.",
            ));
        }
        Ok(options)
    }
}

/// `LCS key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]`
pub fn lcs(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        // begun here: a HELLO behind this command must not change the form of its reply
        let mut reply = cx.reply();
        let (left, right) = find_both(&cx, &args[1], &args[2]).await?;
        let options = Options::parse(&args[3..])?;
        let pair_count = (len(left.as_ref()) + 1).saturating_mul(len(right.as_ref()) + 1);
        if pair_count.saturating_mul(PAIR_BYTES) > cx.shared.bulk_bytes_max() {
            return Err(CommandError::other(
                "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
            ));
        }
        let (left, right) = (whole(left).await?, whole(right).await?);
        if options.answers_length {
            reply.integer(i64::from(length(&left, &right).await));
            return Ok(reply);
        }
        let table = Table::compute(&left, &right).await;
        if options.answers_matches {
            answer_matches(&table.matches(&left, &right), options, &mut reply);
        } else {
            let mut common = Vec::new();
            for found in table.matches(&left, &right).iter().rev() {
                common.extend_from_slice(&left[found.left..found.left + found.len]);
            }
            reply.bulk_bytes(Bytes::from(common));
        }
        Ok(reply)
    })
}

/// Both lookups, one after the other in one poll.
async fn find_both(
    cx: &Cx,
    left: &Bytes,
    right: &Bytes,
) -> Result<(Option<Snapshot>, Option<Snapshot>), CommandError> {
    let lookups = [
        cx.store.lookup(cx.db(), left),
        cx.store.lookup(cx.db(), right),
    ];
    let keys = [left, right];
    let found = if lookups
        .iter()
        .any(|lookup| matches!(lookup, Lookup::Locked))
    {
        let (left, right) = ((cx.db(), &left[..]), (cx.db(), &right[..]));
        let locks = cx.store.lock(&[left, right]).await;
        let left = cx.store.get_locked(&locks, left.0, left.1).await?;
        [left, cx.store.get_locked(&locks, right.0, right.1).await?]
    } else {
        cx.linearized();
        let [left, right] = lookups;
        [resolve(left).await?, resolve(right).await?]
    };
    for (found, key) in found.iter().zip(keys) {
        cx.note_lookup(key, found.is_some());
        if found
            .as_ref()
            .is_some_and(|found| found.value_type() != ValueType::String)
        {
            return Err(CommandError::other(
                "ERR The specified keys must contain string values",
            ));
        }
    }
    let [left, right] = found;
    Ok((left, right))
}

async fn resolve(lookup: Lookup) -> Result<Option<Snapshot>, CommandError> {
    match lookup {
        Lookup::Ready(value) => Ok(Some(value)),
        Lookup::Pending(read) => Ok(read.await?),
        Lookup::Absent | Lookup::Locked => Ok(None),
    }
}

fn len(value: Option<&Snapshot>) -> u64 {
    value.map_or(0, Snapshot::len)
}

/// All of a value whose length was checked.
async fn whole(value: Option<Snapshot>) -> Result<Bytes, CommandError> {
    match value {
        Some(value) => read_up_to(&value, value.len()).await,
        None => Ok(Bytes::new()),
    }
}

/// The matches from the last one to the first, and the length of all.
fn answer_matches(matches: &[Match], options: Options, reply: &mut ReplyBuf) {
    let is_answered = |found: &&Match| found.len as u64 >= options.match_length_min;
    reply.map(2);
    reply.bulk(b"matches");
    reply.array(matches.iter().filter(is_answered).count());
    for found in matches.iter().filter(is_answered) {
        reply.array(2 + usize::from(options.with_match_length));
        for start in [found.left, found.right] {
            reply.array(2);
            reply.integer(start.cast_signed() as i64);
            reply.integer((start + found.len - 1).cast_signed() as i64);
        }
        if options.with_match_length {
            reply.integer(found.len.cast_signed() as i64);
        }
    }
    reply.bulk(b"len");
    let len: usize = matches.iter().map(|found| found.len).sum();
    reply.integer(len.cast_signed() as i64);
}
