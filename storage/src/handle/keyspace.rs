//! Operations on many keys, and on databases.

use std::collections::VecDeque;

use bytes::Bytes;
use cellar_index::{Entry, Identity, VALUE_TYPE_PAGE};

use crate::database::{Db, DbRef};
use crate::error::StoreError;
use crate::expiry::{Deadline, deadline};
use crate::handle::Handle;
use crate::options::DATABASE_COUNT_MAX;
use crate::overlay::Overlay;
use crate::read::{Found, Source, StoredRecord};
use crate::value::ValueType;

/// Buckets that one step of SCAN visits for each key asked for, as Redis does, so that a step over
/// an empty table ends.
const BUCKETS_PER_KEY_MAX: usize = 10;
/// Buckets that one step visits at least before it gives up on finding as many keys as asked for:
/// about 0.3 ms. A database of a few keys, which lie far apart, is done in a step or two.
const BUCKETS_PER_STEP_MIN: usize = 2048;
/// Buckets visited before the executor gets a turn: about 50 us.
const BUCKETS_PER_TURN: usize = 256;
/// Key reads in flight for one SCAN.
const READS_IN_FLIGHT_MAX: usize = 32;
/// Random picks before RANDOMKEY walks the table instead.
const RANDOM_PICKS_MAX: usize = 64;

impl Handle {
    /// Keys in a database; expired ones count until they are removed.
    pub fn dbsize(&self, db: Db) -> u64 {
        let database = self.database(db);
        let stored = self.store().index().count(database.handle);
        match &self.overlay {
            Some(overlay) => stored.saturating_add_signed(self.pending_keys(overlay, database)),
            None => stored,
        }
    }

    /// How many keys more a database has for the transaction.
    fn pending_keys(&self, overlay: &Overlay, database: DbRef) -> i64 {
        let mut more = 0;
        overlay.each_key(database, |identity, record| {
            let is_stored = self.store().index().lookup(identity).is_some();
            more += i64::from(record.is_some()) - i64::from(is_stored);
        });
        more
    }

    /// Keys with a deadline in a database.
    pub fn expires(&self, db: Db) -> u64 {
        self.store()
            .index()
            .count_expiring(self.database(db).handle)
    }

    /// One step of SCAN from `cursor`, over about `count` keys: the next cursor, 0 at the end, and
    /// the keys. A key that is there from the first step to the last is returned at least once.
    pub async fn scan(
        &self,
        db: Db,
        cursor: u64,
        count: usize,
        only: Option<ValueType>,
    ) -> Result<(u64, Vec<Bytes>), StoreError> {
        let database = self.database(db);
        let now = self.store().moment();
        let wanted = |entry: &Entry| {
            is_key_of(entry, database)
                && only.is_none_or(|only| only.shows(entry.value_type))
                && deadline(entry, &now) != Deadline::Passed
        };
        let mut next = cursor;
        let mut found = Vec::new();
        let mut seen = 0;
        for bucket in 1..=count
            .saturating_mul(BUCKETS_PER_KEY_MAX)
            .max(BUCKETS_PER_STEP_MIN)
        {
            next = self.store().index().scan(next, &mut |identity, entry| {
                seen += usize::from(is_key_of(&entry, database));
                if wanted(&entry) {
                    found.push(identity);
                }
            });
            if next == 0 || seen >= count {
                break;
            }
            if bucket.is_multiple_of(BUCKETS_PER_TURN) {
                tokio::task::yield_now().await;
            }
        }
        let mut keys = self.keys_of(database, &found).await?;
        if next == 0
            && let Some(overlay) = &self.overlay
        {
            keys.extend(self.new_keys(overlay, database, only));
        }
        Ok((next, keys))
    }

    /// The keys that only the transaction knows.
    fn new_keys(&self, overlay: &Overlay, database: DbRef, only: Option<ValueType>) -> Vec<Bytes> {
        let mut keys = Vec::new();
        overlay.each_key(database, |identity, record| {
            let is_stored = self.store().index().lookup(identity).is_some();
            let is_wanted = |record: &&StoredRecord| {
                only.is_none_or(|only| only.shows(record.value_type().code()))
            };
            if let Some(record) = record.filter(is_wanted).filter(|_| !is_stored) {
                keys.push(Bytes::copy_from_slice(record.key()));
            }
        });
        keys
    }

    /// Fetches the keys of entries; those that are gone or expired by now are left out.
    async fn keys_of(&self, database: DbRef, found: &[Identity]) -> Result<Vec<Bytes>, StoreError> {
        let mut keys = Vec::with_capacity(found.len());
        let mut waiting = VecDeque::with_capacity(READS_IN_FLIGHT_MAX);
        let mut identities = found.iter();
        loop {
            while waiting.len() < READS_IN_FLIGHT_MAX
                && let Some(identity) = identities.next()
            {
                waiting.extend(self.key_source(database, *identity));
            }
            let Some(source) = waiting.pop_front() else {
                break;
            };
            // A record that cannot be read was logged and counted; the keys behind it go on.
            let Ok(record) = source.record().await else {
                continue;
            };
            if !record.is_expired(&self.store().moment()) {
                keys.push(Bytes::copy_from_slice(record.key()));
            }
        }
        Ok(keys)
    }

    fn key_source(&self, database: DbRef, identity: Identity) -> Option<Source> {
        let found = self.view().find(identity)?;
        let is_key = match &found {
            Found::Own(_) => true,
            Found::Stored(located) => is_key_of(&located.entry, database),
        };
        is_key.then(|| self.view().source(found))
    }

    /// A random key of a database.
    pub async fn random_key(&self, db: Db) -> Result<Option<Bytes>, StoreError> {
        let database = self.database(db);
        // A transaction's own keys are in no index: the walk meets them.
        let pick_count = if self.overlay.is_some() {
            0
        } else {
            RANDOM_PICKS_MAX
        };
        for _ in 0..pick_count {
            if self.dbsize(db) == 0 {
                return Ok(None);
            }
            let mut wanted = |entry: &Entry| is_key_of(entry, database);
            let pick = self.store().index().random(self.random_u64(), &mut wanted);
            let Some((identity, _)) = pick else { break };
            let keys = self.keys_of(database, &[identity]).await?;
            if let Some(key) = keys.into_iter().next() {
                return Ok(Some(key));
            }
        }
        self.first_key(db).await
    }

    /// Walks the table until it meets a key: for databases that are few among many entries.
    async fn first_key(&self, db: Db) -> Result<Option<Bytes>, StoreError> {
        let mut cursor = 0;
        loop {
            let (next, keys) = self.scan(db, cursor, 16, None).await?;
            if let Some(key) = keys.into_iter().next() {
                return Ok(Some(key));
            }
            if next == 0 {
                return Ok(None);
            }
            cursor = next;
        }
    }

    /// Empties a database: one record in the log, whatever it holds.
    pub async fn flush_db(&self, db: Db) -> Result<(), StoreError> {
        self.flush(&[db]).await
    }

    /// Empties all databases.
    pub async fn flush_all(&self) -> Result<(), StoreError> {
        let count = u8::try_from(DATABASE_COUNT_MAX).expect("sixteen");
        let all: Vec<_> = (0..count).map(Db).collect();
        self.flush(&all).await
    }

    async fn flush(&self, dbs: &[Db]) -> Result<(), StoreError> {
        self.publish_pending().await?;
        let change = self.store().change_map().await;
        // Nothing is pending, and another flush may have come before.
        let resolve = |db| self.store().databases().resolve(db);
        let plan = || {
            let filled: Vec<_> = dbs
                .iter()
                .copied()
                .filter(|db| self.store().index().count(resolve(*db).handle) > 0)
                .collect();
            if filled.is_empty() {
                return Ok(None);
            }
            self.store().databases().plan_flush(&filled).map(Some)
        };
        self.worker.commit_map(plan, &change).await?;
        self.resolve_again();
        Ok(())
    }

    /// What a transaction wrote so far comes before its change of databases.
    async fn publish_pending(&self) -> Result<(), StoreError> {
        match &self.overlay {
            Some(overlay) => overlay.publish(&self.worker).await.map(|_| ()),
            None => Ok(()),
        }
    }

    fn resolve_again(&self) {
        if let Some(overlay) = &self.overlay {
            overlay.resolve_again(self.store());
        }
    }

    /// Exchanges two databases.
    pub async fn swap_db(&self, a: Db, b: Db) -> Result<(), StoreError> {
        self.publish_pending().await?;
        let change = self.store().change_map().await;
        let plan = || Ok(Some(self.store().databases().plan_swap(a, b)));
        self.worker.commit_map(plan, &change).await?;
        self.resolve_again();
        Ok(())
    }
}

fn is_key_of(entry: &Entry, database: DbRef) -> bool {
    entry.value_type != VALUE_TYPE_PAGE && entry.database == database.handle
}
