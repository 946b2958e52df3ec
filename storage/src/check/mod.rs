//! The check of a store that nobody serves: is everything on its devices what was written there?
//!
//! ```text
//!   devices -- overlay --> recovery, as any start does it; its writes stay in memory
//!                             |
//!                          a store, of which every sealed segment is inspected
//! ```
//!
//! Owns the report, and the order in which things are looked at. A check never writes; what mends a
//! store is [`repair`], which does it by the means of the running store.

mod inspection;
mod overlay;
mod repair;
mod report;

use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use cellar_index::{Entry, Identity, VALUE_TYPE_PAGE};

use crate::check::overlay::Overlay;
use crate::clock::Clock;
use crate::damage::{Loss, Part};
use crate::device::Device;
use crate::error::{OpenError, StoreError};
use crate::format::{PageKey, Record, RootValue, Stream, ValueType, class_bytes, collection_of};
use crate::handle::Handle;
use crate::options::StoreOptions;
use crate::paged::page_identity;
use crate::place;
use crate::read::read_range;
use crate::segment::State;
use crate::store::{Store, Wanted};
use crate::units::{Extent, SegmentNumber};
use crate::worker::Worker;

pub(crate) use inspection::{Inspection, Scope, Tally};
pub use repair::{Repair, Step, repair};
pub use report::{CheckProgress, DeviceReport, Report};

/// Damaged places that a report names: tens of megabytes of them.
const NAMED_MAX: usize = 100_000;
/// Buckets or roots seen to before the executor gets a turn.
const PER_TURN: usize = 256;

/// Why a store cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Something failed that is no damage.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Checks the store on `devices`, which nobody else uses. `watch` is told of each segment.
pub async fn check(
    devices: Vec<Arc<dyn Device>>,
    clock: Arc<dyn Clock>,
    watch: &mut dyn FnMut(CheckProgress),
) -> Result<Report, CheckError> {
    let over = devices
        .into_iter()
        .map(|device| Overlay::new(device) as Arc<dyn Device>);
    let store = open(over.collect(), clock).await?;
    let handle = store.attach(0)?;
    examine(&handle, watch).await
}

/// Opens an existing store for this one purpose: no cache, one worker.
async fn open(
    devices: Vec<Arc<dyn Device>>,
    clock: Arc<dyn Clock>,
) -> Result<Arc<Store>, OpenError> {
    let options = StoreOptions {
        value_cache_bytes: 0,
        ..StoreOptions::default()
    };
    let wanted = Wanted {
        may_create: false,
        listed_max: NAMED_MAX,
    };
    // Nothing is created, so nothing is drawn.
    Store::open_as(options, devices, clock, ([0; 32], wanted)).await
}

/// Looks at everything in an open store that nobody writes to.
async fn examine(
    handle: &Handle,
    watch: &mut dyn FnMut(CheckProgress),
) -> Result<Report, CheckError> {
    let worker = handle.worker();
    let store = worker.store();
    let mut report = head(store);
    let sealed = sealed_segments(store);
    let segments_total = sealed.len() as u64;
    let mut sum = Tally::default();
    for (done, segment) in sealed.into_iter().enumerate() {
        let tally = inspect(worker, segment).await?;
        let counted = store.segments().get(segment).live_bytes();
        report.miscounted_segments += u64::from(tally.live_bytes != counted);
        sum.add(&tally);
        watch(CheckProgress {
            segments_done: done as u64 + 1,
            segments_total,
        });
    }
    enter(&mut report, &sum);
    report.keys_out_of_reach = name_lost_keys(worker).await?;
    see_roots(worker, &mut report).await?;
    report.damaged = store.damage().count();
    report.damage = store.damage().last();
    Ok(report)
}

fn sealed_segments(store: &Store) -> Vec<SegmentNumber> {
    let is_sealed =
        |segment: &SegmentNumber| store.segments().get(*segment).state() == State::Sealed;
    store.segments().numbers().filter(is_sealed).collect()
}

async fn inspect(worker: &Rc<Worker>, segment: SegmentNumber) -> Result<Tally, StoreError> {
    let mut inspection = Inspection::new(worker, segment, Scope::Everything);
    while inspection.step().await? {}
    Ok(inspection.tally())
}

/// What the store says of itself.
fn head(store: &Store) -> Report {
    let stats = store.stats();
    let device = |(number, device): (usize, &Arc<dyn Device>)| {
        let geometry = device.geometry();
        DeviceReport {
            name: geometry.name.to_string(),
            bytes: geometry.capacity_bytes,
            segments: store.segments_of(number),
        }
    };
    let mut report = Report {
        store: format!("{:032x}", u128::from_be_bytes(*store.store_id().get())),
        // The start that the check made is none.
        epoch: store.log().shape().epoch - 1,
        was_clean: stats.clean_shutdown_at_start,
        end_lsn: store.cut_lsn().get(),
        devices: store.devices().iter().enumerate().map(device).collect(),
        segment_bytes: stats.segment_bytes,
        keys: stats.keys,
        ..Report::default()
    };
    for segment in store.segments().numbers() {
        let life = store.segments().get(segment);
        match (life.state(), life.stream()) {
            (State::Unallocated | State::Free | State::Open, _) => report.segments_unused += 1,
            (State::Sealed, Stream::Hot) => report.segments_hot += 1,
            (State::Sealed, Stream::Cold) => report.segments_cold += 1,
            (State::Cleaning, _) => report.segments_lost += 1,
        }
    }
    report
}

fn enter(report: &mut Report, sum: &Tally) {
    let Tally {
        bytes,
        records,
        live_records,
        live_bytes,
        tombstones,
        pages,
        batches,
        damaged: _,
    } = *sum;
    report.bytes = bytes;
    report.records = records;
    report.live_records = live_records;
    report.live_bytes = live_bytes;
    report.tombstones = tombstones;
    report.pages = pages;
    report.batches = batches;
}

/// All entries that `wanted` picks, with a turn for others now and then.
async fn entries(worker: &Worker, wanted: impl Fn(&Entry) -> bool) -> Vec<(Identity, Entry)> {
    let mut found = Vec::new();
    let (mut cursor, mut turn) = (0, 0_usize);
    loop {
        cursor = worker.store().index().scan(cursor, &mut |identity, entry| {
            if wanted(&entry) {
                found.push((identity, entry));
            }
        });
        if cursor == 0 {
            return found;
        }
        turn += 1;
        if turn.is_multiple_of(PER_TURN) {
            tokio::task::yield_now().await;
        }
    }
}

/// The entries that lead into segments which lost their headers.
async fn lost_entries(worker: &Worker) -> Vec<(Identity, Entry)> {
    let store = worker.store();
    let leads_nowhere = |entry: &Entry| {
        let (segment, _) = store.split(place::of(entry));
        store.segments().is_lost(segment)
    };
    entries(worker, leads_nowhere).await
}

/// Reports the keys that lead into segments without a header: how many there are.
async fn name_lost_keys(worker: &Rc<Worker>) -> Result<u64, StoreError> {
    let store = worker.store();
    let mut count = 0;
    for (identity, entry) in lost_entries(worker).await {
        if entry.value_type == VALUE_TYPE_PAGE {
            continue;
        }
        count += 1;
        let (segment, offset) = store.split(place::of(&entry));
        let loss = name_of(worker, identity, &entry).await?;
        let extent = Extent {
            offset: u64::from(offset),
            bytes: u64::from(class_bytes(entry.length_class)),
        };
        // The error is for those who want the value.
        drop(store.corrupt(segment, (Part::Record, extent), loss));
    }
    Ok(count)
}

/// The name of a key, by its record, or its hash where that does not verify.
async fn name_of(
    worker: &Rc<Worker>,
    identity: Identity,
    entry: &Entry,
) -> Result<Loss, StoreError> {
    let store = worker.store();
    let (segment, offset) = store.split(place::of(entry));
    let bytes = class_bytes(entry.length_class).min(store.segment_bytes() - offset);
    let bytes = read_range(worker, segment, u64::from(offset), bytes as usize).await?;
    let seed = store.segments().get(segment).seed().at(offset);
    Ok(match Record::decode(&bytes, seed) {
        Ok(record) => Loss::Key(Bytes::copy_from_slice(record.key)),
        Err(_) => Loss::Hash(identity.to_bytes()),
    })
}

/// Looks for the pages of every large value.
async fn see_roots(worker: &Rc<Worker>, report: &mut Report) -> Result<(), StoreError> {
    report.orphan_collections = worker.store().collections().abandoned_count();
    let roots = entries(worker, place::is_root).await;
    report.large_values = roots.len() as u64;
    for (turn, (identity, _)) in roots.iter().enumerate() {
        report.broken_values += u64::from(is_broken(worker, *identity).await?);
        if turn % PER_TURN == PER_TURN - 1 {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// Whether a large value has pages that nothing leads to. A damaged root was reported as such.
async fn is_broken(worker: &Rc<Worker>, root: Identity) -> Result<bool, StoreError> {
    let record = match worker.read_record(root).await {
        Ok(Some((_, record))) => record,
        Ok(None) | Err(StoreError::Corrupt { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    if record.value_type() != ValueType::String {
        // Which of its pages there have to be, only its type knows.
        return Ok(collection_of(record.value_type(), record.value()).is_err());
    }
    let Ok(value) = RootValue::decode(record.value()) else {
        return Ok(true);
    };
    let store = worker.store();
    let is_there = |number: u64| {
        u32::try_from(number).is_ok_and(|page_number| {
            let key = PageKey {
                collection: value.collection,
                page_number,
            };
            let identity = page_identity(store.hasher(), key);
            store.index().lookup(identity).is_some()
        })
    };
    Ok(!(0..value.page_count()).all(is_there))
}
