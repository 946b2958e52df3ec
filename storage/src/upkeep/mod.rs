//! What runs beside the clients: the group-commit timer, the preparation of segments, the sweeper,
//! the active expiry, eviction and the cleaner. One task, on one worker; each part yields after a
//! bounded slice.

mod close;
mod expire;
mod prepare;
mod sweep;
mod sync;

pub(crate) use prepare::READY_MIN;

use crate::handle::Handle;
use crate::store::Store;

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
            crate::cleaner::run(worker),
            crate::evict::run(worker),
        );
    }
}
