//! The one const table of commands. It drives dispatch, arity errors, COMMAND, ACL categories and
//! the documentation page: a new command is one row here and one handler in `commands/`.
//!
//! Owns the rows, sorted by name within their group. Must never hold code.

mod bitmap;
mod connection;
mod keys;
mod server;
mod strings;

use super::CommandSpec;

/// All rows, by group.
pub const GROUPS: [&[CommandSpec]; 5] = [
    bitmap::ROWS,
    connection::ROWS,
    keys::ROWS,
    server::ROWS,
    strings::ROWS,
];

#[cfg(test)]
mod tests {
    use super::GROUPS;
    use crate::command::find;

    #[test]
    fn rows_are_sorted_and_found() {
        for rows in GROUPS {
            assert!(rows.is_sorted_by(|a, b| a.name < b.name));
            for row in rows {
                let found = find(row.name.to_uppercase().as_bytes()).unwrap();
                assert_eq!(found.spec.name, row.name);
            }
        }
    }
}
