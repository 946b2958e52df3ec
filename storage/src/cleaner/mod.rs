//! The cleaner: makes free segments out of those whose records are mostly dead.
//!
//! Driven by space: it does nothing while enough segments are free. A turn picks victims, copies what
//! is live in them to the cold log, makes the copies durable, and frees the victims (design rule 4):
//! copies durable, the durable LSN past the log's tail as of the last judgement, no pins, a free mark.

mod free;
mod relocate;
mod victim;

use std::rc::Rc;

use crate::error::StoreError;
use crate::units::SegmentNumber;
use crate::worker::Worker;

/// How often the free segments are counted when nobody asks for room.
const INTERVAL_US: u64 = 100_000;
/// Pause after a failed turn: a device that fails reads is not asked without end.
const FAILURE_PAUSE_US: u64 = 1_000_000;

/// Cleans whenever segments are short.
pub(crate) async fn run(worker: &Rc<Worker>) {
    let store = worker.store();
    while !store.is_closing() {
        if !store.wants_cleaning() || store.log().is_latched() {
            tokio::select! {
                biased;
                () = store.clean_wanted().notified() => {}
                () = store.clock().sleep(INTERVAL_US) => {}
            }
            continue;
        }
        match clean(worker).await {
            Ok(true) => {}
            Ok(false) => store.clock().sleep(INTERVAL_US).await,
            Err(error) => {
                tracing::error!(%error, "cleaning failed; it is tried again");
                store.clock().sleep(FAILURE_PAUSE_US).await;
            }
        }
    }
}

/// One turn. False: no segment is worth cleaning.
async fn clean(worker: &Rc<Worker>) -> Result<bool, StoreError> {
    let victims = victim::choose(worker.store());
    if victims.is_empty() {
        return Ok(false);
    }
    let mut cleaned: Vec<SegmentNumber> = Vec::new();
    for victim in &victims {
        match relocate::relocate(worker, *victim).await {
            Ok(()) => cleaned.push(*victim),
            Err(error) => {
                victim::give_back(worker.store(), *victim);
                tracing::error!(%error, segment = victim.get(), "a segment could not be cleaned");
            }
        }
        tokio::task::yield_now().await;
    }
    free::free(worker, &cleaned).await?;
    Ok(!cleaned.is_empty())
}
