//! The cleaner: makes free segments out of those whose records are mostly dead.
//!
//! Driven by space: it does nothing while enough segments are free. A turn picks victims, copies
//! what is live in them to the cold log, makes the copies durable, and frees the victims (design
//! rule 4): copies durable, the durable LSN past the log's tail as of the last judgement, no pins,
//! a free mark.

mod free;
mod pace;
mod relocate;
pub mod rule;
mod status;
mod victim;

pub(crate) use status::Cleaner;
pub use status::{CleanerState, CleanerStats};

use std::rc::Rc;

use crate::cleaner::victim::{Choice, Victims};
use crate::error::StoreError;
use crate::evict;
use crate::segment::State;
use crate::store::Store;
use crate::units::SegmentNumber;
use crate::worker::Worker;

/// How often the free segments are counted when nobody asks for room.
const INTERVAL_US: u64 = 100_000;
/// How often victims are looked at that only their readers keep from being freed.
const PIN_INTERVAL_US: u64 = 1_000;
/// Pause after a failed turn: a device that fails reads is not asked without end.
const FAILURE_PAUSE_US: u64 = 1_000_000;

/// Cleans whenever segments are short.
pub(crate) async fn run(worker: &Rc<Worker>) {
    let store = worker.store();
    // Cleaned, safe to reuse after any crash, and still read from: bounded by the segments.
    let mut settled: Vec<SegmentNumber> = Vec::new();
    let mut choice = Choice::default();
    while !store.is_closing() {
        if store.log().is_latched() || (!may_clean(store) && settled.is_empty()) {
            tokio::select! {
                biased;
                () = store.clean_wanted().notified() => {}
                () = store.clock().sleep(INTERVAL_US) => {}
            }
            continue;
        }
        let pause_us = match turn(worker, &mut choice, &mut settled).await {
            Ok(pause_us) => pause_us,
            Err(error) => {
                tracing::error!(%error, "cleaning failed; it is tried again");
                store.cleaner().note_error(&error);
                FAILURE_PAUSE_US
            }
        };
        end_turn(store);
        if pause_us > 0 {
            store.clock().sleep(pause_us).await;
        }
    }
}

fn may_clean(store: &Store) -> bool {
    store.wants_cleaning() && !store.cleaner().is_paused()
}

/// Whoever waits for room learns whether a paused cleaner has left any.
fn end_turn(store: &Store) {
    store.cleaner().end_turn();
    if store.cleaner().is_paused() {
        store.prepare_log();
        store.log().room().notify_waiters();
    }
}

/// One turn: how long to pause after it, in microseconds.
async fn turn(
    worker: &Rc<Worker>,
    choice: &mut Choice,
    settled: &mut Vec<SegmentNumber>,
) -> Result<u64, StoreError> {
    let store = worker.store();
    free::free(worker, settled).await?;
    if !may_clean(store) {
        return Ok(PIN_INTERVAL_US);
    }
    let is_emergency = pace::is_emergency(store);
    store.cleaner().begin_turn(is_emergency);
    if store.is_closing() {
        return Ok(0);
    }
    let Victims { segments, taken } = match evict::wants_oldest(store) {
        Some(excess_bytes) => choice.next_oldest(worker, excess_bytes).await,
        None => choice.next(worker).await,
    };
    store
        .cleaner()
        .pace
        .aim(pace::turn_price(store, &segments, taken));
    if segments.is_empty() {
        // What was overwritten since the last round may give victims once it is durable.
        worker.request_durable(store.log().tail());
    } else {
        store.counters().cleaner_turns.add(1);
        store
            .counters()
            .cleaner_emergencies
            .add(u64::from(is_emergency));
    }
    let cleaned = clean(worker, choice, &segments).await?;
    if !cleaned.is_empty() {
        free::settle(worker).await?;
        settled.extend(cleaned);
        free::free(worker, settled).await?;
        return Ok(0);
    }
    Ok(if settled.is_empty() {
        INTERVAL_US
    } else {
        PIN_INTERVAL_US
    })
}

/// Empties one segment and frees it, outside of the cleaner's turns: for a repair.
pub(crate) async fn empty(worker: &Rc<Worker>, segment: SegmentNumber) -> Result<(), StoreError> {
    let store = worker.store();
    let before = store.segments().get(segment).state();
    store.segments().get(segment).set_state(State::Cleaning);
    let oldest = victim::look(worker).await.oldest_opening(store, segment);
    if let Err(error) = relocate::relocate(worker, segment, oldest).await {
        store.segments().get(segment).set_state(before);
        return Err(error);
    }
    free::settle(worker).await?;
    free::free(worker, &mut vec![segment]).await
}

/// Frees a segment of which nobody knows what it held.
pub(crate) async fn give_up(worker: &Rc<Worker>, segment: SegmentNumber) -> Result<(), StoreError> {
    free::free(worker, &mut vec![segment]).await
}

/// Moves what is live out of the victims: those that it was done for.
async fn clean(
    worker: &Rc<Worker>,
    choice: &Choice,
    victims: &[SegmentNumber],
) -> Result<Vec<SegmentNumber>, StoreError> {
    let store = worker.store();
    let mut cleaned = Vec::new();
    for victim in victims {
        store.log().check_latch()?;
        // Segments are only freed by this task, so the oldest stays the oldest through the turn.
        let oldest = choice.oldest_opening(store, *victim);
        match relocate::relocate(worker, *victim, oldest).await {
            Ok(()) => cleaned.push(*victim),
            Err(error @ (StoreError::Corrupt { .. } | StoreError::Format(_))) => {
                // It stays as it is, in use and never a victim: what is whole in it can be read.
                tracing::error!(%error, segment = victim.get(), "a damaged segment is set aside");
                store.segments().set_aside(*victim);
                store.cleaner().note_damaged(&error);
            }
            Err(error) => {
                victim::give_back(store, *victim);
                tracing::warn!(%error, segment = victim.get(), "a segment was not cleaned");
                store.cleaner().note_error(&error);
            }
        }
        tokio::task::yield_now().await;
    }
    Ok(cleaned)
}
