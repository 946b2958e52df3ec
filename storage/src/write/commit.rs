//! Publishing: the one critical section through which every write goes (design rule 1).
//!
//! Under the bucket locks of all its keys: nobody else holds or wants a key's stripe, the
//! conditions hold, the index has room, a place in the log is reserved, the records are copied
//! there, the entries are put. Nothing waits inside; what is missing makes the caller release
//! everything, wait, and start over.

use std::collections::HashSet;
use std::rc::Rc;

use cellar_index::{BucketLocks, Entry, Identity, VALUE_TYPE_PAGE};
use smallvec::SmallVec;

use crate::database::{DbRef, PAGE_HANDLE};
use crate::departure::Departure;
use crate::error::StoreError;
use crate::expiry::{Deadline, Moment, deadline, entry_seconds};
use crate::format::{
    BatchHeader, EntryDetail, Identity as StoredIdentity, Kind, PageKey, RecordDraft, SummaryEntry,
    ValueType, class_of, live_bytes,
};
use crate::lock::{LockTable, StripeLocks};
use crate::log::NoRoom;
use crate::paged::Collection;
use crate::place;
use crate::segment::shadow_bytes;
use crate::units::{DatabaseId, Location, Lsn};
use crate::watch::KeyChange;
use crate::worker::Worker;
use crate::write::Outcome;
use crate::write::feed::Replaced;
use crate::write::terms::{Mark, Terms, check_deadlines, condition_holds};

/// What a write does to the index.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect {
    /// A key's entry points to the record. `root`: the record is the root of this collection.
    Put {
        value_type: ValueType,
        expiry_ms: Option<u64>,
        root: Option<Collection>,
    },
    /// A page's entry points to the record. Pages have no key lock of their own.
    Page { key: PageKey },
    /// The key's entry goes, and the record is its tombstone. `only_at`: if it still is there.
    Remove { only_at: Option<Location> },
}

/// One write, ready to be copied: everything that needs no lock is done.
pub(crate) struct Prepared<'a> {
    pub(crate) identity: Identity,
    /// Whose key it is; pages belong to no database.
    pub(crate) database: Option<DbRef>,
    pub(crate) draft: RecordDraft<'a>,
    pub(crate) effect: Effect,
}

impl Prepared<'_> {
    pub(crate) fn is_page(&self) -> bool {
        self.database.is_none()
    }

    pub(crate) fn removes(&self) -> bool {
        matches!(self.effect, Effect::Remove { .. })
    }

    /// Whether there is anything to write: the removal of nothing is not.
    fn has_effect(&self, locks: &BucketLocks<'_>) -> bool {
        match self.effect {
            Effect::Put { .. } | Effect::Page { .. } => true,
            Effect::Remove { only_at } => locks
                .find(self.identity)
                .is_some_and(|entry| only_at.is_none_or(|at| place::of(&entry) == at)),
        }
    }

    /// What watchers of the key are told; pages have none.
    fn change(&self) -> Option<KeyChange> {
        match self.effect {
            Effect::Put { .. } => Some(KeyChange::Written),
            Effect::Remove { .. } => Some(KeyChange::Removed),
            Effect::Page { .. } => None,
        }
    }

    fn root(&self) -> Option<Collection> {
        match self.effect {
            Effect::Put { root, .. } => root,
            Effect::Page { .. } | Effect::Remove { .. } => None,
        }
    }

    fn detail(&self) -> EntryDetail {
        match self.effect {
            Effect::Put {
                value_type,
                expiry_ms,
                root,
            } => EntryDetail::Put {
                value_type,
                expiry_ms,
                collection: root.map(|root| root.id),
            },
            Effect::Page { key } => EntryDetail::Page {
                collection: key.collection,
                page_number: key.page_number,
            },
            Effect::Remove { .. } => EntryDetail::Tombstone,
        }
    }

    /// The index entry for the record at `at`; none for a tombstone.
    fn entry(&self, at: Location) -> Option<Entry> {
        let (value_type, expiry_ms, is_root) = match self.effect {
            Effect::Put {
                value_type,
                expiry_ms,
                root,
            } => (value_type.code(), expiry_ms, root.is_some()),
            Effect::Page { .. } => (VALUE_TYPE_PAGE, None, false),
            Effect::Remove { .. } => return None,
        };
        Some(Entry {
            location: place::field(at, is_root),
            length_class: class_of(self.draft.bytes()),
            value_type,
            database: self
                .database
                .map_or(PAGE_HANDLE, |database| database.handle),
            referenced: false,
            expiry_s: entry_seconds(expiry_ms),
        })
    }
}

/// Leaves out pages to whose collection no root of the batch leads: another write to the root's key
/// took its place, and nobody would ever sweep them.
pub(crate) fn keep_rooted(writes: &mut Vec<Prepared<'_>>) {
    if !writes.iter().any(Prepared::is_page) {
        return;
    }
    let roots = writes.iter().filter_map(Prepared::root);
    let roots: HashSet<_> = roots.map(|root| root.id).collect();
    writes.retain(|write| match write.effect {
        Effect::Page { key } => roots.contains(&key.collection),
        Effect::Put { .. } | Effect::Remove { .. } => true,
    });
}

/// The writes of a batch that are carried out.
type Chosen<'w, 'a> = SmallVec<[&'w Prepared<'a>; 4]>;

/// What a commit wrote over.
#[derive(Default)]
struct Appended {
    /// Keys that are gone.
    removed: u64,
    /// Records to which nothing leads any more.
    replaced: SmallVec<[Replaced; 1]>,
    /// Numbers of writes whose keys had expired before.
    overdue: SmallVec<[usize; 1]>,
}

/// Why a commit did not happen.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Somebody holds or wants the key's lock.
    Locked,
    /// The log has no open segment with room.
    NoRoom,
    /// The key's deadline lies in this very second, and whether it exists matters: its record, at
    /// this place, decides.
    Unsure { identity: Identity, at: Location },
    /// Devices or memory are full, and the policy makes room by eviction.
    Short(StoreError),
    /// It cannot be done.
    Failed(StoreError),
}

impl From<NoRoom> for Refused {
    fn from(_: NoRoom) -> Self {
        Self::NoRoom
    }
}

impl Worker {
    /// Tries to commit without waiting.
    pub(crate) fn try_commit(
        self: &Rc<Self>,
        writes: &[Prepared<'_>],
        terms: Terms<'_>,
    ) -> Result<Outcome, Refused> {
        self.admit(writes, terms.mark)?;
        let identities: SmallVec<[Identity; 4]> = writes.iter().map(|w| w.identity).collect();
        let mut locks = self.store().index().lock_many(&identities);
        self.check_stripes(writes, terms.held)?;
        let current = self.current(writes);
        let now = self.store().moment();
        check_deadlines(&current, terms, &locks, &now)?;
        if !condition_holds(&current, terms.condition, &locks, &now) {
            return Ok(Outcome::default());
        }
        let chosen: Chosen<'_, '_> = current
            .into_iter()
            .filter(|write| write.has_effect(&locks))
            .collect();
        if chosen.is_empty() {
            return Ok(Outcome {
                applied: true,
                ..Outcome::default()
            });
        }
        let is_new =
            |write: &&&Prepared<'_>| !write.removes() && locks.find(write.identity).is_none();
        let new: SmallVec<[Identity; 4]> = chosen
            .iter()
            .filter(is_new)
            .map(|write| write.identity)
            .collect();
        locks
            .ensure_room(&new)
            .map_err(|_| self.shortage(StoreError::OutOfMemory))?;
        let Appended {
            removed,
            replaced,
            overdue,
        } = self.append(&chosen, &mut locks, &now)?;
        drop(locks);
        self.feed_cache(&chosen, &replaced);
        for number in overdue {
            let write = chosen[number];
            if let Some(database) = write.database {
                let key = write.draft.key();
                self.store()
                    .tell_departed(Departure::Expired, database, key);
            }
        }
        self.submit_full_units();
        Ok(Outcome {
            applied: true,
            removed,
            written: chosen.len() as u64,
        })
    }

    /// Refuses what must not be tried: writes after a failure, growth of a full device, batches
    /// beyond their bound.
    fn admit(&self, writes: &[Prepared<'_>], mark: Mark) -> Result<(), Refused> {
        let all: u64 = writes
            .iter()
            .map(|write| u64::from(write.draft.bytes()))
            .sum();
        let bytes_max = self.store().batch_bytes_max();
        if all > bytes_max {
            let error = StoreError::BatchTooLong {
                bytes: all,
                bytes_max,
            };
            return Err(Refused::Failed(error));
        }
        let grows = writes.iter().filter(|write| !write.removes());
        let taken = |write: &Prepared<'_>| u64::from(live_bytes(class_of(write.draft.bytes())));
        let bytes = grows.map(taken).sum();
        let admitted = self.store().admit(bytes, mark);
        admitted.map_err(|error| match error {
            StoreError::OutOfSpace => self.shortage(error),
            error => Refused::Failed(error),
        })
    }

    /// What a want of room means under the policy in force.
    fn shortage(&self, error: StoreError) -> Refused {
        if self.store().evicts() {
            Refused::Short(error)
        } else {
            Refused::Failed(error)
        }
    }

    fn check_stripes(
        &self,
        writes: &[Prepared<'_>],
        held: Option<&StripeLocks>,
    ) -> Result<(), Refused> {
        let table = self.store().locks();
        let free = writes.iter().filter(|write| !write.is_page()).all(|write| {
            let stripe = LockTable::stripe_of(write.identity);
            held.is_some_and(|locks| locks.holds(stripe)) || !table.is_claimed(stripe)
        });
        if free { Ok(()) } else { Err(Refused::Locked) }
    }

    /// Leaves out writes to a database that was flushed since the caller resolved it: they are
    /// ordered before the flush. Pages go with the root that is written beside them.
    fn current<'w, 'a>(&self, writes: &'w [Prepared<'a>]) -> Chosen<'w, 'a> {
        let databases = self.store().databases();
        let is_current = |write: &Prepared<'_>| {
            write
                .database
                .is_none_or(|database| databases.is_current(database))
        };
        let all_current = writes.iter().all(is_current);
        let stays = |write: &&Prepared<'_>| all_current || (!write.is_page() && is_current(write));
        writes.iter().filter(stays).collect()
    }

    /// Reserves, copies and publishes.
    fn append(
        &self,
        chosen: &[&Prepared<'_>],
        locks: &mut BucketLocks<'_>,
        now: &Moment<'_>,
    ) -> Result<Appended, Refused> {
        let store = self.store();
        let following: u32 = chosen.iter().map(|write| write.draft.bytes()).sum();
        let record_count = u32::try_from(chosen.len()).expect("a batch is bounded");
        let batch = BatchHeader {
            following_bytes: u64::from(following),
            record_count,
        }
        .encode();
        let header = (record_count > 1).then(|| RecordDraft::new(Kind::Batch, &[], &batch));
        let header_bytes = header.map_or(0, |header| header.bytes());
        let bytes = header_bytes + following;
        let at = store.log().reserve(self.number(), record_count, bytes)?;
        let image = store.log().image(at.image);
        if let Some(header) = header {
            image.write_draft(&header, at.place.offset, at.lsn);
        }
        let kept: SmallVec<[Collection; 1]> = chosen.iter().filter_map(|w| w.root()).collect();
        let mut offset = at.place.offset + header_bytes;
        let mut appended = Appended::default();
        for ((slot, write), number) in (at.place.slot..).zip(chosen).zip(0..) {
            let entry = summary_entry(write, image.lsn_at(offset), offset);
            image.write_record(&write.draft, &entry, slot);
            let location = store.location(image.segment(), offset);
            let before = self.put_entry(write, location, &kept, locks);
            let was_there = before.is_some_and(|entry| deadline(&entry, now) != Deadline::Passed);
            appended.removed += u64::from(write.removes() && was_there);
            // the name of what is removed is not here: whoever removes what has expired tells it
            if before.is_some() && !was_there && !write.removes() {
                appended.overdue.push(number);
            }
            appended.replaced.extend(before.map(|before| Replaced {
                write: number,
                old: store.cache_key(place::of(&before)),
                new: store.cache_key(location),
                lsn: entry.lsn,
                seed: image.seed().at(offset),
            }));
            offset += write.draft.bytes();
        }
        let end = at.lsn.plus(u64::from(bytes));
        for write in chosen.iter().filter(|write| !write.is_page()) {
            store
                .locks()
                .note_published(LockTable::stripe_of(write.identity), end);
        }
        store.log().publish(self.number());
        store
            .counters()
            .records_written
            .add(u64::from(record_count));
        Ok(appended)
    }

    /// Puts or removes the index entry and moves the live bytes: the entry that was there.
    fn put_entry(
        &self,
        write: &Prepared<'_>,
        at: Location,
        kept: &[Collection],
        locks: &mut BucketLocks<'_>,
    ) -> Option<Entry> {
        let store = self.store();
        let segment = store.split(at).0;
        let before = if let Some(entry) = write.entry(at) {
            store.count_entry(segment, &entry);
            locks.put(write.identity, entry)
        } else {
            store
                .segments()
                .add_shadow(segment, shadow_bytes(write.draft.bytes()));
            locks.remove(write.identity)
        };
        if let Some(before) = before {
            store.forget_entry(&before);
        }
        let was_root = before.is_some_and(|entry| place::is_root(&entry));
        store
            .collections()
            .root_changed(write.identity, was_root, write.root(), kept);
        if let Some(change) = write.change() {
            store.watches().tell(write.identity, change);
        }
        before
    }
}

/// What the summary says of a record.
fn summary_entry(write: &Prepared<'_>, lsn: Lsn, offset: u32) -> SummaryEntry {
    SummaryEntry {
        identity: StoredIdentity::new(write.identity.to_bytes()),
        database: write
            .database
            .map_or(DatabaseId::default(), |database| database.id),
        lsn,
        offset,
        bytes: write.draft.bytes(),
        detail: write.detail(),
    }
}
