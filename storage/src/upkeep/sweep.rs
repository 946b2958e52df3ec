//! The sweeper: entries of flushed databases, and pages of collections that lost their root.

use std::rc::Rc;

use cellar_index::{Entry, Identity, VALUE_TYPE_PAGE};

use crate::format::PageKey;
use crate::lock::Mode;
use crate::paged::{Abandoned, page_identity};
use crate::worker::Worker;

/// Buckets or pages seen to before the executor gets a turn: about 50 us.
const PER_TURN: u32 = 128;

/// Sweeps the entries of databases that are in the map no more, then gives their handles back.
pub(crate) async fn run_handles(worker: &Rc<Worker>) {
    let store = worker.store();
    while !store.is_closing() {
        let dead = store.databases().dead_handles();
        if dead.is_empty() {
            tokio::select! {
                biased;
                () = store.sweep_wanted().notified() => {}
                () = store.closing().notified() => {}
            }
            continue;
        }
        sweep_handles(worker, &dead).await;
        if store.is_closing() {
            return;
        }
        for handle in dead {
            store.databases().free_handle(handle);
        }
        store.handle_swept().notify_waiters();
    }
}

async fn sweep_handles(worker: &Rc<Worker>, dead: &[u8]) {
    let index = worker.store().index();
    let mut cursor = 0;
    let mut found: Vec<(Identity, Entry)> = Vec::new();
    for turn in 1_u32.. {
        cursor = index.scan(cursor, &mut |identity, entry| {
            if entry.value_type != VALUE_TYPE_PAGE && dead.contains(&entry.database) {
                found.push((identity, entry));
            }
        });
        for (identity, entry) in found.drain(..) {
            worker.forget_dead(identity, &entry);
        }
        if cursor == 0 || worker.store().is_closing() {
            return;
        }
        if turn.is_multiple_of(PER_TURN) {
            tokio::task::yield_now().await;
        }
    }
}

/// Sweeps the pages of collections without a root, by their numbers.
pub(crate) async fn run_collections(worker: &Rc<Worker>) {
    let store = worker.store();
    while !store.is_closing() {
        if let Some(abandoned) = store.collections().take_sweep() {
            sweep_pages(worker, abandoned).await;
            continue;
        }
        tokio::select! {
            biased;
            () = store.collections().sweep_wanted().notified() => {}
            () = store.closing().notified() => {}
        }
    }
}

/// Sweeps all collections that wait for it.
pub(crate) async fn sweep_all(worker: &Rc<Worker>) {
    while let Some(abandoned) = worker.store().collections().take_sweep() {
        sweep_pages(worker, abandoned).await;
    }
}

/// Waits until nobody reads the value any more: readers hold its key's lock until all its pages are
/// pinned, and nobody can find the root now.
async fn sweep_pages(worker: &Rc<Worker>, Abandoned { collection, root }: Abandoned) {
    if let Some(root) = root {
        drop(
            worker
                .store()
                .locks()
                .acquire([root], Mode::Exclusive)
                .await,
        );
    }
    for page_number in 0..collection.page_count {
        let key = PageKey {
            collection: collection.id,
            page_number,
        };
        let identity = page_identity(worker.store().hasher(), key);
        let mut lock = worker.store().index().lock(identity);
        if let Some(entry) = lock.remove(identity) {
            worker.store().forget_entry(&entry);
        }
        drop(lock);
        if (page_number + 1).is_multiple_of(PER_TURN) {
            tokio::task::yield_now().await;
        }
    }
}
