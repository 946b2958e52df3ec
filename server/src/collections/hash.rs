//! Hashes: which encoding one is said to have, and how one is read and changed.
//!
//! Owns Redis's rules for `listpack` and `hashtable`. They say nothing about where the fields are.

use bytes::Bytes;
use cellar_storage::{Db, Encoding, Handle, Snapshot, ValueType, WriteBatch};

use super::commit::{self, Target};
use super::elements::{Elements, Shape};
use super::timing::NEVER_MS;
use crate::command::{CommandError, Cx};
use crate::config::Threshold;

/// What decides a hash's encoding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HashRules {
    entries_max: u64,
    value_bytes_max: u64,
    /// Keys the hash of a table that has to be made.
    pub(super) seed: u64,
    /// When the command began.
    pub(crate) now_ms: u64,
}

impl HashRules {
    /// The present ones.
    pub(crate) fn of(cx: &Cx) -> Self {
        let threshold = |which| cx.shared.config.fast.threshold(which).max(0).unsigned_abs();
        Self {
            entries_max: threshold(Threshold::HashEntries),
            value_bytes_max: threshold(Threshold::HashValue),
            seed: cx.store.random_u64(),
            now_ms: cx.store.clock().unix_ms(),
        }
    }

    /// Redis's bounds and this seed.
    #[cfg(test)]
    pub(super) fn of_seed(seed: u64) -> Self {
        Self {
            entries_max: 128,
            value_bytes_max: 64,
            seed,
            now_ms: 0,
        }
    }
}

/// A hash during one command.
pub(crate) struct Hash {
    /// Its fields and values.
    pub(crate) elements: Elements,
    encoding: Encoding,
    expiry_ms: Option<u64>,
    /// The earliest deadline of its fields as it was stored.
    loaded_earliest_ms: u64,
}

impl Hash {
    /// What a key holds; without a value, a hash without fields.
    pub(crate) fn load(cx: &Cx, found: Option<Snapshot>) -> Result<Self, CommandError> {
        Self::load_at(found, || cx.store.clock().unix_ms())
    }

    /// What a key holds, its fields judged at a moment, which is asked for if there is need to.
    pub(crate) fn load_at(
        found: Option<Snapshot>,
        now_ms: impl FnOnce() -> u64,
    ) -> Result<Self, CommandError> {
        let Some(found) = found else {
            return Ok(Self {
                elements: Elements::empty(Shape::Pairs),
                encoding: Encoding::Listpack,
                expiry_ms: None,
                loaded_earliest_ms: NEVER_MS,
            });
        };
        let (encoding, expiry_ms) = (found.encoding(), found.expiry_ms());
        let elements = match found.value_type() {
            ValueType::Hash => Elements::load(Shape::Pairs, found)?,
            ValueType::TimedHash => Elements::load_timed(found, now_ms())?,
            ValueType::String
            | ValueType::List
            | ValueType::Set
            | ValueType::SortedSet
            | ValueType::Stream => return Err(CommandError::WrongType),
        };
        let timing = elements.timing();
        Ok(Self {
            loaded_earliest_ms: timing.map_or(NEVER_MS, |timing| timing.earliest_ms),
            elements,
            encoding,
            expiry_ms,
        })
    }

    /// Sees what a command brings before it is set: Redis converts by that already.
    pub(crate) fn expect(&mut self, arguments: &[Bytes], rules: HashRules) {
        let is_long = |argument: &Bytes| argument.len() as u64 > rules.value_bytes_max;
        let pair_count = (arguments.len() / 2) as u64;
        if pair_count > rules.entries_max || arguments.iter().any(is_long) {
            self.encoding = Encoding::Hashtable;
        }
    }

    /// Sets a field. True: it is new.
    pub(crate) async fn set(
        &mut self,
        (field, value): (&[u8], &[u8]),
        rules: HashRules,
    ) -> Result<bool, CommandError> {
        let is_new = self.elements.insert((field, value), rules.seed).await?;
        let longest = field.len().max(value.len()) as u64;
        if longest > rules.value_bytes_max || self.elements.len() > rules.entries_max {
            self.encoding = Encoding::Hashtable;
        }
        Ok(is_new)
    }

    /// A hash of many fields, the longest of which, or of whose values, has so many bytes.
    pub(super) fn of(elements: Elements, longest: u64, rules: HashRules) -> Self {
        let is_long = longest > rules.value_bytes_max || elements.len() > rules.entries_max;
        let encoding = if is_long {
            Encoding::Hashtable
        } else {
            Encoding::Listpack
        };
        Self {
            elements,
            encoding,
            expiry_ms: None,
            loaded_earliest_ms: NEVER_MS,
        }
    }

    /// The same hash, with this deadline of its key.
    pub(crate) fn expiring(self, expiry_ms: Option<u64>) -> Self {
        Self { expiry_ms, ..self }
    }

    /// Sets a field and keeps its deadline. True: it is new.
    pub(crate) async fn update(
        &mut self,
        (field, value): (&[u8], &[u8]),
        rules: HashRules,
    ) -> Result<bool, CommandError> {
        let deadline_ms = self.elements.deadline(field).await?;
        let is_new = self.set((field, value), rules).await?;
        if let Some(deadline_ms) = deadline_ms.filter(|deadline_ms| *deadline_ms > 0) {
            self.set_deadline(field, deadline_ms, rules).await?;
        }
        Ok(is_new)
    }

    /// Gives a field that is there a deadline, in milliseconds since the Unix epoch, 0 for none.
    pub(crate) async fn set_deadline(
        &mut self,
        field: &[u8],
        deadline_ms: u64,
        rules: HashRules,
    ) -> Result<(), CommandError> {
        self.elements.begin_timing(rules.now_ms);
        if self.encoding == Encoding::Listpack {
            self.encoding = Encoding::Listpackex;
        }
        self.elements
            .set_deadline(field, deadline_ms, rules.seed)
            .await
    }

    /// Adds to `batch` what makes it the value of `key`.
    pub(crate) async fn put(
        self,
        cx: &Cx,
        batch: &mut WriteBatch,
        key: &Bytes,
    ) -> Result<(), CommandError> {
        self.put_into(&cx.store, batch, (cx.db(), key)).await
    }

    /// Whether a field got a deadline that is earlier than all that it had.
    pub(crate) fn is_sooner(&self) -> bool {
        self.earliest_ms() < self.loaded_earliest_ms
    }

    /// The earliest deadline of its fields, or an earlier moment; `u64::MAX` for none.
    pub(crate) fn earliest_ms(&self) -> u64 {
        let timing = self.elements.timing();
        timing.map_or(NEVER_MS, |timing| timing.earliest_ms)
    }

    /// Adds to `batch` what makes it the value of a key of any database.
    pub(crate) async fn put_into(
        self,
        store: &Handle,
        batch: &mut WriteBatch,
        (db, key): (Db, &Bytes),
    ) -> Result<(), CommandError> {
        let target = Target {
            db,
            key,
            value_type: if self.elements.timing().is_some() {
                ValueType::TimedHash
            } else {
                ValueType::Hash
            },
            encoding: self.encoding,
            expiry_ms: self.expiry_ms,
        };
        commit::put(store, batch, target, self.elements.into_parts()).await?;
        Ok(())
    }
}
