//! A new store on blank devices. Owns its first superblocks; must never be called for devices that
//! hold anything.

use std::sync::Arc;

use cellar_index::{Hasher, Index};

use crate::damage::DamageLog;
use crate::device::Device;
use crate::error::OpenError;
use crate::format::{
    DEVICES_MAX, DatabaseMap, DeviceId, RESERVED_BYTES, SEGMENT_HEADER_BYTES, StoreId, Superblock,
};
use crate::options::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};
use crate::recovery::superblocks::{self, UNFINISHED_EPOCH, name, segments_reachable};
use crate::recovery::{OpenRequest, Recovered};
use crate::segment::SegmentTable;
use crate::units::{DeviceNumber, Lsn};

/// Segments that a device has at least: write buffers, the cleaner's reserve, and some for data.
const SEGMENTS_MIN: u64 = 16;
/// The first LSN of a store: a block above zero, which stands for "before everything".
const FIRST_LSN: Lsn = Lsn::new(SEGMENT_HEADER_BYTES as u64);

/// Makes a store. It exists from the moment on at which one device has the superblock of epoch 1,
/// and by then all devices name it: a creation that broke off before is started over.
pub(super) async fn create(request: &OpenRequest<'_>) -> Result<Recovered, OpenError> {
    let mut superblocks = first_superblocks(request)?;
    superblocks::write_next(request.channels, &mut superblocks).await?;
    for superblock in &mut superblocks {
        superblock.epoch = UNFINISHED_EPOCH + 1;
    }
    // Both copies, so that none of an unfinished creation is left.
    superblocks::write_next(request.channels, &mut superblocks).await?;
    superblocks::write_next(request.channels, &mut superblocks).await?;
    let counts: Vec<u32> = superblocks.iter().map(|s| s.segment_count).collect();
    let first = &superblocks[0];
    tracing::info!(
        devices = superblocks.len(),
        segments = counts.iter().sum::<u32>(),
        "created"
    );
    Ok(Recovered {
        device_order: (0..superblocks.len()).collect(),
        segments: Arc::new(SegmentTable::new(&counts)),
        index: Index::new(0).map_err(|_| OpenError::NoMemory)?,
        hasher: Hasher::new(first.hash_seed),
        map: first.databases,
        roots: Vec::new(),
        orphans: Vec::new(),
        start: first.start_lsn,
        epoch: first.epoch,
        was_clean: true,
        read_bytes: request.progress.read_bytes(),
        record_count: 0,
        damage: DamageLog::new(request.listed_max),
        superblocks,
    })
}

fn first_superblocks(request: &OpenRequest<'_>) -> Result<Vec<Superblock>, OpenError> {
    let counts = segment_counts(request)?;
    let random = Random::new(request.seed);
    let devices: Vec<DeviceId> = (0..counts.len() as u32)
        .map(|number| DeviceId::new(random.draw(Purpose::Device, number)))
        .collect();
    let superblock = |(number, count): (usize, &u32)| Superblock {
        store: StoreId::new(random.draw(Purpose::Store, 0)),
        hash_seed: random.draw(Purpose::HashSeed, 0),
        sequence: 0,
        epoch: UNFINISHED_EPOCH,
        cut_lsn: Lsn::ZERO,
        start_lsn: FIRST_LSN,
        block_bytes: request.block_bytes(),
        segment_bytes: request.segment_bytes,
        segment_count: *count,
        device: DeviceNumber::new(number as u16),
        devices: devices.clone(),
        clean: false,
        databases: DatabaseMap::default(),
        map_lsn: Lsn::ZERO,
    };
    Ok(counts.iter().enumerate().map(superblock).collect())
}

/// How many segments each device gets.
fn segment_counts(request: &OpenRequest<'_>) -> Result<Vec<u32>, OpenError> {
    let segment_bytes = request.segment_bytes;
    assert!(
        segment_bytes.is_power_of_two()
            && (SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&segment_bytes),
        "the options' segment size was validated"
    );
    if request.devices.len() > DEVICES_MAX {
        let reason = format!("a store has at most {DEVICES_MAX} devices");
        let device = name(&*request.devices[DEVICES_MAX]);
        return Err(OpenError::Incomplete { device, reason });
    }
    let devices = request.devices.iter();
    let room: Vec<u64> = devices
        .map(|device| segments_of(&**device, segment_bytes))
        .collect::<Result<_, _>>()?;
    // What locations cannot reach is left out, of each device its share.
    let reachable = segments_reachable(segment_bytes);
    let all: u64 = room.iter().sum();
    let share = |segments: u64| {
        let segments = u128::from(segments) * u128::from(reachable.min(all)) / u128::from(all);
        u32::try_from(segments).expect("locations reach fewer than 2^32 segments")
    };
    Ok(room.into_iter().map(share).collect())
}

/// How many segments a device has room for; an error if it is too small to be of use.
pub(super) fn segments_of(device: &dyn Device, segment_bytes: u32) -> Result<u64, OpenError> {
    let bytes = device.geometry().capacity_bytes;
    let segments = bytes.saturating_sub(RESERVED_BYTES) / u64::from(segment_bytes);
    if segments < SEGMENTS_MIN {
        return Err(OpenError::TooSmall {
            device: name(device),
            bytes,
            segments,
            segment_bytes,
            segments_min: SEGMENTS_MIN,
        });
    }
    Ok(segments)
}

/// The id of a device that joins a store, from the randomness of this start.
pub(super) fn new_device_id(seed: [u8; 32], number: u32) -> DeviceId {
    DeviceId::new(Random::new(seed).draw(Purpose::Device, number))
}

/// What random bytes are for.
#[derive(Clone, Copy)]
enum Purpose {
    Store = 0,
    Device = 1,
    HashSeed = 2,
}

/// Many independent values from one seed: a pseudo-random function keyed by its first half, of the
/// other half and the value's name.
struct Random {
    function: Hasher,
    input: [u8; 16],
}

impl Random {
    fn new(seed: [u8; 32]) -> Self {
        let ([key, input], _) = seed.as_chunks::<16>() else {
            unreachable!("32 bytes are two chunks of 16")
        };
        Self {
            function: Hasher::new(*key),
            input: *input,
        }
    }

    fn draw(&self, purpose: Purpose, number: u32) -> [u8; 16] {
        let mut value = [0; 16];
        for (half, part) in value.chunks_exact_mut(8).enumerate() {
            let domain = (purpose as u32) << 1 | half as u32;
            let input = [&self.input[..], &number.to_le_bytes()].concat();
            // All but the first 8 of an identity's bytes have bits that are always zero.
            part.copy_from_slice(&self.function.key(domain, &input).to_bytes()[..8]);
        }
        value
    }
}
