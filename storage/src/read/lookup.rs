//! Looking a key up: the linearization point of every read.

use std::rc::Rc;

use cellar_index::{Entry, Identity};

use crate::database::{Db, DbRef};
use crate::error::StoreError;
use crate::expiry::{Deadline, Moment, deadline};
use crate::place;
use crate::read::{Fetch, Read, Source, StoredRecord};
use crate::segment::Pin;
use crate::value::{Lookup, Peek, Snapshot, ValueType};
use crate::worker::Worker;

/// An entry whose segment is pinned.
pub(crate) struct Located {
    pub(crate) entry: Entry,
    pub(crate) pin: Pin,
}

impl Worker {
    /// Finds an entry and pins its segment in the same critical section.
    pub(crate) fn locate(&self, identity: Identity) -> Option<Located> {
        let store = self.store();
        let segment_of = |entry: &Entry| store.split(place::of(entry)).0;
        let entry = store.index().lookup_pinned(
            identity,
            |entry| store.pins().pin(self.number(), segment_of(entry)),
            |entry| store.pins().unpin(self.number(), segment_of(entry)),
        )?;
        let pin = Pin::adopt(store.pins(), self.number(), segment_of(&entry));
        Some(Located { entry, pin })
    }

    pub(crate) fn identify(&self, database: DbRef, key: &[u8]) -> Identity {
        self.store().hasher().key(database.id.get(), key)
    }

    /// The public lookup: see [`Lookup`].
    pub(crate) fn lookup(self: &Rc<Self>, database: DbRef, key: &[u8]) -> Lookup {
        let identity = self.identify(database, key);
        let located = self.locate(identity);
        self.note_use(identity, located.as_ref().map(|located| &located.entry));
        let Some(located) = located else {
            return Lookup::Absent;
        };
        self.lookup_located(located, (identity, database, key))
    }

    fn read_located(self: &Rc<Self>, located: Located, key: &[u8], now: &Moment<'_>) -> Lookup {
        if place::is_root(&located.entry) {
            return Lookup::Locked;
        }
        match self.source(located) {
            Source::Memory(record) => answer(record, key, now),
            Source::Device(fetch) => Lookup::Pending(Read::new(fetch, key)),
        }
    }

    /// Looks several keys up at one moment: no batch is seen half.
    pub(crate) fn lookup_many(self: &Rc<Self>, db: Db, keys: &[&[u8]]) -> Vec<Lookup> {
        let database = self.store().databases().resolve(db);
        let identities: Vec<_> = keys
            .iter()
            .map(|key| self.identify(database, key))
            .collect();
        let located = self.locate_many(&identities);
        for (identity, located) in identities.iter().zip(&located) {
            self.note_use(*identity, located.as_ref().map(|located| &located.entry));
        }
        let found = located.into_iter().zip(identities.iter().zip(keys));
        let look = |(located, (identity, key)): (Option<Located>, (&Identity, &&[u8]))| {
            located.map_or(Lookup::Absent, |located| {
                self.lookup_located(located, (*identity, database, key))
            })
        };
        found.map(look).collect()
    }

    /// Finds and pins entries under all their buckets' locks.
    fn locate_many(&self, identities: &[Identity]) -> Vec<Option<Located>> {
        let store = self.store();
        let locks = store.index().lock_many(identities);
        let locate = |identity: &Identity| {
            let entry = locks.find(*identity)?;
            let segment = store.split(place::of(&entry)).0;
            store.pins().pin(self.number(), segment);
            let pin = Pin::adopt(store.pins(), self.number(), segment);
            Some(Located { entry, pin })
        };
        identities.iter().map(locate).collect()
    }

    /// Reads what was found; removes it where its deadline has passed.
    fn lookup_located(
        self: &Rc<Self>,
        located: Located,
        (identity, database, key): (Identity, DbRef, &[u8]),
    ) -> Lookup {
        let now = self.store().moment();
        let (at, said) = (place::of(&located.entry), deadline(&located.entry, &now));
        if said == Deadline::Passed {
            drop(located);
            self.remove_expired(identity, database, at);
            return Lookup::Absent;
        }
        let lookup = self.read_located(located, key, &now);
        if said == Deadline::Now && matches!(lookup, Lookup::Absent) {
            // The record was in memory, and its milliseconds have passed.
            self.remove_expired(identity, database, at);
        }
        lookup
    }

    /// What the index alone says of a key.
    pub(crate) fn try_peek(self: &Rc<Self>, db: Db, key: &[u8]) -> Peek {
        let database = self.store().databases().resolve(db);
        let identity = self.identify(database, key);
        let Some(entry) = self.store().index().lookup(identity) else {
            return Peek::Absent;
        };
        match deadline(&entry, &self.store().moment()) {
            Deadline::Ahead => {
                ValueType::decode(entry.value_type).map_or(Peek::Absent, Peek::Present)
            }
            Deadline::Now => Peek::Unsure,
            Deadline::Passed => {
                self.remove_expired(identity, database, place::of(&entry));
                Peek::Absent
            }
        }
    }

    /// Reads the record that an identity leads to, expired or not.
    pub(crate) async fn read_record(
        self: &Rc<Self>,
        identity: Identity,
    ) -> Result<Option<(Entry, StoredRecord)>, StoreError> {
        let Some(located) = self.locate(identity) else {
            return Ok(None);
        };
        let entry = located.entry;
        let record = self.source(located).record().await?;
        Ok(Some((entry, record)))
    }

    /// Where the bytes of a located record come from; a device read is submitted.
    pub(crate) fn source(self: &Rc<Self>, located: Located) -> Source {
        let store = self.store();
        let counters = store.counters();
        let at = place::of(&located.entry);
        let key = store.cache_key(at);
        if let Some(record) = store.cache().get(key) {
            counters.cache_hits.add(1);
            return Source::Memory(record);
        }
        if let Some(record) = store.read_buffered(at, located.entry.length_class) {
            counters.write_buffer_hits.add(1);
            // It may be read again, and the buffer is soon used for something else.
            store.cache().insert(key, &record);
            return Source::Memory(record);
        }
        counters.cache_misses.add(1);
        Source::Device(Fetch::start(self, located))
    }
}

fn answer(record: StoredRecord, key: &[u8], now: &Moment<'_>) -> Lookup {
    if record.key() != key || record.is_expired(now) {
        return Lookup::Absent;
    }
    Lookup::Ready(Snapshot::inline_of(record))
}
