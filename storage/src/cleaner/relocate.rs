//! Relocation: a victim's live records move to the cold log.
//!
//! What may be live is found from the summary, before anything of the records is read. A record
//! moves under its bucket's lock, if it still is what the index leads to; it keeps its LSN.

use std::collections::VecDeque;
use std::rc::Rc;

use bytes::Bytes;
use cellar_index::{Entry, Identity, VALUE_TYPE_PAGE};

use crate::cleaner::free::write_cold;
use crate::cleaner::pace;
use crate::cold::ColdPlace;
use crate::damage::Part;
use crate::error::StoreError;
use crate::evict;
use crate::expiry::{Deadline, deadline};
use crate::format::{
    ENTRY_BYTES, EntryDetail, FOOTER_BYTES, Kind, RECORD_BYTES_MAX, Record, RecordDraft,
    RecordSeed, SummaryEntry, class_of, live_bytes, reseal,
};
use crate::place;
use crate::read::{RangeRead, read_summary, remains};
use crate::segment::shadow_bytes;
use crate::units::{Extent, Location, Lsn, SegmentNumber};
use crate::worker::Worker;

/// Dead bytes between two live records that one read goes over: to leave out less costs more in
/// operations than it saves in bytes.
const GAP_BYTES_MAX: u32 = 16 << 10;
/// Entries whose buckets are asked for before the first is looked up: the misses then overlap.
const PREFETCH_COUNT: usize = 32;
/// Records seen to before the executor gets a turn: about 50 us.
const RECORDS_PER_TURN: usize = 64;

/// Moves all that is live out of a segment. After it nothing leads into the segment. `oldest`: the
/// lowest opening of the other segments in use.
pub(crate) async fn relocate(
    worker: &Rc<Worker>,
    victim: SegmentNumber,
    oldest: Lsn,
) -> Result<(), StoreError> {
    let entries = read_entries(worker, victim).await?;
    let counters = worker.store().counters();
    let relocated_before = counters.cleaner_relocated_bytes.get();
    let all_bytes: u64 = entries.iter().map(|entry| u64::from(entry.bytes)).sum();
    let mut live = Vec::new();
    for (turn, batch) in entries.chunks(PREFETCH_COUNT).enumerate() {
        let identities = batch.iter().filter_map(identity_of);
        identities.for_each(|identity| worker.store().index().prefetch(identity));
        for entry in batch {
            if may_be_live(worker, victim, oldest, entry) {
                live.push(*entry);
            } else if matches!(entry.detail, EntryDetail::Tombstone) {
                counters.tombstones_dropped.add(1);
            }
        }
        if turn % 2 == 1 {
            tokio::task::yield_now().await;
        }
    }
    evict::give_up(worker, victim, &mut live).await;
    live.sort_unstable_by_key(|entry| entry.offset);
    move_runs(worker, victim, &live).await?;
    // Only the cleaner relocates.
    let relocated = counters.cleaner_relocated_bytes.get() - relocated_before;
    counters
        .cleaner_dropped_bytes
        .add(all_bytes.saturating_sub(relocated));
    counters.cleaner_segments.add(1);
    Ok(())
}

/// Reads live records in runs, at the cleaner's pace, and moves them.
async fn move_runs(
    worker: &Rc<Worker>,
    victim: SegmentNumber,
    live: &[SummaryEntry],
) -> Result<(), StoreError> {
    let mut rest = live;
    let mut in_flight = VecDeque::with_capacity(pace::DEPTH_MAX);
    loop {
        while !rest.is_empty() && in_flight.len() < pace::depth(worker.store()) {
            let (run, after) = rest.split_at(run_len(rest));
            rest = after;
            pace::wait_turn(worker).await;
            in_flight.push_back((run, read_run(worker, victim, run)));
        }
        let Some((run, read)) = in_flight.pop_front() else {
            return Ok(());
        };
        let (bytes, delivered) = read.finish().await?;
        pay(worker, delivered);
        move_run(worker, victim, run, &bytes).await?;
    }
}

/// How many records, from the first, one read takes.
fn run_len(live: &[SummaryEntry]) -> usize {
    let start = live.first().map_or(0, |first| first.offset);
    let mut end = start;
    let fits = |entry: &&SummaryEntry| {
        let fits = entry.offset - end <= GAP_BYTES_MAX
            && entry.offset + entry.bytes - start <= pace::IO_BYTES_MAX;
        end = entry.offset + entry.bytes;
        fits
    };
    live.iter().take_while(fits).count()
}

/// The victim's entries, in the order of its records, read at the cleaner's pace.
async fn read_entries(
    worker: &Rc<Worker>,
    victim: SegmentNumber,
) -> Result<Vec<SummaryEntry>, StoreError> {
    pace::wait_turn(worker).await;
    let entries = read_summary(worker, victim).await?.entries;
    let bytes = (FOOTER_BYTES + entries.len() * ENTRY_BYTES) as u64;
    pay(worker, bytes);
    Ok(entries)
}

/// What was read for the cleaner counts against its credit.
fn pay(worker: &Rc<Worker>, bytes: u64) {
    worker.store().cleaner().pace.spend(bytes);
    worker.store().counters().cleaner_read_bytes.add(bytes);
}

fn identity_of(entry: &SummaryEntry) -> Option<Identity> {
    Identity::from_bytes(*entry.identity.get())
}

/// Whether a record may have to be moved. What is dead for certain is seen to here: entries of dead
/// databases go, expired keys get their tombstones.
fn may_be_live(
    worker: &Rc<Worker>,
    victim: SegmentNumber,
    oldest: Lsn,
    entry: &SummaryEntry,
) -> bool {
    let store = worker.store();
    let at = store.location(victim, entry.offset);
    let Some(identity) = identity_of(entry) else {
        return false;
    };
    match entry.detail {
        EntryDetail::Put { .. } | EntryDetail::Page { .. } => {
            let Some(found) = store.index().lookup(identity) else {
                return false;
            };
            place::of(&found) == at && !is_given_up(worker, identity, &found)
        }
        EntryDetail::Tombstone => {
            // Needed while another segment may hold an older version of its key: one that was
            // opened at or below the tombstone's LSN. A flushed database needs none.
            oldest <= entry.lsn
                && store.databases().is_id_current(entry.database)
                && store.index().lookup(identity).is_none()
        }
        EntryDetail::Map => store.map_location() == Some(at),
        EntryDetail::Batch => false,
    }
}

/// Removes the entry of a flushed database or of an expired key: true if it went.
fn is_given_up(worker: &Rc<Worker>, identity: Identity, found: &Entry) -> bool {
    let store = worker.store();
    if found.value_type == VALUE_TYPE_PAGE {
        return false;
    }
    if !store.databases().is_handle_current(found.database) {
        return worker.forget_dead(identity, found);
    }
    if deadline(found, &store.moment()) != Deadline::Passed {
        return false;
    }
    let database = store.databases().by_handle(found.database);
    database.is_some_and(|db| worker.remove_expired(identity, db, place::of(found)))
}

/// Starts the read of a run of records.
fn read_run(worker: &Rc<Worker>, victim: SegmentNumber, run: &[SummaryEntry]) -> RangeRead {
    let (first, last) = (run.first(), run.last());
    let (first, last) = first.zip(last).expect("a run has a record");
    let length = (last.offset + last.bytes - first.offset) as usize;
    RangeRead::start(worker, victim, u64::from(first.offset), length)
}

/// Moves each record of a run, whose bytes were read.
async fn move_run(
    worker: &Rc<Worker>,
    victim: SegmentNumber,
    run: &[SummaryEntry],
    bytes: &Bytes,
) -> Result<(), StoreError> {
    let Some(first) = run.first() else {
        return Ok(());
    };
    for (turn, entry) in run.iter().enumerate() {
        let from = (entry.offset - first.offset) as usize;
        let record = &bytes[from..from + entry.bytes as usize];
        move_record(worker, victim, entry, record).await?;
        if turn % RECORDS_PER_TURN == RECORDS_PER_TURN - 1 {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

async fn move_record(
    worker: &Rc<Worker>,
    victim: SegmentNumber,
    entry: &SummaryEntry,
    record: &[u8],
) -> Result<(), StoreError> {
    let store = worker.store();
    let from = store.segments().get(victim).seed().at(entry.offset);
    let anew = if Record::decode(record, from).is_err() {
        make_anew(worker, entry, from)
    } else {
        None
    };
    let record = anew.as_deref().unwrap_or(record);
    if Record::decode(record, from).is_err() {
        let extent = Extent {
            offset: u64::from(entry.offset),
            bytes: u64::from(entry.bytes),
        };
        return Err(store.corrupt(victim, (Part::Record, extent), remains::loss(record, from)));
    }
    let Some(identity) = identity_of(entry) else {
        return Ok(());
    };
    loop {
        let mut lock = store.index().lock(identity);
        let found = lock.find(identity);
        let old = store.location(victim, entry.offset);
        let still_live = match entry.detail {
            EntryDetail::Put { .. } | EntryDetail::Page { .. } => {
                found.is_some_and(|found| place::of(&found) == old)
            }
            EntryDetail::Tombstone => found.is_none(),
            EntryDetail::Map => store.map_location() == Some(old),
            EntryDetail::Batch => false,
        };
        if !still_live {
            return Ok(());
        }
        if let Some(at) = store.cold().reserve(entry.bytes) {
            let new = copy(worker, at, entry, (record, from));
            match found {
                Some(found) => {
                    let location = place::field(new, place::is_root(&found));
                    // What stays has to be used again to stay another time.
                    let moved = Entry {
                        location,
                        referenced: false,
                        ..found
                    };
                    lock.put(identity, moved);
                    store.move_live(new, &found);
                }
                None => move_unindexed(worker, entry, old, new),
            }
            store
                .counters()
                .cleaner_relocated_bytes
                .add(u64::from(entry.bytes));
            return Ok(());
        }
        drop(lock);
        write_cold(worker).await?;
        open_cold(worker).await?;
    }
}

/// A damaged record made anew, where the summary and the store tell all that it said.
fn make_anew(worker: &Rc<Worker>, entry: &SummaryEntry, seed: RecordSeed) -> Option<Vec<u8>> {
    let encode = |draft: RecordDraft<'_>| {
        let mut bytes = vec![0; draft.bytes() as usize];
        draft.encode_into(&mut bytes, entry.lsn, seed);
        bytes
    };
    match entry.detail {
        EntryDetail::Tombstone => {
            let draft = RecordDraft::new(Kind::Tombstone, entry.identity.get(), &[]);
            Some(encode(draft.database(entry.database)))
        }
        EntryDetail::Map => {
            let map = worker.store().databases().map().encode();
            Some(encode(RecordDraft::new(Kind::Map, &[], &map)))
        }
        EntryDetail::Put { .. } | EntryDetail::Page { .. } | EntryDetail::Batch => None,
    }
}

/// Accounts for a tombstone or a map record that moved.
fn move_unindexed(worker: &Rc<Worker>, entry: &SummaryEntry, old: Location, new: Location) {
    let store = worker.store();
    let segment = store.split(new).0;
    match entry.detail {
        EntryDetail::Map => {
            if store.move_map_location(old, new) {
                let bytes = i64::from(live_bytes(class_of(entry.bytes)));
                store.segments().add_live(segment, bytes);
                store.segments().add_live(store.split(old).0, -bytes);
            }
        }
        EntryDetail::Tombstone
        | EntryDetail::Put { .. }
        | EntryDetail::Page { .. }
        | EntryDetail::Batch => {
            store.counters().tombstones_carried.add(1);
            store
                .segments()
                .add_shadow(segment, shadow_bytes(entry.bytes));
        }
    }
}

/// Copies a record to its cold place: the same but for the seal.
fn copy(
    worker: &Rc<Worker>,
    at: ColdPlace,
    entry: &SummaryEntry,
    (record, from): (&[u8], RecordSeed),
) -> Location {
    let cold = worker.store().cold();
    let image = cold.image(at.image);
    let mut record = record.to_vec();
    reseal(&mut record, from, image.seed().at(at.place.offset)).expect("it was verified just now");
    image.write(at.place.offset, &record);
    cold.write_summary(
        at,
        &SummaryEntry {
            offset: at.place.offset,
            ..*entry
        },
    );
    worker.store().location(at.segment, at.place.offset)
}

/// Opens the next cold segment from the cleaner's reserve.
async fn open_cold(worker: &Rc<Worker>) -> Result<(), StoreError> {
    let store = worker.store();
    if store.cold().is_open() {
        return Ok(());
    }
    let durable = store.durable_lsn();
    let segment = store
        .segments()
        .take_fresh(durable)
        .ok_or(StoreError::OutOfSpace)?;
    while !store.cold().open(segment, durable) {
        // A reader is copying from the image; it does not wait for anything.
        store.log().check_latch()?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

const _: () = assert!(RECORDS_PER_TURN == 2 * PREFETCH_COUNT);
/// A run has at least one record.
const _: () = assert!(RECORD_BYTES_MAX <= pace::IO_BYTES_MAX);
