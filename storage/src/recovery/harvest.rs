//! The harvest: what the summary of a segment says, or would say, made from its records. Owns the
//! treatment of damage there; must never drop a record whose header verifies without a word.

use cellar_index::Hasher;

use crate::error::OpenError;
use crate::format::{
    DatabaseMap, EntryDetail, Identity, Kind, PageKey, Record, RootValue, SummaryEntry,
};
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
/// damage, reported and skipped; in a cold segment that was not sealed it may also be the last
/// writes, torn. `is_dense`: there are records up to the end, so that a gap before it is damage
/// too.
pub(super) async fn harvest(
    media: &Media<'_>,
    hasher: &Hasher,
    life: &Life,
    void: Lsn,
    is_dense: bool,
) -> Result<Harvest, OpenError> {
    let body_end = life.body_end_max(media.segment_bytes);
    let end = if life.is_hot() {
        life.offset_of(void, body_end)
    } else {
        body_end
    };
    let mut reaper = Reaper::new(media, hasher, life, void);
    let mut walk = Walk::new(media, life, BODY_START, end);
    while !walk.is_at_end() {
        let offset = walk.offset();
        let step = match walk.look().await? {
            Sight::Nothing => {
                reaper.miss(offset);
                UNIT_BYTES
            }
            Sight::Damaged(record) if reaper.may_be_torn => {
                reaper.miss(offset);
                length(&record)
            }
            Sight::Damaged(record) => {
                media.report_damage(life.segment(), offset, "a record's content does not verify");
                reaper.take(offset, &record)?;
                length(&record)
            }
            Sight::Record(record) => {
                reaper.take(offset, &record)?;
                length(&record)
            }
        };
        walk.advance(step);
    }
    if is_dense {
        reaper.end_gap();
    }
    Ok(reaper.harvest)
}

/// Gathers what a walk meets.
struct Reaper<'a> {
    media: &'a Media<'a>,
    hasher: &'a Hasher,
    life: &'a Life,
    void: Lsn,
    /// Of a cold segment that was not sealed the last writes may be missing. Each ended in a pad,
    /// and was durable before the next one began.
    may_be_torn: bool,
    /// Where the places began that hold no record, since the last record.
    gap: Option<u32>,
    /// A pad lies behind the gap, in a segment that may be torn.
    gap_is_padded: bool,
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
            may_be_torn: !life.is_hot() && life.footer.is_none(),
            gap: None,
            gap_is_padded: false,
            harvest,
        }
    }

    /// No record lies here.
    fn miss(&mut self, offset: u32) {
        self.gap.get_or_insert(offset);
    }

    /// The places without a record were not the segment's end.
    fn end_gap(&mut self) {
        if let Some(offset) = self.gap.take() {
            self.media
                .report_damage(self.life.segment(), offset, "records are lost");
        }
    }

    /// A record lies here. One whose content is damaged gets its entry as well: a read then tells,
    /// instead of finding an older value or none.
    fn take(&mut self, offset: u32, record: &Record<'_>) -> Result<(), OpenError> {
        if !self.may_be_torn || self.gap_is_padded {
            self.end_gap();
        }
        self.gap_is_padded = self.gap.is_some() && record.head.kind == Kind::Pad;
        self.harvest.body_end = offset + length(record);
        if record.head.lsn >= self.void {
            return Ok(());
        }
        if record.head.kind == Kind::Map {
            if DatabaseMap::decode(record.value).is_err() {
                return Err(damaged_map(record.head.lsn));
            }
            self.harvest.map_offset = Some(offset);
        }
        match self.entry(offset, record) {
            Some(Ok(entry)) => self.harvest.entries.push(entry),
            Some(Err(Malformed)) => {
                let segment = self.life.segment();
                self.media
                    .report_damage(segment, offset, "a record cannot be understood");
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
    let root = |value| RootValue::decode(value).map_err(|_| Malformed);
    Ok(match head.kind {
        Kind::Put => EntryDetail::Put {
            value_type: head.value_type,
            expiry_ms: head.expiry_ms(),
            collection: if head.paged {
                Some(root(record.value)?.collection)
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
