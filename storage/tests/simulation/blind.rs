//! Operations that write without reading first: sets, removals, batches, and those on databases.

use std::future::{Future, poll_fn};
use std::ops::Range;
use std::pin::pin;
use std::rc::Rc;

use bytes::Bytes;
use cellar_storage::{Attempt, Db, Encoding, Lsn, StoreError, WriteBatch};

use crate::client::{Client, SHARED};
use crate::journal::Line;
use crate::model::{Key, Shown, Violation, ensure};
use crate::scene::Failure;
use crate::value::{Version, put};

/// Keys of one batch at most.
const BATCH_KEYS_MAX: u64 = 8;

/// What the model expects of a key's existence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existence {
    Absent,
    Present,
    /// It is there, unless it was evicted.
    Doubtful,
    /// Its deadline came while the operation was under way, or its database was flushed.
    Unsure,
}

impl Existence {
    /// Whether a key is there, as far as anybody was told.
    fn is_likely(self) -> bool {
        matches!(self, Self::Present | Self::Doubtful)
    }

    /// Whether a key can be said to be there, or not to be.
    pub(crate) fn allows(self, is_there: bool) -> bool {
        match self {
            Self::Absent => !is_there,
            Self::Present => is_there,
            Self::Doubtful | Self::Unsure => true,
        }
    }
}

impl Client {
    /// Whether a key exists now, for an operation that began at `start_ms`.
    fn existence(&self, shown: Shown, key: &Key, start_ms: u64) -> Existence {
        let existence = self.locked_existence(shown, key, start_ms);
        let may_be_gone = self.scene.model.borrow().is_doubtful(shown, key);
        if existence == Existence::Present && may_be_gone {
            return Existence::Doubtful;
        }
        existence
    }

    /// The same for a key whose lock is held, and that was looked for under it.
    pub(crate) fn locked_existence(&self, shown: Shown, key: &Key, start_ms: u64) -> Existence {
        let held = self.held(shown, key);
        let now_ms = self.scene.now_ms();
        let is_at = |ms| held.as_ref().is_some_and(|version| version.is_visible(ms));
        if self.shown().content(key.0) != shown.content(key.0) || is_at(start_ms) != is_at(now_ms) {
            Existence::Unsure
        } else if is_at(now_ms) {
            Existence::Present
        } else {
            Existence::Absent
        }
    }

    /// Sets a key of its own, without waiting where that works.
    pub(crate) async fn set(&mut self) -> Result<(), Failure> {
        let key = self.own_key();
        self.set_key(key).await
    }

    /// Sets a key that others set too.
    pub(crate) async fn set_contended(&mut self) -> Result<(), Failure> {
        let key = self.contended_key();
        self.set_key(key).await
    }

    async fn set_key(&mut self, key: Key) -> Result<(), Failure> {
        let (shown, version) = (self.shown(), self.version());
        let tries = self.random.flip();
        let attempt = match version.value.text().filter(|_| tries) {
            Some(text) => {
                let (db, name) = (key.0, &key.1);
                self.handle
                    .try_set(db, name, text, Encoding::Raw, version.expiry_ms)
            }
            None => Attempt::Blocked,
        };
        match attempt {
            Attempt::Done => {}
            Attempt::Failed(error) => return Err(error.into()),
            Attempt::Blocked => {
                let mut batch = WriteBatch::new();
                put(&self.handle, &mut batch, &key, &version);
                self.handle.commit(batch).await?;
            }
        }
        self.committed(shown, vec![(key.0, key.1, Some(version))])
            .await
    }

    /// Sets a key of its own if it exists, or if it does not.
    pub(crate) async fn set_if(&mut self) -> Result<(), Failure> {
        let (key, wants_absent) = (self.own_key(), self.random.flip());
        let (shown, version, start_ms) = (self.shown(), self.version(), self.scene.now_ms());
        let start = self.scene.model.borrow().last();
        let mut batch = WriteBatch::new();
        put(&self.handle, &mut batch, &key, &version);
        if wants_absent {
            batch.only_if_absent();
        } else {
            batch.only_if_present();
        }
        let outcome = self.handle.commit(batch).await?;
        let existence = self.existence(shown, &key, start_ms);
        let wanted = if wants_absent {
            Existence::Absent
        } else {
            Existence::Present
        };
        ensure(
            matches!(existence, Existence::Unsure | Existence::Doubtful)
                || outcome.applied == (existence == wanted),
            || {
                let applied = outcome.applied;
                format!("{key:?} is {existence:?}, wanted {wanted:?}, applied: {applied}")
            },
        )?;
        if outcome.applied {
            return self
                .committed(shown, vec![(key.0, key.1, Some(version))])
                .await;
        }
        if existence == Existence::Doubtful && !wants_absent {
            self.was_evicted(&key, start)?;
        }
        Ok(())
    }

    /// Sets some keys of its own that were not set yet, in both databases.
    pub(crate) async fn fill(&mut self, numbers: Range<u64>) -> Result<(), Failure> {
        let shown = self.shown();
        let mut batch = WriteBatch::new();
        let mut effects = Vec::new();
        for db in self.own_dbs() {
            for number in numbers.clone() {
                let (key, version) = ((db, self.key(number)), self.version());
                put(&self.handle, &mut batch, &key, &version);
                effects.push((key.0, key.1, Some(version)));
            }
        }
        self.handle.commit(batch).await?;
        self.committed(shown, effects).await
    }

    /// Removes some keys of its own.
    pub(crate) async fn remove(&mut self) -> Result<(), Failure> {
        let mut keys: Vec<Key> = (0..=self.random.below(3)).map(|_| self.own_key()).collect();
        keys.sort();
        keys.dedup();
        let (shown, start_ms) = (self.shown(), self.scene.now_ms());
        let mut batch = WriteBatch::new();
        for (db, key) in &keys {
            batch.remove(*db, key.clone());
        }
        let outcome = self.handle.commit(batch).await?;
        let existences: Vec<_> = keys
            .iter()
            .map(|key| self.existence(shown, key, start_ms))
            .collect();
        let count = |what| {
            existences
                .iter()
                .filter(|existence| **existence == what)
                .count()
        };
        let least = count(Existence::Present) as u64;
        let most = least + (count(Existence::Unsure) + count(Existence::Doubtful)) as u64;
        ensure((least..=most).contains(&outcome.removed), || {
            format!(
                "{} keys were removed of {keys:?}: {existences:?}",
                outcome.removed
            )
        })?;
        // What has expired by itself is gone either way.
        let removed = keys.into_iter().zip(existences);
        let removed = removed.filter(|(_, existence)| existence.is_likely());
        let effects = removed.map(|((db, key), _)| (db, key, None)).collect();
        self.committed(shown, effects).await
    }

    /// Sets and removes several keys at once, its own and others'.
    pub(crate) async fn batch(&mut self) -> Result<(), Failure> {
        let mut keys: Vec<Key> = Vec::new();
        for _ in 0..2 + self.random.below(BATCH_KEYS_MAX - 1) {
            let is_own = self.random.below(4) > 0;
            keys.push(if is_own {
                self.own_key()
            } else {
                self.contended_key()
            });
        }
        keys.sort();
        keys.dedup();
        let (shown, start_ms) = (self.shown(), self.scene.now_ms());
        let mut batch = WriteBatch::new();
        let mut versions = Vec::new();
        for key in keys {
            let version = (self.random.below(5) > 0).then(|| self.version());
            match &version {
                Some(version) => put(&self.handle, &mut batch, &key, version),
                None => {
                    batch.remove(key.0, key.1.clone());
                }
            }
            // Of several values for one key the last one counts.
            if version.is_some() && self.random.below(8) == 0 {
                let last = self.version();
                put(&self.handle, &mut batch, &key, &last);
                versions.push((key, Some(last)));
            } else {
                versions.push((key, version));
            }
        }
        self.handle.commit(batch).await?;
        let counts = |(key, version): &(Key, Option<Version>)| {
            version.is_some() || self.existence(shown, key, start_ms).is_likely()
        };
        let effects = versions.into_iter().filter(counts);
        let effects = effects
            .map(|((db, key), version)| (db, key, version))
            .collect();
        self.committed(shown, effects).await
    }

    /// Empties a database of its own, seldom the shared one or all.
    pub(crate) async fn flush(&mut self) -> Result<(), Failure> {
        let dbs: Vec<Db> = match self.random.below(20) {
            0 => (0..16).map(Db).collect(),
            1 | 2 => vec![SHARED],
            _ => vec![self.own_db()],
        };
        // A database all of whose keys are about to expire may count as empty or not.
        if dbs.iter().any(|db| !self.is_safe_to_flush(*db)) {
            return Ok(());
        }
        let (handle, scene, number) = (self.handle.clone(), Rc::clone(&self.scene), self.number);
        let flushing = async {
            match dbs[..] {
                [db] => handle.flush_db(db).await,
                _ => handle.flush_all().await,
            }
        };
        let flushed = |lsn| {
            scene.note(number, Line::Flushes(lsn, dbs.clone()));
            let at = (lsn, scene.now_us());
            scene.model.borrow_mut().flush(at, &dbs)
        };
        let lsn = self.change_map(flushing, flushed).await?;
        self.acknowledge(lsn).await
    }

    /// Changes what database numbers mean: `note` is told of the log's end in the very poll in
    /// which that happens. Those who watch keys are told until it returns.
    async fn change_map(
        &self,
        change: impl Future<Output = Result<(), StoreError>>,
        note: impl Fn(Lsn) -> Result<(), Violation>,
    ) -> Result<Lsn, Failure> {
        let scene = &self.scene;
        scene.map_changes.set(scene.map_changes.get() + 1);
        let (mut change, mut noted) = (pin!(change), None);
        let changed = poll_fn(|context| {
            let before = self.handle.published_lsn();
            let polled = change.as_mut().poll(context);
            let after = self.handle.published_lsn();
            if after > before {
                noted = Some((after, note(after)));
            }
            polled
        });
        let outcome = changed.await;
        scene.map_changes.set(scene.map_changes.get() - 1);
        outcome?;
        let (lsn, is_right) = noted.unwrap_or_else(|| {
            let lsn = self.handle.published_lsn();
            (lsn, note(lsn))
        });
        is_right?;
        Ok(lsn)
    }

    fn is_safe_to_flush(&self, db: Db) -> bool {
        let model = self.scene.model.borrow();
        let mut versions = model.database(db).peekable();
        versions.peek().is_none() || versions.any(|(_, version)| version.expiry_ms.is_none())
    }

    /// Exchanges its two databases.
    pub(crate) async fn swap(&mut self) -> Result<(), Failure> {
        let [a, b] = self.own_dbs();
        let (handle, scene, number) = (self.handle.clone(), Rc::clone(&self.scene), self.number);
        let swapped = |lsn| {
            scene.note(number, Line::Swaps(lsn, a, b));
            let at = (lsn, scene.now_us());
            scene.model.borrow_mut().swap(at, a, b)
        };
        let lsn = self.change_map(handle.swap_db(a, b), swapped).await?;
        self.acknowledge(lsn).await
    }
}

/// A counter's bytes.
pub(crate) fn counter_bytes(count: u64) -> Bytes {
    Bytes::copy_from_slice(&count.to_le_bytes())
}
