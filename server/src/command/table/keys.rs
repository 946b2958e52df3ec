//! Rows of the commands about keys, whatever their type.

use crate::command::CommandSpec;

pub(super) const ROWS: &[CommandSpec] = &[];
