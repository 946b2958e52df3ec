//! Rows of the string commands.

use crate::command::CommandSpec;

pub(super) const ROWS: &[CommandSpec] = &[];
