//! PING, ECHO, SELECT, QUIT, RESET.
//!
//! Owns what a connection goes back to on RESET.

use cellar_storage::Db;

use super::{pubsub, tracking};
use crate::client::ClientFlag;
use crate::command::{CommandError, Cx};
use crate::number::parse_i64;
use crate::resp::{Args, Protocol, ReplyBuf};
use crate::session::ReplyMode;

/// `PING [message]`
pub fn ping(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    match args.len() {
        1 | 2 if cx.session.is_confined() => {
            // in the form of a message, which subscribers expect
            let message = args.get(1).map_or(&b""[..], |message| message);
            reply.bulk_array(&[b"pong", message]);
        }
        1 => reply.raw(b"+PONG\r\n"),
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

/// `SELECT index`
pub fn select(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let index = parse_i64(&args[1]).ok_or(CommandError::NotInteger)?;
    cx.session.select(database(cx, index)?);
    reply.ok();
    Ok(())
}

/// The database with this number.
pub(super) fn database(cx: &Cx, index: i64) -> Result<Db, CommandError> {
    u8::try_from(index)
        .ok()
        .filter(|index| *index < cx.shared.database_count())
        .map(Db)
        .ok_or(CommandError::DbOutOfRange)
}

/// `QUIT`
pub fn quit(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    cx.session
        .client()
        .flags()
        .set(ClientFlag::CloseAfterReply, true);
    cx.session.close_after_reply();
    reply.ok();
    Ok(())
}

/// `RESET`
pub fn reset(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let session = &cx.session;
    let client = session.client();
    session.transaction().borrow_mut().close(client);
    cx.shared.monitors.remove(client.id());
    pubsub::leave(cx);
    tracking::end(cx);
    for flag in [
        ClientFlag::Monitor,
        ClientFlag::NoEvict,
        ClientFlag::NoTouch,
    ] {
        client.flags().set(flag, false);
    }
    client.set_labels(|labels| labels.name.clear());
    session.set_reply_mode(ReplyMode::On);
    session.set_protocol(Protocol::Resp2);
    session.select(Db(0));
    session.set_authenticated(!cx.shared.config.fast.needs_password());
    reply.set_protocol(Protocol::Resp2);
    reply.simple("RESET");
    Ok(())
}
