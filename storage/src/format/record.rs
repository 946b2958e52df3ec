//! Records: what the log is made of. Owns their header and what is believed of it. A record never
//! crosses a segment; its header is sealed for one place in one generation, its payload is not, so
//! that the payload's checksum can be made before the place is known and survives relocation.

use std::ops::Range;

use super::checksum::RecordSeed;
use super::draft::record_bytes;
use super::error::FormatError;
use super::field::{Field, is_dense};
use super::page::PAGE_KEY_BYTES;
use super::summary::IDENTITY_BYTES;
use super::value::{Encoding, ValueType};
use crate::units::{DatabaseId, Lsn, UNIT_BYTES};

/// The header, in bytes.
pub const HEAD_BYTES: usize = 32;
/// The header with its extension, in bytes.
pub const HEAD_BYTES_MAX: usize = HEAD_BYTES + EXTENSION.bytes;
/// The shortest record other than a pad, in bytes: what a summary entry of 48 bytes may cost.
pub const RECORD_BYTES_MIN: u32 = 64;
/// The longest record other than a pad, in padded bytes: one read fetches it.
pub const RECORD_BYTES_MAX: u32 = 64 << 10;

const HEADER_CRC: Field = Field::new("header_crc", 0, 4);
const PAYLOAD_CRC: Field = Field::new("payload_crc", 4, 4);
pub(super) const LSN: Field = Field::new("lsn", 8, 8);
const VALUE_BYTES: Field = Field::new("value_bytes", 16, 4);
const KEY_BYTES: Field = Field::new("key_bytes", 20, 2);
const KIND: Field = Field::new("kind", 22, 1);
const FLAGS: Field = Field::new("flags", 23, 1);
const DATABASE: Field = Field::new("database", 24, 4);
const VALUE_TYPE: Field = Field::new("value_type", 28, 1);
const ENCODING: Field = Field::new("encoding", 29, 1);
pub(super) const RESERVED: Field = Field::new("reserved", 30, 2);
const EXTENSION: Field = Field::new("extension", 32, 8);

/// The header, field by field; the extension follows when its flag is set.
pub const LAYOUT: &[Field] = &[
    HEADER_CRC,
    PAYLOAD_CRC,
    LSN,
    VALUE_BYTES,
    KEY_BYTES,
    KIND,
    FLAGS,
    DATABASE,
    VALUE_TYPE,
    ENCODING,
    RESERVED,
    EXTENSION,
];

const _: () = assert!(is_dense(LAYOUT, HEAD_BYTES_MAX));
const _: () = assert!(
    HEAD_BYTES as u32 == UNIT_BYTES,
    "a pad of one unit is a bare header"
);

/// Flag: eight more header bytes follow.
const EXTENDED: u8 = 1;
/// Flag: the value is a `RootValue`, and the real one lies in pages.
const PAGED: u8 = 2;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A key and its value, or the root of its pages.
    Put = 1,
    /// The removal of a key; its key field is the identity.
    Tombstone = 2,
    /// A page of a collection; its key field is a `PageKey`.
    Page = 3,
    /// Nothing, up to the next block, flush or segment.
    Pad = 4,
    /// The start of a batch; its value is a `BatchHeader`.
    Batch = 5,
    /// Which internal databases are shown; its value is a `DatabaseMap`.
    Map = 6,
}

impl Kind {
    /// Its stored number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The kind with this number.
    pub fn decode(code: u8) -> Result<Self, FormatError> {
        match code {
            1 => Ok(Self::Put),
            2 => Ok(Self::Tombstone),
            3 => Ok(Self::Page),
            4 => Ok(Self::Pad),
            5 => Ok(Self::Batch),
            6 => Ok(Self::Map),
            _ => Err(FormatError::Malformed { field: KIND.name }),
        }
    }

    /// Whether key and value may be this long.
    pub(super) fn fits(self, key_bytes: usize, value_bytes: usize) -> bool {
        match self {
            Self::Put => true,
            Self::Tombstone => key_bytes == IDENTITY_BYTES && value_bytes == 0,
            Self::Page => key_bytes == PAGE_KEY_BYTES,
            Self::Pad => key_bytes == 0 && value_bytes.is_multiple_of(UNIT_BYTES as usize),
            Self::Batch | Self::Map => key_bytes == 0,
        }
    }
}

/// An encoded header: 32 or 40 bytes.
#[derive(Clone, Copy, Debug)]
pub struct RecordHeadBytes {
    bytes: [u8; HEAD_BYTES_MAX],
    len: usize,
}

impl RecordHeadBytes {
    /// The header's bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A header that verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHead {
    /// What the record is.
    pub kind: Kind,
    /// Its place in the order of all writes; a relocated record keeps it.
    pub lsn: Lsn,
    /// Its database.
    pub database: DatabaseId,
    /// The type of its value.
    pub value_type: ValueType,
    /// How the value is held.
    pub encoding: Encoding,
    /// Whether the value is a root.
    pub paged: bool,
    /// Put: the expiry. Pad: the durable LSN.
    pub(super) extension: Option<u64>,
    pub(super) key_bytes: u16,
    pub(super) value_bytes: u32,
    pub(super) payload_crc: u32,
}

impl RecordHead {
    /// When a `Put` expires, in milliseconds since the epoch.
    pub fn expiry_ms(&self) -> Option<u64> {
        self.extension.filter(|_| self.kind == Kind::Put)
    }

    /// The durable LSN as of a `Pad`'s writing, where it had room to say so.
    pub fn durable_lsn(&self) -> Option<Lsn> {
        self.extension
            .filter(|_| self.kind == Kind::Pad)
            .map(Lsn::new)
    }

    /// The record's padded length in bytes.
    pub fn bytes(&self) -> u64 {
        match self.kind {
            Kind::Pad => u64::from(UNIT_BYTES) + u64::from(self.value_bytes),
            Kind::Put | Kind::Tombstone | Kind::Page | Kind::Batch | Kind::Map => record_bytes(
                usize::from(self.key_bytes),
                self.value_bytes as usize,
                self.extension.is_some(),
            ),
        }
    }

    /// Where the key lies, from the record's start.
    pub fn key_range(&self) -> Range<usize> {
        let start = if self.extension.is_some() {
            HEAD_BYTES_MAX
        } else {
            HEAD_BYTES
        };
        start..start + usize::from(self.key_bytes)
    }

    /// Where the value lies, from the record's start.
    pub fn value_range(&self) -> Range<usize> {
        let start = self.key_range().end;
        start..start + self.value_bytes as usize
    }

    pub(super) fn encode(&self, seed: RecordSeed) -> RecordHeadBytes {
        let mut bytes = [0; HEAD_BYTES_MAX];
        let mut flags = 0;
        if let Some(extension) = self.extension {
            flags |= EXTENDED;
            EXTENSION.put_u64(&mut bytes, extension);
        }
        if self.paged {
            flags |= PAGED;
        }
        PAYLOAD_CRC.put_u32(&mut bytes, self.payload_crc);
        LSN.put_u64(&mut bytes, self.lsn.get());
        VALUE_BYTES.put_u32(&mut bytes, self.value_bytes);
        KEY_BYTES.put_u16(&mut bytes, self.key_bytes);
        KIND.put_u8(&mut bytes, self.kind.code());
        FLAGS.put_u8(&mut bytes, flags);
        DATABASE.put_u32(&mut bytes, self.database.get());
        VALUE_TYPE.put_u8(&mut bytes, self.value_type.code());
        ENCODING.put_u8(&mut bytes, self.encoding.code());
        let len = if self.extension.is_some() {
            HEAD_BYTES_MAX
        } else {
            HEAD_BYTES
        };
        let header_crc = seed.checksum(&bytes[HEADER_CRC.bytes..len]);
        HEADER_CRC.put_u32(&mut bytes, header_crc);
        RecordHeadBytes { bytes, len }
    }

    /// Verifies the header at the start of `bytes`; 40 of them are always enough.
    pub fn decode(bytes: &[u8], seed: RecordSeed) -> Result<Self, FormatError> {
        let sealed = sealed_bytes(bytes)?;
        if HEADER_CRC.get_u32(sealed) != seed.checksum(&sealed[HEADER_CRC.bytes..]) {
            return Err(FormatError::Checksum);
        }
        Self::parse(sealed)
    }

    /// Reads the header at the start of bytes that verified before and did not leave memory since.
    pub fn decode_verified(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::parse(sealed_bytes(bytes)?)
    }

    /// What the fields say, whether or not the checksum was compared.
    pub(super) fn parse(sealed: &[u8]) -> Result<Self, FormatError> {
        let flags = FLAGS.get_u8(sealed);
        if flags & !(EXTENDED | PAGED) != 0 {
            return Err(FormatError::Malformed { field: FLAGS.name });
        }
        if RESERVED.get_u16(sealed) != 0 {
            return Err(FormatError::Malformed {
                field: RESERVED.name,
            });
        }
        let head = Self {
            kind: Kind::decode(KIND.get_u8(sealed))?,
            lsn: LSN.get_lsn(sealed)?,
            database: DatabaseId::new(DATABASE.get_u32(sealed)),
            value_type: ValueType::decode(VALUE_TYPE.get_u8(sealed))?,
            encoding: Encoding::decode(ENCODING.get_u8(sealed))?,
            paged: flags & PAGED != 0,
            extension: (flags & EXTENDED != 0).then(|| EXTENSION.get_u64(sealed)),
            key_bytes: KEY_BYTES.get_u16(sealed),
            value_bytes: VALUE_BYTES.get_u32(sealed),
            payload_crc: PAYLOAD_CRC.get_u32(sealed),
        };
        head.checked()
    }

    /// Refuses what a good checksum cannot excuse.
    fn checked(self) -> Result<Self, FormatError> {
        let malformed = |field: Field| Err(FormatError::Malformed { field: field.name });
        if !self
            .kind
            .fits(usize::from(self.key_bytes), self.value_bytes as usize)
        {
            return malformed(KEY_BYTES);
        }
        let is_pad = self.kind == Kind::Pad;
        if !is_pad && self.bytes() > u64::from(RECORD_BYTES_MAX) {
            return malformed(VALUE_BYTES);
        }
        let may_extend = match self.kind {
            Kind::Put => true,
            Kind::Pad => self.value_bytes > 0,
            Kind::Tombstone | Kind::Page | Kind::Batch | Kind::Map => false,
        };
        if self.extension.is_some() && !may_extend || self.paged && self.kind != Kind::Put {
            return malformed(FLAGS);
        }
        let durable_lsn = self.extension.filter(|_| is_pad);
        if durable_lsn.is_some_and(|durable| Lsn::read(durable).is_none()) {
            return malformed(EXTENSION);
        }
        Ok(self)
    }
}

/// The bytes that the header's checksum spans, and the checksum before them.
pub(super) fn sealed_bytes(bytes: &[u8]) -> Result<&[u8], FormatError> {
    let truncated = |needed| FormatError::Truncated {
        needed,
        found: bytes.len(),
    };
    let head = bytes.get(..HEAD_BYTES).ok_or(truncated(HEAD_BYTES))?;
    if FLAGS.get_u8(head) & EXTENDED == 0 {
        return Ok(head);
    }
    bytes.get(..HEAD_BYTES_MAX).ok_or(truncated(HEAD_BYTES_MAX))
}

/// A record that verified, header and payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its header.
    pub head: RecordHead,
    /// Its key; empty for a pad.
    pub key: &'a [u8],
    /// Its value; empty for a pad.
    pub value: &'a [u8],
}

impl<'a> Record<'a> {
    /// Verifies the record at the start of `bytes`, which may be longer.
    pub fn decode(bytes: &'a [u8], seed: RecordSeed) -> Result<Self, FormatError> {
        let head = RecordHead::decode(bytes, seed)?;
        if head.kind == Kind::Pad {
            return Ok(Self {
                head,
                key: &[],
                value: &[],
            });
        }
        let (key, value) = (head.key_range(), head.value_range());
        let truncated = FormatError::Truncated {
            needed: value.end,
            found: bytes.len(),
        };
        let payload = bytes.get(key.start..value.end).ok_or(truncated)?;
        if crc32c::crc32c(payload) != head.payload_crc {
            return Err(FormatError::Checksum);
        }
        let (key, value) = payload.split_at(key.len());
        Ok(Self { head, key, value })
    }
}

/// Seals a record that was verified at `from` for the place `to`: same LSN, same payload.
pub fn reseal(bytes: &mut [u8], from: RecordSeed, to: RecordSeed) -> Result<(), FormatError> {
    RecordHead::decode(bytes, from)?;
    let header_crc = to.checksum(&sealed_bytes(bytes)?[HEADER_CRC.bytes..]);
    HEADER_CRC.put_u32(bytes, header_crc);
    Ok(())
}
