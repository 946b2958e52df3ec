//! Why bytes are not what they should be. Owns the one error of all decoders; where the bytes lay
//! is known to who read them, and added there.

use thiserror::Error;

/// What is wrong with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    /// Fewer bytes than the layout needs.
    #[error("{found} bytes where {needed} are needed")]
    Truncated {
        /// Bytes that the layout needs.
        needed: usize,
        /// Bytes that were there.
        found: usize,
    },
    /// All zeros: never written.
    #[error("blank")]
    Blank,
    /// They do not start as this layout does: something else wrote them.
    #[error("not written by Cellar")]
    ForeignMagic,
    /// A later program wrote them.
    #[error("format version {found} is newer than {known}, the newest that this program knows")]
    NewerVersion {
        /// Their version.
        found: u32,
        /// This program's version.
        known: u32,
    },
    /// The checksum does not fit, or belongs to another generation or place.
    #[error("bad checksum")]
    Checksum,
    /// They belong to another store.
    #[error("belongs to another store")]
    OtherStore,
    /// The checksum fits, and yet a field holds what no program of this version writes.
    #[error("field {field} holds an impossible value")]
    Malformed {
        /// The field's name in `docs/format.md`.
        field: &'static str,
    },
}
