//! One field of a layout: its name, its place, and how to get at it. Owns the byte order; must
//! never be used on a slice shorter than its layout.

use super::error::FormatError;
use crate::units::Lsn;

/// A run of bytes with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// As `docs/format.md` calls it.
    pub name: &'static str,
    /// Bytes from the layout's start.
    pub offset: usize,
    /// Width in bytes.
    pub bytes: usize,
}

impl Field {
    pub(super) const fn new(name: &'static str, offset: usize, bytes: usize) -> Self {
        Self {
            name,
            offset,
            bytes,
        }
    }

    pub(super) fn get<'a>(&self, layout: &'a [u8]) -> &'a [u8] {
        &layout[self.offset..self.offset + self.bytes]
    }

    pub(super) fn put(&self, layout: &mut [u8], value: &[u8]) {
        layout[self.offset..self.offset + self.bytes].copy_from_slice(value);
    }

    fn get_array<const N: usize>(&self, layout: &[u8]) -> [u8; N] {
        self.get(layout)
            .try_into()
            .expect("a field is read as wide as it is")
    }

    pub(super) fn get_u8(&self, layout: &[u8]) -> u8 {
        u8::from_le_bytes(self.get_array(layout))
    }

    pub(super) fn get_u16(&self, layout: &[u8]) -> u16 {
        u16::from_le_bytes(self.get_array(layout))
    }

    pub(super) fn get_u32(&self, layout: &[u8]) -> u32 {
        u32::from_le_bytes(self.get_array(layout))
    }

    pub(super) fn get_u64(&self, layout: &[u8]) -> u64 {
        u64::from_le_bytes(self.get_array(layout))
    }

    pub(super) fn get_16_bytes(&self, layout: &[u8]) -> [u8; 16] {
        self.get_array(layout)
    }

    /// An LSN, refused where no log has such a one.
    pub(super) fn get_lsn(&self, layout: &[u8]) -> Result<Lsn, FormatError> {
        Lsn::read(self.get_u64(layout)).ok_or(self.malformed())
    }

    /// The field holds what no program of this version writes.
    pub(super) const fn malformed(&self) -> FormatError {
        FormatError::Malformed { field: self.name }
    }

    pub(super) fn put_u8(&self, layout: &mut [u8], value: u8) {
        self.put(layout, &value.to_le_bytes());
    }

    pub(super) fn put_u16(&self, layout: &mut [u8], value: u16) {
        self.put(layout, &value.to_le_bytes());
    }

    pub(super) fn put_u32(&self, layout: &mut [u8], value: u32) {
        self.put(layout, &value.to_le_bytes());
    }

    pub(super) fn put_u64(&self, layout: &mut [u8], value: u64) {
        self.put(layout, &value.to_le_bytes());
    }
}

/// Whether the fields lie one after the other and fill `bytes`.
pub(super) const fn is_dense(layout: &[Field], bytes: usize) -> bool {
    let mut end = 0;
    let mut index = 0;
    while index < layout.len() {
        if layout[index].offset != end {
            return false;
        }
        end += layout[index].bytes;
        index += 1;
    }
    end == bytes
}
