//! PING and ECHO.

use crate::command::{CommandError, Cx};
use crate::resp::{Args, ReplyBuf};

/// `PING [message]`
pub fn ping(_: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    match args.len() {
        1 => reply.simple("PONG"),
        2 => reply.bulk_bytes(args[1].clone()),
        _ => return Err(CommandError::arity("ping")),
    }
    Ok(())
}

/// `ECHO message`
pub fn echo(_: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.bulk_bytes(args[1].clone());
    Ok(())
}
