//! The keys that queued commands will want, each with the database that is selected by then.
//!
//! Owns the few commands that reach into another database. What is not foreseen here costs a
//! second run, never more.

use bytes::Bytes;
use cellar_storage::Db;

use super::queue::Queued;
use crate::number::parse_i64;

/// The keys of all commands, where `selected` is the database at the start.
pub(super) fn keys_of(commands: &[Queued], mut selected: Db) -> Vec<(Db, &[u8])> {
    let mut keys = Vec::new();
    for Queued { entry, args } in commands {
        let specs = entry.spec.keys.iter();
        let positions = specs.flat_map(|spec| spec.positions(args));
        keys.extend(positions.map(|position| (selected, &args[position][..])));
        match entry.spec.name {
            "select" => selected = args.get(1).and_then(database).unwrap_or(selected),
            "move" => keys.extend(args.get(2).and_then(database).map(|db| (db, &args[1][..]))),
            "copy" => {
                let option = args
                    .iter()
                    .position(|word| word.eq_ignore_ascii_case(b"db"));
                let db = option.and_then(|at| args.get(at + 1)).and_then(database);
                keys.extend(db.map(|db| (db, &args[2][..])));
            }
            _ => {}
        }
    }
    keys
}

/// The database of that number. One that does not exist is the business of the command.
fn database(text: &Bytes) -> Option<Db> {
    let index = u8::try_from(parse_i64(text)?).ok()?;
    (usize::from(index) < cellar_storage::DATABASE_COUNT_MAX).then_some(Db(index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{CommandEntry, resolve};
    use crate::resp::Args;

    fn check(lines: &[&str], expected: &str) {
        let queued = lines.iter().map(|line| {
            let args: Args = line.split(' ').map(str::to_owned).collect();
            let entry: &'static CommandEntry = resolve(&args).unwrap();
            Queued { entry, args }
        });
        let queued: Vec<Queued> = queued.collect();
        let keys = keys_of(&queued, Db(3)).into_iter();
        let found = keys.map(|(db, key)| format!("{}:{}", db.0, String::from_utf8_lossy(key)));
        assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{lines:?}");
    }

    #[test]
    fn keys_lie_in_the_database_selected_by_then() {
        check(&["get a", "mset b 1 c 2", "ping"], "3:a 3:b 3:c");
        check(&["get a", "select 5", "get a", "select 0"], "3:a 5:a");
        check(&["select 99", "select x", "get a"], "3:a");
    }

    #[test]
    fn keys_in_other_databases_are_foreseen() {
        check(&["move a 7"], "3:a 7:a");
        check(&["move a x"], "3:a");
        check(&["copy a b db 2 replace"], "3:a 3:b 2:b");
        check(&["copy a b replace"], "3:a 3:b");
        check(&["copy a b DB"], "3:a 3:b");
    }
}
