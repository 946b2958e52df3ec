//! Rows of the commands about the connection itself.

use crate::command::Flag::{Fast, Loading, Stale};
use crate::command::{Acl, CommandSpec, Group, Handler};
use crate::commands::connection;

const GROUP: Group = Group::Connection;

pub(super) const ROWS: &[CommandSpec] = &[
    CommandSpec::new("echo", 2, GROUP, Handler::Now(connection::echo))
        .flags(&[Loading, Stale, Fast], &[Acl::Connection])
        .syntax("message")
        .doc("1.0.0", "Returns the given string.", "O(1)"),
    CommandSpec::new("ping", -1, GROUP, Handler::Now(connection::ping))
        .flags(&[Fast], &[Acl::Connection])
        .syntax("[message]")
        .doc("1.0.0", "Returns the server's liveliness response.", "O(1)"),
];
