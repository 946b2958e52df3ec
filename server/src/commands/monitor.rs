//! MONITOR.
//!
//! Owns how a client becomes a listener.

use std::sync::Arc;

use crate::client::ClientFlag;
use crate::command::{CommandError, Cx};
use crate::resp::{Args, ReplyBuf};

/// `MONITOR`
pub fn monitor(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    if !cx.may_block() {
        let text = "ERR MONITOR isn't allowed for DENY BLOCKING client";
        return Err(CommandError::other(text));
    }
    let client = cx.session.client();
    if client.flags().set(ClientFlag::Monitor, true) {
        cx.shared.monitors.add(Arc::clone(client));
    }
    reply.ok();
    Ok(())
}
