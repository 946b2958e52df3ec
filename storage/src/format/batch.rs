//! The start of an atomic batch. Owns the batch header's layout; recovery takes all that it
//! announces or nothing.

use super::error::FormatError;
use super::field::{Field, is_dense};
use super::page::expect_length;
use crate::units::UNIT_BYTES;

/// A batch header, in bytes.
pub const BATCH_HEADER_BYTES: usize = 12;

/// What may follow a batch's header at most, in bytes: far more than any segment has, and so little
/// that it can be added to any LSN.
pub const FOLLOWING_BYTES_MAX: u64 = 1 << 32;

const FOLLOWING_BYTES: Field = Field::new("following_bytes", 0, 8);
const RECORD_COUNT: Field = Field::new("record_count", 8, 4);

/// A batch header, field by field.
pub const BATCH_LAYOUT: &[Field] = &[FOLLOWING_BYTES, RECORD_COUNT];

const _: () = assert!(is_dense(BATCH_LAYOUT, BATCH_HEADER_BYTES));

/// The value of a `Batch` record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// Bytes of log that follow the header's record and belong to the batch: its records, padding,
    /// and pads where it crosses segments. A multiple of 32.
    pub following_bytes: u64,
    /// Records of the batch, pads and this header not counted.
    pub record_count: u32,
}

impl BatchHeader {
    /// Its bytes.
    pub fn encode(&self) -> [u8; BATCH_HEADER_BYTES] {
        let mut bytes = [0; BATCH_HEADER_BYTES];
        FOLLOWING_BYTES.put_u64(&mut bytes, self.following_bytes);
        RECORD_COUNT.put_u32(&mut bytes, self.record_count);
        bytes
    }

    /// What such bytes mean.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        expect_length(bytes, BATCH_HEADER_BYTES)?;
        let following_bytes = FOLLOWING_BYTES.get_u64(bytes);
        let is_in_units = following_bytes.is_multiple_of(u64::from(UNIT_BYTES));
        if !is_in_units || following_bytes > FOLLOWING_BYTES_MAX {
            return Err(FOLLOWING_BYTES.malformed());
        }
        Ok(Self {
            following_bytes,
            record_count: RECORD_COUNT.get_u32(bytes),
        })
    }
}
