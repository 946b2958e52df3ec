//! The new life: the last step of a start. Owns what the next epoch's superblocks say.

use crate::error::OpenError;
use crate::format::{DatabaseMap, SEGMENT_HEADER_BYTES, Superblock};
use crate::recovery::OpenRequest;
use crate::recovery::media::Media;
use crate::recovery::superblocks::{self, Members};
use crate::recovery::survey::{Cuts, Survey};
use crate::units::Lsn;

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
    let mut superblocks: Vec<_> = members.superblocks.iter().map(next).collect();
    superblocks::write_next(&media.channels, &mut superblocks).await?;
    // The other copy too: should the newer one be lost, the older one tells the same.
    superblocks::write_next(&media.channels, &mut superblocks).await?;
    Ok(superblocks)
}

/// The first LSN of the next epoch: above every LSN that was ever seen.
pub(super) fn start(survey: &Survey, cuts: Cuts) -> Lsn {
    let end = survey.end.max(cuts.present).get();
    Lsn::new(end.next_multiple_of(SEGMENT_HEADER_BYTES as u64))
}
