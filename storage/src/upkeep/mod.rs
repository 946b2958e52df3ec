//! What runs beside the clients: the group-commit timer, the preparation of segments, the sweeper,
//! the active expiry, eviction, the scrub and the cleaner. One task, on one worker; each part
//! yields after a bounded slice.

mod close;
mod expire;
mod prepare;
mod scrub;
mod sweep;
mod sync;

pub(crate) use prepare::READY_MIN;
pub(crate) use scrub::Scrub;
pub use scrub::{ScrubRunning, ScrubState, ScrubStatus};
pub(crate) use sweep::sweep_all;

use std::rc::Rc;

use crate::handle::Handle;
use crate::store::Store;
use crate::worker::Worker;

/// What a repair needs beside itself: segments, and rounds of group commit.
pub(crate) async fn run_for_repair(worker: &Rc<Worker>) {
    tokio::join!(sync::run(worker), prepare::run(worker));
}

impl Store {
    /// Runs the store's upkeep until it closes. Spawned once, on the first worker.
    pub async fn run_background(handle: Handle) {
        let worker = handle.worker();
        tokio::join!(
            sync::run(worker),
            prepare::run(worker),
            sweep::run_handles(worker),
            sweep::run_collections(worker),
            expire::run(worker),
            scrub::run(worker),
            crate::cleaner::run(worker),
            crate::evict::run(worker),
        );
    }
}
