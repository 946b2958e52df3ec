//! CRC32C as the format uses it. Owns the seeds that bind a record to one life of one segment and
//! to its place there; must never be taken for protection against an adversary.

use super::segment::StoreId;
use crate::units::Generation;

/// Bound to one generation of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerationSeed(u32);

/// Bound to one place in one generation of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSeed(u32);

impl RecordSeed {
    /// Of a record that has no place yet.
    pub(crate) const NO_PLACE: Self = Self(0);
}

impl GenerationSeed {
    /// CRC32C of the store's id (16 bytes), epoch (4 bytes), segment (4 bytes) and opening LSN (8
    /// bytes): what another store left on a device never verifies either.
    pub fn new(store: StoreId, generation: Generation) -> Self {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(store.get());
        bytes[16..20].copy_from_slice(&generation.epoch.to_le_bytes());
        bytes[20..24].copy_from_slice(&generation.segment.get().to_le_bytes());
        bytes[24..].copy_from_slice(&generation.opening_lsn.get().to_le_bytes());
        Self(crc32c::crc32c(&bytes))
    }

    /// The seed of a record `offset` bytes from the segment's start: the generation's, continued
    /// over these 4 bytes, so that a transfer that strayed within its segment is seen too.
    #[must_use]
    pub fn at(self, offset: u32) -> RecordSeed {
        RecordSeed(crc32c::crc32c_append(self.0, &offset.to_le_bytes()))
    }

    /// The seed that [`get`](Self::get) gave.
    pub const fn restore(bits: u32) -> Self {
        Self(bits)
    }

    /// For the summary's entries.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl RecordSeed {
    pub(super) fn checksum(self, bytes: &[u8]) -> u32 {
        crc32c::crc32c_append(self.0, bytes)
    }
}
