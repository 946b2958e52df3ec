//! Ids and ranges of them as clients write them.
//!
//! Owns their spellings.

use bytes::Bytes;

use crate::collections::stream::EntryId;
use crate::command::CommandError;
use crate::number::parse_cursor;

/// Bytes of an id's text at most.
const TEXT_BYTES_MAX: usize = 127;

/// An id that the client may leave to the server in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewId {
    /// `*`
    Any,
    /// `ms-*`
    At(u64),
    /// All of it.
    Exactly(EntryId),
}

fn invalid() -> CommandError {
    CommandError::other("ERR Invalid stream ID specified as stream command argument")
}

/// A number as Redis reads one in an id.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.starts_with(b"-") {
        return None;
    }
    parse_cursor(text)
}

/// `ms` or `ms-seq`; the number within the millisecond is `seq` where it is left out.
pub(super) fn strict_id(text: &[u8], seq: u64) -> Result<EntryId, CommandError> {
    match parse(text, seq)? {
        NewId::Exactly(id) => Ok(id),
        NewId::Any | NewId::At(_) => Err(invalid()),
    }
}

/// Ids that are all written out or end in their milliseconds.
pub(super) fn strict_ids(texts: &[Bytes]) -> Result<Vec<EntryId>, CommandError> {
    texts.iter().map(|text| strict_id(text, 0)).collect()
}

/// Like [`strict_id`], or `-` or `+` for the ends of all ids.
pub(super) fn id(text: &[u8], seq: u64) -> Result<EntryId, CommandError> {
    match text {
        b"-" => Ok(EntryId::ZERO),
        b"+" => Ok(EntryId::MAX),
        _ => strict_id(text, seq),
    }
}

/// The id of XADD, but for `*`.
pub(super) fn new_id(text: &[u8]) -> Result<NewId, CommandError> {
    parse(text, 0)
}

fn parse(text: &[u8], seq: u64) -> Result<NewId, CommandError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(invalid());
    }
    let dash = text.iter().position(|byte| *byte == b'-');
    let (ms, rest) = match dash {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let ms = number(ms).ok_or_else(invalid)?;
    match rest {
        Some(b"*") => Ok(NewId::At(ms)),
        Some(rest) => {
            let seq = number(rest).ok_or_else(invalid)?;
            Ok(NewId::Exactly(EntryId { ms, seq }))
        }
        None => Ok(NewId::Exactly(EntryId { ms, seq })),
    }
}

/// The first id of a range: `(` in front of it leaves it out.
pub(super) fn start_id(text: &[u8]) -> Result<EntryId, CommandError> {
    match exclusive(text) {
        Some(text) => strict_id(text, 0)?
            .next()
            .ok_or_else(|| CommandError::other("ERR invalid start ID for the interval")),
        None => id(text, 0),
    }
}

/// The last id of a range: `(` in front of it leaves it out.
pub(super) fn end_id(text: &[u8]) -> Result<EntryId, CommandError> {
    match exclusive(text) {
        Some(text) => strict_id(text, u64::MAX)?
            .previous()
            .ok_or_else(|| CommandError::other("ERR invalid end ID for the interval")),
        None => id(text, u64::MAX),
    }
}

fn exclusive(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"(").filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(u64, u64)>) {
        let found = strict_id(text.as_bytes(), 7).ok();
        assert_eq!(found.map(|id| (id.ms, id.seq)), expected, "{text:?}");
    }

    #[test]
    fn ids_are_read() {
        check("5", Some((5, 7)));
        check("5-3", Some((5, 3)));
        check(
            "18446744073709551615-18446744073709551615",
            Some((u64::MAX, u64::MAX)),
        );
        for text in [
            "",
            "-",
            "+",
            "5-",
            "-5",
            "5--5",
            "5-*",
            "*",
            "x",
            "5-3-1",
            "18446744073709551616",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn ranges_are_read() {
        let show = |id: Result<EntryId, CommandError>| id.map(|id| id.to_string()).ok();
        let top = u64::MAX;
        assert_eq!(show(start_id(b"-")).as_deref(), Some("0-0"));
        assert_eq!(show(start_id(b"(5")).as_deref(), Some("5-1"));
        assert_eq!(show(end_id(b"(5-0")), Some(format!("4-{top}")));
        assert_eq!(show(end_id(b"5")), Some(format!("5-{top}")));
        assert_eq!(show(end_id(b"(5")), Some(format!("5-{}", top - 1)));
        for text in [
            &b"(-"[..],
            b"(+",
            b"(",
            b"(18446744073709551615-18446744073709551615",
        ] {
            assert_eq!(show(start_id(text)), None);
        }
        assert_eq!(show(end_id(b"(0-0")), None);
        assert_eq!(new_id(b"5-*").ok(), Some(NewId::At(5)));
    }
}
