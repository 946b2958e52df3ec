//! Finds a command by the name that a client sent.
//!
//! Owns the numbering of commands and the hash table over the const table, both built once. Names
//! are compared without regard to case.

use std::sync::OnceLock;

use super::CommandSpec;
use super::table::GROUPS;

/// Slots of the table: a power of two at least four times the number of commands, so that a probe
/// seldom meets another name.
const SLOT_COUNT: usize = 1024;

/// A name longer than this is no command's.
const NAME_BYTES_MAX: usize = 32;

/// A command or subcommand with its number and full name.
pub struct CommandEntry {
    /// Its row of the table.
    pub spec: &'static CommandSpec,
    /// Its number: dense, the same for the life of the process.
    pub id: u16,
    /// Its name, with the container's before it as in `client|kill`.
    pub full_name: String,
    /// Its subcommands.
    pub subcommands: Vec<CommandEntry>,
}

impl CommandEntry {
    /// The subcommand with this name, in whatever case.
    pub fn subcommand(&self, name: &[u8]) -> Option<&CommandEntry> {
        self.subcommands
            .iter()
            .find(|entry| entry.spec.name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// The entry with this number.
    pub fn by_id(id: u16) -> Option<&'static CommandEntry> {
        commands().iter().find_map(|entry| {
            let is_inside = entry.id <= id && usize::from(id - entry.id) <= entry.subcommands.len();
            match is_inside.then(|| usize::from(id - entry.id))? {
                0 => Some(entry),
                // subcommands are numbered right after their container
                offset => entry.subcommands.get(offset - 1),
            }
        })
    }
}

struct Directory {
    entries: Vec<CommandEntry>,
    slots: Box<[Option<u16>; SLOT_COUNT]>,
}

fn directory() -> &'static Directory {
    static DIRECTORY: OnceLock<Directory> = OnceLock::new();
    DIRECTORY.get_or_init(Directory::build)
}

/// All commands, in the table's order.
pub fn commands() -> &'static [CommandEntry] {
    &directory().entries
}

/// How many commands and subcommands there are: one more than the largest number.
pub fn command_count() -> usize {
    commands().last().map_or(0, |entry| {
        usize::from(entry.id) + entry.subcommands.len() + 1
    })
}

/// The command with this name, in whatever case.
pub fn find(name: &[u8]) -> Option<&'static CommandEntry> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let directory = directory();
    let mut slot = hash(name);
    while let Some(index) = directory.slots[slot] {
        let entry = &directory.entries[usize::from(index)];
        if entry.spec.name.as_bytes().eq_ignore_ascii_case(name) {
            return Some(entry);
        }
        slot = (slot + 1) % SLOT_COUNT;
    }
    None
}

impl Directory {
    fn build() -> Self {
        let mut next_id = 0;
        let mut number = || {
            next_id += 1;
            next_id - 1
        };
        let mut entries = Vec::new();
        for spec in GROUPS.iter().copied().flatten() {
            let id = number();
            let subcommands = spec.subcommands.iter().map(|row| CommandEntry {
                spec: row,
                id: number(),
                full_name: format!("{}|{}", spec.name, row.name),
                subcommands: Vec::new(),
            });
            let subcommands = subcommands.collect();
            entries.push(CommandEntry {
                spec,
                id,
                full_name: spec.name.to_owned(),
                subcommands,
            });
        }
        let slots = Self::build_slots(&entries);
        Self { entries, slots }
    }

    fn build_slots(entries: &[CommandEntry]) -> Box<[Option<u16>; SLOT_COUNT]> {
        assert!(
            entries.len() * 4 <= SLOT_COUNT,
            "the command table outgrew its hash table"
        );
        let mut slots = Box::new([None; SLOT_COUNT]);
        for (index, entry) in entries.iter().enumerate() {
            let mut slot = hash(entry.spec.name.as_bytes());
            while slots[slot].is_some() {
                slot = (slot + 1) % SLOT_COUNT;
            }
            slots[slot] = Some(index as u16);
        }
        slots
    }
}

/// FNV-1a over the bytes without their case bit.
fn hash(name: &[u8]) -> usize {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in name {
        hash = (hash ^ u32::from(byte | 0x20)).wrapping_mul(0x0100_0193);
    }
    (hash ^ (hash >> 15)) as usize % SLOT_COUNT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_and_lead_back() {
        for id in 0..command_count() as u16 {
            assert_eq!(CommandEntry::by_id(id).unwrap().id, id);
        }
        assert!(CommandEntry::by_id(command_count() as u16).is_none());
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(find(b"PiNg").unwrap().full_name, "ping");
        assert!(find(b"pingg").is_none());
        assert!(find(b"").is_none());
        assert!(find(&[b'x'; NAME_BYTES_MAX + 1]).is_none());
    }
}
