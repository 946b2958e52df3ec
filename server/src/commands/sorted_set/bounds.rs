//! The bounds of ranges as clients write them: scores and members.
//!
//! Owns their notation and Redis's errors about it.

use bytes::Bytes;

use crate::collections::sorted_set::Cut;
use crate::collections::tree::Side;
use crate::command::CommandError;
use crate::number::parse_score_bound;

/// Two cuts, the lower one first.
pub(super) type Cuts = (Cut, Cut);

/// Bounds such as `1`, `(1`, `-inf`.
pub(super) fn score_cuts(min: &[u8], max: &[u8]) -> Result<Cuts, CommandError> {
    let cut = |bound: &[u8], included| {
        let (text, side) = match bound.split_first() {
            Some((b'(', text)) => (text, opposite(included)),
            _ => (bound, included),
        };
        parse_score_bound(text)
            .map(|score| Cut::Score(score, side))
            .ok_or(CommandError::other("ERR min or max is not a float"))
    };
    Ok((cut(min, Side::Before)?, cut(max, Side::After)?))
}

/// Bounds such as `[a`, `(a`, `-`, `+`.
pub(super) fn member_cuts(min: &Bytes, max: &Bytes) -> Result<Cuts, CommandError> {
    let cut = |bound: &Bytes, included| match &bound[..] {
        b"-" => Ok(Cut::Start),
        b"+" => Ok(Cut::End),
        [b'(', ..] => Ok(Cut::Member(bound.slice(1..), opposite(included))),
        [b'[', ..] => Ok(Cut::Member(bound.slice(1..), included)),
        _ => Err(CommandError::other(
            "ERR min or max not valid string range item",
        )),
    };
    Ok((cut(min, Side::Before)?, cut(max, Side::After)?))
}

fn opposite(side: Side) -> Side {
    match side {
        Side::Before => Side::After,
        Side::After => Side::Before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_cuts() {
        let scores = score_cuts(b"(1", b"2").unwrap();
        assert_eq!(scores.0, Cut::Score(1.0, Side::After));
        assert_eq!(scores.1, Cut::Score(2.0, Side::After));
        assert!(score_cuts(b"a", b"1").is_err());
        assert!(score_cuts(b"1", b"(").is_ok());
        let members = |min: &'static [u8], max: &'static [u8]| {
            member_cuts(&Bytes::from_static(min), &Bytes::from_static(max))
        };
        assert_eq!(members(b"-", b"+").unwrap(), (Cut::Start, Cut::End));
        let b = Bytes::from_static(b"b");
        assert_eq!(
            members(b"[b", b"(b").unwrap(),
            (
                Cut::Member(b.clone(), Side::Before),
                Cut::Member(b, Side::Before)
            )
        );
        assert!(members(b"b", b"+").is_err());
        assert!(members(b"", b"+").is_err());
    }
}
