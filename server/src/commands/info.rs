//! INFO.
//!
//! Owns nothing: the text is `info`'s.

use crate::command::{CommandError, Cx};
use crate::info;
use crate::resp::{Args, ReplyBuf};

/// `INFO [section ...]`
pub fn info(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.verbatim("txt", &info::info(cx, &args[1..]));
    Ok(())
}
