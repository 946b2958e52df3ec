//! Finds a command by the name that a client sent.
//!
//! Owns the hash table over the const table, built once. Names are compared without regard to
//! case.

use std::sync::OnceLock;

use super::CommandSpec;
use super::table::GROUPS;

/// Slots of the table: a power of two at least four times the number of commands, so that a probe
/// seldom meets another name.
const SLOT_COUNT: usize = 1024;

/// A name longer than this is no command's.
const NAME_BYTES_MAX: usize = 32;

struct Slots(Box<[Option<&'static CommandSpec>; SLOT_COUNT]>);

/// The command with this name, in whatever case.
pub fn find(name: &[u8]) -> Option<&'static CommandSpec> {
    static SLOTS: OnceLock<Slots> = OnceLock::new();
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let slots = SLOTS.get_or_init(Slots::build);
    let mut slot = hash(name);
    while let Some(spec) = slots.0[slot] {
        if spec.name.as_bytes().eq_ignore_ascii_case(name) {
            return Some(spec);
        }
        slot = (slot + 1) % SLOT_COUNT;
    }
    None
}

impl Slots {
    fn build() -> Self {
        let mut slots: Box<[Option<&'static CommandSpec>; SLOT_COUNT]> =
            Box::new([None; SLOT_COUNT]);
        let mut count = 0;
        for spec in GROUPS.iter().copied().flatten() {
            let mut slot = hash(spec.name.as_bytes());
            while slots[slot].is_some() {
                slot = (slot + 1) % SLOT_COUNT;
            }
            slots[slot] = Some(spec);
            count += 1;
        }
        assert!(
            count * 4 <= SLOT_COUNT,
            "the command table outgrew its hash table"
        );
        Self(slots)
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
