//! The sweeper: entries of flushed databases, and pages of collections that lost their root.

use std::rc::Rc;

use cellar_index::{Entry, Identity};

use crate::format::PageKey;
use crate::paged::{Collection, page_identity};
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
            if dead.contains(&entry.database) {
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
        if let Some(collection) = store.collections().take_sweep() {
            sweep_pages(worker, collection).await;
            continue;
        }
        tokio::select! {
            biased;
            () = store.collections().sweep_wanted().notified() => {}
            () = store.closing().notified() => {}
        }
    }
}

async fn sweep_pages(worker: &Rc<Worker>, collection: Collection) {
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
