//! The inspection of one sealed segment of an open store: its summary and all its records, verified
//! byte by byte. Owns what is said of each; must never write. Whoever inspects keeps the segment
//! from being reused.

use std::collections::VecDeque;
use std::rc::Rc;

use bytes::Bytes;
use cellar_index::Identity;

use crate::damage::{Damage, Loss, Part};
use crate::error::StoreError;
use crate::format::{
    EntryDetail, FOOTER_BYTES, Kind, RECORD_BYTES_MAX, Record, RecordHead, SEGMENT_HEADER_BYTES,
    SummaryEntry, class_of, live_bytes,
};
use crate::place;
use crate::read::{read_range, read_summary, remains};
use crate::units::{SegmentNumber, UNIT_BYTES};
use crate::worker::Worker;

/// What one step reads: the longest record twice, about 30 us of checksums.
const STEP_BYTES: u32 = 128 << 10;
const _: () = assert!(STEP_BYTES >= 2 * RECORD_BYTES_MAX);

/// Which damage counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// That of records which somebody can still ask for, and of the structures.
    Live,
    /// All, of dead records too.
    Everything,
}

/// What was seen, in counts and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Bytes read.
    pub(crate) bytes: u64,
    /// Records that verify, pads not counted.
    pub(crate) records: u64,
    pub(crate) live_records: u64,
    /// As the segment table counts them.
    pub(crate) live_bytes: u64,
    pub(crate) tombstones: u64,
    pub(crate) pages: u64,
    pub(crate) batches: u64,
    /// Damaged places that counted.
    pub(crate) damaged: u64,
}

impl Tally {
    /// What came since `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            bytes: self.bytes - before.bytes,
            records: self.records - before.records,
            live_records: self.live_records - before.live_records,
            live_bytes: self.live_bytes - before.live_bytes,
            tombstones: self.tombstones - before.tombstones,
            pages: self.pages - before.pages,
            batches: self.batches - before.batches,
            damaged: self.damaged - before.damaged,
        }
    }

    /// Adds another one.
    pub(crate) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.records += other.records;
        self.live_records += other.live_records;
        self.live_bytes += other.live_bytes;
        self.tombstones += other.tombstones;
        self.pages += other.pages;
        self.batches += other.batches;
        self.damaged += other.damaged;
    }
}

/// A segment that is being inspected, step by step.
pub(crate) struct Inspection {
    worker: Rc<Worker>,
    segment: SegmentNumber,
    scope: Scope,
    /// Entries of the records that were not come to; none before the first step.
    entries: Option<VecDeque<SummaryEntry>>,
    offset: u32,
    body_end: u32,
    tally: Tally,
    found: Vec<Damage>,
    lost: Vec<(SummaryEntry, Loss)>,
}

impl Inspection {
    pub(crate) fn new(worker: &Rc<Worker>, segment: SegmentNumber, scope: Scope) -> Self {
        Self {
            worker: Rc::clone(worker),
            segment,
            scope,
            entries: None,
            offset: SEGMENT_HEADER_BYTES as u32,
            body_end: 0,
            tally: Tally::default(),
            found: Vec::new(),
            lost: Vec::new(),
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// The damage that was found since the last call.
    pub(crate) fn take_damage(&mut self) -> Vec<Damage> {
        std::mem::take(&mut self.found)
    }

    /// The entries of live records that do not verify, found since the last call, at most one for
    /// each record of a segment.
    pub(crate) fn take_lost(&mut self) -> Vec<(SummaryEntry, Loss)> {
        std::mem::take(&mut self.lost)
    }

    /// Goes on: the summary first, then some records. False: that was all.
    pub(crate) async fn step(&mut self) -> Result<bool, StoreError> {
        if self.entries.is_none() {
            self.read_summary().await?;
            return Ok(self.offset < self.body_end);
        }
        let bytes = STEP_BYTES.min(self.body_end - self.offset);
        let start = u64::from(self.offset);
        let step = read_range(&self.worker, self.segment, start, bytes as usize).await?;
        self.tally.bytes += u64::from(bytes);
        self.see_records(&step);
        if self.offset < self.body_end {
            return Ok(true);
        }
        while let Some(entry) = self.entries.as_mut().and_then(VecDeque::pop_front) {
            self.miss(&entry);
        }
        Ok(false)
    }

    async fn read_summary(&mut self) -> Result<(), StoreError> {
        let store = self.worker.store();
        let end = store.segment_bytes() - FOOTER_BYTES as u32;
        match read_summary(&self.worker, self.segment).await {
            Ok(summary) => {
                self.body_end = summary.body_end;
                self.tally.bytes += u64::from(end + FOOTER_BYTES as u32 - summary.body_end);
                self.entries = Some(summary.entries.into());
            }
            Err(StoreError::Corrupt { .. }) => {
                // It was reported where it was read; the records tell what they are themselves.
                self.tally.damaged += 1;
                self.found.extend(store.damage().last().pop());
                self.body_end = end;
                self.entries = Some(VecDeque::new());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Sees to the records that begin in `step`, which begins at the present offset, and that it
    /// holds whole.
    fn see_records(&mut self, step: &Bytes) {
        let start = self.offset;
        let end = start + step.len() as u32;
        while self.offset < end {
            let at = (self.offset - start) as usize;
            let is_last = end == self.body_end;
            if !is_last && end - self.offset < RECORD_BYTES_MAX {
                return;
            }
            let length = self.see_record(&step.slice(at..));
            self.offset = self.offset.saturating_add(length).min(self.body_end);
        }
    }

    /// Sees to the record at the present offset: how far the next one is.
    fn see_record(&mut self, bytes: &Bytes) -> u32 {
        let store = self.worker.store();
        let seed = store.segments().get(self.segment).seed().at(self.offset);
        let entry = self.entry_here();
        let head = RecordHead::decode(bytes, seed).ok().filter(|head| {
            let end = u64::from(self.offset) + head.bytes();
            let is_told = entry.is_none_or(|entry| tells_of(&entry, head));
            end <= u64::from(self.body_end) && is_told
        });
        let Some(head) = head else {
            let length = entry.map_or_else(|| self.gap(bytes), |entry| entry.bytes);
            self.damaged(entry.as_ref(), bytes);
            return length;
        };
        let length = u32::try_from(head.bytes()).expect("it fits the segment");
        if head.kind == Kind::Pad {
            return length;
        }
        if Record::decode(bytes, seed).is_ok() {
            self.count(entry.as_ref(), head.kind);
        } else {
            self.damaged(entry.as_ref(), bytes);
        }
        length
    }

    /// The entry of the record at the present offset. Those of places before it were passed over.
    fn entry_here(&mut self) -> Option<SummaryEntry> {
        let entries = self.entries.as_mut().expect("the summary was read");
        let offset = self.offset;
        let mut missed = Vec::new();
        while entries.front().is_some_and(|entry| entry.offset < offset) {
            missed.extend(entries.pop_front());
        }
        let here = entries.pop_front_if(|entry| entry.offset == offset);
        for entry in &missed {
            self.miss(entry);
        }
        here
    }

    /// How far it is from the present offset to the next record, where no entry tells what lies
    /// here.
    fn gap(&self, bytes: &[u8]) -> u32 {
        let seed = self.worker.store().segments().get(self.segment).seed();
        let entries = self.entries.as_ref().expect("the summary was read");
        let next = entries.front().map(|entry| entry.offset - self.offset);
        let is_record = |at: &u32| {
            RecordHead::decode(&bytes[*at as usize..], seed.at(self.offset + *at)).is_ok()
        };
        let end = next.unwrap_or(u32::MAX).min(bytes.len() as u32);
        let mut places = (UNIT_BYTES..end).step_by(UNIT_BYTES as usize);
        places.find(is_record).unwrap_or(end)
    }

    fn count(&mut self, entry: Option<&SummaryEntry>, kind: Kind) {
        self.tally.records += 1;
        match kind {
            Kind::Tombstone => self.tally.tombstones += 1,
            Kind::Page => self.tally.pages += 1,
            Kind::Batch => self.tally.batches += 1,
            Kind::Put | Kind::Map | Kind::Pad => {}
        }
        self.count_live(entry);
    }

    fn count_live(&mut self, entry: Option<&SummaryEntry>) {
        if let Some(entry) = entry.filter(|entry| self.is_live(entry)) {
            self.tally.live_records += 1;
            self.tally.live_bytes += u64::from(live_bytes(class_of(entry.bytes)));
        }
    }

    /// Whether the index leads to the entry's record.
    fn is_live(&self, entry: &SummaryEntry) -> bool {
        let store = self.worker.store();
        let here = store.location(self.segment, entry.offset);
        match entry.detail {
            EntryDetail::Put { .. } | EntryDetail::Page { .. } => {
                Identity::from_bytes(*entry.identity.get())
                    .and_then(|identity| store.index().lookup(identity))
                    .is_some_and(|found| place::of(&found) == here)
            }
            EntryDetail::Map => store.map_location() == Some(here),
            EntryDetail::Tombstone | EntryDetail::Batch => false,
        }
    }

    /// No record lies where an entry says.
    fn miss(&mut self, entry: &SummaryEntry) {
        self.report(Some(entry), entry.offset, || Loss::Unknown);
    }

    fn damaged(&mut self, entry: Option<&SummaryEntry>, bytes: &[u8]) {
        let seed = self.worker.store().segments().get(self.segment).seed();
        let seed = seed.at(self.offset);
        self.report(entry, self.offset, || remains::loss(bytes, seed));
        self.count_live(entry);
    }

    /// Reports a damaged record, if it counts.
    fn report(&mut self, entry: Option<&SummaryEntry>, offset: u32, reads: impl FnOnce() -> Loss) {
        let is_needed = entry.is_some_and(|entry| {
            self.is_live(entry) || matches!(entry.detail, EntryDetail::Tombstone)
        });
        if self.scope == Scope::Live && !is_needed {
            return;
        }
        let store = self.worker.store();
        let loss = entry.map_or_else(Loss::default, |entry| match entry.detail {
            EntryDetail::Put { .. } => match reads() {
                Loss::Key(key) if is_key_of(&self.worker, entry, &key) => Loss::Key(key),
                Loss::Key(_) | Loss::Hash(_) | Loss::Page(..) | Loss::Unknown => {
                    Loss::Hash(*entry.identity.get())
                }
            },
            EntryDetail::Page {
                collection,
                page_number,
            } => Loss::Page(collection.get(), page_number),
            EntryDetail::Tombstone | EntryDetail::Batch | EntryDetail::Map => Loss::Unknown,
        });
        self.tally.damaged += 1;
        let damage = Damage {
            device: store.device_name(store.segments().place(self.segment).0),
            device_offset: store.device_offset(self.segment) + u64::from(offset),
            segment: Some(self.segment.get()),
            part: Part::Record,
            what: if is_needed {
                "it does not verify"
            } else {
                "it does not verify; nobody needs it"
            },
            loss,
        };
        if let Some(entry) = entry.filter(|_| is_needed) {
            self.lost.push((*entry, damage.loss.clone()));
        }
        store.damage().note(damage.clone());
        self.found.push(damage);
    }
}

/// Whether an entry and a header are of one record.
fn tells_of(entry: &SummaryEntry, head: &RecordHead) -> bool {
    entry.detail.kind() == head.kind
        && entry.lsn == head.lsn
        && u64::from(entry.bytes) == head.bytes()
}

fn is_key_of(worker: &Worker, entry: &SummaryEntry, key: &[u8]) -> bool {
    let identity = worker.store().hasher().key(entry.database.get(), key);
    identity.to_bytes() == *entry.identity.get()
}
