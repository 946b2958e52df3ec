//! A sealed segment's summary: one entry a record. Owns the entry's layout. Entries grow down from
//! the footer, so that a writer can fill the slot of its record while the segment is open.

use super::error::FormatError;
use super::field::{Field, is_dense};
use super::footer::FOOTER_BYTES;
use super::page::PAGES_MAX;
use super::record::{Kind, RECORD_BYTES_MAX, RECORD_BYTES_MIN};
use super::segment::SEGMENT_HEADER_BYTES;
use super::value::ValueType;
use crate::units::{CollectionId, DatabaseId, Lsn, UNIT_BYTES};

/// An identity, in bytes.
pub const IDENTITY_BYTES: usize = 12;
/// One entry, in bytes.
pub const ENTRY_BYTES: usize = 48;

/// What stands for a key: the stored bits of its keyed hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity([u8; IDENTITY_BYTES]);

impl Identity {
    /// The identity with these bits.
    pub const fn new(bytes: [u8; IDENTITY_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bits.
    pub const fn get(&self) -> &[u8; IDENTITY_BYTES] {
        &self.0
    }

    /// The payload of a tombstone.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let truncated = FormatError::Truncated {
            needed: IDENTITY_BYTES,
            found: bytes.len(),
        };
        Ok(Self(bytes.try_into().map_err(|_| truncated)?))
    }
}

const IDENTITY: Field = Field::new("identity", 0, IDENTITY_BYTES);
const DATABASE: Field = Field::new("database", 12, 4);
const LSN: Field = Field::new("lsn", 16, 8);
const COLLECTION: Field = Field::new("collection", 24, 8);
const EXPIRY_OR_PAGE: Field = Field::new("expiry_or_page", 32, 8);
const OFFSET: Field = Field::new("offset", 40, 4);
const UNITS: Field = Field::new("units", 44, 2);
const KIND_AND_TYPE: Field = Field::new("kind_and_type", 46, 1);
const FLAGS: Field = Field::new("flags", 47, 1);

/// An entry, field by field.
pub const ENTRY_LAYOUT: &[Field] = &[
    IDENTITY,
    DATABASE,
    LSN,
    COLLECTION,
    EXPIRY_OR_PAGE,
    OFFSET,
    UNITS,
    KIND_AND_TYPE,
    FLAGS,
];

const _: () = assert!(is_dense(ENTRY_LAYOUT, ENTRY_BYTES));
const _: () = assert!(RECORD_BYTES_MAX / UNIT_BYTES <= u16::MAX as u32);

/// Flag: a `Put` that expires.
const HAS_EXPIRY: u8 = 1;
/// Flag: a `Put` whose value lies in pages.
const PAGED: u8 = 2;

/// What a summary says of one record; enough to decide whether it is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryEntry {
    /// Of its key, or of the key that a tombstone removes. Zero for kinds without a key.
    pub identity: Identity,
    /// Its database.
    pub database: DatabaseId,
    /// Its LSN.
    pub lsn: Lsn,
    /// Where it starts, in bytes from the segment's start.
    pub offset: u32,
    /// Its padded length in bytes.
    pub bytes: u32,
    /// What it is.
    pub detail: EntryDetail,
}

/// What is particular to each kind of record. Pads have no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryDetail {
    /// A key.
    Put {
        /// The type of its value.
        value_type: ValueType,
        /// When it expires, in milliseconds since the epoch.
        expiry_ms: Option<u64>,
        /// Where its pages are, if its value lies in pages.
        collection: Option<CollectionId>,
    },
    /// A removal.
    Tombstone,
    /// A page.
    Page {
        /// Whose.
        collection: CollectionId,
        /// Its number there.
        page_number: u32,
    },
    /// The start of a batch.
    Batch,
    /// A database map.
    Map,
}

impl EntryDetail {
    /// The kind of record.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Put { .. } => Kind::Put,
            Self::Tombstone => Kind::Tombstone,
            Self::Page { .. } => Kind::Page,
            Self::Batch => Kind::Batch,
            Self::Map => Kind::Map,
        }
    }
}

/// Where entry `index` of a segment of `segment_bytes` lies, in bytes from the segment's start.
/// Panics when the segment has no room for it.
pub const fn entry_offset(segment_bytes: u32, index: u32) -> u32 {
    let below = FOOTER_BYTES as u64 + ENTRY_BYTES as u64 * (index as u64 + 1);
    assert!(
        below + SEGMENT_HEADER_BYTES as u64 <= segment_bytes as u64,
        "no room for an entry"
    );
    segment_bytes - below as u32
}

impl SummaryEntry {
    /// Its bytes.
    pub fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        IDENTITY.put(&mut bytes, &self.identity.0);
        DATABASE.put_u32(&mut bytes, self.database.get());
        LSN.put_u64(&mut bytes, self.lsn.get());
        OFFSET.put_u32(&mut bytes, self.offset);
        UNITS.put_u16(&mut bytes, (self.bytes / UNIT_BYTES) as u16);
        let (mut value_type, mut flags) = (ValueType::String, 0);
        match self.detail {
            EntryDetail::Put {
                value_type: of_value,
                expiry_ms,
                collection,
            } => {
                value_type = of_value;
                if let Some(expiry_ms) = expiry_ms {
                    flags |= HAS_EXPIRY;
                    EXPIRY_OR_PAGE.put_u64(&mut bytes, expiry_ms);
                }
                if let Some(collection) = collection {
                    flags |= PAGED;
                    COLLECTION.put_u64(&mut bytes, collection.get());
                }
            }
            EntryDetail::Page {
                collection,
                page_number,
            } => {
                COLLECTION.put_u64(&mut bytes, collection.get());
                EXPIRY_OR_PAGE.put_u64(&mut bytes, u64::from(page_number));
            }
            EntryDetail::Tombstone | EntryDetail::Batch | EntryDetail::Map => {}
        }
        KIND_AND_TYPE.put_u8(
            &mut bytes,
            self.detail.kind().code() << 4 | value_type.code(),
        );
        FLAGS.put_u8(&mut bytes, flags);
        bytes
    }

    /// What such bytes mean, in a segment whose body ends at `body_end`, or of a record that has to
    /// end there. The checksum of all
    /// entries is [`Footer::verify_entries`]'s business.
    pub fn decode(bytes: &[u8; ENTRY_BYTES], body_end: u32) -> Result<Self, FormatError> {
        let (offset, length) = (
            OFFSET.get_u32(bytes),
            u32::from(UNITS.get_u16(bytes)) * UNIT_BYTES,
        );
        if !(RECORD_BYTES_MIN..=RECORD_BYTES_MAX).contains(&length) {
            return Err(FormatError::Malformed { field: UNITS.name });
        }
        let in_body = (offset as usize) >= SEGMENT_HEADER_BYTES
            && offset.is_multiple_of(UNIT_BYTES)
            && u64::from(offset) + u64::from(length) <= u64::from(body_end);
        if !in_body {
            return Err(FormatError::Malformed { field: OFFSET.name });
        }
        Ok(Self {
            identity: Identity(IDENTITY.get(bytes).try_into().expect("an identity's field")),
            database: DatabaseId::new(DATABASE.get_u32(bytes)),
            lsn: LSN.get_lsn(bytes)?,
            offset,
            bytes: length,
            detail: decode_detail(bytes)?,
        })
    }
}

fn decode_detail(bytes: &[u8; ENTRY_BYTES]) -> Result<EntryDetail, FormatError> {
    let (kind_and_type, flags) = (KIND_AND_TYPE.get_u8(bytes), FLAGS.get_u8(bytes));
    let kind = Kind::decode(kind_and_type >> 4)?;
    let value_type = ValueType::decode(kind_and_type & 15)?;
    let flags_allowed = if kind == Kind::Put {
        HAS_EXPIRY | PAGED
    } else {
        0
    };
    if flags & !flags_allowed != 0 {
        return Err(FormatError::Malformed { field: FLAGS.name });
    }
    let collection = CollectionId::new(COLLECTION.get_u64(bytes));
    let expiry_or_page = EXPIRY_OR_PAGE.get_u64(bytes);
    match kind {
        Kind::Put => Ok(EntryDetail::Put {
            value_type,
            expiry_ms: (flags & HAS_EXPIRY != 0).then_some(expiry_or_page),
            collection: (flags & PAGED != 0).then_some(collection),
        }),
        Kind::Tombstone => Ok(EntryDetail::Tombstone),
        Kind::Page => {
            let page_number = u32::try_from(expiry_or_page).ok();
            let page_number = page_number.filter(|number| *number < PAGES_MAX);
            Ok(EntryDetail::Page {
                collection,
                page_number: page_number.ok_or(EXPIRY_OR_PAGE.malformed())?,
            })
        }
        Kind::Batch => Ok(EntryDetail::Batch),
        Kind::Map => Ok(EntryDetail::Map),
        Kind::Pad => Err(FormatError::Malformed {
            field: KIND_AND_TYPE.name,
        }),
    }
}
