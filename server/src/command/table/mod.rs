//! The one const table of commands. It drives dispatch, arity errors, COMMAND, ACL categories and
//! the documentation page: a new command is one row here and one handler in `commands/`.
//!
//! Owns the rows, sorted by name within their group. Must never hold code.

mod bitmap;
mod cluster;
mod connection;
mod geo;
mod hashes;
mod hyperloglog;
mod keys;
mod lists;
mod pubsub;
mod scripting;
mod server;
mod sets;
mod sorted_sets;
mod streams;
mod strings;
mod transactions;

use super::CommandSpec;

/// All rows, by group.
pub const GROUPS: [&[CommandSpec]; 16] = [
    bitmap::ROWS,
    cluster::ROWS,
    connection::ROWS,
    geo::ROWS,
    hashes::ROWS,
    hyperloglog::ROWS,
    keys::ROWS,
    lists::ROWS,
    pubsub::ROWS,
    scripting::ROWS,
    server::ROWS,
    sets::ROWS,
    sorted_sets::ROWS,
    streams::ROWS,
    strings::ROWS,
    transactions::ROWS,
];

#[cfg(test)]
mod tests {
    use super::GROUPS;
    use crate::command::{
        Acl, Argument, CommandEntry, FindKeys, Flag, Handler, arguments_of, commands, find,
    };

    fn all() -> impl Iterator<Item = &'static CommandEntry> {
        commands()
            .iter()
            .flat_map(|entry| std::iter::once(entry).chain(&entry.subcommands))
    }

    #[test]
    fn rows_are_sorted_and_found() {
        for rows in GROUPS {
            assert!(rows.is_sorted_by(|a, b| a.name < b.name));
            for row in rows {
                let found = find(row.name.to_uppercase().as_bytes()).unwrap();
                assert_eq!(found.spec.name, row.name);
                assert!(
                    row.subcommands.is_sorted_by(|a, b| a.name < b.name),
                    "{}",
                    row.name
                );
            }
        }
        let mut names: Vec<&str> = all().map(|entry| entry.full_name.as_str()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn rows_are_documented() {
        for entry in all() {
            let spec = entry.spec;
            let is_sentence = spec.summary.ends_with('.') && !spec.summary.contains('|');
            assert!(is_sentence, "{}", entry.full_name);
            assert!(spec.since.split('.').count() == 3, "{}", entry.full_name);
            assert!(!spec.complexity.is_empty(), "{}", entry.full_name);
        }
    }

    #[test]
    fn handlers_and_subcommands_fit() {
        for entry in all() {
            let is_container = matches!(entry.spec.handler, Handler::Subcommands);
            assert!(
                !is_container || !entry.subcommands.is_empty(),
                "{}",
                entry.full_name
            );
            let has_help = entry.subcommand(b"help").is_some();
            assert!(
                entry.subcommands.is_empty() || has_help,
                "{}",
                entry.full_name
            );
        }
    }

    #[test]
    fn keys_lie_within_the_arity() {
        for entry in all() {
            let spec = entry.spec;
            let count_min = spec.arity.unsigned_abs() as usize;
            let request = vec![b"1".as_slice(); count_min];
            for keys in spec.keys {
                assert!(keys.first > 0, "{}", entry.full_name);
                let positions: Vec<usize> = keys.positions(&request).collect();
                let is_beyond = keys.first.unsigned_abs() >= count_min;
                let is_script = spec.acl.has(Acl::Scripting);
                let is_keyword =
                    matches!(keys.find, FindKeys::Keyword(_) | FindKeys::HalfBehind(_));
                let is_optional = is_beyond || is_keyword || is_script;
                assert_eq!(positions.is_empty(), is_optional, "{}", entry.full_name);
                assert!(positions.iter().all(|position| *position < count_min));
                if let FindKeys::Range { step, .. } = keys.find {
                    assert!(step > 0, "{}", entry.full_name);
                }
            }
            let flags = spec.flags;
            assert!(
                !(flags.has(Flag::Write) && flags.has(Flag::Readonly)),
                "{}",
                entry.full_name
            );
            assert!(
                !flags.has(Flag::DenyOom) || flags.has(Flag::Write),
                "{}",
                entry.full_name
            );
            let touches_keys = flags.has(Flag::Write)
                || flags.has(Flag::Readonly)
                || spec.acl.has(Acl::Transaction)
                || spec.acl.has(Acl::Scripting);
            assert!(spec.keys.is_empty() || touches_keys, "{}", entry.full_name);
        }
    }

    #[test]
    fn the_notation_agrees_with_the_arity() {
        for entry in all().filter(|entry| entry.subcommands.is_empty()) {
            let spec = entry.spec;
            let names = entry.full_name.split('|').count();
            let arguments = arguments_of(spec);
            let is_open = arguments.iter().any(|argument| !argument.is_fixed());
            assert_eq!(
                spec.arity < 0,
                is_open || spec.name == "quit",
                "{}",
                entry.full_name
            );
            let required: usize = arguments.iter().map(Argument::count_min).sum();
            let count_min = spec.arity.unsigned_abs() as usize;
            assert!(
                names + required <= count_min,
                "{}: {arguments:?}",
                entry.full_name
            );
        }
    }
}
