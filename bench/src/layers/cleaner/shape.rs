//! The geometry of a simulated store, in the engine's own constants.
//!
//! Owns what a record and a segment measure. Must never know what is in them.

use cellar_storage::cleaning::clean_mark;
use cellar_storage::format::{ENTRY_BYTES, FOOTER_BYTES, SEGMENT_HEADER_BYTES, record_bytes};

use super::load::Random;

/// Bytes of a key, as the soak test writes them.
pub(crate) const KEY_BYTES: u32 = 16;
/// Fewer segments are hardly more than the reserve.
pub(crate) const SEGMENT_COUNT_MIN: u32 = 32;
/// Records are multiples of this.
pub(crate) const UNIT_BYTES: u32 = cellar_storage::units::UNIT_BYTES;

/// What a store is made of.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) segment_count: u32,
    pub(crate) segment_bytes: u32,
    pub(crate) value_bytes_min: u32,
    pub(crate) value_bytes_max: u32,
    /// Live bytes, summary entries included, by bytes of all segments.
    pub(crate) utilization_percent: u32,
}

impl Shape {
    /// Bytes of all segments.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.segment_count) * u64::from(self.segment_bytes)
    }

    /// What a segment has for records and their entries, in bytes.
    pub(crate) fn room_bytes(&self) -> u32 {
        self.segment_bytes - SEGMENT_HEADER_BYTES as u32 - FOOTER_BYTES as u32
    }

    /// Free segments below which the simulation cleans: the engine's mark, and one that the log has
    /// taken already to be opened next.
    pub(crate) fn free_mark(&self) -> usize {
        let mark = clean_mark(u64::from(self.segment_count)) + 1;
        usize::try_from(mark).expect("fewer than the segments")
    }

    /// More records than any segment can hold.
    pub(crate) fn slots_max(&self) -> u32 {
        let least = u32::from(Self::units(self.value_bytes_min)) * UNIT_BYTES;
        self.room_bytes() / (least + ENTRY_BYTES as u32) + 1
    }

    /// Units of a record.
    pub(crate) fn units(value_bytes: u32) -> u16 {
        let bytes = record_bytes(KEY_BYTES as usize, value_bytes as usize, false);
        u16::try_from(bytes / u64::from(UNIT_BYTES)).expect("a record is at most 64 KiB")
    }

    pub(crate) fn draw_value_bytes(&self, random: &mut Random) -> u32 {
        self.value_bytes_min + random.below(self.value_bytes_max - self.value_bytes_min + 1)
    }

    /// Keys that fill the store to its utilization.
    pub(crate) fn key_count(&self) -> u32 {
        let sizes = self.value_bytes_min..=self.value_bytes_max;
        let size_count = u64::from(self.value_bytes_max - self.value_bytes_min + 1);
        let held: u64 = sizes
            .map(|value| u64::from(Self::units(value)) * u64::from(UNIT_BYTES) + ENTRY_BYTES as u64)
            .sum();
        let live = self.bytes() / 100 * u64::from(self.utilization_percent);
        u32::try_from(live * size_count / held).expect("a simulation fits memory")
    }
}
