//! Rows of the commands about the server.

use crate::command::CommandSpec;

pub(super) const ROWS: &[CommandSpec] = &[];
