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

/// A place of the hash table.
#[derive(Clone, Copy)]
struct Slot {
    /// The first bytes of the name, as [`word`] reads them.
    word: u64,
    /// Bytes of the name.
    length: u8,
    /// Whether `word` and `length` tell the whole name.
    is_whole: bool,
    /// Which entry it is; `EMPTY` for none.
    index: u16,
}

const EMPTY: u16 = u16::MAX;

struct Directory {
    entries: Vec<CommandEntry>,
    slots: Box<[Slot; SLOT_COUNT]>,
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
    let directory = directory();
    let word = word(name);
    let mut at = hash(word, name.len());
    loop {
        let slot = directory.slots[at];
        if slot.index == EMPTY {
            return None;
        }
        if slot.word == word && usize::from(slot.length) == name.len() {
            let entry = &directory.entries[usize::from(slot.index)];
            if slot.is_whole || entry.spec.name.as_bytes().eq_ignore_ascii_case(name) {
                return Some(entry);
            }
        }
        at = (at + 1) % SLOT_COUNT;
    }
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

    fn build_slots(entries: &[CommandEntry]) -> Box<[Slot; SLOT_COUNT]> {
        assert!(
            entries.len() * 4 <= SLOT_COUNT,
            "the command table outgrew its hash table"
        );
        let empty = Slot {
            word: 0,
            length: 0,
            is_whole: false,
            index: EMPTY,
        };
        let mut slots = Box::new([empty; SLOT_COUNT]);
        for (index, entry) in entries.iter().enumerate() {
            let name = entry.spec.name.as_bytes();
            let word = word(name);
            let mut at = hash(word, name.len());
            while slots[at].index != EMPTY {
                at = (at + 1) % SLOT_COUNT;
            }
            // the case bit folds other bytes than letters too
            let is_whole = name.len() <= 8 && name.iter().all(u8::is_ascii_alphabetic);
            slots[at] = Slot {
                word,
                length: name.len() as u8,
                is_whole,
                index: index as u16,
            };
        }
        slots
    }
}

/// The first eight bytes of a name without their case bit.
fn word(name: &[u8]) -> u64 {
    let mut word = 0;
    for byte in &name[..name.len().min(8)] {
        word = word << 8 | u64::from(byte | 0x20);
    }
    word
}

/// Spreads words over the table: the high bits of a product with a large odd number.
fn hash(word: u64, length: usize) -> usize {
    let product = (word ^ length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (product >> (u64::BITS - SLOT_COUNT.ilog2())) as usize
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
        assert!(find(&[b'x'; 300]).is_none());
        // bytes that differ from a letter in the case bit's place only
        assert!(find(b"p\x49ng").is_some() && find(b"p\x09ng").is_none());
        assert!(find(b"bitfield_ro").is_some() && find(b"bitfield\x7fro").is_none());
    }
}
