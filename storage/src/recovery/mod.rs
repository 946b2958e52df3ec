//! Recovery: from what a crash, or a close, left on the devices to a store that can be served.
//!
//! ```text
//!   superblocks   whose devices are these?  -- all blank --> creation
//!        |                                   -- some blank --> extension: they join
//!        | flush: what is read from here on cannot be lost later
//!   survey        headers, footers: what is each segment, what was durable at least?
//!   cut           the young records, one by one: where does the prefix end?
//!   settle        open segments are sealed (harvest, walk), what lies above the cut is freed
//!   replay        all summaries in order --> loading, in shards --> contents: index, roots, bytes
//!   new life      superblocks of the next epoch
//! ```
//!
//! Every write before the last step repeats what the next start would find for itself, so that a
//! crash during recovery changes nothing. Owns the order of these steps; must never serve, and
//! never write to a device before it is known to be the store's.

mod contents;
mod creation;
mod cut;
mod extension;
mod harvest;
mod headless;
mod loading;
mod maps;
mod media;
mod new_life;
mod progress;
mod replay;
mod settle;
mod shard;
mod superblocks;
mod survey;
mod walk;

#[cfg(test)]
#[cfg(not(loom))]
mod tests;

use std::rc::Rc;
use std::sync::Arc;

use cellar_index::{Hasher, Identity, Index};

use crate::damage::DamageLog;
use crate::device::{Channel, Device};
use crate::error::OpenError;
use crate::format::{DatabaseMap, Superblock};
use crate::paged::Collection;
use crate::recovery::media::Media;
use crate::recovery::superblocks::{Devices, Members};
use crate::recovery::survey::{Cuts, Survey};
use crate::segment::SegmentTable;
use crate::units::Lsn;
pub use progress::Progress;

/// What a store is opened from.
#[derive(Clone, Copy)]
pub(crate) struct OpenRequest<'a> {
    pub(crate) devices: &'a [Arc<dyn Device>],
    /// This worker's channels to the devices, in the same order.
    pub(crate) channels: &'a [Rc<dyn Channel>],
    /// Segment size of a store that is created, in bytes.
    pub(crate) segment_bytes: u32,
    /// Randomness for a store that is created: its ids and the seed of its hash.
    pub(crate) seed: [u8; 32],
    /// Threads that load the index; 1: the caller's own.
    pub(crate) threads: usize,
    pub(crate) progress: &'a Progress,
    /// The calendar's time, in seconds.
    pub(crate) now_s: u32,
    /// A store may be created where there is none.
    pub(crate) may_create: bool,
    /// Damaged places that are listed.
    pub(crate) listed_max: usize,
}

impl OpenRequest<'_> {
    /// The largest logical block of all devices, in bytes.
    fn block_bytes(&self) -> u32 {
        let blocks = self
            .devices
            .iter()
            .map(|device| device.geometry().block_bytes);
        blocks.max().expect("a device was named")
    }
}

/// A store that may be served: its new life has begun on the devices.
pub(crate) struct Recovered {
    /// The store's order of the devices: where each stands in the request.
    pub(crate) device_order: Vec<usize>,
    /// The superblocks of the new life, in the store's order.
    pub(crate) superblocks: Vec<Superblock>,
    pub(crate) segments: Arc<SegmentTable>,
    /// Not bounded yet.
    pub(crate) index: Index,
    pub(crate) hasher: Hasher,
    pub(crate) map: DatabaseMap,
    /// The live roots, with their collections.
    pub(crate) roots: Vec<(Identity, Collection)>,
    /// Collections that lost their roots.
    pub(crate) orphans: Vec<Collection>,
    /// The first LSN of the new life.
    pub(crate) start: Lsn,
    pub(crate) epoch: u32,
    /// The store was closed in order, or is new.
    pub(crate) was_clean: bool,
    pub(crate) read_bytes: u64,
    pub(crate) record_count: u64,
    /// What was found damaged.
    pub(crate) damage: DamageLog,
}

/// Opens the devices' store, or creates one on blank devices. When it returns, a new life has
/// begun: the superblocks of the new epoch are durable. Nothing is written to devices that are
/// refused.
pub(crate) async fn open(request: OpenRequest<'_>) -> Result<Recovered, OpenError> {
    if request.devices.is_empty() {
        return Err(OpenError::NoDevice);
    }
    request.progress.begin();
    let recovered = match superblocks::examine(&request).await? {
        Devices::Blank if !request.may_create => return Err(OpenError::NoStore),
        Devices::Blank => creation::create(&request).await?,
        Devices::Store(members) => recover(&request, members).await?,
    };
    request.progress.end();
    Ok(recovered)
}

async fn recover(request: &OpenRequest<'_>, members: Members) -> Result<Recovered, OpenError> {
    let ruling = members.ruling();
    let media = Media::new(request, &members);
    let hasher = Hasher::new(ruling.hash_seed);
    media.flush().await?;
    for (device, offset) in &members.lost_copies {
        media.report_superblock(*device, *offset);
    }
    let mut survey = survey::survey(&media, ruling).await?;
    // A map enters the superblocks when the log is durable up to its end.
    survey.durable = survey.durable.max(members.map().1);
    check_lagging(request, &members, &survey)?;
    let present = cut::find(&media, &survey.lives, ruling.epoch, survey.durable).await?;
    let cuts = Cuts {
        epoch: ruling.epoch,
        present,
        past: ruling.cut_lsn,
    };
    let start = new_life::start(&survey, cuts);
    new_life::check_room(&members, start)?;
    settle::settle(&media, &hasher, &mut survey, cuts).await?;
    let first_map = maps::newest(&media, &survey.lives, &members, cuts).await?;
    let (contents, map) = {
        let first = (first_map, request.threads);
        maps::replay(&media, &hasher, (&survey.lives, cuts), first).await?
    };
    // A summary may have been made anew.
    media.flush().await?;
    extension::announce(request, &members).await?;
    let superblocks = new_life::begin(request, &media, &members, (cuts, start, map)).await?;
    contents.weigh(&media.segments);
    media.segments.restore(&survey.found(&media, cuts));
    let (roots, orphans) = (contents.live_roots(), contents.orphans(&hasher).await);
    let record_count = contents.record_count;
    let index = contents.into_index();
    let corrupt_records = media.damage.count();
    tracing::info!(
        keys = index.len(),
        record_count,
        corrupt_records,
        "recovered up to {present}"
    );
    Ok(Recovered {
        was_clean: members.was_clean(),
        device_order: members.order,
        superblocks,
        segments: media.segments,
        index,
        hasher,
        map,
        roots,
        orphans,
        start,
        epoch: cuts.epoch + 1,
        read_bytes: request.progress.read_bytes(),
        record_count,
        damage: media.damage,
    })
}

/// A device that the last start did not reach is well only when that start served nothing.
fn check_lagging(
    request: &OpenRequest<'_>,
    members: &Members,
    survey: &Survey,
) -> Result<(), OpenError> {
    match members.lagging() {
        Some(device) if survey.newest_epoch == members.ruling().epoch => {
            let reason = "is an old copy: the others went on without it";
            Err(superblocks::incomplete(request, device, reason))
        }
        Some(_) | None => Ok(()),
    }
}
