//! HSCAN and SSCAN: the elements of one value, a step at a time.
//!
//! Owns their options and replies. The order of their refusals is Redis's: cursor, key, options.

use bytes::Bytes;
use cellar_storage::Snapshot;

use super::scan::{ElementFilter, parse_element_options};
use crate::collections::dict::{Pair, Part};
use crate::collections::elements::{Elements, Shape};
use crate::collections::hash::Hash;
use crate::collections::set::Set;
use crate::command::{CommandError, Cx};
use crate::number::parse_cursor;
use crate::resp::{Args, ReplyBuf};

/// `HSCAN key cursor [MATCH pattern] [COUNT count]`
pub(crate) async fn hscan(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let cursor = cursor(&args[2])?;
    if found.is_none() {
        answer(0, &[], Shape::Pairs, reply);
        return Ok(());
    }
    let hash = Hash::load(cx, found)?;
    scan(hash.elements, (cursor, &args[3..]), Shape::Pairs, reply).await
}

/// `SSCAN key cursor [MATCH pattern] [COUNT count]`
pub(crate) async fn sscan(
    _: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let cursor = cursor(&args[2])?;
    let Some(set) = Set::load(found)? else {
        answer(0, &[], Shape::Members, reply);
        return Ok(());
    };
    scan(set.elements, (cursor, &args[3..]), Shape::Members, reply).await
}

pub(super) fn cursor(argument: &Bytes) -> Result<u64, CommandError> {
    parse_cursor(argument).ok_or(CommandError::other("ERR invalid cursor"))
}

async fn scan(
    mut elements: Elements,
    (mut cursor, options): (u64, &[Bytes]),
    shape: Shape,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let (filter, count) = parse_element_options(options)?;
    let part = match shape {
        Shape::Members => Part::Keys,
        Shape::Pairs => Part::Both,
    };
    let (mut matching, mut seen) = (Vec::new(), 0);
    loop {
        let (next, pairs) = elements.scan(cursor, part).await?;
        seen += pairs.len();
        matching.extend(matched(pairs, &filter));
        cursor = next;
        if cursor == 0 || seen >= count {
            break;
        }
        tokio::task::yield_now().await;
        elements.forget();
    }
    answer(cursor, &matching, shape, reply);
    Ok(())
}

fn matched(pairs: Vec<Pair>, filter: &ElementFilter) -> impl Iterator<Item = Pair> {
    pairs.into_iter().filter(|pair| filter.matches(&pair.key))
}

fn answer(cursor: u64, pairs: &[Pair], shape: Shape, reply: &mut ReplyBuf) {
    reply.array(2);
    reply.bulk(itoa::Buffer::new().format(cursor).as_bytes());
    match shape {
        Shape::Members => reply.array(pairs.len()),
        Shape::Pairs => reply.array(pairs.len() * 2),
    }
    for pair in pairs {
        reply.bulk_bytes(pair.key.clone());
        if shape == Shape::Pairs {
            reply.bulk_bytes(pair.value.clone());
        }
    }
}
