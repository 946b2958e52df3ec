//! The timer of group commit, which also shares memory out anew.

use std::rc::Rc;

use crate::options::AppendFsync;
use crate::worker::Worker;

/// What is written is made durable this often: small syncs, so that no client waits behind a big
/// one.
const EVERYSEC_INTERVAL_US: u64 = 100_000;
/// `appendfsync no`: seldom enough not to be felt, often enough that space can be reclaimed.
const NO_SYNC_TICKS: u64 = 50;

/// Asks for a round whenever something is not durable.
pub(crate) async fn run(worker: &Rc<Worker>) {
    let store = worker.store();
    let mut tick: u64 = 0;
    while !store.is_closing() {
        store.clock().sleep(EVERYSEC_INTERVAL_US).await;
        tick += 1;
        let is_due = match store.appendfsync() {
            AppendFsync::Always | AppendFsync::Everysec => true,
            AppendFsync::No => tick.is_multiple_of(NO_SYNC_TICKS),
        };
        let tail = store.log().tail();
        if is_due && tail > store.log().durable_lsn() {
            worker.request_durable(tail);
        }
        keep_map(worker).await;
        store.share_memory();
    }
}

/// Enters a new database map into the superblocks: without it nobody could tell flushed databases
/// from others, so it shall not hang on one record.
async fn keep_map(worker: &Rc<Worker>) {
    let store = worker.store();
    let is_entered = {
        let change = store.change_map().await;
        !store.log().is_latched() && store.enter_map(&change)
    };
    if is_entered && let Err(error) = store.write_superblocks(worker, false).await {
        store.log().latch(&error);
    }
}
