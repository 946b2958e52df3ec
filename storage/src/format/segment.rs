//! The first 4 KiB of a segment: whose it is, and which life it lives. Owns the header's layout and
//! the order in which foreign bytes are told apart.

use super::FORMAT_VERSION;
use super::error::FormatError;
use super::field::{Field, is_dense};
use crate::units::{DeviceNumber, Generation, Lsn, SegmentNumber};

/// The header's area at a segment's start, in bytes: a block of any device. Records follow.
pub const SEGMENT_HEADER_BYTES: usize = 4096;

const MAGIC_VALUE: &[u8; 8] = b"CLLRSEGM";

pub(super) const MAGIC: Field = Field::new("magic", 0, 8);
pub(super) const CRC: Field = Field::new("crc", 8, 4);
pub(super) const VERSION: Field = Field::new("version", 12, 4);
pub(super) const STORE: Field = Field::new("store", 16, 16);
const OPENING_LSN: Field = Field::new("opening_lsn", 32, 8);
const DURABLE_LSN: Field = Field::new("durable_lsn", 40, 8);
const CUT_LSN: Field = Field::new("cut_lsn", 48, 8);
const EPOCH: Field = Field::new("epoch", 56, 4);
const SEGMENT: Field = Field::new("segment", 60, 4);
const DEVICE: Field = Field::new("device", 64, 2);
const STATE: Field = Field::new("state", 66, 1);
const STREAM: Field = Field::new("stream", 67, 1);
const RESERVED: Field = Field::new("reserved", 68, SEGMENT_HEADER_BYTES - 68);

/// The header, field by field. All that is not zero lies in the first 512 bytes, which no device
/// tears.
pub const SEGMENT_LAYOUT: &[Field] = &[
    MAGIC,
    CRC,
    VERSION,
    STORE,
    OPENING_LSN,
    DURABLE_LSN,
    CUT_LSN,
    EPOCH,
    SEGMENT,
    DEVICE,
    STATE,
    STREAM,
    RESERVED,
];

const _: () = assert!(is_dense(SEGMENT_LAYOUT, SEGMENT_HEADER_BYTES));
const _: () = assert!(RESERVED.offset <= 512);

/// Which store: random, made once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StoreId([u8; 16]);

impl StoreId {
    /// The store with these random bytes.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn get(&self) -> &[u8; 16] {
        &self.0
    }
}

/// Whether a segment's content counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SegmentState {
    /// Opened: its records count, sealed or not.
    Open = 1,
    /// Freed: nothing in it counts.
    Free = 2,
}

/// Which log a segment belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stream {
    /// What clients write. The LSN of a record is `opening_lsn` + its offset - 4,096.
    Hot = 1,
    /// What the cleaner moves. Records keep the LSNs that they had.
    Cold = 2,
}

impl Stream {
    /// Its stored number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The stream with this number.
    pub fn decode(code: u8) -> Result<Self, FormatError> {
        match code {
            1 => Ok(Self::Hot),
            2 => Ok(Self::Cold),
            _ => Err(FormatError::Malformed { field: STREAM.name }),
        }
    }
}

/// A segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Whose it is.
    pub store: StoreId,
    /// On which device it lies.
    pub device: DeviceNumber,
    /// Which life of which segment.
    pub generation: Generation,
    /// Whether that life goes on.
    pub state: SegmentState,
    /// Which log it belongs to.
    pub stream: Stream,
    /// The durable LSN as of this header's writing.
    pub durable_lsn: Lsn,
    /// Hot segments that a start found to hold what a crash undid: records at or above are void.
    pub cut_lsn: Option<Lsn>,
}

impl SegmentHeader {
    /// Its bytes.
    pub fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        STORE.put(&mut bytes, self.store.get());
        OPENING_LSN.put_u64(&mut bytes, self.generation.opening_lsn.get());
        DURABLE_LSN.put_u64(&mut bytes, self.durable_lsn.get());
        CUT_LSN.put_u64(&mut bytes, self.cut_lsn.map_or(u64::MAX, Lsn::get));
        EPOCH.put_u32(&mut bytes, self.generation.epoch);
        SEGMENT.put_u32(&mut bytes, self.generation.segment.get());
        DEVICE.put_u16(&mut bytes, self.device.get());
        STATE.put_u8(&mut bytes, self.state as u8);
        STREAM.put_u8(&mut bytes, self.stream.code());
        seal(&mut bytes, *MAGIC_VALUE);
        bytes
    }

    /// Verifies the header at the start of `bytes`, of a segment of `store`.
    pub fn decode(bytes: &[u8], store: StoreId) -> Result<Self, FormatError> {
        let bytes = unseal(bytes, SEGMENT_HEADER_BYTES, *MAGIC_VALUE)?;
        let found = StoreId(STORE.get_16_bytes(bytes));
        if found != store {
            return Err(FormatError::OtherStore);
        }
        let cut_lsn = match CUT_LSN.get_u64(bytes) {
            u64::MAX => None,
            _ => Some(CUT_LSN.get_lsn(bytes)?),
        };
        Ok(Self {
            store,
            device: DeviceNumber::new(DEVICE.get_u16(bytes)),
            generation: Generation {
                epoch: EPOCH.get_u32(bytes),
                segment: SegmentNumber::new(SEGMENT.get_u32(bytes)),
                opening_lsn: OPENING_LSN.get_lsn(bytes)?,
            },
            state: match STATE.get_u8(bytes) {
                1 => SegmentState::Open,
                2 => SegmentState::Free,
                _ => return Err(FormatError::Malformed { field: STATE.name }),
            },
            stream: Stream::decode(STREAM.get_u8(bytes))?,
            durable_lsn: DURABLE_LSN.get_lsn(bytes)?,
            cut_lsn,
        })
    }
}

/// Puts magic, version and checksum over a structure that starts with those three fields.
pub(super) fn seal(bytes: &mut [u8], magic: [u8; 8]) {
    MAGIC.put(bytes, &magic);
    VERSION.put_u32(bytes, FORMAT_VERSION);
    let crc = crc32c::crc32c(&bytes[VERSION.offset..]);
    CRC.put_u32(bytes, crc);
}

/// Whether the checksum fits a version that this program knows: then the number is damaged, and
/// not of a later program.
fn is_known_version_damaged(bytes: &[u8]) -> bool {
    let after = &bytes[VERSION.offset + VERSION.bytes..];
    (1..=FORMAT_VERSION).any(|known| {
        let crc = crc32c::crc32c_append(crc32c::crc32c(&known.to_le_bytes()), after);
        CRC.get_u32(bytes) == crc
    })
}

/// Whether bytes that a decoder refused were once a structure of this `store` with this magic: most
/// of the magic, or the store's id, can still be read. What others left on a device is not.
fn is_damaged_own(bytes: &[u8], magic: [u8; 8], store: StoreId) -> bool {
    /// Of the magic's 8 bytes.
    const ALIKE_MIN: usize = 6;
    let found = MAGIC.get(bytes);
    let alike = found
        .iter()
        .zip(&magic)
        .filter(|(found, own)| found == own)
        .count();
    alike >= ALIKE_MIN || STORE.get(bytes) == store.get()
}

/// Whether a segment header of this store lay where these bytes are now.
pub fn is_damaged_header(bytes: &[u8], store: StoreId) -> bool {
    is_damaged_own(bytes, *MAGIC_VALUE, store)
}

/// Whether a footer of this store lay where these bytes are now.
pub fn is_damaged_footer(bytes: &[u8], store: StoreId) -> bool {
    is_damaged_own(bytes, *super::footer::FOOTER_MAGIC, store)
}

/// Tells what bytes are before anything in them is believed: absent, blank, foreign, of a later
/// version (whose checksum may lie elsewhere), damaged, or good.
pub(super) fn unseal(bytes: &[u8], needed: usize, magic: [u8; 8]) -> Result<&[u8], FormatError> {
    let truncated = FormatError::Truncated {
        needed,
        found: bytes.len(),
    };
    let bytes = bytes.get(..needed).ok_or(truncated)?;
    if bytes.iter().all(|&byte| byte == 0) {
        return Err(FormatError::Blank);
    }
    if MAGIC.get(bytes) != magic {
        return Err(FormatError::ForeignMagic);
    }
    let found = VERSION.get_u32(bytes);
    if found > FORMAT_VERSION && !is_known_version_damaged(bytes) {
        return Err(FormatError::NewerVersion {
            found,
            known: FORMAT_VERSION,
        });
    }
    if CRC.get_u32(bytes) != crc32c::crc32c(&bytes[VERSION.offset..]) {
        return Err(FormatError::Checksum);
    }
    if found == 0 {
        return Err(FormatError::Malformed {
            field: VERSION.name,
        });
    }
    Ok(bytes)
}
