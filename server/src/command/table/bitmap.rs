//! Rows of the bitmap commands.

use crate::command::CommandSpec;

pub(super) const ROWS: &[CommandSpec] = &[];
