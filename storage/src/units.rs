//! The numbers that the whole crate counts in, each a type of its own so that an LSN is never taken
//! for an offset. Owns their arithmetic and its bounds; must never do I/O or know a layout.

use std::fmt;

/// Everything in a log starts and ends at a multiple of this, in bytes: records, LSNs, locations.
pub const UNIT_BYTES: u32 = 32;

/// A position in the hot log in bytes, which is also the order of all writes. Multiples of
/// [`UNIT_BYTES`]; dense: a record at `l` of `n` padded bytes is followed by one at `l + n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(u64);

impl Lsn {
    /// Below every record.
    pub const ZERO: Self = Self(0);
    /// Above everything that a log may hold: half of the 64-bit space, so that a position which was
    /// read and a length can be added without a look. At 100 GB a second it is reached after nearly
    /// three years of writing.
    pub const END: Self = Self(1 << 63);

    /// The position `bytes` bytes into the log.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The position `bytes` bytes into the log, as it was read; `None` where no log has one.
    pub const fn read(bytes: u64) -> Option<Self> {
        if bytes < Self::END.0 && bytes.is_multiple_of(UNIT_BYTES as u64) {
            Some(Self(bytes))
        } else {
            None
        }
    }

    /// The position in bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position `bytes` further on. Panics at the end of the 64-bit space, far behind
    /// [`END`](Self::END).
    #[must_use]
    pub const fn plus(self, bytes: u64) -> Self {
        match self.0.checked_add(bytes) {
            Some(sum) => Self(sum),
            None => panic!("an LSN stays below 2^64"),
        }
    }

    /// How many bytes lie between `earlier` and this one; `None` when `earlier` is later.
    pub const fn bytes_since(self, earlier: Self) -> Option<u64> {
        self.0.checked_sub(earlier.0)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Which segment of the store, counted over all its devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentNumber(u32);

impl SegmentNumber {
    /// The segment with this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for SegmentNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Which device of the store, in the order of its superblocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber(u16);

impl DeviceNumber {
    /// The device with this number.
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Which database a record belongs to: an internal id that is never used twice. Which of Redis's
/// numbered databases shows it is the database map's business.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatabaseId(u32);

impl DatabaseId {
    /// The database with this id.
    pub const fn new(id: u32) -> Self {
        Self(id)
    }

    /// The id.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// Which collection a page belongs to: a number that is never used twice, made of the start of the
/// store and a count within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectionId(u64);

impl CollectionId {
    /// The collection with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A run of bytes on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Bytes from the device's start.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Extent {
    /// The first byte after the extent; `None` when that is beyond the 64-bit space.
    pub const fn end(self) -> Option<u64> {
        self.offset.checked_add(self.bytes)
    }

    /// The smallest extent of whole blocks that covers this one.
    /// `block_bytes` is a power of two, and the end stays at least a block below 2^64.
    #[must_use]
    pub const fn aligned_to(self, block_bytes: u32) -> Self {
        let mask = block_bytes as u64 - 1;
        let offset = self.offset & !mask;
        let end = (self.offset + self.bytes + mask) & !mask;
        Self {
            offset,
            bytes: end - offset,
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes at {}", self.bytes, self.offset)
    }
}

/// Where a record starts: the number of a 32-byte unit, counted over all segments of the store.
/// 39 bits, so a store reaches 2^39 x 32 B = 16 TiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(u64);

impl Location {
    /// Bits of a location: with a flag beside it, it fills the 40 bits of an index entry.
    pub const BITS: u32 = 39;

    /// The place `offset` bytes into `segment`, where each segment has `segment_bytes` bytes.
    /// `None` when it is not on a unit, outside the segment, or beyond 39 bits.
    pub fn new(segment: SegmentNumber, offset: u32, segment_bytes: u32) -> Option<Self> {
        if !offset.is_multiple_of(UNIT_BYTES) || offset >= segment_bytes {
            return None;
        }
        let units_per_segment = u64::from(segment_bytes / UNIT_BYTES);
        let unit = u64::from(segment.0) * units_per_segment + u64::from(offset / UNIT_BYTES);
        Self::from_bits(unit)
    }

    /// The place with this unit number; `None` beyond 39 bits.
    pub const fn from_bits(unit: u64) -> Option<Self> {
        if unit >> Self::BITS == 0 {
            Some(Self(unit))
        } else {
            None
        }
    }

    /// The unit number, below 2^39.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The segment, and the bytes from its start.
    pub const fn split(self, segment_bytes: u32) -> (SegmentNumber, u32) {
        let units_per_segment = (segment_bytes / UNIT_BYTES) as u64;
        let segment = (self.0 / units_per_segment) as u32;
        let offset = (self.0 % units_per_segment) as u32 * UNIT_BYTES;
        (SegmentNumber(segment), offset)
    }
}

/// One life of a segment, from its opening until it is freed. Seeds the checksum of every record
/// in it, so that what an earlier life left behind never verifies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation {
    /// Start of the store under which the segment was opened; grows by one each start.
    pub epoch: u32,
    /// The segment.
    pub segment: SegmentNumber,
    /// Hot: the LSN of its first byte of body. Cold: the durable LSN as of its opening.
    pub opening_lsn: Lsn,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_splits_into_what_it_was_made_of() {
        let segment_bytes = 8 << 20;
        for (segment, offset) in [(0, 0), (0, 4096), (7, 32), (2_097_151, segment_bytes - 32)] {
            let segment = SegmentNumber::new(segment);
            let location = Location::new(segment, offset, segment_bytes).unwrap();
            assert_eq!(location.split(segment_bytes), (segment, offset));
            assert_eq!(Location::from_bits(location.bits()), Some(location));
        }
    }

    #[test]
    fn a_location_refuses_what_it_cannot_hold() {
        let segment_bytes = 8 << 20;
        assert_eq!(
            Location::new(SegmentNumber::new(0), 33, segment_bytes),
            None
        );
        assert_eq!(
            Location::new(SegmentNumber::new(0), segment_bytes, segment_bytes),
            None
        );
        assert_eq!(
            Location::new(SegmentNumber::new(2_097_152), 0, segment_bytes),
            None
        );
        assert_eq!(Location::from_bits(1 << 39), None);
    }

    #[test]
    fn an_extent_grows_to_whole_blocks() {
        let extent = Extent {
            offset: 700,
            bytes: 400,
        };
        assert_eq!(
            extent.aligned_to(512),
            Extent {
                offset: 512,
                bytes: 1024
            }
        );
        assert_eq!(
            extent.aligned_to(4096),
            Extent {
                offset: 0,
                bytes: 4096
            }
        );
        let aligned = Extent {
            offset: 4096,
            bytes: 4096,
        };
        assert_eq!(aligned.aligned_to(4096), aligned);
    }

    #[test]
    fn lsns_measure_their_distance() {
        let lsn = Lsn::new(64);
        assert_eq!(lsn.plus(32).bytes_since(lsn), Some(32));
        assert_eq!(lsn.bytes_since(lsn.plus(32)), None);
    }

    #[test]
    fn an_lsn_that_was_read_lies_on_a_unit_and_below_the_end() {
        let end = Lsn::END.get();
        for bytes in [0, 32, end - 32] {
            assert_eq!(Lsn::read(bytes), Some(Lsn::new(bytes)));
        }
        for bytes in [1, 33, end - 1, end, end + 32, u64::MAX - 31, u64::MAX] {
            assert_eq!(Lsn::read(bytes), None);
        }
    }
}
