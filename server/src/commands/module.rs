//! MODULE, as far as a server goes that loads none: LIST.

use crate::command::{CommandError, Cx};
use crate::resp::{Args, ReplyBuf};

/// `MODULE LIST`
pub fn list(_: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.array(0);
    Ok(())
}
