//! Databases: which internal database each of Redis's numbers means at the moment.
//!
//! Records carry an internal id that is never reused. FLUSHDB, FLUSHALL and SWAPDB write one small
//! map record and change the map here, so they take the same time whatever the database holds
//! (design rule 13). Index entries have five bits for the database: a handle, reused once a dead
//! database's entries were swept. Whoever publishes checks under its bucket locks that the id it
//! resolved is still in the map; if not, a flush came in between, and its write is ordered before
//! the flush.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::format::DatabaseMap;
use crate::options::DATABASE_COUNT_MAX;
use crate::units::DatabaseId;

/// Which Redis database, below [`DATABASE_COUNT_MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Db(pub u8);

/// Handles that an index entry can name: all databases twice, so that all of them can be flushed
/// while none of the dead ones is swept.
const HANDLE_COUNT: usize = cellar_index::DATABASE_END as usize;
const _: () = assert!(HANDLE_COUNT >= 2 * DATABASE_COUNT_MAX);
/// What entries of pages carry in the handle's place: they belong to a root and to no database.
pub(crate) const PAGE_HANDLE: u8 = 0;
/// No live database has the handle.
const DEAD: u64 = u64::MAX;
/// A database as it was resolved at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DbRef {
    pub(crate) id: DatabaseId,
    pub(crate) handle: u8,
}

impl DbRef {
    fn pack(self) -> u64 {
        (u64::from(self.handle) << 32) | u64::from(self.id.get())
    }

    fn unpack(raw: u64) -> Self {
        Self {
            id: DatabaseId::new(raw as u32),
            handle: (raw >> 32) as u8,
        }
    }
}

/// No handle is free until the sweeper has finished with a dead database.
#[derive(Debug)]
pub(crate) struct NoHandle;

#[derive(Debug)]
struct Handles {
    free: Vec<u8>,
    dead: Vec<u8>,
    map: DatabaseMap,
}

/// The current map, readable without a lock.
pub(crate) struct Databases {
    slots: [AtomicU64; DATABASE_COUNT_MAX],
    /// The internal id of each handle's database while it is in the map: what decides whether an
    /// entry or a write is alive. A swap does not touch it.
    alive: [AtomicU64; HANDLE_COUNT],
    handles: Mutex<Handles>,
}

impl Databases {
    pub(crate) fn new(map: DatabaseMap) -> Self {
        let slot = |n: usize| {
            let handle = u8::try_from(n).expect("sixteen");
            AtomicU64::new(
                DbRef {
                    id: map.id(n),
                    handle,
                }
                .pack(),
            )
        };
        let alive = |handle: usize| {
            let is_used = handle < DATABASE_COUNT_MAX;
            AtomicU64::new(if is_used {
                u64::from(map.id(handle).get())
            } else {
                DEAD
            })
        };
        let first_free = u8::try_from(DATABASE_COUNT_MAX).expect("sixteen");
        let free = (first_free..cellar_index::DATABASE_END).collect();
        Self {
            slots: std::array::from_fn(slot),
            alive: std::array::from_fn(alive),
            handles: Mutex::new(Handles {
                free,
                dead: Vec::new(),
                map,
            }),
        }
    }

    /// What a database number means now.
    pub(crate) fn resolve(&self, db: Db) -> DbRef {
        DbRef::unpack(self.slots[usize::from(db.0)].load(Ordering::Acquire))
    }

    /// The map in force.
    pub(crate) fn map(&self) -> DatabaseMap {
        self.handles.lock().map
    }

    /// What all database numbers mean now.
    pub(crate) fn resolve_all(&self) -> [DbRef; DATABASE_COUNT_MAX] {
        std::array::from_fn(|n| DbRef::unpack(self.slots[n].load(Ordering::Acquire)))
    }

    /// The number that the database has now, if the map names it.
    pub(crate) fn number_of(&self, database: DbRef) -> Option<Db> {
        let place = self.resolve_all().iter().position(|db| *db == database)?;
        u8::try_from(place).ok().map(Db)
    }

    fn alive_id(&self, handle: u8) -> Option<DatabaseId> {
        let raw = self.alive[usize::from(handle)].load(Ordering::SeqCst);
        u32::try_from(raw).ok().map(DatabaseId::new)
    }

    /// Whether the map still names the database.
    pub(crate) fn is_current(&self, database: DbRef) -> bool {
        self.alive_id(database.handle) == Some(database.id)
    }

    /// Whether entries of keys with this handle belong to a database in the map.
    pub(crate) fn is_handle_current(&self, handle: u8) -> bool {
        self.alive_id(handle).is_some()
    }

    /// The database with this handle, if the map names it.
    pub(crate) fn by_handle(&self, handle: u8) -> Option<DbRef> {
        self.alive_id(handle).map(|id| DbRef { id, handle })
    }

    /// Whether the map names the database with this internal id.
    pub(crate) fn is_id_current(&self, id: DatabaseId) -> bool {
        let wanted = u64::from(id.get());
        self.alive
            .iter()
            .any(|alive| alive.load(Ordering::SeqCst) == wanted)
    }

    /// The map that gives each of `flushed` a new internal id, and what it would be in the log.
    /// Nothing is changed yet. The caller keeps others from planning until it has called
    /// [`Databases::apply`] or given up.
    pub(crate) fn plan_flush(&self, flushed: &[Db]) -> Result<MapChange, NoHandle> {
        let handles = self.handles.lock();
        if handles.free.len() < flushed.len() {
            return Err(NoHandle);
        }
        let mut after = self.resolve_all();
        let mut map = handles.map;
        for (db, handle) in flushed.iter().zip(handles.free.iter().rev()) {
            let number = usize::from(db.0);
            map.renew(number);
            after[number] = DbRef {
                id: map.id(number),
                handle: *handle,
            };
        }
        Ok(MapChange { after, map })
    }

    /// The map with two databases exchanged.
    pub(crate) fn plan_swap(&self, a: Db, b: Db) -> MapChange {
        let mut after = self.resolve_all();
        let mut map = self.handles.lock().map;
        after.swap(usize::from(a.0), usize::from(b.0));
        map.swap(usize::from(a.0), usize::from(b.0));
        MapChange { after, map }
    }

    /// Makes a planned map the current one; its record is in the log.
    pub(crate) fn apply(&self, change: &MapChange) {
        let mut handles = self.handles.lock();
        let before = self.resolve_all();
        let kept = |handle: u8| {
            change
                .after
                .iter()
                .any(|database| database.handle == handle)
        };
        // The new ones live before anybody can resolve them, the old ones until nobody can.
        for database in &change.after {
            let alive = &self.alive[usize::from(database.handle)];
            alive.store(u64::from(database.id.get()), Ordering::SeqCst);
        }
        for (slot, database) in self.slots.iter().zip(&change.after) {
            slot.store(database.pack(), Ordering::SeqCst);
        }
        for database in before.iter().filter(|database| !kept(database.handle)) {
            self.alive[usize::from(database.handle)].store(DEAD, Ordering::SeqCst);
        }
        handles.free.retain(|handle| !kept(*handle));
        handles.dead.extend(
            before
                .iter()
                .map(|d| d.handle)
                .filter(|handle| !kept(*handle)),
        );
        handles.map = change.map;
    }

    /// Handles of databases that are in the map no more and have not been swept.
    pub(crate) fn dead_handles(&self) -> Vec<u8> {
        self.handles.lock().dead.clone()
    }

    /// No entry names the handle any more.
    pub(crate) fn free_handle(&self, handle: u8) {
        let mut handles = self.handles.lock();
        handles.dead.retain(|dead| *dead != handle);
        handles.free.push(handle);
    }
}

/// A map that is about to become the current one.
#[derive(Debug)]
pub(crate) struct MapChange {
    after: [DbRef; DATABASE_COUNT_MAX],
    map: DatabaseMap,
}

impl MapChange {
    pub(crate) fn map(&self) -> &DatabaseMap {
        &self.map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_gives_a_new_id_and_leaves_a_dead_handle() {
        let databases = Databases::new(DatabaseMap::default());
        let before = databases.resolve(Db(3));
        let change = databases.plan_flush(&[Db(3)]).expect("handles are free");
        assert_eq!(databases.resolve(Db(3)), before);
        databases.apply(&change);
        let after = databases.resolve(Db(3));
        assert!(after.id != before.id && after.handle != before.handle);
        assert!(!databases.is_current(before) && databases.is_current(after));
        assert_eq!(databases.dead_handles(), [before.handle]);
        databases.free_handle(before.handle);
        assert!(databases.dead_handles().is_empty());
    }

    #[test]
    fn a_swap_keeps_both_current() {
        let databases = Databases::new(DatabaseMap::default());
        let (a, b) = (databases.resolve(Db(0)), databases.resolve(Db(1)));
        databases.apply(&databases.plan_swap(Db(0), Db(1)));
        assert_eq!((databases.resolve(Db(0)), databases.resolve(Db(1))), (b, a));
        assert!(databases.is_current(a) && databases.dead_handles().is_empty());
    }

    #[test]
    fn flushing_stops_when_no_handle_is_free() {
        let databases = Databases::new(DatabaseMap::default());
        let flushes = (0..40).take_while(|_| {
            let change = databases.plan_flush(&[Db(0)]);
            change.map(|change| databases.apply(&change)).is_ok()
        });
        assert_eq!(flushes.count(), HANDLE_COUNT - DATABASE_COUNT_MAX);
    }
}
