//! The new life: the last step of a start. Owns what the next epoch's superblocks say.

use std::slice;

use crate::error::OpenError;
use crate::format::{DatabaseMap, EPOCH_MAX, SEGMENT_HEADER_BYTES, SEQUENCE_MAX, Superblock};
use crate::recovery::OpenRequest;
use crate::recovery::media::Media;
use crate::recovery::superblocks::{self, Members};
use crate::recovery::survey::{Cuts, Survey};
use crate::units::Lsn;

/// LSNs that a life has at least: at 10 GB a second it may write for three years.
const LIFE_BYTES_MIN: u64 = 1 << 60;
/// Writings of a superblock that a life has at least: a thousand a second for ever.
const LIFE_WRITINGS_MIN: u64 = 1 << 60;

/// Whether the store can be started once more: with LSNs from `start` on, another epoch, and other
/// writings of the superblocks, all of which the next start has to be able to read.
pub(super) fn check_room(members: &Members, start: Lsn) -> Result<(), OpenError> {
    if start.get() > Lsn::END.get() - LIFE_BYTES_MIN {
        return Err(OpenError::Spent { what: "LSNs" });
    }
    if members.ruling().epoch >= EPOCH_MAX {
        return Err(OpenError::Spent { what: "starts" });
    }
    let mut superblocks = members.superblocks.iter();
    if superblocks.any(|superblock| superblock.sequence > SEQUENCE_MAX - LIFE_WRITINGS_MIN) {
        return Err(OpenError::Spent {
            what: "superblocks",
        });
    }
    Ok(())
}

/// Begins the next epoch on all devices: what it returns is durable.
pub(super) async fn begin(
    request: &OpenRequest<'_>,
    media: &Media<'_>,
    members: &Members,
    (cuts, start, map): (Cuts, Lsn, DatabaseMap),
) -> Result<Vec<Superblock>, OpenError> {
    let next = |superblock: &Superblock| Superblock {
        epoch: cuts.epoch + 1,
        cut_lsn: cuts.present,
        start_lsn: start,
        block_bytes: request.block_bytes(),
        clean: false,
        databases: map,
        map_lsn: Lsn::ZERO,
        ..superblock.clone()
    };
    let caught_up = catch_up(media, members).await?;
    let mut superblocks: Vec<_> = caught_up.iter().map(next).collect();
    superblocks::write_next(&media.channels, &mut superblocks).await?;
    // The other copy too: should the newer one be lost, the older one tells the same.
    superblocks::write_next(&media.channels, &mut superblocks).await?;
    Ok(superblocks)
}

/// A device that the last start did not reach is brought to that start before the next one begins:
/// however often starts are cut off, no two devices are ever more than one start apart.
async fn catch_up(media: &Media<'_>, members: &Members) -> Result<Vec<Superblock>, OpenError> {
    let ruling = members.ruling();
    let mut superblocks = members.superblocks.clone();
    let old_count = superblocks.len() - members.added_count;
    for (superblock, channel) in superblocks[..old_count].iter_mut().zip(&media.channels) {
        if superblock.epoch < ruling.epoch {
            *superblock = Superblock {
                devices: members.named.clone(),
                device: superblock.device,
                segment_count: superblock.segment_count,
                sequence: superblock.sequence,
                ..ruling.clone()
            };
            superblocks::write_next(slice::from_ref(channel), slice::from_mut(superblock)).await?;
            superblock.devices.clone_from(&ruling.devices);
        }
    }
    Ok(superblocks)
}

/// The first LSN of the next epoch: above every LSN that was ever seen.
pub(super) fn start(survey: &Survey, cuts: Cuts) -> Lsn {
    let end = survey.end.max(cuts.present).get();
    Lsn::new(end.next_multiple_of(SEGMENT_HEADER_BYTES as u64))
}
