//! One entry as an item of the run of entries.
//!
//! ```text
//! id (16) | node (4) | packed: field, value, field, value ...
//! ```
//!
//! Owns that layout. An entry's *node* is the part of the stream that it came into: Redis keeps
//! so many entries together and trims approximately by whole nodes.

use bytes::Bytes;

use super::EntryId;
use super::cut::Cut;
use crate::collections::Malformed;
use crate::collections::packed::{PackedBuilder, PackedBytes, item_bytes};

/// Bytes before the fields.
const HEAD_BYTES: usize = EntryId::BYTES + 4;

/// An entry.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// What it is found by.
    pub(crate) id: EntryId,
    /// Which node it belongs to.
    pub(super) node: u32,
    fields: PackedBytes,
}

impl Entry {
    /// How many fields and values there are together.
    pub(crate) fn len(&self) -> usize {
        self.fields.view().len()
    }

    /// Fields and values in turn, as they were given.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Bytes> {
        let parts = self.fields.view().iter();
        parts.map(|part| self.fields.share(&part))
    }

    pub(super) fn decode(item: &Bytes) -> Result<Self, Malformed> {
        const WHAT: Malformed = Malformed("an entry of a stream");
        let mut cut = Cut::new(item, WHAT);
        let id = cut.id()?;
        let node = cut.u32()?;
        let fields = PackedBytes::decode(cut.rest())?;
        let count = fields.view().len();
        if count == 0 || count % 2 == 1 {
            return Err(WHAT);
        }
        Ok(Self { id, node, fields })
    }
}

/// The stored form of an entry.
pub(super) fn encode_entry(id: EntryId, node: u32, parts: &[Bytes]) -> Vec<u8> {
    let bytes: usize = parts.iter().map(|part| item_bytes(part.len())).sum();
    let mut item = Vec::with_capacity(HEAD_BYTES + bytes);
    item.extend_from_slice(&id.encode());
    item.extend_from_slice(&node.to_le_bytes());
    let mut packed = PackedBuilder::with_capacity(bytes);
    for part in parts {
        packed.push(part);
    }
    item.extend_from_slice(&packed.finish());
    item
}
