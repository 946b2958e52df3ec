//! Device reads in flight, each shared by everybody who wants the same record.
//!
//! The buffer, the pin and the waiters live in the operation. A connection that goes away strands
//! nobody: the read ends, is verified, and feeds the cache.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin as FuturePin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use cellar_index::VALUE_TYPE_PAGE;
use foldhash::fast::RandomState;
use smallvec::SmallVec;

use crate::damage::Part;
use crate::device::{DeviceError, IoBuffer};
use crate::error::StoreError;
use crate::format::{Kind, Record, RecordHead, RecordSeed, class_bytes};
use crate::place;
use crate::read::{Located, StoredRecord, remains};
use crate::segment::Pin;
use crate::units::{Extent, Location, SegmentNumber};
use crate::value::Snapshot;
use crate::worker::Worker;

/// The reads under way on a worker, by place.
pub(crate) type ReadMap = HashMap<Location, Rc<Shared>, RandomState>;

/// A read's state, held by the operation and by those who wait.
pub(crate) struct Shared {
    state: RefCell<State>,
}

enum State {
    Waiting(SmallVec<[Waiter; 1]>),
    Done(Outcome),
}

type Outcome = Result<StoredRecord, StoreError>;

/// Who is told that a read ended.
enum Waiter {
    /// A task that looks again.
    Task(Waker),
    /// Somebody who is called, and for whom no task waits.
    Call(Box<dyn FnOnce(&Outcome)>),
}

/// Where a record's bytes come from.
pub(crate) enum Source {
    Memory(StoredRecord),
    Device(Fetch),
}

impl Source {
    pub(crate) async fn record(self) -> Result<StoredRecord, StoreError> {
        match self {
            Self::Memory(record) => Ok(record),
            Self::Device(fetch) => fetch.await,
        }
    }
}

/// A wait for a device read.
pub(crate) struct Fetch {
    worker: Rc<Worker>,
    shared: Rc<Shared>,
}

/// What a running read needs to verify what it gets.
struct Target {
    worker: Rc<Worker>,
    at: Location,
    segment: SegmentNumber,
    seed: RecordSeed,
    /// What the entry says that the record is.
    kind: Kind,
    /// The record's length at most.
    bytes: u64,
    /// Where the record begins in the aligned extent.
    skip: usize,
    pin: Pin,
}

impl Fetch {
    /// Joins the read of the same place, or submits one. The segment stays pinned until it ends.
    pub(crate) fn start(worker: &Rc<Worker>, located: Located) -> Self {
        let at = place::of(&located.entry);
        if let Some(shared) = worker.reads().borrow().get(&at) {
            return Self {
                worker: Rc::clone(worker),
                shared: Rc::clone(shared),
            };
        }
        let shared = Rc::new(Shared {
            state: RefCell::new(State::Waiting(SmallVec::new())),
        });
        worker.reads().borrow_mut().insert(at, Rc::clone(&shared));
        submit(worker, &shared, at, located);
        Self {
            worker: Rc::clone(worker),
            shared,
        }
    }

    /// Calls `call` when the read has ended, whoever waits for it.
    pub(crate) fn on_done(self, call: impl FnOnce(&Outcome) + 'static) {
        match &mut *self.shared.state.borrow_mut() {
            State::Done(outcome) => call(outcome),
            State::Waiting(waiters) => waiters.push(Waiter::Call(Box::new(call))),
        }
    }
}

fn submit(worker: &Rc<Worker>, shared: &Rc<Shared>, at: Location, located: Located) {
    let store = worker.store();
    let (segment, offset) = store.split(at);
    let (channel, start) = worker.place(segment);
    let bytes = class_bytes(located.entry.length_class);
    let bytes = bytes.min(store.segment_bytes() - offset);
    let record = Extent {
        offset: start + u64::from(offset),
        bytes: u64::from(bytes),
    };
    let extent = record.aligned_to(store.block_bytes(segment));
    let target = Target {
        worker: Rc::clone(worker),
        at,
        segment,
        seed: store.segments().get(segment).seed().at(offset),
        kind: if located.entry.value_type == VALUE_TYPE_PAGE {
            Kind::Page
        } else {
            Kind::Put
        },
        bytes: record.bytes,
        skip: usize::try_from(record.offset - extent.offset).expect("within a block"),
        pin: located.pin,
    };
    let buffer = channel.buffer(usize::try_from(extent.bytes).expect("a record is bounded"));
    let shared = Rc::clone(shared);
    channel
        .read(extent.offset, buffer)
        .on_done(move |result| finish(&shared, target, result));
}

fn finish(shared: &Shared, target: Target, result: Result<IoBuffer, DeviceError>) {
    let worker = Rc::clone(&target.worker);
    worker.reads().borrow_mut().remove(&target.at);
    let outcome = result
        .map_err(StoreError::Read)
        .and_then(|buffer| verify(&target, buffer));
    match &outcome {
        Ok(record) => {
            let store = worker.store();
            store.cache().insert(store.cache_key(target.at), record);
        }
        // Damage was reported where it was found.
        Err(StoreError::Corrupt { .. }) => {}
        Err(error) => tracing::error!(%error, "a record could not be read"),
    }
    // The pin goes after the cache was fed: its key names the segment's life.
    drop(target.pin);
    let before = shared.state.replace(State::Done(outcome));
    let State::Waiting(waiters) = before else {
        return;
    };
    for waiter in waiters {
        match (waiter, &*shared.state.borrow()) {
            (Waiter::Task(waker), _) => waker.wake(),
            (Waiter::Call(call), State::Done(outcome)) => call(outcome),
            (Waiter::Call(_), State::Waiting(_)) => unreachable!("it has just ended"),
        }
    }
}

/// Checks the record's checksums, seeded with its segment's life.
fn verify(target: &Target, buffer: IoBuffer) -> Result<StoredRecord, StoreError> {
    let bytes: Bytes = {
        let end = buffer.len();
        buffer.into_bytes(target.skip..end)
    };
    let store = target.worker.store();
    let is_served = !store.segments().is_lost(target.segment);
    let decoded = Record::decode(&bytes, target.seed).map(|record| record.head);
    let is_its = |head: &RecordHead| is_served && head.kind == target.kind;
    let Some(head) = decoded.ok().filter(is_its) else {
        let offset = store.split(target.at).1;
        let extent = Extent {
            offset: u64::from(offset),
            bytes: target.bytes,
        };
        let loss = remains::loss(&bytes, target.seed);
        return Err(store.corrupt(target.segment, (Part::Record, extent), loss));
    };
    Ok(StoredRecord::new(bytes, head))
}

impl Future for Fetch {
    type Output = Result<StoredRecord, StoreError>;

    fn poll(self: FuturePin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self.shared.state.borrow_mut() {
            State::Done(outcome) => Poll::Ready(outcome.clone()),
            State::Waiting(waiters) => {
                let is_this = |waiter: &Waiter| match waiter {
                    Waiter::Task(waker) => waker.will_wake(context.waker()),
                    Waiter::Call(_) => false,
                };
                if !waiters.iter().any(is_this) {
                    waiters.push(Waiter::Task(context.waker().clone()));
                }
                Poll::Pending
            }
        }
    }
}

/// A public read in flight: ends in the key's snapshot, or in nothing when the record turns out to
/// be expired or another key's.
pub struct Read {
    fetch: Fetch,
    key: SmallVec<[u8; 64]>,
}

impl Read {
    pub(crate) fn new(fetch: Fetch, key: &[u8]) -> Self {
        Self {
            fetch,
            key: SmallVec::from_slice(key),
        }
    }
}

impl Future for Read {
    type Output = Result<Option<Snapshot>, StoreError>;

    fn poll(mut self: FuturePin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        FuturePin::new(&mut this.fetch)
            .poll(context)
            .map_ok(|record| {
                let now = this.fetch.worker.store().moment();
                let is_it = record.key() == this.key.as_slice() && !record.is_expired(&now);
                is_it.then(|| Snapshot::inline_of(record))
            })
    }
}
