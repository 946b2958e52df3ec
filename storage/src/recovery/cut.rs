//! The cut: where the prefix ends that this start keeps (design rule 2). Owns the walk through the
//! young records; must never go on past a record that does not verify, unless what lies behind it
//! is known to have been durable.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::device::DeviceError;
use crate::format::{BatchHeader, Kind};
use crate::recovery::media::Media;
use crate::recovery::survey::Life;
use crate::recovery::walk::{Sight, Walk, length};
use crate::units::{Lsn, UNIT_BYTES};

/// Finds the end of the prefix of `epoch`. Everything below `durable` was durable.
pub(super) async fn find(
    media: &Media<'_>,
    lives: &[Life],
    epoch: u32,
    durable: Lsn,
) -> Result<Lsn, DeviceError> {
    let chain = Chain::new(lives, epoch);
    let mut from = durable;
    loop {
        let end = chain.follow(media, from).await?;
        // A pad further on may know more of what was durable than the headers did: then the break
        // is damage, which the harvest reports, and not the end.
        match chain.last_known_durable(media, end).await? {
            Some(known) => from = known,
            None => return Ok(end),
        }
    }
}

/// The hot segments of one epoch, which continue one another.
struct Chain<'a> {
    by_opening: BTreeMap<Lsn, &'a Life>,
}

impl<'a> Chain<'a> {
    fn new(lives: &'a [Life], epoch: u32) -> Self {
        let hot = lives.iter().filter(|life| life.is_hot_of(epoch));
        Self {
            by_opening: hot.map(|life| (life.opening(), life)).collect(),
        }
    }

    /// The segment that holds the record at `position`, and the LSN at which its part of the log
    /// ends.
    fn holding(&self, media: &Media<'_>, position: Lsn) -> Option<(&'a Life, Lsn)> {
        let (_, life) = self.by_opening.range(..=position).next_back()?;
        let end = self.end_of(media, life);
        (position < end).then_some((*life, end))
    }

    /// Where a segment's part of the log ends at the latest: at its body's end, at the next
    /// opening, at the cut of a start that did not come to its end.
    fn end_of(&self, media: &Media<'_>, life: &Life) -> Lsn {
        let body_end = life.lsn_at(life.body_end_max(media.segment_bytes));
        let after = (Bound::Excluded(life.opening()), Bound::Unbounded);
        let next = self
            .by_opening
            .range(after)
            .next()
            .map(|(opening, _)| *opening);
        [next, life.header.cut_lsn]
            .into_iter()
            .flatten()
            .fold(body_end, Lsn::min)
    }

    /// Follows the records from `start`, which is the start of one, as far as they go.
    async fn follow(&self, media: &Media<'_>, start: Lsn) -> Result<Lsn, DeviceError> {
        let mut trail = Trail {
            position: start,
            batch: None,
        };
        while let Some((life, end)) = self.holding(media, trail.position) {
            trail.follow(media, life, end).await?;
            if trail.position < end {
                break;
            }
        }
        Ok(trail.end())
    }

    /// The highest durable LSN above `end` that a pad behind it tells; `None` where none does.
    /// Sealed segments need no look: their footers were written later than their pads.
    async fn last_known_durable(
        &self,
        media: &Media<'_>,
        end: Lsn,
    ) -> Result<Option<Lsn>, DeviceError> {
        let mut known = None;
        for life in self.by_opening.values() {
            let life_end = self.end_of(media, life);
            if life_end <= end || life.footer.is_some() {
                continue;
            }
            let last = life.body_end_max(media.segment_bytes);
            let from = life.offset_of(end, last);
            let mut walk = Walk::new(media, life, from, life.offset_of(life_end, last));
            while !walk.is_at_end() {
                let step = match walk.look().await? {
                    Sight::Record(record) => {
                        known = known.max(record.head.durable_lsn().filter(|lsn| *lsn > end));
                        length(&record)
                    }
                    Sight::Damaged(_) | Sight::Nothing => UNIT_BYTES,
                };
                walk.advance(step);
            }
        }
        Ok(known)
    }
}

/// How far the records were followed.
struct Trail {
    position: Lsn,
    /// Where the last batch begins and ends.
    batch: Option<(Lsn, Lsn)>,
}

impl Trail {
    /// Goes on through one segment, up to `end` or to the first break.
    async fn follow(
        &mut self,
        media: &Media<'_>,
        life: &Life,
        end: Lsn,
    ) -> Result<(), DeviceError> {
        let last = life.body_end_max(media.segment_bytes);
        let offset = life.offset_of(self.position, last);
        let mut walk = Walk::new(media, life, offset, life.offset_of(end, last));
        while !walk.is_at_end() {
            let Sight::Record(record) = walk.look().await? else {
                return Ok(());
            };
            if record.head.kind == Kind::Batch {
                let Ok(batch) = BatchHeader::decode(record.value) else {
                    return Ok(());
                };
                let start = record.head.lsn;
                let Some(bytes) = record.head.bytes().checked_add(batch.following_bytes) else {
                    return Ok(());
                };
                self.batch = Some((start, start.plus(bytes)));
            }
            let bytes = length(&record);
            walk.advance(bytes);
            self.position = self.position.plus(u64::from(bytes));
        }
        Ok(())
    }

    /// Where the prefix ends: before a batch that is not complete.
    fn end(&self) -> Lsn {
        match self.batch {
            Some((start, end)) if end > self.position => start,
            Some(_) | None => self.position,
        }
    }
}
