//! The Redis protocol on the wire: requests in, replies out, in versions 2 and 3.
//!
//! Owns framing and its limits. Must never know a command.

mod ahead;
mod args;
mod double;
mod error;
mod inline;
mod parser;
mod portions;
mod reply;

pub use ahead::KeysAhead;
pub use args::Args;
pub use double::format_double;
pub(crate) use double::format_double_17;
pub use error::ProtocolError;
pub use inline::split_words;
pub use parser::{LINE_BYTES_MAX, Parsed, RequestLimits, RequestParser};
pub use portions::{Broken, Outlet, Portions};
pub use reply::{Body, ReplyBuf, ReplyMark, Splice};

/// Bytes of a bulk from which a reply carries the buffer itself instead of a copy: below it one
/// copy is cheaper than one more piece in the socket write.
pub const SPLICE_BYTES_MIN: usize = 16 * 1024;

/// The protocol version that a connection speaks, chosen by HELLO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// The one every connection starts with.
    #[default]
    Resp2,
    /// Maps, sets, doubles, booleans, pushes.
    Resp3,
}

impl Protocol {
    /// The number that HELLO takes and answers.
    pub const fn version(self) -> u8 {
        match self {
            Self::Resp2 => 2,
            Self::Resp3 => 3,
        }
    }
}
