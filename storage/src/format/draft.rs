//! Records in the making. Owns their length and padding, and the order of the two steps: the
//! payload's checksum without a lock, then the header for its place.

use super::checksum::RecordSeed;
use super::record::{
    HEAD_BYTES, HEAD_BYTES_MAX, Kind, RECORD_BYTES_MAX, RECORD_BYTES_MIN, RecordHead,
    RecordHeadBytes,
};
use super::value::{Encoding, ValueType};
use crate::units::{DatabaseId, Lsn, UNIT_BYTES};

/// How long a record with such a payload is, in padded bytes; it is no record when this is above
/// [`RECORD_BYTES_MAX`] or the key is longer than 65,535 bytes.
pub const fn record_bytes(key_bytes: usize, value_bytes: usize, has_expiry: bool) -> u64 {
    let head_bytes = if has_expiry {
        HEAD_BYTES_MAX
    } else {
        HEAD_BYTES
    };
    let bytes = (head_bytes as u64 + key_bytes as u64 + value_bytes as u64)
        .next_multiple_of(UNIT_BYTES as u64);
    if bytes < RECORD_BYTES_MIN as u64 {
        RECORD_BYTES_MIN as u64
    } else {
        bytes
    }
}

/// A record that has no place yet. Making one computes the payload's checksum, the costly part, and
/// needs no lock; sealing it for its place is cheap.
#[derive(Clone, Copy, Debug)]
pub struct RecordDraft<'a> {
    kind: Kind,
    database: DatabaseId,
    value_type: ValueType,
    encoding: Encoding,
    paged: bool,
    expiry_ms: Option<u64>,
    key: &'a [u8],
    value: &'a [u8],
    payload_crc: u32,
}

impl<'a> RecordDraft<'a> {
    /// A record of database 0, of type string, raw, without expiry. Panics when the payload is too
    /// long or does not fit the kind: check with [`record_bytes`] before. Pads: see [`pad_head`].
    pub fn new(kind: Kind, key: &'a [u8], value: &'a [u8]) -> Self {
        assert!(kind != Kind::Pad, "a pad has no draft");
        assert!(
            kind.fits(key.len(), value.len()),
            "a {kind:?} is not made of such a payload"
        );
        assert!(
            u16::try_from(key.len()).is_ok(),
            "a key has at most 65,535 bytes"
        );
        let draft = Self {
            kind,
            database: DatabaseId::default(),
            value_type: ValueType::String,
            encoding: Encoding::Raw,
            paged: false,
            expiry_ms: None,
            key,
            value,
            payload_crc: crc32c::crc32c_append(crc32c::crc32c(key), value),
        };
        draft.checked()
    }

    /// Of this database.
    #[must_use]
    pub fn database(self, database: DatabaseId) -> Self {
        Self { database, ..self }
    }

    /// Of this type, held this way.
    #[must_use]
    pub fn typed(self, value_type: ValueType, encoding: Encoding) -> Self {
        Self {
            value_type,
            encoding,
            ..self
        }
    }

    /// With this expiry, in milliseconds since the epoch; only for a `Put`.
    #[must_use]
    pub fn expiry(self, expiry_ms: Option<u64>) -> Self {
        assert!(
            expiry_ms.is_none() || self.kind == Kind::Put,
            "only a key expires"
        );
        Self { expiry_ms, ..self }.checked()
    }

    /// A root: the value is a `RootValue`; only for a `Put`.
    #[must_use]
    pub fn paged(self) -> Self {
        assert!(self.kind == Kind::Put, "only a key has pages");
        Self {
            paged: true,
            ..self
        }
    }

    fn checked(self) -> Self {
        let bytes = record_bytes(self.key.len(), self.value.len(), self.expiry_ms.is_some());
        assert!(
            bytes <= u64::from(RECORD_BYTES_MAX),
            "a record has at most 64 KiB"
        );
        self
    }

    /// Its padded length in bytes, a multiple of 32 from 64 to 65,536.
    pub fn bytes(&self) -> u32 {
        record_bytes(self.key.len(), self.value.len(), self.expiry_ms.is_some()) as u32
    }

    /// Its key.
    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    fn head(&self, lsn: Lsn) -> RecordHead {
        RecordHead {
            kind: self.kind,
            lsn,
            database: self.database,
            value_type: self.value_type,
            encoding: self.encoding,
            paged: self.paged,
            extension: self.expiry_ms,
            key_bytes: self.key.len() as u16,
            value_bytes: self.value.len() as u32,
            payload_crc: self.payload_crc,
        }
    }

    /// Writes it piece by piece through `write(offset from the record's start, bytes)`: header,
    /// key, value, zeros up to [`bytes`](Self::bytes).
    pub fn write_with(&self, lsn: Lsn, seed: RecordSeed, mut write: impl FnMut(usize, &[u8])) {
        let head = self.head(lsn).encode(seed);
        write(0, head.as_slice());
        let key_start = head.as_slice().len();
        write(key_start, self.key);
        let value_start = key_start + self.key.len();
        write(value_start, self.value);
        let end = value_start + self.value.len();
        // At most a record of the least length without a payload is padding.
        let zeros = [0; RECORD_BYTES_MIN as usize];
        write(end, &zeros[..self.bytes() as usize - end]);
    }

    /// Writes it to `target`, which is [`bytes`](Self::bytes) long.
    pub fn encode_into(&self, target: &mut [u8], lsn: Lsn, seed: RecordSeed) {
        assert!(
            target.len() == self.bytes() as usize,
            "a record fills its place"
        );
        self.write_with(lsn, seed, |offset, bytes| {
            target[offset..offset + bytes.len()].copy_from_slice(bytes);
        });
    }
}

/// The header of a pad of `bytes` bytes, a positive multiple of 32; what follows it is never looked
/// at. It tells the durable LSN when it has more than one unit.
pub fn pad_head(bytes: u32, lsn: Lsn, durable_lsn: Lsn, seed: RecordSeed) -> RecordHeadBytes {
    assert!(
        bytes >= UNIT_BYTES && bytes.is_multiple_of(UNIT_BYTES),
        "a pad is made of units"
    );
    let head = RecordHead {
        kind: Kind::Pad,
        lsn,
        database: DatabaseId::default(),
        value_type: ValueType::String,
        encoding: Encoding::Raw,
        paged: false,
        extension: (bytes > UNIT_BYTES).then_some(durable_lsn.get()),
        key_bytes: 0,
        value_bytes: bytes - UNIT_BYTES,
        payload_crc: 0,
    };
    head.encode(seed)
}
