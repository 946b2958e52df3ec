//! DUMP: a value in the encoding of Redis's dumps.
//!
//! Owns that a payload, which is one reply, has a bound: what RESTORE could not be sent is refused.

use cellar_storage::{Snapshot, ValueType};

use super::chunks::Chunks;
use super::lists::value::limit;
use super::read::find;
use super::sorted_set;
use crate::collections::dict::Part;
use crate::collections::elements::{Elements, Stream};
use crate::collections::hash::Hash;
use crate::collections::list::List;
use crate::collections::set::{Set, SetForm};
use crate::collections::tree::Direction;
use crate::command::{CommandError, Cx, Pending};
use crate::rdb::{self, Output};
use crate::resp::Args;

/// `DUMP key`
pub fn dump(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        match find(&cx, &args[1]).await? {
            Some(found) => {
                let output = write(&cx, found).await?;
                reply.bulk_bytes(rdb::seal(output.finish()).await);
            }
            None => reply.null(),
        }
        Ok(reply)
    })
}

async fn write(cx: &Cx, found: Snapshot) -> Result<Output, CommandError> {
    match found.value_type() {
        ValueType::String => write_string(cx, &found).await,
        ValueType::List => write_list(cx, found).await,
        ValueType::Set => {
            let set = Set::load(Some(found))?.unwrap_or_else(|| Set::empty(SetForm::Listpack));
            let output = Output::of_set(set.elements.len());
            write_elements(cx, output, (set.elements, Part::Keys)).await
        }
        ValueType::Hash | ValueType::TimedHash => {
            let mut hash = Hash::load(cx, Some(found))?;
            let output = Output::of_hash(hash.elements.count_seen().await?);
            write_elements(cx, output, (hash.elements, Part::Both)).await
        }
        ValueType::SortedSet => write_sorted_set(cx, found).await,
        ValueType::Stream => Err(CommandError::WrongType),
    }
}

/// Refuses a payload that RESTORE would not be given.
fn check(cx: &Cx, output: &Output) -> Result<(), CommandError> {
    if output.bytes() <= cx.shared.bulk_bytes_max() {
        return Ok(());
    }
    Err(CommandError::other(
        "ERR the payload exceeds maximum allowed size (proto-max-bulk-len)",
    ))
}

async fn write_string(cx: &Cx, found: &Snapshot) -> Result<Output, CommandError> {
    let mut output = Output::of_string();
    if let Some(value) = found.inline() {
        output.string(value);
        return Ok(output);
    }
    output.begin_string(found.len());
    let mut chunks = Chunks::new(found, 0, found.len());
    while let Some((_, chunk)) = chunks.next().await? {
        output.part(&chunk);
        check(cx, &output)?;
    }
    Ok(output)
}

async fn write_list(cx: &Cx, found: Snapshot) -> Result<Output, CommandError> {
    let mut list = List::open(found, limit(cx))?;
    let mut output = Output::of_list(list.len());
    let mut walk = list.walk(0, list.len(), Direction::Forward).await?;
    while let Some(items) = list.next(&mut walk).await? {
        for item in items {
            output.string(&item);
        }
        check(cx, &output)?;
    }
    Ok(output)
}

async fn write_elements(
    cx: &Cx,
    mut output: Output,
    (mut elements, part): (Elements, Part),
) -> Result<Output, CommandError> {
    let mut stream = Stream::new(part);
    while let Some(pairs) = elements.next(&mut stream).await? {
        for pair in pairs {
            output.string(&pair.key);
            if part == Part::Both {
                output.string(&pair.value);
            }
        }
        check(cx, &output)?;
        elements.rest().await;
    }
    Ok(output)
}

async fn write_sorted_set(cx: &Cx, found: Snapshot) -> Result<Output, CommandError> {
    let Some(mut set) = sorted_set::open(cx, Some(found))? else {
        return Err(CommandError::NoSuchKey);
    };
    let mut output = Output::of_sorted_set(set.count());
    let mut elements = set.elements(0, set.count(), Direction::Forward).await?;
    while let Some(next) = elements.next(&mut set).await? {
        for element in next {
            output.string(&element.member);
            output.score(element.score);
        }
        check(cx, &output)?;
        tokio::task::yield_now().await;
    }
    Ok(output)
}
