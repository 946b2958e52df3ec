//! What a transaction has written and nobody else sees yet.
//!
//! ```text
//!   commands of one transaction --> pending records, by identity --> one batch
//!        reads look here first          locks of all their keys
//! ```
//!
//! Owns the pending records and the locks. Must never wait for a lock: a transaction that wants
//! one more key while it holds others could wait for somebody who waits for it. It notes the key
//! instead, and its caller runs everything again with the locks of all of them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use cellar_index::Identity;
use smallvec::SmallVec;

use crate::database::{Db, DbRef};
use crate::error::StoreError;
use crate::expiry::{Deadline, deadline};
use crate::format::{Kind, RecordDraft, RecordSeed};
use crate::lock::{LockTable, Mode, StripeLocks};
use crate::options::DATABASE_COUNT_MAX;
use crate::paged::NewCollection;
use crate::read::{CompactRecord, StoredRecord};
use crate::store::Store;
use crate::units::Lsn;
use crate::worker::Worker;
use crate::write::{Condition, Effect, Mark, Outcome, Prepared, Terms, keep_rooted};

/// Keys that a transaction wanted and could not have at once.
#[derive(Clone, Debug, Default)]
pub struct Conflict {
    pub(crate) wanted: SmallVec<[Identity; 4]>,
}

/// A record that waits for its batch.
struct Pending {
    database: Option<DbRef>,
    effect: Effect,
    /// The record; of a removal, its tombstone.
    record: StoredRecord,
}

impl Pending {
    fn of(write: &Prepared<'_>) -> Self {
        let mut bytes = vec![0; write.draft.bytes() as usize];
        // Its place in the log is not known yet, and its checksum is not looked at before.
        let seed = RecordSeed::NO_PLACE;
        write.draft.encode_into(&mut bytes, Lsn::default(), seed);
        Self {
            database: write.database,
            effect: write.effect,
            record: StoredRecord::of_compact(CompactRecord::copy_of(&bytes)),
        }
    }

    fn prepare(&self, identity: Identity) -> Prepared<'_> {
        let record = &self.record;
        let (key, value) = (record.key(), record.value());
        let draft = match self.effect {
            Effect::Put {
                expiry_ms, root, ..
            } => {
                let draft = RecordDraft::new(Kind::Put, key, value)
                    .typed(record.value_type(), record.encoding())
                    .expiry(expiry_ms);
                match root {
                    Some(_) => draft.paged(),
                    None => draft,
                }
            }
            Effect::Page { .. } => RecordDraft::new(Kind::Page, key, value),
            Effect::Remove { .. } => RecordDraft::new(Kind::Tombstone, key, value),
        };
        let draft = match self.database {
            Some(database) => draft.database(database.id),
            None => draft,
        };
        Prepared {
            identity,
            database: self.database,
            draft,
            effect: self.effect,
        }
    }
}

/// What a transaction has done so far, by one worker.
pub(crate) struct Overlay {
    databases: Cell<[DbRef; DATABASE_COUNT_MAX]>,
    pending: RefCell<BTreeMap<Identity, Pending>>,
    /// Bytes of the pending records: what the batch will take.
    bytes: Cell<u64>,
    mark: Cell<Mark>,
    locks: RefCell<Option<StripeLocks>>,
    conflict: RefCell<Option<Conflict>>,
    /// What earlier runs lacked: the next one is to have it too.
    lacked: Conflict,
    /// Collections whose roots are pending: nobody may sweep them before.
    new: RefCell<Vec<NewCollection>>,
}

/// What a transaction's own writes say of an identity.
pub(crate) enum Own {
    /// Nothing.
    Silent,
    /// It is removed.
    Removed,
    /// It leads to this record.
    Record(StoredRecord),
}

impl Overlay {
    pub(crate) fn new(
        databases: [DbRef; DATABASE_COUNT_MAX],
        locks: StripeLocks,
        lacked: Conflict,
    ) -> Self {
        Self {
            databases: Cell::new(databases),
            pending: RefCell::default(),
            bytes: Cell::new(0),
            mark: Cell::new(Mark::Change),
            locks: RefCell::new(Some(locks)),
            conflict: RefCell::default(),
            lacked,
            new: RefCell::default(),
        }
    }

    pub(crate) fn databases(&self) -> [DbRef; DATABASE_COUNT_MAX] {
        self.databases.get()
    }

    pub(crate) fn database(&self, db: Db) -> DbRef {
        self.databases.get()[usize::from(db.0)]
    }

    pub(crate) fn conflict(&self) -> Option<Conflict> {
        self.conflict.borrow().clone()
    }

    /// What the transaction itself says of a key or page.
    pub(crate) fn own(&self, identity: Identity) -> Own {
        match self.pending.borrow().get(&identity) {
            None => Own::Silent,
            Some(pending) => match pending.effect {
                Effect::Remove { .. } => Own::Removed,
                Effect::Put { .. } | Effect::Page { .. } => Own::Record(pending.record.clone()),
            },
        }
    }

    /// Whether a key is locked for the transaction, and as it was.
    pub(crate) fn leaves_alone(&self, identity: Identity) -> bool {
        let stripe = LockTable::stripe_of(identity);
        let is_held = |locks: &StripeLocks| locks.holds(stripe);
        self.locks.borrow().as_ref().is_some_and(is_held)
            && !self.pending.borrow().contains_key(&identity)
    }

    /// Collections that are published with the transaction, or swept if it comes to nothing.
    pub(crate) fn keep(&self, new: Vec<NewCollection>) {
        self.new.borrow_mut().extend(new);
    }

    /// Makes sure that the transaction holds the locks of keys.
    pub(crate) fn cover(
        &self,
        store: &Store,
        identities: impl IntoIterator<Item = Identity>,
    ) -> Result<(), StoreError> {
        let mut held = self.locks.borrow_mut();
        let held = held.as_mut().ok_or(StoreError::Conflict)?;
        let missing = |identity: &Identity| !held.holds(LockTable::stripe_of(*identity));
        let missing: SmallVec<[Identity; 4]> = identities.into_iter().filter(missing).collect();
        if !missing.is_empty() {
            let taken = store
                .locks()
                .try_acquire(missing.iter().copied(), Mode::Exclusive);
            if let Some(taken) = taken {
                held.absorb(taken);
            } else {
                let mut conflict = self.conflict.borrow_mut();
                let conflict = conflict.get_or_insert_with(|| self.lacked.clone());
                conflict.wanted.extend(missing);
            }
        }
        if self.conflict.borrow().is_some() {
            return Err(StoreError::Conflict);
        }
        Ok(())
    }

    /// Collects writes instead of a commit.
    pub(crate) async fn add(
        &self,
        worker: &std::rc::Rc<Worker>,
        writes: &[Prepared<'_>],
        terms: Terms<'_>,
    ) -> Result<Outcome, StoreError> {
        let keys = writes.iter().filter(|write| !write.is_page());
        self.cover(worker.store(), keys.clone().map(|write| write.identity))?;
        let mut outcome = Outcome {
            applied: true,
            ..Outcome::default()
        };
        for write in keys {
            let exists = self.exists(worker, write.identity).await?;
            let is_put = matches!(write.effect, Effect::Put { .. });
            let is_refused = match terms.condition {
                Condition::None => false,
                Condition::Absent => is_put && exists,
                Condition::Present => is_put && !exists,
            };
            if is_refused {
                return Ok(Outcome::default());
            }
            outcome.removed += u64::from(write.removes() && exists);
        }
        if terms.mark == Mark::Growth && writes.iter().any(|write| !write.removes()) {
            self.mark.set(Mark::Growth);
        }
        outcome.written = writes.len() as u64;
        self.put(worker.store(), writes)?;
        Ok(outcome)
    }

    fn put(&self, store: &Store, writes: &[Prepared<'_>]) -> Result<(), StoreError> {
        let mut pending = self.pending.borrow_mut();
        let record_bytes = |pending: &Pending| pending.record.bytes().len() as u64;
        for write in writes {
            let new = Pending::of(write);
            let mut bytes = self.bytes.get() + record_bytes(&new);
            if let Some(old) = pending.insert(write.identity, new) {
                bytes -= record_bytes(&old);
            }
            self.bytes.set(bytes);
        }
        let (bytes, bytes_max) = (self.bytes.get(), store.batch_bytes_max());
        if bytes > bytes_max {
            return Err(StoreError::BatchTooLong { bytes, bytes_max });
        }
        Ok(())
    }

    /// Whether a key exists, for the transaction.
    async fn exists(
        &self,
        worker: &std::rc::Rc<Worker>,
        identity: Identity,
    ) -> Result<bool, StoreError> {
        let store = worker.store();
        match self.own(identity) {
            Own::Removed => return Ok(false),
            Own::Record(record) => return Ok(!record.is_expired(&store.moment())),
            Own::Silent => {}
        }
        let Some(entry) = store.index().lookup(identity) else {
            return Ok(false);
        };
        let said = deadline(&entry, &store.moment());
        Ok(match said {
            Deadline::Ahead => true,
            Deadline::Passed => false,
            Deadline::Now => {
                let record = worker.read_record(identity).await?;
                record.is_some_and(|(_, record)| !record.is_expired(&store.moment()))
            }
        })
    }

    /// Publishes what is pending, as one batch; the locks stay.
    pub(crate) async fn publish(
        &self,
        worker: &std::rc::Rc<Worker>,
    ) -> Result<Outcome, StoreError> {
        if self.databases.get() != worker.store().databases().resolve_all() {
            // What was read may be half of a database that is being swept.
            let lacked = self.lacked.clone();
            self.conflict.borrow_mut().get_or_insert(lacked);
        }
        if self.conflict.borrow().is_some() {
            return Err(StoreError::Conflict);
        }
        let pending = self.pending.take();
        let new = self.new.take();
        self.bytes.set(0);
        let locks = self.locks.take().ok_or(StoreError::Conflict)?;
        let mut writes: Vec<_> = pending
            .iter()
            .map(|(identity, pending)| pending.prepare(*identity))
            .collect();
        keep_rooted(&mut writes);
        let terms = Terms {
            held: Some(&locks),
            mark: self.mark.replace(Mark::Change),
            ..Terms::default()
        };
        let outcome = if writes.is_empty() {
            Ok(Outcome {
                applied: true,
                ..Outcome::default()
            })
        } else {
            worker.commit_prepared(&writes, terms).await
        };
        *self.locks.borrow_mut() = Some(locks);
        // Pages whose root was not published are swept from here on.
        drop(new);
        outcome
    }

    /// The databases are others after a flush or swap of the transaction's own.
    pub(crate) fn resolve_again(&self, store: &Store) {
        self.databases.set(store.databases().resolve_all());
    }

    /// Forgets what is pending and gives the locks back.
    pub(crate) fn end(&self) {
        self.pending.take();
        self.new.take();
        self.locks.take();
    }

    /// Calls `visit` with every key of a database that is pending: its identity, and its record
    /// unless it is removed.
    pub(crate) fn each_key(
        &self,
        database: DbRef,
        mut visit: impl FnMut(Identity, Option<&StoredRecord>),
    ) {
        for (identity, pending) in &*self.pending.borrow() {
            if pending.database == Some(database) {
                let record =
                    (!matches!(pending.effect, Effect::Remove { .. })).then_some(&pending.record);
                visit(*identity, record);
            }
        }
    }
}
