//! Where the commands of a transaction run from, and what the connection was then.
//!
//! Owns the way back to it.

use cellar_storage::Db;

use crate::resp::Protocol;
use crate::session::{ReplyMode, Session};

/// A place among the commands.
pub(super) struct Start {
    /// The first command that runs.
    pub(super) index: usize,
    db: Db,
    protocol: Protocol,
    reply_mode: ReplyMode,
}

impl Start {
    /// The present state of the connection, before this command.
    pub(super) fn at(index: usize, session: &Session) -> Self {
        Self {
            index,
            db: session.db(),
            protocol: session.protocol(),
            reply_mode: session.reply_mode(),
        }
    }

    /// Takes the connection back to it.
    pub(super) fn restore(&self, session: &Session) {
        session.select(self.db);
        session.set_protocol(self.protocol);
        session.set_reply_mode(self.reply_mode);
    }
}
