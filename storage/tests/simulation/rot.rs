//! Rot: a byte of what was durable changes by itself, and the store is opened on it. It may lose
//! what the byte belonged to, says so, and serves the rest; it never shows what is rotten.

use std::collections::BTreeSet;
use std::sync::Arc;

use cellar_storage::device::sim::{SimDevice, SimRandom};
use cellar_storage::format::{
    FOOTER_BYTES, Footer, RESERVED_BYTES, SEGMENT_HEADER_BYTES, SUPERBLOCK_BYTES,
    SUPERBLOCK_OFFSETS, SegmentHeader, Stream, Superblock,
};
use cellar_storage::{OpenError, SEGMENT_BYTES_MIN};

use crate::model::{Key, Sighting, Violation, ensure};
use crate::world::{Ending, World};

/// What a rotten byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// One of two copies.
    Superblock,
    /// The header of a segment: without it nobody knows whether the rest counts, and all is set
    /// aside.
    Header,
    /// A cold segment that is not sealed: nothing tells how much of the last step was durable.
    OpenCold,
    /// Records, a summary, a footer, or what is left of an earlier life.
    Body,
}

impl Spot {
    fn of(device: &SimDevice, offset: u64) -> Self {
        let segment_bytes = u64::from(SEGMENT_BYTES_MIN);
        match offset.checked_sub(RESERVED_BYTES) {
            None => Self::Superblock,
            Some(at) if at % segment_bytes < SEGMENT_HEADER_BYTES as u64 => Self::Header,
            Some(at) if is_open_cold(device, offset - at % segment_bytes) => Self::OpenCold,
            Some(_) => Self::Body,
        }
    }
}

/// Whether the segment at `start` is a cold one without a footer of its own.
fn is_open_cold(device: &SimDevice, start: u64) -> bool {
    let superblock = |at: &u64| Superblock::decode(&device.content(*at, SUPERBLOCK_BYTES)).ok();
    let Some(store) = SUPERBLOCK_OFFSETS.iter().find_map(superblock) else {
        return false;
    };
    let header = device.content(start, SEGMENT_HEADER_BYTES);
    let end = start + u64::from(SEGMENT_BYTES_MIN) - FOOTER_BYTES as u64;
    let footer = device.content(end, FOOTER_BYTES);
    let footer = Footer::decode(&footer, store.store, SEGMENT_BYTES_MIN).ok();
    SegmentHeader::decode(&header, store.store).is_ok_and(|header| {
        header.stream == Stream::Cold
            && footer.is_none_or(|footer| footer.generation != header.generation)
    })
}

/// Of these blocks, keeps those in the bodies of cold segments that are not sealed, if any are.
fn keep_open_cold(device: &SimDevice, blocks: &mut Vec<u64>) {
    let segment_bytes = u64::from(SEGMENT_BYTES_MIN);
    let start_of = |block: u64| block - (block - RESERVED_BYTES) % segment_bytes;
    let starts: BTreeSet<u64> = blocks
        .iter()
        .filter(|block| **block >= RESERVED_BYTES)
        .map(|block| start_of(*block))
        .collect();
    let open: BTreeSet<u64> = starts
        .into_iter()
        .filter(|start| is_open_cold(device, *start))
        .collect();
    let is_inside = |block: &u64| {
        *block >= RESERVED_BYTES
            && open.contains(&start_of(*block))
            && block - start_of(*block) >= SEGMENT_HEADER_BYTES as u64
    };
    if blocks.iter().any(is_inside) {
        blocks.retain(is_inside);
    }
}

/// What one rotten byte may do at most.
struct Harm {
    /// Keys that the store says are damaged.
    damaged: usize,
    /// Keys that show an older state, or none.
    strays: usize,
    /// Commits that survive at least.
    least: usize,
}

impl World {
    /// Opens the store on what the last life left, with a rotten byte. Nothing goes on from there.
    pub(crate) fn open_rotten(&mut self, before: &[Arc<SimDevice>]) -> Result<(), Violation> {
        let devices = self.crashed(before);
        let aims = self.random.flip();
        let Some((_, _, spot)) = rot(&devices, aims, &mut self.random) else {
            return Ok(());
        };
        self.tally.rotten += 1;
        let ended = self.ended;
        let told = |Violation(what)| {
            let where_to = format!("with a rotten byte in a {spot:?} after a {ended:?}");
            Violation(format!("{where_to}: {what}"))
        };
        self.judge_rotten(devices, spot).map_err(told)
    }

    fn judge_rotten(&mut self, devices: Vec<Arc<SimDevice>>, spot: Spot) -> Result<(), Violation> {
        let mut opened = match self.start(devices)? {
            Ok(opened) => opened,
            // Without its map of databases nobody knows what lives.
            Err(OpenError::Log { .. }) if spot == Spot::Body => return Ok(()),
            Err(error) => return Err(Violation(format!("it cannot be opened: {error}"))),
        };
        let reported = opened.store.stats().corrupt_records;
        let found = self.read_all(&mut opened, true)?;
        let harm = self.harm(spot, reported > 0);
        let is_damaged = |(_, sighting): &(&Key, &Sighting)| sighting.damage.is_some();
        let damaged: Vec<_> = found.iter().filter(is_damaged).collect();
        ensure(damaged.len() <= harm.damaged, || {
            format!("these keys are damaged: {damaged:?}")
        })?;
        let counted = opened.store.stats().corrupt_records;
        ensure(damaged.is_empty() || counted > 0, || {
            format!("damage was met, and not counted: {damaged:?}")
        })?;
        self.tally.damaged += u64::from(counted > 0);
        let told = |Violation(what)| {
            let met = opened.store.last_damage();
            Violation(format!("{what}\ndamage that was met: {met:?}"))
        };
        self.model
            .judge(&found, harm.least, harm.strays)
            .map(|_| ())
            .map_err(told)
    }

    fn harm(&self, spot: Spot, is_reported: bool) -> Harm {
        let was_closed = self.ended.is_some_and(Ending::is_orderly);
        // After a crash the last records are not known to have been durable: where one of them is
        // rotten, they end.
        let least = if was_closed { self.least } else { 0 };
        match spot {
            Spot::Superblock => Harm {
                damaged: 0,
                strays: 0,
                least: self.least,
            },
            Spot::Header if is_reported || self.is_damaged => Harm {
                damaged: usize::MAX,
                strays: usize::MAX,
                least: 0,
            },
            Spot::Header => Harm {
                damaged: 0,
                strays: 0,
                least,
            },
            Spot::OpenCold => Harm {
                damaged: 1,
                strays: 1,
                least: self.least,
            },
            // A record whose summary is not believed yet is lost with its header. It may be a map.
            Spot::Body if is_reported => Harm {
                damaged: 1,
                strays: if self.model.has_maps() { usize::MAX } else { 1 },
                least,
            },
            Spot::Body => Harm {
                damaged: 1,
                strays: 0,
                least,
            },
        }
    }
}

/// Changes one byte of what is held: on which device, where, and what it belongs to. `aims`: it is
/// one of a cold segment that is not sealed, if there is any.
pub(crate) fn rot(
    devices: &[Arc<SimDevice>],
    aims: bool,
    random: &mut SimRandom,
) -> Option<(Arc<SimDevice>, u64, Spot)> {
    let device = &devices[random.below(devices.len() as u64) as usize];
    let mut held = device.held();
    if aims {
        keep_open_cold(device, &mut held);
    }
    let count = Some(held.len() as u64).filter(|count| *count > 0)?;
    let block = held[random.below(count) as usize];
    let offset = block + random.below(512);
    let spot = Spot::of(device, offset);
    device.rot(offset, 1 + random.below(255) as u8);
    Some((Arc::clone(device), offset, spot))
}
