//! Removes the fields whose deadline has passed, one hash after another, in slices.
//!
//! Owns the pace. A hash of any size is gone over a few buckets at a time, and its key's lock is
//! let go between them.

use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::{Db, Handle, StoreError, ValueType, WriteBatch};

use crate::collections::hash::Hash;
use crate::collections::timing::Swept;
use crate::command::CommandError;
use crate::events::{EventClass, announce};
use crate::shared::Shared;

/// A look at the agenda this often, as Redis's `hz 10`.
const INTERVAL_US: u64 = 100_000;

/// Hashes of one look at most, so that a store that stops need not wait.
const HASHES_PER_LOOK: usize = 1000;

/// Keys that one step of a pass asks for.
const KEYS_PER_STEP: usize = 64;

/// How much later a hash is tried again that could not be written.
const RETRY_MS: u64 = 1000;

/// Removes fields in time, until the store closes.
pub(crate) async fn run(store: Handle, shared: Arc<Shared>) {
    let agenda = &shared.field_deadlines;
    loop {
        store.clock().sleep(INTERVAL_US).await;
        if agenda.wants_pass(store.clock().unix_ms()) && pass(&store, &shared).await.is_err() {
            return;
        }
        if work(&store, &shared).await.is_err() {
            return;
        }
    }
}

/// Enters all hashes whose fields have deadlines. An error means that the store closes.
async fn pass(store: &Handle, shared: &Shared) -> Result<(), StoreError> {
    shared.field_deadlines.begin_pass();
    for db in 0..shared.database_count() {
        let (db, mut cursor) = (Db(db), 0);
        loop {
            let wanted = Some(ValueType::TimedHash);
            let step = store.scan(db, cursor, KEYS_PER_STEP, wanted).await;
            let keys = match step {
                Ok((next, keys)) => {
                    cursor = next;
                    keys
                }
                Err(StoreError::Closing) => return Err(StoreError::Closing),
                Err(error) => {
                    tracing::warn!("looking for fields that expire: {error}");
                    break;
                }
            };
            for key in keys {
                // told under the lock, as by everybody: a moment later it may be another hash
                shared.field_deadlines.note(0, db, &key);
            }
            work(store, shared).await?;
            if cursor == 0 {
                break;
            }
        }
    }
    Ok(())
}

/// Works off what is due. An error means that the store closes.
async fn work(store: &Handle, shared: &Shared) -> Result<(), StoreError> {
    for _ in 0..HASHES_PER_LOOK {
        if !store.store().is_active_expiry_on() {
            return Ok(());
        }
        let now_ms = store.clock().unix_ms();
        let Some((db, key)) = shared.field_deadlines.take(now_ms) else {
            return Ok(());
        };
        match sweep(store, shared, (db, &key)).await {
            Ok(()) => {}
            Err(CommandError::Store(StoreError::Closing)) => return Err(StoreError::Closing),
            Err(error) => {
                tracing::debug!("removing fields that expired: {error}");
                shared.field_deadlines.note(now_ms + RETRY_MS, db, &key);
            }
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Goes over one hash and enters it again for the fields that stay.
async fn sweep(
    store: &Handle,
    shared: &Shared,
    (db, key): (Db, &Bytes),
) -> Result<(), CommandError> {
    let mut swept = Swept::default();
    while !swept.is_over() {
        let locks = store.lock(&[(db, &key[..])]).await;
        let found = store.get_locked(&locks, db, key).await?;
        let found = found.filter(|found| found.value_type() == ValueType::TimedHash);
        let Some(found) = found else {
            return Ok(());
        };
        let mut hash = Hash::load_at(Some(found), || store.clock().unix_ms())?;
        let known_ms = shared.field_deadlines.noted_ms();
        let is_changed = hash.elements.sweep(&mut swept, known_ms).await?;
        let (is_gone, earliest_ms) = (hash.elements.is_empty(), hash.earliest_ms());
        if is_changed {
            let mut batch = WriteBatch::new();
            hash.put_into(store, &mut batch, (db, key)).await?;
            store.commit_locked(&locks, batch).await?;
        }
        if swept.take_removed() > 0 {
            tell(shared, (EventClass::Hash, "hexpired"), db, key);
        }
        if is_gone {
            tell(shared, (EventClass::Generic, "del"), db, key);
            return Ok(());
        }
        if swept.is_over() && earliest_ms < u64::MAX {
            shared.field_deadlines.note(earliest_ms, db, key);
        }
        drop(locks);
        tokio::task::yield_now().await;
    }
    Ok(())
}

fn tell(shared: &Shared, (class, event): (EventClass, &'static str), db: Db, key: &[u8]) {
    if shared.tracking.is_broadcasting() {
        shared.tracking.note_change(key, None);
    }
    let classes = shared.config.fast.event_classes();
    if classes.has(class) {
        let mut delivery = shared.delivery(None);
        announce(&shared.channels, classes, (event, db, key), &mut delivery);
    }
}
