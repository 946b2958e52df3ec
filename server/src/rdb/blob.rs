//! A blob within a payload whose elements lie one behind another.
//!
//! Owns that no length is believed before so many bytes were there.

use bytes::{Buf, Bytes};

use super::BadFormat;

/// The last byte of every blob.
pub(super) const END: u8 = 0xff;

/// What is left of a blob.
pub(super) struct Blob(Bytes);

impl Blob {
    /// The elements behind a header of so many bytes, which begins with the bytes of all.
    pub(super) fn open(mut blob: Bytes, header_bytes: usize) -> Result<Self, BadFormat> {
        let bytes = blob.first_chunk().copied().map(u32::from_le_bytes);
        let is_whole = bytes == u32::try_from(blob.len()).ok();
        if !is_whole || blob.len() <= header_bytes || blob.last() != Some(&END) {
            return Err(BadFormat);
        }
        blob.truncate(blob.len() - 1);
        blob.advance(header_bytes);
        Ok(Self(blob))
    }

    /// Bytes that are left.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next so many bytes.
    pub(super) fn string(&mut self, bytes: u64) -> Result<Bytes, BadFormat> {
        let bytes = usize::try_from(bytes).map_err(|_| BadFormat)?;
        if bytes > self.0.len() {
            return Err(BadFormat);
        }
        Ok(self.0.split_to(bytes))
    }

    /// The next `N` bytes.
    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[u8; N], BadFormat> {
        let bytes = *self.0.first_chunk().ok_or(BadFormat)?;
        self.0.advance(N);
        Ok(bytes)
    }
}
