//! LLEN, LINDEX, LRANGE, LPOS: what lists hold.
//!
//! Owns their arguments. Reads no more of a list than it answers from. Must never write.

use cellar_storage::Snapshot;

use super::value::{open, parse_from};
use crate::collections::list::{List, ListWalk};
use crate::collections::tree::Direction;
use crate::command::{CommandError, Cx};
use crate::commands::long_reply;
use crate::commands::ranks::ranks;
use crate::commands::string_value::integer;
use crate::resp::{Args, ReplyBuf};

/// `LLEN key`
pub(crate) async fn llen(
    cx: &Cx,
    _: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let len = open(cx, found)?.map_or(0, |list| list.len());
    reply.integer(len.cast_signed());
    Ok(())
}

/// `LINDEX key index`
pub(crate) async fn lindex(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let Some(mut list) = open(cx, found)? else {
        reply.null();
        return Ok(());
    };
    let index = integer(&args[2])?;
    let found = match place(index, list.len()) {
        Some(index) => list.get(index).await?,
        None => None,
    };
    match found {
        Some(item) => reply.bulk_bytes(item),
        None => reply.null(),
    }
    Ok(())
}

/// Where an element is whose index counts from the end if it is negative; `len` and more for none.
pub(super) fn place(index: i64, len: u64) -> Option<u64> {
    let place = if index < 0 {
        len.checked_sub(index.unsigned_abs())
    } else {
        Some(index.unsigned_abs())
    };
    place.filter(|place| *place < len)
}

/// `LRANGE key start stop`
pub(crate) async fn lrange(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let (start, end) = (integer(&args[2])?, integer(&args[3])?);
    let Some(mut list) = open(cx, found)? else {
        reply.array(0);
        return Ok(());
    };
    let range = ranks(start, end, list.len());
    let count = range.end - range.start;
    reply.array(count as usize);
    let walk = list.walk(range.start, count, Direction::Forward).await?;
    long_reply::answer(RangeElements { list, walk }, reply).await
}

struct RangeElements {
    list: List,
    walk: ListWalk,
}

impl long_reply::Elements for RangeElements {
    async fn encode_next(&mut self, reply: &mut ReplyBuf) -> Result<bool, CommandError> {
        let Some(items) = self.list.next(&mut self.walk).await? else {
            return Ok(false);
        };
        for item in items {
            reply.bulk_bytes(item);
        }
        Ok(true)
    }

    async fn pin(&mut self) {
        self.list.pin().await;
    }
}

/// What LPOS looks for.
struct Search {
    direction: Direction,
    /// Which match is the first that counts, from 1.
    rank: u64,
    /// How many matches are answered, 0 for all; nothing: one, and not in an array.
    count: Option<u64>,
    /// How many elements are compared, 0 for all.
    compared_max: u64,
}

/// `LPOS key element [RANK rank] [COUNT num-matches] [MAXLEN len]`
pub(crate) async fn lpos(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let search = parse_search(args)?;
    let found = match open(cx, found)? {
        Some(mut list) => positions(&mut list, &args[2], &search).await?,
        None => Vec::new(),
    };
    answer_positions(reply, &found, search.count.is_some());
    Ok(())
}

fn answer_positions(reply: &mut ReplyBuf, found: &[u64], is_array: bool) {
    if is_array {
        reply.array(found.len());
        for position in found {
            reply.integer(position.cast_signed());
        }
    } else {
        match found.first() {
            Some(position) => reply.integer(position.cast_signed()),
            None => reply.null(),
        }
    }
}

fn parse_search(args: &Args) -> Result<Search, CommandError> {
    let (mut rank, mut count, mut compared_max) = (1, None, 0);
    let (pairs, rest) = args[3..].as_chunks::<2>();
    for [option, value] in pairs {
        match option.to_ascii_lowercase().as_slice() {
            b"rank" => rank = parse_rank(value)?,
            b"count" => count = Some(parse_from(value, 0, "ERR COUNT can't be negative")?),
            b"maxlen" => compared_max = parse_from(value, 0, "ERR MAXLEN can't be negative")?,
            _ => return Err(CommandError::Syntax),
        }
    }
    if !rest.is_empty() {
        return Err(CommandError::Syntax);
    }
    Ok(Search {
        direction: if rank < 0 {
            Direction::Backward
        } else {
            Direction::Forward
        },
        rank: rank.unsigned_abs(),
        count,
        compared_max,
    })
}

fn parse_rank(text: &[u8]) -> Result<i64, CommandError> {
    match symmetric(text)? {
        0 => Err(CommandError::other(
            "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... \
             or use negative to start from the end of the list",
        )),
        rank => Ok(rank),
    }
}

/// A number whose opposite is one as well.
pub(super) fn symmetric(text: &[u8]) -> Result<i64, CommandError> {
    match integer(text)? {
        i64::MIN => Err(CommandError::other(format!(
            "ERR value is out of range, value must between {} and {}",
            -i64::MAX,
            i64::MAX
        ))),
        number => Ok(number),
    }
}

/// Where the wanted element is, the nearest first.
async fn positions(
    list: &mut List,
    wanted: &[u8],
    search: &Search,
) -> Result<Vec<u64>, CommandError> {
    let unbounded = |bound: u64| if bound == 0 { u64::MAX } else { bound };
    let (len, count) = (list.len(), unbounded(search.count.unwrap_or(1)));
    let compared = unbounded(search.compared_max).min(len);
    let start = match search.direction {
        Direction::Forward => 0,
        Direction::Backward => len.saturating_sub(1),
    };
    let mut walk = list.walk(start, compared, search.direction).await?;
    let (mut found, mut passed, mut matches) = (Vec::new(), 0, 0);
    while let Some(items) = list.next(&mut walk).await? {
        for item in items {
            if item == wanted {
                matches += 1;
                if matches >= search.rank {
                    found.push(match search.direction {
                        Direction::Forward => passed,
                        Direction::Backward => len - 1 - passed,
                    });
                }
                if found.len() as u64 == count {
                    return Ok(found);
                }
            }
            passed += 1;
        }
    }
    Ok(found)
}
