//! Strings as values: their encodings, their bounds, and the arguments that describe them.
//!
//! Owns the rules that all commands on strings share.

use bytes::Bytes;
use cellar_storage::{Encoding, Snapshot, ValueType};

use crate::command::{CommandError, Cx};
use crate::number::parse_i64;

/// Bytes of the longest value that Redis calls `embstr`.
const EMBSTR_BYTES_MAX: usize = 44;

/// The encoding that Redis gives to a value that arrives whole.
pub(super) fn encoding_of(value: &[u8]) -> Encoding {
    if value.len() > EMBSTR_BYTES_MAX {
        Encoding::Raw
    } else if parse_i64(value).is_some() {
        Encoding::Int
    } else {
        Encoding::Embstr
    }
}

/// Lets strings and absent keys through.
pub(super) fn expect_string(found: Option<Snapshot>) -> Result<Option<Snapshot>, CommandError> {
    match found {
        Some(found) if found.value_type() != ValueType::String => Err(CommandError::WrongType),
        found => Ok(found),
    }
}

/// The value's first `bytes_max` bytes, as one buffer.
pub(super) async fn read_up_to(value: &Snapshot, bytes_max: u64) -> Result<Bytes, CommandError> {
    Ok(value.read(0..bytes_max).await?)
}

/// Refuses a string that would end beyond `proto-max-bulk-len`.
pub(super) fn check_length(cx: &Cx, offset: u64, data: &[u8]) -> Result<(), CommandError> {
    match offset.checked_add(data.len() as u64) {
        Some(end) if end <= cx.shared.bulk_bytes_max() => Ok(()),
        _ => Err(CommandError::other(
            "ERR string exceeds maximum allowed size (proto-max-bulk-len)",
        )),
    }
}

/// An argument that has to be a signed 64-bit number.
pub(super) fn integer(argument: &[u8]) -> Result<i64, CommandError> {
    parse_i64(argument).ok_or(CommandError::NotInteger)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, expected: Encoding) {
        assert_eq!(encoding_of(value.as_bytes()), expected, "{value:?}");
    }

    #[test]
    fn encodes_as_redis_does() {
        check("", Encoding::Embstr);
        check("12", Encoding::Int);
        check("-9223372036854775808", Encoding::Int);
        check("9223372036854775808", Encoding::Embstr);
        check("012", Encoding::Embstr);
        check(&"x".repeat(44), Encoding::Embstr);
        check(&"x".repeat(45), Encoding::Raw);
    }
}
