//! Hashes: which encoding one is said to have, and how one is read and changed.
//!
//! Owns Redis's rules for `listpack` and `hashtable`. They say nothing about where the fields are.

use bytes::Bytes;
use cellar_storage::{Encoding, Snapshot, ValueType, WriteBatch};

use super::commit::{self, Target};
use super::elements::{Elements, Shape};
use crate::command::{CommandError, Cx};
use crate::config::Threshold;

/// What decides a hash's encoding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HashRules {
    entries_max: u64,
    value_bytes_max: u64,
    /// Keys the hash of a table that has to be made.
    pub(super) seed: u64,
}

impl HashRules {
    /// The present ones.
    pub(crate) fn of(cx: &Cx) -> Self {
        let threshold = |which| cx.shared.config.fast.threshold(which).max(0).unsigned_abs();
        Self {
            entries_max: threshold(Threshold::HashEntries),
            value_bytes_max: threshold(Threshold::HashValue),
            seed: cx.store.random_u64(),
        }
    }

    /// Redis's bounds and this seed.
    #[cfg(test)]
    pub(super) fn of_seed(seed: u64) -> Self {
        Self {
            entries_max: 128,
            value_bytes_max: 64,
            seed,
        }
    }
}

/// A hash during one command.
pub(crate) struct Hash {
    /// Its fields and values.
    pub(crate) elements: Elements,
    encoding: Encoding,
    expiry_ms: Option<u64>,
}

impl Hash {
    /// What a key holds; without a value, a hash without fields.
    pub(crate) fn load(found: Option<Snapshot>) -> Result<Self, CommandError> {
        let Some(found) = found else {
            return Ok(Self {
                elements: Elements::empty(Shape::Pairs),
                encoding: Encoding::Listpack,
                expiry_ms: None,
            });
        };
        if found.value_type() != ValueType::Hash {
            return Err(CommandError::WrongType);
        }
        let (encoding, expiry_ms) = (found.encoding(), found.expiry_ms());
        Ok(Self {
            elements: Elements::load(Shape::Pairs, found)?,
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
        }
    }

    /// The same hash, with this deadline of its key.
    pub(crate) fn expiring(self, expiry_ms: Option<u64>) -> Self {
        Self { expiry_ms, ..self }
    }

    /// Adds to `batch` what makes it the value of `key`.
    pub(crate) async fn put(
        self,
        cx: &Cx,
        batch: &mut WriteBatch,
        key: &Bytes,
    ) -> Result<(), CommandError> {
        let target = Target {
            db: cx.db(),
            key,
            value_type: ValueType::Hash,
            encoding: self.encoding,
            expiry_ms: self.expiry_ms,
        };
        commit::put(&cx.store, batch, target, self.elements.into_parts()).await?;
        Ok(())
    }
}
