//! CLUSTER on a server that is none.
//!
//! Owns the one answer that there is.

use crate::command::{CommandError, Cx};
use crate::resp::{Args, ReplyBuf};

/// Every subcommand, as Redis answers it outside of cluster mode.
pub fn refuse(_: &Cx, _: &Args, _: &mut ReplyBuf) -> Result<(), CommandError> {
    let text = "ERR This instance has cluster support disabled";
    Err(CommandError::other(text))
}
