//! The replay: the summaries of all segments, in the order of what they tell. Owns that order and
//! the bounded reading ahead; what a record does is the contents' business.
//!
//! Hot records are in the order of their LSNs. A relocated record of LSN `l` in a cold segment that
//! opened at `o` comes before the hot record at `max(o, l)`. That is right, because it was live
//! when it was moved, and the log's tail stood at `o` or higher then: whatever replaced it has an
//! LSN of at least `o`, and above `l`; what it replaced has one below `l`. So those below the
//! opening, which are nearly all, need no sorting, and the few others wait until the hot records
//! have come to them. Cold segments are open one at a time, so hardly more than one segment's
//! entries wait.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use cellar_index::Hasher;

use crate::damage::Part;
use crate::error::OpenError;
use crate::format::SummaryEntry;
use crate::recovery::harvest::harvest;
use crate::recovery::loading::Loading;
use crate::recovery::media::{Around, Media};
use crate::recovery::settle::seal;
use crate::recovery::survey::{Cuts, Life, Standing};
use crate::units::{Lsn, SegmentNumber};

/// Summaries that are read ahead: 8 of 190 KiB, for 8 MiB segments of 2 KB records, keep a fast
/// device busy while one is seen to.
const SUMMARIES_AHEAD: usize = 8;
/// And so many bytes of them, whatever the records' size; one summary is read in any case.
const AHEAD_BYTES_MAX: u64 = 16 << 20;

/// Gives to `loading` what all segments hold.
pub(super) async fn replay(
    media: &Media<'_>,
    hasher: &Hasher,
    lives: &[Life],
    cuts: Cuts,
    loading: &mut Loading<'_>,
) -> Result<(), OpenError> {
    let mut order: Vec<&Life> = lives.iter().collect();
    order.sort_by_key(|life| (life.opening(), life.is_hot(), life.segment()));
    let mut ahead = Ahead::new(media, &order);
    let mut merge = Merge::new(loading);
    let mut done = 0;
    while let Some(summary) = ahead.next() {
        let life = summary.life;
        let mut entries = summary.finish(media, hasher, cuts).await?;
        let void = cuts.of(&life.header);
        entries.retain(|entry| entry.lsn < void);
        merge.add(life, entries).await?;
        done += 1;
        media.note_summaries(done, order.len());
    }
    merge.run_to(Lsn::new(u64::MAX)).await
}

/// The summaries in their order, read ahead of their use.
struct Ahead<'a> {
    media: &'a Media<'a>,
    waiting: std::slice::Iter<'a, &'a Life>,
    reading: VecDeque<Summary<'a>>,
    reading_bytes: u64,
}

impl<'a> Ahead<'a> {
    fn new(media: &'a Media<'a>, order: &'a [&'a Life]) -> Self {
        Self {
            media,
            waiting: order.iter(),
            reading: VecDeque::new(),
            reading_bytes: 0,
        }
    }

    fn next(&mut self) -> Option<Summary<'a>> {
        while self.reading.len() < SUMMARIES_AHEAD
            && (self.reading.is_empty() || self.reading_bytes < AHEAD_BYTES_MAX)
            && let Some(life) = self.waiting.next()
        {
            let summary = Summary::start(self.media, life);
            self.reading_bytes += summary.bytes;
            self.reading.push_back(summary);
        }
        let summary = self.reading.pop_front()?;
        self.reading_bytes -= summary.bytes;
        Some(summary)
    }
}

/// A summary that is being read.
struct Summary<'a> {
    life: &'a Life,
    bytes: u64,
    read: Option<Around>,
}

impl<'a> Summary<'a> {
    fn start(media: &Media<'_>, life: &'a Life) -> Self {
        let footer = life.footer.expect("every segment in use was sealed");
        let extent = footer.entries_extent(media.segment_bytes);
        let (start, end) = (extent.offset as u32, (extent.offset + extent.bytes) as u32);
        let read = (start < end).then(|| media.read_around(life.segment(), start, end));
        let bytes = extent.bytes;
        Self { life, bytes, read }
    }

    /// The entries, in the order of the records.
    async fn finish(
        self,
        media: &Media<'_>,
        hasher: &Hasher,
        cuts: Cuts,
    ) -> Result<Vec<SummaryEntry>, OpenError> {
        let bytes = match self.read {
            Some(read) => media.or_lost(read.bytes().await)?,
            None => Some(Bytes::new()),
        };
        if let Some(entries) = bytes.and_then(|bytes| decode(self.life, &bytes)) {
            return Ok(entries);
        }
        let (life, void) = (self.life, cuts.of(&self.life.header));
        let start = life.summary_start(media.segment_bytes);
        if life.standing == Standing::Doubtful {
            let what = "a summary does not verify, and the header of its segment is lost";
            media.report(life.segment(), (Part::Summary, start), what);
            return Ok(Vec::new());
        }
        let what = "a summary does not verify; it is made anew";
        media.report(life.segment(), (Part::Summary, start), what);
        let harvest = harvest(media, hasher, life, void, true).await?;
        seal(media, life, &harvest, cuts.present).await?;
        Ok(harvest.entries)
    }
}

fn decode(life: &Life, bytes: &[u8]) -> Option<Vec<SummaryEntry>> {
    let entries = life.footer?.verify_entries(bytes).ok()?;
    let mut entries: Vec<SummaryEntry> = entries.collect::<Result<_, _>>().ok()?;
    entries.reverse();
    Some(entries)
}

/// Brings the entries of hot and cold segments into one order.
struct Merge<'a, 'b> {
    loading: &'a mut Loading<'b>,
    /// The rest of the hot segment that was begun, in the order of its records.
    hot: VecDeque<SummaryEntry>,
    hot_segment: SegmentNumber,
    /// Cold entries whose LSN the hot records have not come to.
    later: BTreeMap<(Lsn, SegmentNumber, u32), SummaryEntry>,
}

impl<'a, 'b> Merge<'a, 'b> {
    fn new(loading: &'a mut Loading<'b>) -> Self {
        Self {
            loading,
            hot: VecDeque::new(),
            hot_segment: SegmentNumber::default(),
            later: BTreeMap::new(),
        }
    }

    /// Adds a segment. Segments come by opening, cold ones first.
    async fn add(&mut self, life: &Life, entries: Vec<SummaryEntry>) -> Result<(), OpenError> {
        let (opening, segment) = (life.opening(), life.segment());
        self.run_to(opening).await?;
        if life.is_hot() {
            // Hot segments do not overlap; should one that is damaged do so, nothing is dropped.
            for entry in std::mem::take(&mut self.hot) {
                self.later
                    .insert((entry.lsn, self.hot_segment, entry.offset), entry);
            }
            self.hot = entries.into();
            self.hot_segment = segment;
            return Ok(());
        }
        for entry in entries {
            if entry.lsn < opening {
                self.loading.push(segment, entry).await?;
            } else {
                self.later.insert((entry.lsn, segment, entry.offset), entry);
            }
        }
        Ok(())
    }

    /// Applies everything below `limit`. A cold copy comes before the hot record of its LSN.
    async fn run_to(&mut self, limit: Lsn) -> Result<(), OpenError> {
        loop {
            let hot = self
                .hot
                .front()
                .map(|entry| entry.lsn)
                .filter(|lsn| *lsn < limit);
            let later = self.later.first_key_value().map(|((lsn, ..), _)| *lsn);
            let later = later.filter(|lsn| *lsn < limit);
            let (segment, entry) = match (hot, later) {
                (_, Some(lsn)) if hot.is_none_or(|hot| lsn <= hot) => {
                    let Some(((_, segment, _), entry)) = self.later.pop_first() else {
                        break;
                    };
                    (segment, entry)
                }
                (Some(_), _) => {
                    let Some(entry) = self.hot.pop_front() else {
                        break;
                    };
                    (self.hot_segment, entry)
                }
                (None, _) => break,
            };
            self.loading.push(segment, entry).await?;
        }
        Ok(())
    }
}
