//! Operations that hold their keys' locks: they read, and what they write follows from it.

use bytes::Bytes;
use cellar_storage::{Encoding, KeyLocks, Peek, WriteBatch};

use crate::blind::{Existence, counter_bytes};
use crate::client::{Client, SHARED};
use crate::model::{Key, Shown, Violation, ensure};
use crate::scene::Failure;
use crate::value::{Held, Value, Version, put, whole};

/// Bytes of one range that is written, at most.
const RANGE_BYTES_MAX: u64 = 40_000;
/// Bytes between a value's end and a range beyond it, at most.
const GAP_BYTES_MAX: u64 = 20_000;
/// Values do not grow beyond this many bytes.
const VALUE_BYTES_MAX: usize = 110_000;

impl Client {
    /// Takes the locks of keys. From then on none of them is evicted; whether one was before is
    /// looked for now.
    pub(crate) async fn lock(&self, keys: &[&Key]) -> Result<KeyLocks, Violation> {
        let names: Vec<_> = keys.iter().map(|(db, key)| (*db, &key[..])).collect();
        let locks = self.handle.lock(&names).await;
        self.find_losses_of(keys)?;
        Ok(locks)
    }

    /// Looks whether keys were evicted before this moment. What has expired is gone either way.
    pub(crate) fn find_losses_of(&self, keys: &[&Key]) -> Result<(), Violation> {
        let (now, now_ms) = (self.scene.model.borrow().last(), self.scene.now_ms());
        for key in keys {
            let held = self.held(self.shown(), key);
            let has_to_be = held.is_some_and(|version| version.is_visible(now_ms));
            if has_to_be && self.handle.try_peek(key.0, &key.1) == Peek::Absent {
                self.was_evicted(key, now)?;
            }
        }
        Ok(())
    }

    /// Reads a key under its lock, and checks it: the version, if it exists.
    async fn read_locked(
        &self,
        locks: &KeyLocks,
        shown: Shown,
        key: &Key,
    ) -> Result<Held, Failure> {
        let start_ms = self.scene.now_ms();
        let found = match self.handle.get_locked(locks, key.0, &key.1).await? {
            Some(snapshot) => Some(whole(&snapshot).await?),
            None => None,
        };
        let held = self.held(shown, key);
        let is_right = match self.locked_existence(shown, key, start_ms) {
            Existence::Present => found == held,
            Existence::Absent => found.is_none(),
            Existence::Doubtful | Existence::Unsure => true,
        };
        ensure(is_right, || {
            format!("{key:?} shows {found:?} under its lock, held: {held:?}")
        })?;
        Ok(found)
    }

    /// Overwrites a range of a value of its own, or appends to it.
    pub(crate) async fn write_range(&mut self) -> Result<(), Failure> {
        let key = self.own_key();
        let shown = self.shown();
        let locks = self.lock(&[&key]).await?;
        let start_ms = self.scene.now_ms();
        let before = self.held(shown, &key);
        let before = before.filter(|version| version.is_visible(start_ms));
        let old = match before.as_ref().map(|version| version.value.text()) {
            Some(None) => return Ok(()),
            Some(Some(text)) => &text[..],
            None => &[],
        };
        let offset = match self.random.below(3) {
            0 => old.len() as u64,
            1 => old.len() as u64 + self.random.below(GAP_BYTES_MAX),
            _ => self.random.below(old.len() as u64 + 1),
        };
        let len = 1 + self.scene.plan.sizes.draw(&mut self.random) as u64;
        let data = self.scene.value(len.min(RANGE_BYTES_MAX) as usize);
        let end = offset as usize + data.len();
        let mut value = old.to_vec();
        value.resize(value.len().max(end), 0);
        value[offset as usize..end].copy_from_slice(&data);
        if value.len() > VALUE_BYTES_MAX {
            return Ok(());
        }
        let (db, name) = (key.0, &key.1);
        let length = self
            .handle
            .write_range(&locks, db, name, offset, &data)
            .await?;
        // Where the deadline came meanwhile, an entry without one tells that the write found
        // nothing.
        let found_nothing = self.locked_existence(shown, &key, start_ms) == Existence::Unsure
            && matches!(self.handle.try_peek(db, name), Peek::Present(_));
        if found_nothing {
            value = vec![0; end];
            value[offset as usize..].copy_from_slice(&data);
        }
        ensure(length == value.len() as u64, || {
            format!(
                "{key:?} has {length} bytes after a write, not {}",
                value.len()
            )
        })?;
        let expiry_ms = before
            .filter(|_| !found_nothing)
            .and_then(|version| version.expiry_ms);
        let version = Version {
            value: Value::Text(value.into()),
            expiry_ms,
        };
        self.committed(shown, vec![(key.0, key.1, Some(version))])
            .await
    }

    /// Gives a key of its own a deadline, or takes it away.
    pub(crate) async fn set_expiry(&mut self) -> Result<(), Failure> {
        let key = self.own_key();
        let shown = self.shown();
        let expiry_ms = (self.random.below(3) > 0).then(|| self.some_deadline());
        let locks = self.lock(&[&key]).await?;
        let start_ms = self.scene.now_ms();
        let (db, name) = (key.0, &key.1);
        let exists = self.handle.set_expiry(&locks, db, name, expiry_ms).await?;
        self.check_existence(shown, &key, start_ms, exists)?;
        let Some(before) = self.held(shown, &key).filter(|_| exists) else {
            return Ok(());
        };
        let version = Version {
            expiry_ms,
            ..before
        };
        self.committed(shown, vec![(key.0, key.1, Some(version))])
            .await
    }

    pub(crate) fn check_existence(
        &self,
        shown: Shown,
        key: &Key,
        start_ms: u64,
        exists: bool,
    ) -> Result<(), Failure> {
        let existence = self.locked_existence(shown, key, start_ms);
        Ok(ensure(existence.allows(exists), || {
            format!("{key:?} is {existence:?}, exists: {exists}")
        })?)
    }

    /// Two keys, the second seldom a shared one.
    fn two_keys(&mut self) -> (Key, Key) {
        let from = self.own_key();
        let is_own = self.random.below(8) > 0;
        let to = if is_own {
            self.own_key()
        } else {
            self.contended_key()
        };
        (from, to)
    }

    /// Moves a value of its own to another key.
    pub(crate) async fn rename(&mut self) -> Result<(), Failure> {
        let (from, to) = self.two_keys();
        let shown = self.shown();
        let locks = self.lock(&[&from, &to]).await?;
        let start_ms = self.scene.now_ms();
        let held = self.held(shown, &from);
        let names = ((from.0, &from.1[..]), (to.0, &to.1[..]));
        let exists = self.handle.rename(&locks, names.0, names.1).await?;
        self.check_existence(shown, &from, start_ms, exists)?;
        // Though its database was flushed meanwhile: the other one may not have been.
        let Some(version) = held.filter(|_| exists && from != to) else {
            return Ok(());
        };
        let effects = vec![(to.0, to.1, Some(version)), (from.0, from.1, None)];
        self.committed(shown, effects).await
    }

    /// Copies a value of its own to another key.
    pub(crate) async fn copy(&mut self) -> Result<(), Failure> {
        let (from, to) = self.two_keys();
        let shown = self.shown();
        let locks = self.lock(&[&from, &to]).await?;
        let start_ms = self.scene.now_ms();
        let held = self.held(shown, &from);
        let names = ((from.0, &from.1[..]), (to.0, &to.1[..]));
        let exists = self.handle.copy(&locks, names.0, names.1).await?;
        self.check_existence(shown, &from, start_ms, exists)?;
        let Some(version) = held.filter(|_| exists) else {
            return Ok(());
        };
        self.committed(shown, vec![(to.0, to.1, Some(version))])
            .await
    }

    /// Reads a key under its lock, then removes it, or sets it if it is as it was.
    pub(crate) async fn conditional_under_lock(&mut self) -> Result<(), Failure> {
        let is_own = self.random.flip();
        let key = if is_own {
            self.own_key()
        } else {
            self.contended_key()
        };
        let (shown, version) = (self.shown(), self.version());
        let locks = self.lock(&[&key]).await?;
        let start_ms = self.scene.now_ms();
        let found = self.read_locked(&locks, shown, &key).await?;
        let mut batch = WriteBatch::new();
        let after = if found.is_some() && self.random.flip() {
            batch.remove(key.0, key.1.clone());
            None
        } else {
            put(&self.handle, &mut batch, &key, &version);
            if found.is_some() {
                batch.only_if_present();
            } else {
                batch.only_if_absent();
            }
            Some(version)
        };
        let outcome = self.handle.commit_locked(&locks, batch).await?;
        let existence = self.locked_existence(shown, &key, start_ms);
        ensure(outcome.applied || existence == Existence::Unsure, || {
            format!("{key:?} is {existence:?} under its lock, and a condition on that failed")
        })?;
        let is_done = after.is_some() || existence == Existence::Present;
        if outcome.applied && is_done {
            return self.committed(shown, vec![(key.0, key.1, after)]).await;
        }
        Ok(())
    }

    async fn count(&self, locks: &KeyLocks, shown: Shown, key: &Key) -> Result<u64, Failure> {
        let found = self.read_locked(locks, shown, key).await?;
        let bytes = found.map_or([0; 8], |version| {
            let text = version
                .value
                .text()
                .map(|text| <[u8; 8]>::try_from(&text[..]));
            text.expect("a counter is a string")
                .expect("a counter has eight bytes")
        });
        Ok(u64::from_le_bytes(bytes))
    }

    /// Adds one to a counter.
    pub(crate) async fn increment(&mut self) -> Result<(), Failure> {
        let key = self.counter_key();
        let shown = self.shown();
        let locks = self.lock(&[&key]).await?;
        let count = self.count(&locks, shown, &key).await? + 1;
        self.set_counters(&locks, shown, vec![(key.1, count)]).await
    }

    /// Takes from one counter what it gives to another.
    pub(crate) async fn transfer(&mut self) -> Result<(), Failure> {
        let (from, to) = (self.counter_key(), self.counter_key());
        if from == to {
            return Ok(());
        }
        let shown = self.shown();
        let locks = self.lock(&[&from, &to]).await?;
        let counts = (
            self.count(&locks, shown, &from).await?,
            self.count(&locks, shown, &to).await?,
        );
        let amount = self.random.below(counts.0 + 1);
        let counts = vec![(from.1, counts.0 - amount), (to.1, counts.1 + amount)];
        self.set_counters(&locks, shown, counts).await
    }

    async fn set_counters(
        &mut self,
        locks: &KeyLocks,
        shown: Shown,
        counts: Vec<(Bytes, u64)>,
    ) -> Result<(), Failure> {
        let mut batch = WriteBatch::new();
        for (key, count) in &counts {
            let value = counter_bytes(*count);
            batch.set(SHARED, key.clone(), value, Encoding::Int, None);
        }
        self.handle.commit_locked(locks, batch).await?;
        let version = |count| Version {
            value: Value::Text(counter_bytes(count)),
            expiry_ms: None,
        };
        let effects = counts
            .into_iter()
            .map(|(key, count)| (SHARED, key, Some(version(count))));
        self.committed(shown, effects.collect()).await
    }
}
