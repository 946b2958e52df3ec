//! What a store holds, seen from outside: every key of every database, by content. Owns the
//! reading; the judgement is the model's.

use std::collections::{BTreeMap, BTreeSet};

use cellar_storage::clock::SimClock;
use cellar_storage::format::page::{PAGE_KEY_BYTES, ROOT_BYTES};
use cellar_storage::format::{class_of, database_map, live_bytes, record_bytes};
use cellar_storage::{Clock, DATABASE_COUNT_MAX, Db, Handle, INLINE_BYTES_MAX};

use crate::model::{Key, Sighting, Version, Violation};
use crate::reads::read;

/// Keys of one step of a scan.
const SCAN_COUNT: usize = 4_000;
/// Bytes of a page of a large value: fixed by the format's first version.
const PAGE_BYTES: usize = 16 << 10;

/// Reads everything: what is listed, and what is `known`.
pub(crate) async fn observe(
    handle: &Handle,
    clock: &SimClock,
    known: Vec<Key>,
) -> Result<BTreeMap<Key, Sighting>, Violation> {
    let mut keys: BTreeSet<Key> = known.into_iter().collect();
    for db in (0..DATABASE_COUNT_MAX as u8).map(Db) {
        keys.extend(list(handle, db).await?);
    }
    let mut sightings = BTreeMap::new();
    for key in keys {
        let start_ms = clock.unix_ms();
        let found = read(handle, &key).await;
        let found = found.map_err(|error| Violation(format!("{key:?} cannot be read: {error}")))?;
        sightings.insert(
            key,
            Sighting {
                found,
                ms: (start_ms, clock.unix_ms()),
            },
        );
    }
    Ok(sightings)
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
        .map(|((_, key), version)| version_bytes(key, version))
        .sum()
}

fn version_bytes(key: &[u8], version: &Version) -> u64 {
    let (len, has_expiry) = (version.value.len(), version.expiry_ms.is_some());
    if len <= INLINE_BYTES_MAX {
        return rounded(record_bytes(key.len(), len, has_expiry));
    }
    let page = |bytes| rounded(record_bytes(PAGE_KEY_BYTES, bytes, false));
    let full = (len / PAGE_BYTES) as u64 * page(PAGE_BYTES);
    let rest = len % PAGE_BYTES;
    let rest = if rest > 0 { page(rest) } else { 0 };
    rounded(record_bytes(key.len(), ROOT_BYTES, has_expiry)) + full + rest
}

fn rounded(bytes: u64) -> u64 {
    u64::from(live_bytes(class_of(bytes as u32)))
}

/// What a database map takes, where one was written in this life.
pub(crate) fn map_bytes() -> u64 {
    rounded(record_bytes(0, database_map::MAP_BYTES, false))
}
