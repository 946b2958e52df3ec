//! The superblock: what a device is part of, and where the last start began. Owns its layout, its
//! two copies, and the choice between them. What fixes the format on a device is here, not in
//! config.

use super::database_map::{DatabaseMap, MAP_BYTES};
use super::error::FormatError;
use super::field::{Field, is_dense};
use super::segment::{CRC, MAGIC, STORE, StoreId, VERSION, seal, unseal};
use crate::device::{BLOCK_BYTES_MAX, BLOCK_BYTES_MIN};
use crate::units::{DeviceNumber, Lsn};

/// Bytes at a device's start that hold no segment.
pub const RESERVED_BYTES: u64 = 1 << 20;
/// Where the copies lie; which one is written next is told by the sequence number. Half a MiB
/// apart, so that no misdirected write, and no worn unit of flash, takes both.
pub const SUPERBLOCK_OFFSETS: [u64; 2] = [0, RESERVED_BYTES / 2];
/// One copy, in bytes: a block of any device.
pub const SUPERBLOCK_BYTES: usize = 4096;
/// Devices of one store: what the superblock has room to name, and more than a machine has.
pub const DEVICES_MAX: usize = 64;

/// Starts that a store has at most: one a second for half a year. A collection's id has 24 bits for
/// the start that made it.
pub const EPOCH_MAX: u32 = (1 << 24) - 1;
/// Writings of a superblock at most.
pub const SEQUENCE_MAX: u64 = 1 << 63;

const MAGIC_VALUE: &[u8; 8] = b"CLLRSUPR";

const HASH_SEED: Field = Field::new("hash_seed", 32, 16);
const SEQUENCE: Field = Field::new("sequence", 48, 8);
const CUT_LSN: Field = Field::new("cut_lsn", 56, 8);
const START_LSN: Field = Field::new("start_lsn", 64, 8);
const EPOCH: Field = Field::new("epoch", 72, 4);
const BLOCK_BYTES: Field = Field::new("block_bytes", 76, 4);
const SEGMENT_BYTES: Field = Field::new("segment_bytes", 80, 4);
const SEGMENT_COUNT: Field = Field::new("segment_count", 84, 4);
const DEVICE: Field = Field::new("device", 88, 2);
const DEVICE_COUNT: Field = Field::new("device_count", 90, 2);
const CLEAN: Field = Field::new("clean", 92, 1);
const RESERVED: Field = Field::new("reserved", 93, 3);
const DATABASE_MAP: Field = Field::new("database_map", 96, MAP_BYTES);
const MAP_LSN: Field = Field::new("map_lsn", 164, 8);
const RESERVED_MAP: Field = Field::new("reserved_map", 172, 20);
const DEVICE_IDS: Field = Field::new("device_ids", 192, 16 * DEVICES_MAX);
const RESERVED_END: Field = Field::new("reserved_end", 1216, SUPERBLOCK_BYTES - 1216);

/// A copy, field by field.
pub const SUPERBLOCK_LAYOUT: &[Field] = &[
    MAGIC,
    CRC,
    VERSION,
    STORE,
    HASH_SEED,
    SEQUENCE,
    CUT_LSN,
    START_LSN,
    EPOCH,
    BLOCK_BYTES,
    SEGMENT_BYTES,
    SEGMENT_COUNT,
    DEVICE,
    DEVICE_COUNT,
    CLEAN,
    RESERVED,
    DATABASE_MAP,
    MAP_LSN,
    RESERVED_MAP,
    DEVICE_IDS,
    RESERVED_END,
];

const _: () = assert!(is_dense(SUPERBLOCK_LAYOUT, SUPERBLOCK_BYTES));

/// Which device: random, made once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceId([u8; 16]);

impl DeviceId {
    /// The device with these random bytes.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn get(&self) -> &[u8; 16] {
        &self.0
    }
}

/// What stands at the start of each device of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The store.
    pub store: StoreId,
    /// Seed of the keyed hash of all keys.
    pub hash_seed: [u8; 16],
    /// Grows by one with each writing.
    pub sequence: u64,
    /// Starts of this store, this one included.
    pub epoch: u32,
    /// Where the prefix ended that this start found. What lies above it, of older epochs, is void.
    pub cut_lsn: Lsn,
    /// The first LSN of this epoch, above every LSN that was ever seen.
    pub start_lsn: Lsn,
    /// The block that records and flushes are aligned to, in bytes.
    pub block_bytes: u32,
    /// Length of a segment in bytes.
    pub segment_bytes: u32,
    /// Segments that this device has room for.
    pub segment_count: u32,
    /// Which of `devices` this is.
    pub device: DeviceNumber,
    /// All devices of the store, in their order; 1 to [`DEVICES_MAX`].
    pub devices: Vec<DeviceId>,
    /// The store was closed in order: all is durable, and nothing follows.
    pub clean: bool,
    /// The database map as of this writing.
    pub databases: DatabaseMap,
    /// Where the record of that map ends in the log; zero: this epoch has written none.
    pub map_lsn: Lsn,
}

impl Superblock {
    /// Where this writing belongs, in bytes from the device's start. The other copy stays.
    pub fn offset(&self) -> u64 {
        SUPERBLOCK_OFFSETS[(self.sequence % 2) as usize]
    }

    /// Its bytes. Panics when there are no devices or too many.
    pub fn encode(&self) -> [u8; SUPERBLOCK_BYTES] {
        assert!(
            (1..=DEVICES_MAX).contains(&self.devices.len()),
            "a store has 1 to 64 devices"
        );
        let mut bytes = [0; SUPERBLOCK_BYTES];
        STORE.put(&mut bytes, self.store.get());
        HASH_SEED.put(&mut bytes, &self.hash_seed);
        SEQUENCE.put_u64(&mut bytes, self.sequence);
        CUT_LSN.put_u64(&mut bytes, self.cut_lsn.get());
        START_LSN.put_u64(&mut bytes, self.start_lsn.get());
        EPOCH.put_u32(&mut bytes, self.epoch);
        BLOCK_BYTES.put_u32(&mut bytes, self.block_bytes);
        SEGMENT_BYTES.put_u32(&mut bytes, self.segment_bytes);
        SEGMENT_COUNT.put_u32(&mut bytes, self.segment_count);
        DEVICE.put_u16(&mut bytes, self.device.get());
        DEVICE_COUNT.put_u16(&mut bytes, self.devices.len() as u16);
        CLEAN.put_u8(&mut bytes, u8::from(self.clean));
        DATABASE_MAP.put(&mut bytes, &self.databases.encode());
        MAP_LSN.put_u64(&mut bytes, self.map_lsn.get());
        let slots = bytes[DEVICE_IDS.offset..].chunks_exact_mut(16);
        slots
            .zip(&self.devices)
            .for_each(|(slot, id)| slot.copy_from_slice(id.get()));
        seal(&mut bytes, *MAGIC_VALUE);
        bytes
    }

    /// Verifies one copy.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let bytes = unseal(bytes, SUPERBLOCK_BYTES, *MAGIC_VALUE)?;
        let device_count = usize::from(DEVICE_COUNT.get_u16(bytes));
        if !(1..=DEVICES_MAX).contains(&device_count) {
            return Err(FormatError::Malformed {
                field: DEVICE_COUNT.name,
            });
        }
        let ids = DEVICE_IDS.get(bytes).as_chunks::<16>().0;
        let superblock = Self {
            store: StoreId::new(STORE.get_16_bytes(bytes)),
            hash_seed: HASH_SEED.get_16_bytes(bytes),
            sequence: SEQUENCE.get_u64(bytes),
            epoch: EPOCH.get_u32(bytes),
            cut_lsn: CUT_LSN.get_lsn(bytes)?,
            start_lsn: START_LSN.get_lsn(bytes)?,
            block_bytes: BLOCK_BYTES.get_u32(bytes),
            segment_bytes: SEGMENT_BYTES.get_u32(bytes),
            segment_count: SEGMENT_COUNT.get_u32(bytes),
            device: DeviceNumber::new(DEVICE.get_u16(bytes)),
            devices: ids[..device_count]
                .iter()
                .map(|&id| DeviceId::new(id))
                .collect(),
            clean: match CLEAN.get_u8(bytes) {
                0 => false,
                1 => true,
                _ => return Err(FormatError::Malformed { field: CLEAN.name }),
            },
            databases: DatabaseMap::decode(DATABASE_MAP.get(bytes))?,
            map_lsn: MAP_LSN.get_lsn(bytes)?,
        };
        superblock.checked()
    }

    /// Refuses sizes that would lead outside of the device, or nowhere, and counts that no store
    /// comes to.
    fn checked(self) -> Result<Self, FormatError> {
        let malformed = |field: Field| Err(FormatError::Malformed { field: field.name });
        let block = self.block_bytes;
        if !block.is_power_of_two() || !(BLOCK_BYTES_MIN..=BLOCK_BYTES_MAX).contains(&block) {
            return malformed(BLOCK_BYTES);
        }
        if self.segment_bytes == 0 || !self.segment_bytes.is_multiple_of(BLOCK_BYTES_MAX) {
            return malformed(SEGMENT_BYTES);
        }
        if self.segment_count == 0 {
            return malformed(SEGMENT_COUNT);
        }
        if usize::from(self.device.get()) >= self.devices.len() {
            return malformed(DEVICE);
        }
        if self.epoch > EPOCH_MAX {
            return malformed(EPOCH);
        }
        if self.sequence > SEQUENCE_MAX {
            return malformed(SEQUENCE);
        }
        Ok(self)
    }

    /// The copy that counts: the good one with the higher sequence number. A copy of a later
    /// version forbids the other one too: that program may have changed anything. With no good
    /// copy, the error says the most that is known: damage before foreignness before blankness.
    pub fn choose(copies: [&[u8]; 2]) -> Result<Self, FormatError> {
        let [first, second] = copies.map(Self::decode);
        match (first, second) {
            (Err(newer @ FormatError::NewerVersion { .. }), _)
            | (_, Err(newer @ FormatError::NewerVersion { .. })) => Err(newer),
            (Ok(first), Ok(second)) => Ok(if first.sequence >= second.sequence {
                first
            } else {
                second
            }),
            (Ok(good), Err(_)) | (Err(_), Ok(good)) => Ok(good),
            (Err(first), Err(second)) => Err(if rank(first) >= rank(second) {
                first
            } else {
                second
            }),
        }
    }
}

/// How much an error tells.
fn rank(error: FormatError) -> u8 {
    match error {
        FormatError::Blank => 0,
        FormatError::ForeignMagic => 1,
        FormatError::Truncated { .. } => 2,
        FormatError::Checksum | FormatError::Malformed { .. } => 3,
        FormatError::OtherStore => 4,
        FormatError::NewerVersion { .. } => 5,
    }
}
