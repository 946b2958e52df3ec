//! Operations on many keys, and on databases.

use std::collections::VecDeque;

use bytes::Bytes;
use cellar_index::{Entry, Identity, VALUE_TYPE_PAGE};

use crate::database::{Db, DbRef};
use crate::error::StoreError;
use crate::expiry::{Deadline, deadline};
use crate::handle::Handle;
use crate::options::DATABASE_COUNT_MAX;
use crate::read::Source;
use crate::value::ValueType;

/// Buckets that one step of SCAN visits for each key asked for, as Redis does, so that a step over
/// an empty table ends.
const BUCKETS_PER_KEY_MAX: usize = 10;
/// Buckets visited before the executor gets a turn: about 50 us.
const BUCKETS_PER_TURN: usize = 256;
/// Key reads in flight for one SCAN.
const READS_IN_FLIGHT_MAX: usize = 32;
/// Random picks before RANDOMKEY walks the table instead.
const RANDOM_PICKS_MAX: usize = 64;

impl Handle {
    /// Keys in a database; expired ones count until they are removed.
    pub fn dbsize(&self, db: Db) -> u64 {
        self.store().index().count(self.database(db).handle)
    }

    /// Keys with a deadline in a database.
    pub fn expires(&self, db: Db) -> u64 {
        self.store()
            .index()
            .count_expiring(self.database(db).handle)
    }

    fn database(&self, db: Db) -> DbRef {
        self.store().databases().resolve(db)
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
                && only.is_none_or(|only| entry.value_type == only.code())
                && deadline(entry, &now) != Deadline::Passed
        };
        let mut next = cursor;
        let mut found = Vec::new();
        let mut seen = 0;
        for bucket in 1..=count.saturating_mul(BUCKETS_PER_KEY_MAX).max(1) {
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
        Ok((next, self.keys_of(database, &found).await?))
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
        let located = self.0.locate(identity)?;
        is_key_of(&located.entry, database).then(|| self.0.source(located))
    }

    /// A random key of a database.
    pub async fn random_key(&self, db: Db) -> Result<Option<Bytes>, StoreError> {
        let database = self.database(db);
        for _ in 0..RANDOM_PICKS_MAX {
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
        let change = self.store().change_map().await;
        let plan = || {
            let filled: Vec<_> = dbs
                .iter()
                .copied()
                .filter(|db| self.dbsize(*db) > 0)
                .collect();
            if filled.is_empty() {
                return Ok(None);
            }
            self.store().databases().plan_flush(&filled).map(Some)
        };
        self.0.commit_map(plan, &change).await
    }

    /// Exchanges two databases.
    pub async fn swap_db(&self, a: Db, b: Db) -> Result<(), StoreError> {
        let change = self.store().change_map().await;
        let plan = || Ok(Some(self.store().databases().plan_swap(a, b)));
        self.0.commit_map(plan, &change).await
    }
}

fn is_key_of(entry: &Entry, database: DbRef) -> bool {
    entry.value_type != VALUE_TYPE_PAGE && entry.database == database.handle
}
