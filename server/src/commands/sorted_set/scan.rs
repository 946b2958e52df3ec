//! ZSCAN: all elements of a set, in steps.
//!
//! Owns how it prints scores.

use cellar_storage::{Encoding, Snapshot};

use super::{let_others_run, open};
use crate::collections::sorted_set::{Element, SortedSet};
use crate::command::{CommandError, Cx};
use crate::commands::element_scan::cursor;
use crate::commands::scan::parse_element_options;
use crate::resp::{Args, ReplyBuf, format_double, format_double_17};

/// `ZSCAN key cursor [MATCH pattern] [COUNT count]`
pub(crate) async fn zscan(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let cursor = cursor(&args[2])?;
    let Some(mut set) = open(cx, found)? else {
        reply.array(2);
        reply.bulk(b"0");
        reply.array(0);
        return Ok(());
    };
    let (filter, count) = parse_element_options(&args[3..])?;
    let (cursor, mut elements) = step(&mut set, cursor, count).await?;
    elements.retain(|element| filter.matches(&element.member));
    reply.array(2);
    reply.bulk(itoa::Buffer::new().format(cursor).as_bytes());
    reply.array(elements.len() * 2);
    for (index, Element { score, member }) in elements.iter().enumerate() {
        reply.bulk(member);
        // Redis prints the text that a listpack holds, and a skip list's doubles in its own way
        let text = if set.encoding() == Encoding::Listpack {
            format_double(*score)
        } else {
            format_double_17(*score)
        };
        reply.bulk(text.as_bytes());
        let_others_run(index).await;
    }
    Ok(())
}

async fn step(
    set: &mut SortedSet,
    mut cursor: u64,
    count: usize,
) -> Result<(u64, Vec<Element>), CommandError> {
    let mut elements = Vec::new();
    loop {
        let (next, found) = set.scan(cursor).await?;
        elements.extend(found);
        cursor = next;
        if cursor == 0 || elements.len() >= count {
            return Ok((cursor, elements));
        }
        tokio::task::yield_now().await;
    }
}
