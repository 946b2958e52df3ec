//! The last 4 KiB of a sealed segment. Owns the footer's layout, and what it vouches for: the
//! entries of the summary.

use super::checksum::GenerationSeed;
use super::error::FormatError;
use super::field::{Field, is_dense};
use super::segment::{CRC, MAGIC, SEGMENT_HEADER_BYTES, STORE, StoreId, Stream, VERSION};
use super::segment::{seal, unseal};
use super::summary::{ENTRY_BYTES, SummaryEntry};
use crate::units::{Extent, Generation, Lsn, SegmentNumber, UNIT_BYTES};

/// The footer's area at a segment's end, in bytes: a block of any device.
pub const FOOTER_BYTES: usize = 4096;

pub(super) const FOOTER_MAGIC: &[u8; 8] = b"CLLRSUMM";

const OPENING_LSN: Field = Field::new("opening_lsn", 32, 8);
const END_LSN: Field = Field::new("end_lsn", 40, 8);
const DURABLE_LSN: Field = Field::new("durable_lsn", 48, 8);
const EPOCH: Field = Field::new("epoch", 56, 4);
const SEGMENT: Field = Field::new("segment", 60, 4);
const ENTRY_COUNT: Field = Field::new("entry_count", 64, 4);
const ENTRIES_CRC: Field = Field::new("entries_crc", 68, 4);
const BODY_END: Field = Field::new("body_end", 72, 4);
const MAP_OFFSET: Field = Field::new("map_offset", 76, 4);
const STREAM: Field = Field::new("stream", 80, 1);
const RESERVED: Field = Field::new("reserved", 81, FOOTER_BYTES - 81);

/// The footer, field by field.
pub const FOOTER_LAYOUT: &[Field] = &[
    MAGIC,
    CRC,
    VERSION,
    STORE,
    OPENING_LSN,
    END_LSN,
    DURABLE_LSN,
    EPOCH,
    SEGMENT,
    ENTRY_COUNT,
    ENTRIES_CRC,
    BODY_END,
    MAP_OFFSET,
    STREAM,
    RESERVED,
];

const _: () = assert!(is_dense(FOOTER_LAYOUT, FOOTER_BYTES));

/// The last thing written to a segment: it is sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Whose it is.
    pub store: StoreId,
    /// Which life of which segment it seals.
    pub generation: Generation,
    /// Which log it belongs to.
    pub stream: Stream,
    /// Hot: where the next segment opens. Cold: the same as the opening LSN.
    pub end_lsn: Lsn,
    /// The durable LSN as of this footer's writing.
    pub durable_lsn: Lsn,
    /// How many entries there are.
    pub entry_count: u32,
    /// Checksum of all entries, in the order of their bytes, seeded with the generation.
    pub entries_crc: u32,
    /// Where the last record ends, in bytes from the segment's start.
    pub body_end: u32,
    /// Where the last `Map` record starts, if there is one.
    pub map_offset: Option<u32>,
}

impl Footer {
    /// Its bytes.
    pub fn encode(&self) -> [u8; FOOTER_BYTES] {
        let mut bytes = [0; FOOTER_BYTES];
        STORE.put(&mut bytes, self.store.get());
        OPENING_LSN.put_u64(&mut bytes, self.generation.opening_lsn.get());
        END_LSN.put_u64(&mut bytes, self.end_lsn.get());
        DURABLE_LSN.put_u64(&mut bytes, self.durable_lsn.get());
        EPOCH.put_u32(&mut bytes, self.generation.epoch);
        SEGMENT.put_u32(&mut bytes, self.generation.segment.get());
        ENTRY_COUNT.put_u32(&mut bytes, self.entry_count);
        ENTRIES_CRC.put_u32(&mut bytes, self.entries_crc);
        BODY_END.put_u32(&mut bytes, self.body_end);
        MAP_OFFSET.put_u32(&mut bytes, self.map_offset.unwrap_or(0));
        STREAM.put_u8(&mut bytes, self.stream.code());
        seal(&mut bytes, *FOOTER_MAGIC);
        bytes
    }

    /// Verifies the footer at the start of `bytes`, of a segment of `store` and `segment_bytes`.
    /// Whether it seals the life that the header tells is for the caller to compare: a footer of an
    /// earlier life is left behind when a segment is opened again.
    pub fn decode(bytes: &[u8], store: StoreId, segment_bytes: u32) -> Result<Self, FormatError> {
        let bytes = unseal(bytes, FOOTER_BYTES, *FOOTER_MAGIC)?;
        if StoreId::new(STORE.get_16_bytes(bytes)) != store {
            return Err(FormatError::OtherStore);
        }
        let map_offset = MAP_OFFSET.get_u32(bytes);
        let footer = Self {
            store,
            generation: Generation {
                epoch: EPOCH.get_u32(bytes),
                segment: SegmentNumber::new(SEGMENT.get_u32(bytes)),
                opening_lsn: OPENING_LSN.get_lsn(bytes)?,
            },
            stream: Stream::decode(STREAM.get_u8(bytes))?,
            end_lsn: END_LSN.get_lsn(bytes)?,
            durable_lsn: DURABLE_LSN.get_lsn(bytes)?,
            entry_count: ENTRY_COUNT.get_u32(bytes),
            entries_crc: ENTRIES_CRC.get_u32(bytes),
            body_end: BODY_END.get_u32(bytes),
            map_offset: (map_offset != 0).then_some(map_offset),
        };
        footer.checked(segment_bytes)
    }

    /// Refuses what cannot fit the segment, so that nobody reads or allocates by it.
    fn checked(self, segment_bytes: u32) -> Result<Self, FormatError> {
        let malformed = |field: Field| Err(FormatError::Malformed { field: field.name });
        let body_end = u64::from(self.body_end);
        if body_end < SEGMENT_HEADER_BYTES as u64 || !body_end.is_multiple_of(u64::from(UNIT_BYTES))
        {
            return malformed(BODY_END);
        }
        let entries_bytes = u64::from(self.entry_count) * ENTRY_BYTES as u64;
        if body_end + entries_bytes + FOOTER_BYTES as u64 > u64::from(segment_bytes) {
            return malformed(ENTRY_COUNT);
        }
        let hot_bytes = self.end_lsn.bytes_since(self.generation.opening_lsn);
        if hot_bytes.is_none_or(|bytes| bytes > u64::from(segment_bytes)) {
            return malformed(END_LSN);
        }
        let is_map =
            |offset: u32| (SEGMENT_HEADER_BYTES as u64..body_end).contains(&u64::from(offset));
        if !self.map_offset.is_none_or(is_map) {
            return malformed(MAP_OFFSET);
        }
        Ok(self)
    }

    /// Where the entries lie, from the segment's start. `segment_bytes` is what it was decoded
    /// with.
    pub fn entries_extent(&self, segment_bytes: u32) -> Extent {
        let bytes = u64::from(self.entry_count) * ENTRY_BYTES as u64;
        Extent {
            offset: u64::from(segment_bytes) - FOOTER_BYTES as u64 - bytes,
            bytes,
        }
    }

    /// Verifies the bytes of [`entries_extent`](Self::entries_extent), and gives them one by one,
    /// the last record's first.
    pub fn verify_entries<'a>(
        &self,
        bytes: &'a [u8],
    ) -> Result<impl Iterator<Item = Result<SummaryEntry, FormatError>> + use<'a>, FormatError>
    {
        let needed = self.entry_count as usize * ENTRY_BYTES;
        if bytes.len() != needed {
            return Err(FormatError::Truncated {
                needed,
                found: bytes.len(),
            });
        }
        let seed = GenerationSeed::new(self.store, self.generation).get();
        if crc32c::crc32c_append(seed, bytes) != self.entries_crc {
            return Err(FormatError::Checksum);
        }
        // The last record comes first, and none reaches into the one behind it.
        let mut end = self.body_end;
        let entries = bytes.as_chunks::<ENTRY_BYTES>().0.iter();
        Ok(entries.map(move |entry| {
            let entry = SummaryEntry::decode(entry, end)?;
            end = entry.offset;
            Ok(entry)
        }))
    }
}
