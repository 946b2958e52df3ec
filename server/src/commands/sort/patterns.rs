//! Patterns of SORT: `#` for the element, or a key in whose name the element takes the place of
//! the first `*`, with `->field` behind it for a hash.
//!
//! Owns how they are read from the store: some keys at a time, never under a lock.

use std::collections::VecDeque;

use bytes::Bytes;
use cellar_storage::{Lookup, Snapshot, ValueType};

use crate::collections::hash::Hash;
use crate::command::{CommandError, Cx};

/// Keys that are looked up at a time: what a pipeline may have in flight.
const IN_FLIGHT_COUNT_MAX: usize = 32;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The element itself.
    Element,
    /// A key whose name has the element in the middle, or a field of the hash that it holds.
    Key {
        before: Bytes,
        after: Bytes,
        field: Option<Bytes>,
    },
    /// Nothing: a name that has no place for the element.
    Nothing,
}

impl Pattern {
    /// Reads a pattern.
    pub(super) fn new(text: &Bytes) -> Self {
        if text == &b"#"[..] {
            return Self::Element;
        }
        let Some(star) = text.iter().position(|byte| *byte == b'*') else {
            return Self::Nothing;
        };
        let (before, rest) = (text.slice(..star), text.slice(star + 1..));
        let arrow = rest.windows(2).position(|pair| pair == b"->");
        // an arrow that nothing follows belongs to the name
        match arrow.filter(|at| at + 2 < rest.len()) {
            Some(at) => Self::Key {
                before,
                after: rest.slice(..at),
                field: Some(rest.slice(at + 2..)),
            },
            None => Self::Key {
                before,
                after: rest,
                field: None,
            },
        }
    }

    /// Whether it is the element itself.
    pub(super) fn is_element(&self) -> bool {
        matches!(self, Self::Element)
    }

    /// What is to be looked up for an element.
    fn aim(&self, element: &Bytes) -> Aim {
        match self {
            Self::Element => Aim::Known(Some(element.clone())),
            Self::Nothing => Aim::Known(None),
            Self::Key { before, after, .. } => {
                Aim::Key(Bytes::from([&before[..], element, after].concat()))
            }
        }
    }

    fn field(&self) -> Option<&Bytes> {
        match self {
            Self::Key { field, .. } => field.as_ref(),
            Self::Element | Self::Nothing => None,
        }
    }
}

enum Aim {
    Known(Option<Bytes>),
    Key(Bytes),
}

/// A value on its way.
enum Coming {
    Known(Option<Bytes>),
    Found(Snapshot),
    Read(cellar_storage::Read),
    /// Its key is locked: it is waited for when its turn comes.
    Locked(Bytes),
}

/// The values of all patterns for all elements, an element's values side by side; without patterns
/// the elements.
pub(super) async fn resolve(
    cx: &Cx,
    elements: Vec<Bytes>,
    patterns: &[Pattern],
) -> Result<Vec<Option<Bytes>>, CommandError> {
    if patterns.is_empty() {
        return Ok(elements.into_iter().map(Some).collect());
    }
    let pairs = elements
        .iter()
        .flat_map(|element| patterns.iter().map(move |pattern| (element, pattern)));
    let mut values = Vec::with_capacity(elements.len() * patterns.len());
    let mut coming = VecDeque::with_capacity(IN_FLIGHT_COUNT_MAX);
    for (element, pattern) in pairs {
        if coming.len() == IN_FLIGHT_COUNT_MAX
            && let Some((oldest, pattern)) = coming.pop_front()
        {
            values.push(take(cx, oldest, pattern).await?);
            give_way(values.len()).await;
        }
        coming.push_back((begin(cx, pattern.aim(element)), pattern));
    }
    for (oldest, pattern) in coming {
        values.push(take(cx, oldest, pattern).await?);
    }
    Ok(values)
}

fn begin(cx: &Cx, aim: Aim) -> Coming {
    let key = match aim {
        Aim::Known(value) => return Coming::Known(value),
        Aim::Key(key) => key,
    };
    match cx.store.lookup(cx.db(), &key) {
        Lookup::Absent => Coming::Known(None),
        Lookup::Ready(found) => Coming::Found(found),
        Lookup::Pending(read) => Coming::Read(read),
        Lookup::Locked => Coming::Locked(key),
    }
}

async fn take(cx: &Cx, coming: Coming, pattern: &Pattern) -> Result<Option<Bytes>, CommandError> {
    let found = match coming {
        Coming::Known(value) => return Ok(value),
        Coming::Found(found) => Some(found),
        Coming::Read(read) => read.await?,
        Coming::Locked(key) => cx.store.get(cx.db(), &key).await?,
    };
    let Some(found) = found else {
        return Ok(None);
    };
    match (found.value_type(), pattern.field()) {
        (ValueType::String, None) => Ok(Some(found.read(0..found.len()).await?)),
        (ValueType::Hash | ValueType::TimedHash, Some(field)) => {
            Hash::load(cx, Some(found))?.elements.get(field).await
        }
        _ => Ok(None),
    }
}

/// Lets others run once in a number of values.
async fn give_way(count: usize) {
    if count.is_multiple_of(IN_FLIGHT_COUNT_MAX) {
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &'static str, expected: Option<(&str, &str, Option<&str>)>) {
        let bytes = |text: &str| Bytes::from(text.to_owned());
        let expected = expected.map_or(Pattern::Nothing, |(before, after, field)| Pattern::Key {
            before: bytes(before),
            after: bytes(after),
            field: field.map(bytes),
        });
        assert_eq!(Pattern::new(&Bytes::from(text)), expected, "{text}");
    }

    #[test]
    fn patterns_are_read() {
        assert!(Pattern::new(&Bytes::from("#")).is_element());
        check("key", None);
        check("##", None);
        check("w_*", Some(("w_", "", None)));
        check("*", Some(("", "", None)));
        check("a*b*c", Some(("a", "b*c", None)));
        check("a*b->f", Some(("a", "b", Some("f"))));
        check("a*->", Some(("a", "->", None)));
        check("a->b*c", Some(("a->b", "c", None)));
        check("*->f->g", Some(("", "", Some("f->g"))));
    }
}
