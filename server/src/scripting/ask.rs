//! What a script wants of its worker, and what it gets.
//!
//! Owns only these types.

use bytes::Bytes;

use crate::resp::{Args, Protocol};

/// What a script stops for.
#[expect(
    clippy::large_enum_variant,
    reason = "moved once; a box would be an allocation more"
)]
pub(super) enum Ask {
    /// To run a command; its reply comes in this protocol version.
    Call(Args, Protocol),
    /// To let others run.
    Pause,
}

/// What a script gets.
pub(super) enum Answer {
    /// It may go on.
    Go,
    /// The reply of its command, encoded.
    Reply(Bytes),
    /// It is to end.
    Stop,
}
