//! What a client did that loses framing.
//!
//! Owns the texts, which are Redis's. After one of these the connection answers and closes.

/// A violation of the protocol. `Display` is what follows `-ERR Protocol error: `.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The count of arguments is not a number or too large.
    #[error("invalid multibulk length")]
    MultibulkLength,
    /// The length of an argument is not a number, negative or too large.
    #[error("invalid bulk length")]
    BulkLength,
    /// An argument does not begin with `$`.
    #[error("expected '$', got '{}'", printable(*.0))]
    ExpectedBulk(u8),
    /// An inline request without an end.
    #[error("too big inline request")]
    InlineTooBig,
    /// A count line without an end.
    #[error("too big mbulk count string")]
    CountTooBig,
    /// A length line without an end.
    #[error("too big bulk count string")]
    LengthTooBig,
    /// Many arguments before authentication.
    #[error("unauthenticated multibulk length")]
    UnauthenticatedMultibulk,
    /// A large argument before authentication.
    #[error("unauthenticated bulk length")]
    UnauthenticatedBulk,
    /// An inline request whose quotes do not match.
    #[error("unbalanced quotes in request")]
    UnbalancedQuotes,
}

fn printable(byte: u8) -> char {
    if byte.is_ascii_graphic() || byte == b' ' {
        byte as char
    } else {
        '.'
    }
}
