//! MONITOR.
//!
//! Owns how a client becomes a listener.

use std::sync::Arc;

use crate::client::ClientFlag;
use crate::command::{CommandError, Cx};
use crate::resp::{Args, ReplyBuf};

/// `MONITOR`
pub fn monitor(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let client = cx.session.client();
    if client.flags().set(ClientFlag::Monitor, true) {
        cx.shared.monitors.add(Arc::clone(client));
    }
    reply.ok();
    Ok(())
}
