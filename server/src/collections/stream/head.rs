//! What a stream keeps beside its entries and groups.
//!
//! | bytes | what |
//! |---|---|
//! | 16 | last id: no entry gets one that is not greater |
//! | 16 | id of the first entry, zeros for none |
//! | 16 | greatest id of an entry that was removed by its id |
//! | 8 | entries that were ever added |
//! | 4 | number of the next group |
//! | 4 | number of the last node |
//! | 4 | entries that came into it |
//! | 4 | of these, those that are still there |
//! | 4 | bytes that came into it |
//! | 4 | entries of the first node; 0 where that is not known |
//!
//! Owns that layout.

use bytes::Bytes;

use super::EntryId;
use super::cut::Cut;
use crate::collections::Malformed;

/// A stream's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Head {
    pub(super) last_id: EntryId,
    pub(super) first_id: EntryId,
    pub(super) max_deleted_id: EntryId,
    pub(super) entries_added: u64,
    pub(super) next_group: u32,
    pub(super) last_node: LastNode,
    pub(super) first_node_count: u32,
}

/// The node that entries come into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LastNode {
    pub(super) number: u32,
    /// Entries that came into it.
    pub(super) added_count: u32,
    /// Of these, those that are still there: the last ones of the stream.
    pub(super) live_count: u32,
    pub(super) bytes: u32,
}

/// Up to where a node takes entries: `stream-node-max-entries` and `stream-node-max-bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeLimits {
    /// Entries at most; 0 for no bound.
    pub(crate) entries: u64,
    /// Bytes at most; 0 for [`NODE_BYTES_MAX`].
    pub(crate) bytes: u64,
}

/// Bytes of a node at most, whatever the configuration says.
const NODE_BYTES_MAX: u64 = 1 << 30;

/// What Redis adds to an entry's fields and values in a node, in bytes: flags, the differences of
/// its id, counts, and lengths. An estimate: it stores fields that repeat once.
const ENTRY_OVERHEAD_BYTES: u64 = 12;

impl LastNode {
    /// Where the next entry comes, whose fields and values have so many bytes: the node's number.
    pub(super) fn admit(&mut self, bytes: u64, limits: NodeLimits) -> u32 {
        let bytes_max = match limits.bytes {
            0 => NODE_BYTES_MAX,
            bytes => bytes.min(NODE_BYTES_MAX),
        };
        let is_full = u64::from(self.bytes) + bytes >= bytes_max
            || (limits.entries > 0 && u64::from(self.added_count) >= limits.entries);
        if self.live_count == 0 || is_full {
            *self = Self {
                number: self.number.wrapping_add(1),
                ..Self::default()
            };
        }
        self.added_count = self.added_count.saturating_add(1);
        self.live_count = self.live_count.saturating_add(1);
        let bytes = u32::try_from(bytes + ENTRY_OVERHEAD_BYTES).unwrap_or(u32::MAX);
        self.bytes = self.bytes.saturating_add(bytes);
        self.number
    }
}

impl Head {
    /// Bytes of its stored form.
    pub(super) const BYTES: usize = 3 * EntryId::BYTES + 8 + 6 * 4;

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut stored = Vec::with_capacity(Self::BYTES);
        for id in [self.last_id, self.first_id, self.max_deleted_id] {
            stored.extend_from_slice(&id.encode());
        }
        stored.extend_from_slice(&self.entries_added.to_le_bytes());
        let node = self.last_node;
        for number in [
            self.next_group,
            node.number,
            node.added_count,
            node.live_count,
            node.bytes,
            self.first_node_count,
        ] {
            stored.extend_from_slice(&number.to_le_bytes());
        }
        stored
    }

    /// The head at the start of `stored`, and what follows it.
    pub(super) fn decode(stored: &Bytes) -> Result<(Self, Bytes), Malformed> {
        let mut cut = Cut::new(stored, Malformed("the head of a stream"));
        let head = Self {
            last_id: cut.id()?,
            first_id: cut.id()?,
            max_deleted_id: cut.id()?,
            entries_added: cut.u64()?,
            next_group: cut.u32()?,
            last_node: LastNode {
                number: cut.u32()?,
                added_count: cut.u32()?,
                live_count: cut.u32()?,
                bytes: cut.u32()?,
            },
            first_node_count: cut.u32()?,
        };
        Ok((head, cut.rest()))
    }
}
