//! The database map that rules the replay. Owns the search for the newest one: in the superblock,
//! in the records that footers name, and at last in the summaries themselves.

use cellar_index::Hasher;

use crate::damage::Part;
use crate::error::OpenError;
use crate::format::database_map::MAP_BYTES;
use crate::format::{DatabaseMap, Kind, Record, record_bytes};
use crate::recovery::contents::{Contents, KnownMap, MapPlace};
use crate::recovery::harvest::damaged_map;
use crate::recovery::loading::Loading;
use crate::recovery::media::Media;
use crate::recovery::replay;
use crate::recovery::superblocks::Members;
use crate::recovery::survey::{Cuts, Life};
use crate::units::Lsn;

/// A map record, in bytes.
const MAP_RECORD_BYTES: u32 = record_bytes(0, MAP_BYTES, false) as u32;

/// The newest map that superblock and footers tell of.
pub(super) async fn newest(
    media: &Media<'_>,
    lives: &[Life],
    members: &Members,
    cuts: Cuts,
) -> Result<KnownMap, OpenError> {
    let (map, end) = members.map();
    // A superblock's covers all records below where its own record ends.
    let end = end.max(members.ruling().start_lsn);
    let mut known = KnownMap {
        map,
        lsn: Lsn::new(end.get().saturating_sub(1)),
    };
    // One that does not verify is met again in the summary, and judged there.
    for (life, offset) in lives.iter().filter_map(with_map) {
        if life.header.generation.epoch != cuts.epoch {
            continue;
        }
        if let Some(found) = read(media, life, offset).await?
            && found.lsn > known.lsn
            && found.lsn < cuts.present
        {
            known = found;
        }
    }
    Ok(known)
}

fn with_map(life: &Life) -> Option<(&Life, u32)> {
    Some((life, life.footer?.map_offset?))
}

/// The map in the record at `offset`; none when it does not verify.
async fn read(media: &Media<'_>, life: &Life, offset: u32) -> Result<Option<KnownMap>, OpenError> {
    let end = (offset + MAP_RECORD_BYTES).min(media.segment_bytes);
    let bytes = media
        .read_around(life.segment(), offset, end)
        .bytes()
        .await?;
    let record = Record::decode(&bytes, life.seed().at(offset)).ok();
    let map = record.filter(|record| record.head.kind == Kind::Map);
    let known = map.and_then(|record| {
        Some(KnownMap {
            map: DatabaseMap::decode(record.value).ok()?,
            lsn: record.head.lsn,
        })
    });
    if known.is_none() {
        let what = "a database map does not verify; an earlier copy of it counts";
        media.report(life.segment(), (Part::Record, offset), what);
    }
    Ok(known)
}

/// Replays all summaries by the newest map: once, or again where a summary shows a later one that
/// no footer told of. `threads` load the index.
pub(super) async fn replay(
    media: &Media<'_>,
    hasher: &Hasher,
    (lives, cuts): (&[Life], Cuts),
    (first, threads): (KnownMap, usize),
) -> Result<(Contents, DatabaseMap), OpenError> {
    let mut known = first;
    loop {
        let mut loading = Loading::new(media, known, threads)?;
        replay::replay(media, hasher, lives, cuts, &mut loading).await?;
        let (contents, later) = loading.finish().await?;
        let Some(later) = later else {
            return Ok((contents, known.map));
        };
        drop(contents);
        known = read_later(media, lives, later).await?;
    }
}

async fn read_later(
    media: &Media<'_>,
    lives: &[Life],
    later: MapPlace,
) -> Result<KnownMap, OpenError> {
    let is_its = |life: &&Life| life.segment() == later.segment;
    let life = lives.iter().find(is_its).expect("its summary was read");
    // One with another LSN is not what the summary told of: it would be met again for ever.
    read(media, life, later.offset)
        .await?
        .filter(|found| found.lsn == later.lsn)
        .ok_or_else(|| damaged_map(later.lsn))
}
