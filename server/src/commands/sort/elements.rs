//! The elements that SORT sorts, of whatever type holds them.
//!
//! Owns the order in which a value gives them where they are not sorted.

use std::ops::Range;

use bytes::Bytes;
use cellar_storage::{Snapshot, ValueType};

use super::options::Options;
use crate::collections::dict::Part;
use crate::collections::elements::Stream;
use crate::collections::list::List;
use crate::collections::set::Set;
use crate::collections::sorted_set::SortedSet;
use crate::collections::tree::Direction;
use crate::command::{CommandError, Cx};
use crate::commands::lists::value::limit;
use crate::commands::sorted_set;

/// The elements of a value; where they are not to be sorted, only those that LIMIT wants.
pub(super) async fn load(
    cx: &Cx,
    found: Snapshot,
    options: &Options,
) -> Result<Vec<Bytes>, CommandError> {
    match found.value_type() {
        ValueType::List => {
            let mut list = List::open(found, limit(cx))?;
            let (start, count, direction) = wanted(list.len(), options);
            of_list(&mut list, start, count, direction).await
        }
        ValueType::SortedSet => match sorted_set::open(cx, Some(found))? {
            Some(mut set) => {
                let (start, count, direction) = wanted(set.count(), options);
                of_sorted_set(&mut set, start, count, direction).await
            }
            None => Ok(Vec::new()),
        },
        ValueType::Set => {
            let members = of_set(found).await?;
            if options.is_sorted {
                return Ok(members);
            }
            let Range { start, end } = options.limit.range(members.len());
            Ok(members[start..end].to_vec())
        }
        ValueType::String | ValueType::Hash | ValueType::TimedHash | ValueType::Stream => {
            Err(CommandError::WrongType)
        }
    }
}

/// Which elements of a value of `len` elements, and which way: the first, how many, the direction.
fn wanted(len: u64, options: &Options) -> (u64, u64, Direction) {
    if options.is_sorted {
        return (0, len, Direction::Forward);
    }
    let range = options
        .limit
        .range(usize::try_from(len).unwrap_or(usize::MAX));
    let (start, count) = (range.start as u64, range.len() as u64);
    if options.is_descending {
        let last = len.saturating_sub(1);
        (last.saturating_sub(start), count, Direction::Backward)
    } else {
        (start, count, Direction::Forward)
    }
}

async fn of_list(
    list: &mut List,
    start: u64,
    count: u64,
    direction: Direction,
) -> Result<Vec<Bytes>, CommandError> {
    let mut walk = list.walk(start, count, direction).await?;
    let mut elements = Vec::new();
    while let Some(mut items) = list.next(&mut walk).await? {
        elements.append(&mut items);
    }
    Ok(elements)
}

async fn of_sorted_set(
    set: &mut SortedSet,
    start: u64,
    count: u64,
    direction: Direction,
) -> Result<Vec<Bytes>, CommandError> {
    let mut way = set.elements(start, count, direction).await?;
    let mut elements = Vec::new();
    while let Some(found) = way.next(set).await? {
        elements.extend(found.into_iter().map(|element| element.member));
        tokio::task::yield_now().await;
    }
    Ok(elements)
}

async fn of_set(found: Snapshot) -> Result<Vec<Bytes>, CommandError> {
    let Some(mut set) = Set::load(Some(found))? else {
        return Ok(Vec::new());
    };
    let mut stream = Stream::new(Part::Keys);
    let mut members = Vec::new();
    while let Some(pairs) = set.elements.next(&mut stream).await? {
        members.extend(pairs.into_iter().map(|pair| pair.key));
        set.elements.rest().await;
    }
    Ok(members)
}
