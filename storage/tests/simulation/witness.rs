//! What a store holds, seen from outside: every key of every database, by content. Owns the
//! reading; the judgement is the model's.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use cellar_storage::clock::SimClock;
use cellar_storage::format::{database_map, record_bytes};
use cellar_storage::{Clock, DATABASE_COUNT_MAX, Db, Handle, StoreError};

use crate::model::{Key, Sighting, Violation, ensure};
use crate::reads::read;
use crate::value::{Version, rounded};

/// Keys of one step of a scan.
const SCAN_COUNT: usize = 4_000;

/// How a store is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// What is listed is read too, not only what is known.
    pub(crate) lists: bool,
    /// Something is rotten: the store may say of a key that it is damaged.
    pub(crate) may_be_damaged: bool,
}

/// Reads everything: what is `known`, and what is listed.
pub(crate) async fn observe(
    handle: &Handle,
    clock: &SimClock,
    known: Vec<Key>,
    view: View,
) -> Result<BTreeMap<Key, Sighting>, Violation> {
    let mut keys: BTreeSet<Key> = known.into_iter().collect();
    if view.lists {
        for db in (0..DATABASE_COUNT_MAX as u8).map(Db) {
            keys.extend(list(handle, db).await?);
        }
    }
    let mut sightings = BTreeMap::new();
    for key in keys {
        let start_ms = clock.unix_ms();
        let (found, damage) = match read(handle, &key).await {
            Ok(found) => (found, None),
            Err(error @ (StoreError::Corrupt { .. } | StoreError::MissingPage { .. }))
                if view.may_be_damaged =>
            {
                (None, Some(error))
            }
            Err(error) => return Err(Violation(format!("{key:?} cannot be read: {error}"))),
        };
        let ms = (start_ms, clock.unix_ms());
        sightings.insert(key, Sighting { found, ms, damage });
    }
    check_sizes(handle, &sightings)?;
    Ok(sightings)
}

/// A database has at least the keys that were found in it, and a store that says how many it has
/// in all does not leave any out.
fn check_sizes(handle: &Handle, sightings: &BTreeMap<Key, Sighting>) -> Result<(), Violation> {
    for db in (0..DATABASE_COUNT_MAX as u8).map(Db) {
        let of_db = sightings.range((db, Bytes::new())..);
        let of_db = of_db.take_while(|((of, _), _)| *of == db);
        let found = of_db
            .filter(|(_, sighting)| sighting.found.is_some())
            .count();
        let size = handle.dbsize(db);
        ensure(size >= found as u64, || {
            format!("{db:?} has {size} keys by its size, and {found} were read")
        })?;
    }
    Ok(())
}

async fn list(handle: &Handle, db: Db) -> Result<Vec<Key>, Violation> {
    let mut all = Vec::new();
    let mut cursor = 0;
    while handle.dbsize(db) > 0 {
        let step = handle.scan(db, cursor, SCAN_COUNT, None).await;
        let step = step.map_err(|error| Violation(format!("{db:?} cannot be listed: {error}")))?;
        all.extend(step.1.into_iter().map(|key| (db, key)));
        cursor = step.0;
        if cursor == 0 {
            break;
        }
    }
    Ok(all)
}

/// The bytes that these versions take of segments, rounded up as the store rounds them.
pub(crate) fn bytes_of<'a>(versions: impl Iterator<Item = (&'a Key, &'a Version)>) -> u64 {
    versions
        .map(|((_, key), version)| version.stored_bytes(key))
        .sum()
}

/// What a database map takes, where one was written in this life.
pub(crate) fn map_bytes() -> u64 {
    rounded(record_bytes(0, database_map::MAP_BYTES, false))
}
