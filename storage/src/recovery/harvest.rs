//! The harvest: what the summary of a segment says, or would say, made from its records. Owns the
//! treatment of damage there; must never drop a record whose header verifies without a word.

use cellar_index::Hasher;

use crate::damage::{Loss, Part};
use crate::device::DeviceError;
use crate::error::OpenError;
use crate::format::{
    EntryDetail, Identity, Kind, PageKey, RECORD_BYTES_MAX, Record, Remains, SummaryEntry,
    collection_of,
};
use crate::read::remains::loss_of;
use crate::recovery::media::Media;
use crate::recovery::survey::{BODY_START, Life};
use crate::recovery::walk::{Sight, Walk, length};
use crate::units::{Lsn, UNIT_BYTES};

/// What a segment holds that counts.
pub(super) struct Harvest {
    /// In the order of the records; at most one for each 64 bytes of the segment.
    pub(super) entries: Vec<SummaryEntry>,
    /// Where the last record ends.
    pub(super) body_end: u32,
    /// The last database map.
    pub(super) map_offset: Option<u32>,
}

/// Walks a segment's records up to `void`, or up to where the records end. What does not verify is
/// skipped, and reported as damage; but not in the last write of a cold segment that was not
/// sealed, which may never have been finished. `is_dense`: there are records up to the end, so that
/// a gap before it is damage too.
pub(super) async fn harvest(
    media: &Media<'_>,
    hasher: &Hasher,
    life: &Life,
    void: Lsn,
    is_dense: bool,
) -> Result<Harvest, DeviceError> {
    let body_end = life.body_end_max(media.segment_bytes);
    let end = if life.is_hot() {
        life.offset_of(void, body_end)
    } else {
        body_end
    };
    let mut whole_end = (life.is_hot() || life.footer.is_some()).then_some(end);
    let mut reaper = Reaper::new(media, hasher, life, void);
    let mut walk = Walk::new(media, life, BODY_START, end);
    while !walk.is_at_end() {
        let offset = walk.offset();
        let (step, is_damaged) = match walk.look().await? {
            Sight::Record(record) => {
                let step = length(&record);
                reaper.take(offset, &record).await?;
                walk.advance(step);
                continue;
            }
            Sight::Damaged(record) => (length(&record), true),
            Sight::Nothing => (UNIT_BYTES, false),
        };
        let whole = match whole_end {
            Some(whole) => whole,
            None => last_whole(media, life, (offset, end)).await?,
        };
        whole_end = Some(whole);
        // Behind it: unfinished, or damaged since. What verifies there is a true copy in any case,
        // and may be the only one: its victim may have been used again.
        if offset < whole {
            if is_damaged {
                reaper.take_damaged(offset, step).await?;
            } else {
                reaper.miss(offset);
            }
        }
        walk.advance(step);
    }
    if is_dense {
        reaper.end_gap(walk.offset()).await?;
    }
    Ok(reaper.harvest)
}

/// Up to where the records of a cold segment without a footer are known to have been whole, seen
/// from a break: what does not verify there is damage, and what lies behind is unfinished.
///
/// Each write of a cold segment ends in a pad and is durable before the next one begins. So a
/// record behind such a pad shows that all before it was whole once. Nothing is unfinished in a
/// segment that was sealed, or of a store that was closed in order.
async fn last_whole(
    media: &Media<'_>,
    life: &Life,
    (from, end): (u32, u32),
) -> Result<u32, DeviceError> {
    let is_complete =
        media.was_clean || life.is_footer_lost || life.header.generation.epoch < media.epoch;
    let (mut whole, mut write_end) = (from, None);
    let mut walk = Walk::new(media, life, from, end);
    while !walk.is_at_end() {
        let offset = walk.offset();
        let step = match walk.look().await? {
            Sight::Nothing | Sight::Damaged(_) => UNIT_BYTES,
            Sight::Record(record) => {
                if let Some(write_end) = write_end.take_if(|write_end| offset >= *write_end) {
                    whole = write_end;
                }
                if record.head.kind == Kind::Pad && write_end.is_none() {
                    write_end = Some(offset + length(&record));
                }
                if is_complete {
                    whole = offset + length(&record);
                }
                length(&record)
            }
        };
        walk.advance(step);
    }
    Ok(whole)
}

/// Gathers what a walk meets.
struct Reaper<'a> {
    media: &'a Media<'a>,
    hasher: &'a Hasher,
    life: &'a Life,
    void: Lsn,
    /// Where the places began that hold no record, since the last record.
    gap: Option<u32>,
    harvest: Harvest,
}

impl<'a> Reaper<'a> {
    fn new(media: &'a Media<'a>, hasher: &'a Hasher, life: &'a Life, void: Lsn) -> Self {
        let harvest = Harvest {
            entries: Vec::new(),
            body_end: BODY_START,
            map_offset: None,
        };
        Self {
            media,
            hasher,
            life,
            void,
            gap: None,
            harvest,
        }
    }

    /// No record lies here.
    fn miss(&mut self, offset: u32) {
        self.gap.get_or_insert(offset);
    }

    /// The places without a record, up to `end`, were not the segment's end.
    async fn end_gap(&mut self, end: u32) -> Result<(), DeviceError> {
        match self.gap.take() {
            Some(start) => self.take_lost(start, end).await,
            None => Ok(()),
        }
    }

    /// A record lies here, with a header that verifies and a content that does not.
    async fn take_damaged(&mut self, offset: u32, bytes: u32) -> Result<(), DeviceError> {
        self.end_gap(offset).await?;
        self.harvest.body_end = offset + bytes;
        self.take_lost(offset, offset + bytes).await
    }

    /// From `start` to `end` something is damaged. Where it can be told that it was one record, its
    /// key gets an entry: a read then tells of the damage, instead of finding an older value or
    /// none.
    async fn take_lost(&mut self, start: u32, end: u32) -> Result<(), DeviceError> {
        let segment = self.life.segment();
        let seen = end.min(start + RECORD_BYTES_MAX);
        let bytes = self.media.read_around(segment, start, seen).bytes().await?;
        let fits = |remains: &Remains<'_>| remains.head.bytes() == u64::from(end - start);
        let remains = Remains::read(&bytes, self.life.seed().at(start)).filter(fits);
        let loss = remains
            .as_ref()
            .map_or(Loss::Unknown, |remains| loss_of(&remains.record()));
        let what = "it does not verify";
        self.media
            .report_loss(segment, (Part::Record, start), what, loss);
        if let Some(remains) = remains {
            self.enter_lost(start, &remains);
        }
        Ok(())
    }

    fn enter_lost(&mut self, offset: u32, remains: &Remains<'_>) {
        let lsn = match (self.life.is_hot(), remains.is_head_sure) {
            (true, _) => self.life.lsn_at(offset),
            (false, true) => remains.head.lsn,
            // A relocated record's place in the order of all writes is in its header alone.
            (false, false) => return,
        };
        let mut record = remains.record();
        // A root that cannot be read names no pages.
        let named = collection_of(record.head.value_type, record.value);
        record.head.paged &= named.is_ok();
        let Some(Ok(entry)) = self.entry(offset, &record) else {
            return;
        };
        if lsn >= self.void {
            return;
        }
        let detail = match entry.detail {
            // A deadline that is not sure would let the key go without a word.
            EntryDetail::Put {
                value_type,
                collection,
                expiry_ms: _,
            } if !remains.is_head_sure => EntryDetail::Put {
                value_type,
                collection,
                expiry_ms: None,
            },
            told => told,
        };
        if detail == EntryDetail::Map {
            self.harvest.map_offset = Some(offset);
        }
        self.harvest.entries.push(SummaryEntry {
            lsn,
            detail,
            ..entry
        });
    }

    /// A record lies here.
    async fn take(&mut self, offset: u32, record: &Record<'_>) -> Result<(), DeviceError> {
        self.end_gap(offset).await?;
        self.harvest.body_end = offset + length(record);
        if record.head.lsn >= self.void {
            return Ok(());
        }
        if record.head.kind == Kind::Map {
            self.harvest.map_offset = Some(offset);
        }
        match self.entry(offset, record) {
            Some(Ok(entry)) => self.harvest.entries.push(entry),
            Some(Err(Malformed)) => {
                let place = (Part::Record, offset);
                let what = "it cannot be understood";
                self.media.report(self.life.segment(), place, what);
            }
            None => {}
        }
        Ok(())
    }

    /// The record's entry; none for those that a summary leaves out.
    fn entry(&self, offset: u32, record: &Record<'_>) -> Option<Result<SummaryEntry, Malformed>> {
        let head = &record.head;
        let identity = match head.kind {
            Kind::Put => Ok(stored(self.hasher.key(head.database.get(), record.key))),
            Kind::Tombstone => Identity::decode(record.key).map_err(|_| Malformed),
            Kind::Page => page_key(record)
                .map(|key| stored(self.hasher.page(key.collection.get(), key.page_number))),
            Kind::Map => Ok(Identity::default()),
            Kind::Pad | Kind::Batch => return None,
        };
        let entry = |identity, detail| SummaryEntry {
            identity,
            database: head.database,
            lsn: head.lsn,
            offset,
            bytes: length(record),
            detail,
        };
        Some(identity.and_then(|identity| Ok(entry(identity, detail(record)?))))
    }
}

/// An identity as a summary holds it.
fn stored(identity: cellar_index::Identity) -> Identity {
    Identity::new(identity.to_bytes())
}

/// A record that verifies, or whose header does, and that means nothing.
struct Malformed;

/// Without the map nobody knows which records are live: new databases would be taken for dead, and
/// flushed ones for live.
pub(super) fn damaged_map(lsn: Lsn) -> OpenError {
    OpenError::Log {
        lsn,
        reason: "a database map is damaged",
    }
}

fn page_key(record: &Record<'_>) -> Result<PageKey, Malformed> {
    PageKey::decode(record.key).map_err(|_| Malformed)
}

/// What is particular to the record's kind.
fn detail(record: &Record<'_>) -> Result<EntryDetail, Malformed> {
    let head = &record.head;
    let root = |value| collection_of(head.value_type, value).map_err(|_| Malformed);
    Ok(match head.kind {
        Kind::Put => EntryDetail::Put {
            value_type: head.value_type,
            expiry_ms: head.expiry_ms(),
            collection: if head.paged {
                Some(root(record.value)?)
            } else {
                None
            },
        },
        Kind::Page => {
            let PageKey {
                collection,
                page_number,
            } = page_key(record)?;
            EntryDetail::Page {
                collection,
                page_number,
            }
        }
        Kind::Tombstone => EntryDetail::Tombstone,
        Kind::Map => EntryDetail::Map,
        Kind::Batch | Kind::Pad => EntryDetail::Batch,
    })
}
