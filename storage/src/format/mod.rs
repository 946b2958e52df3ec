//! The bytes on a device, exactly. Owns every layout, its checksum and its version; must never do
//! I/O, and never panic or allocate by what foreign bytes say.
//!
//! ```text
//!   device   | reserved 1 MiB: superblock, superblock | segment 0 | segment 1 | ...
//!   segment  | header 4 KiB | record, record, ... -> <- ... entry 1, entry 0 | footer 4 KiB |
//! ```
//!
//! All numbers are little-endian. Each layout is a list of [`field::Field`]s, from which both the
//! code and the tables of `docs/format.md` are checked.

pub mod batch;
pub mod checksum;
pub mod class;
pub mod collection_root;
pub mod database_map;
pub mod draft;
pub mod error;
pub mod field;
pub mod footer;
pub mod page;
pub mod record;
pub mod remains;
pub mod segment;
pub mod summary;
pub mod superblock;
pub mod value;

#[cfg(test)]
mod tests;

pub use batch::BatchHeader;
pub use checksum::{GenerationSeed, RecordSeed};
pub use class::{class_bytes, class_of, live_bytes};
pub use collection_root::{CollectionRoot, collection_of};
pub use database_map::{DATABASE_COUNT, DatabaseMap};
pub use draft::{RecordDraft, pad_head, record_bytes};
pub use error::FormatError;
pub use footer::{FOOTER_BYTES, Footer};
pub use page::{PageKey, RootValue};
pub use record::{
    HEAD_BYTES_MAX, Kind, RECORD_BYTES_MAX, RECORD_BYTES_MIN, Record, RecordHead, RecordHeadBytes,
    reseal,
};
pub use remains::Remains;
pub use segment::{
    SEGMENT_HEADER_BYTES, SegmentHeader, SegmentState, StoreId, Stream, is_damaged_footer,
    is_damaged_header,
};
pub use summary::{ENTRY_BYTES, EntryDetail, Identity, SummaryEntry, entry_offset};
pub use superblock::{
    DEVICES_MAX, DeviceId, EPOCH_MAX, RESERVED_BYTES, SEQUENCE_MAX, SUPERBLOCK_BYTES,
    SUPERBLOCK_OFFSETS, Superblock,
};
pub use value::{Encoding, ValueType};

/// The version of all layouts, in superblocks, segment headers and footers. It grows with any
/// change that an older program would misread.
pub const FORMAT_VERSION: u32 = 1;
