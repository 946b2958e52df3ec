//! Transactions: several operations on several keys that see what came before them, and that others
//! see, and a crash finds, all or none of.

use std::collections::BTreeMap;

use cellar_storage::{Handle, KeyLocks, StoreError, Transaction, WriteBatch};

use crate::blind::Existence;
use crate::client::Client;
use crate::collection::Found;
use crate::model::{Effect, Key, Shown, ensure};
use crate::scene::Failure;
use crate::value::{Held, Version, put, shows, whole};

/// Keys that a transaction foresees, and operations in it, at most.
const KEYS_MAX: u64 = 4;
const STEPS_MAX: u64 = 6;
/// One operation in so many is on a key that was not foreseen.
const UNFORESEEN_ONE_IN: u64 = 10;
/// One transaction in so many is dropped before its end.
const DROPPED_ONE_IN: u64 = 8;
/// A transaction is begun at most so often.
const BEGUN_MAX: u64 = 6;

/// A transaction that is under way.
struct Course {
    shown: Shown,
    keys: Vec<Key>,
    inside: Handle,
    /// What it has written.
    own: BTreeMap<Key, Held>,
}

impl Client {
    /// Runs a transaction, again where a lock was missing.
    pub(crate) async fn transaction(&mut self) -> Result<(), Failure> {
        let mut keys: Vec<Key> = Vec::new();
        for _ in 0..=self.random.below(KEYS_MAX) {
            let is_own = self.random.below(4) > 0;
            keys.push(if is_own {
                self.own_key()
            } else {
                self.contended_key()
            });
        }
        keys.sort();
        keys.dedup();
        let mut conflict = None;
        for _ in 0..BEGUN_MAX {
            let shown = self.shown();
            let names: Vec<_> = keys.iter().map(|(db, key)| (*db, &key[..])).collect();
            let transaction = match conflict.take() {
                Some(conflict) => self.handle.begin_again(&names, conflict).await,
                None => self.handle.begin(&names).await,
            };
            self.find_losses_of(&keys.iter().collect::<Vec<_>>())?;
            let mut course = Course {
                shown,
                keys: keys.clone(),
                inside: transaction.handle(),
                own: BTreeMap::new(),
            };
            let outcome = self.run_steps(&mut course).await;
            match outcome {
                Err(Failure::Store(StoreError::Conflict)) => {
                    conflict = transaction.conflict();
                }
                Err(Failure::Store(StoreError::BatchTooLong { .. })) => return Ok(()),
                Err(failure) => return Err(failure),
                Ok(()) => match self.end_transaction(transaction, course).await {
                    Err(Failure::Store(StoreError::Conflict)) => {}
                    ended => return ended,
                },
            }
            self.scene.tally.borrow_mut().conflicts += 1;
        }
        Ok(())
    }

    async fn run_steps(&mut self, course: &mut Course) -> Result<(), Failure> {
        for _ in 0..=self.random.below(STEPS_MAX) {
            let is_foreseen = self.random.below(UNFORESEEN_ONE_IN) > 0;
            let key = if is_foreseen {
                let number = self.random.below(course.keys.len() as u64);
                course.keys[number as usize].clone()
            } else {
                self.contended_key()
            };
            match self.random.below(8) {
                0..2 => self.get_inside(course, &key).await?,
                2..4 => self.set_inside(course, key).await?,
                4 => self.remove_inside(course, key).await?,
                5 => self.rename_inside(course, key).await?,
                _ => self.rewrite_inside(course, key).await?,
            }
            if self.random.below(4) == 0 {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Commits, or now and then drops it.
    async fn end_transaction(
        &mut self,
        transaction: Transaction,
        course: Course,
    ) -> Result<(), Failure> {
        if self.random.below(DROPPED_ONE_IN) == 0 {
            return Ok(());
        }
        let start_ms = self.scene.now_ms();
        let Course { shown, own, .. } = course;
        transaction.commit().await?;
        self.scene.tally.borrow_mut().transactions += 1;
        let existed = |key: &Key| match self.locked_existence(shown, key, start_ms) {
            Existence::Present | Existence::Doubtful => true,
            Existence::Absent | Existence::Unsure => false,
        };
        let effects = own
            .into_iter()
            .filter(|(key, held)| held.is_some() || existed(key));
        let effects: Vec<Effect> = effects.map(|((db, key), held)| (db, key, held)).collect();
        if effects.is_empty() {
            return Ok(());
        }
        self.committed(shown, effects).await
    }

    /// Reads a key inside: what the transaction wrote, or else what was there.
    async fn get_inside(&self, course: &Course, key: &Key) -> Result<(), Failure> {
        let start_ms = self.scene.now_ms();
        let found = match course.inside.get(key.0, &key.1).await? {
            Some(snapshot) => Some(whole(&snapshot).await?),
            None => None,
        };
        self.check_inside(course, key, (found.as_ref(), start_ms))
    }

    fn check_inside(
        &self,
        course: &Course,
        key: &Key,
        (found, start_ms): (Option<&Version>, u64),
    ) -> Result<(), Failure> {
        // A database that was flushed or exchanged meanwhile: it comes to nothing.
        if self.shown().content(key.0) != course.shown.content(key.0) {
            return Ok(());
        }
        let own = course.own.get(key);
        let stored = self.held(course.shown, key);
        let is_doubtful = own.is_none() && self.may_be_gone(course.shown, key, start_ms);
        let held = own.unwrap_or(&stored);
        let ms = (start_ms, self.scene.now_ms());
        let is_right = shows(held.as_ref(), found, ms) || (is_doubtful && found.is_none());
        Ok(ensure(is_right, || {
            format!("{key:?} shows {found:?} in a transaction, and held {held:?}")
        })?)
    }

    /// Whether a key that was not written may be gone for a transaction.
    fn may_be_gone(&self, shown: Shown, key: &Key, start_ms: u64) -> bool {
        self.locked_existence(shown, key, start_ms) == Existence::Unsure
            || self.scene.model.borrow().is_doubtful(shown, key)
    }

    async fn set_inside(&mut self, course: &mut Course, key: Key) -> Result<(), Failure> {
        let version = self.version();
        let mut batch = WriteBatch::new();
        put(&course.inside, &mut batch, &key, &version);
        course.inside.commit(batch).await?;
        course.own.insert(key, Some(version));
        Ok(())
    }

    async fn remove_inside(&mut self, course: &mut Course, key: Key) -> Result<(), Failure> {
        let mut batch = WriteBatch::new();
        batch.remove(key.0, key.1.clone());
        course.inside.commit(batch).await?;
        course.own.insert(key, None);
        Ok(())
    }

    /// Moves a value to another key of the transaction.
    async fn rename_inside(&mut self, course: &mut Course, from: Key) -> Result<(), Failure> {
        let number = self.random.below(course.keys.len() as u64);
        let to = course.keys[number as usize].clone();
        if from == to {
            return Ok(());
        }
        let locks = self.lock_inside(course, &[&from, &to]).await;
        let start_ms = self.scene.now_ms();
        let held = course.own.get(&from).cloned();
        let held = held.unwrap_or_else(|| self.held(course.shown, &from));
        let names = ((from.0, &from.1[..]), (to.0, &to.1[..]));
        let exists = course.inside.rename(&locks, names.0, names.1).await?;
        if !exists {
            return self.check_inside(course, &from, (None, start_ms));
        }
        let is_same = self.shown().content(from.0) == course.shown.content(from.0);
        ensure(held.is_some() || !is_same, || {
            format!("{from:?} was renamed in a transaction, and was not there")
        })?;
        course.own.insert(to, held);
        course.own.insert(from, None);
        Ok(())
    }

    async fn lock_inside(&self, course: &Course, keys: &[&Key]) -> KeyLocks {
        let names: Vec<_> = keys.iter().map(|(db, key)| (*db, &key[..])).collect();
        course.inside.lock(&names).await
    }

    /// Writes pages of a collection anew, and its root.
    async fn rewrite_inside(&mut self, course: &mut Course, key: Key) -> Result<(), Failure> {
        let locks = self.lock_inside(course, &[&key]).await;
        let start_ms = self.scene.now_ms();
        let inside = course.inside.clone();
        let Some(snapshot) = inside.get_locked(&locks, key.0, &key.1).await? else {
            return self.check_inside(course, &key, (None, start_ms));
        };
        let found = whole(&snapshot).await?;
        self.check_inside(course, &key, (Some(&found), start_ms))?;
        let Some(found) = Found::of(&snapshot, found) else {
            return Ok(());
        };
        let (version, batch, _) = self.rewritten(&key, found, false).await?;
        inside.commit_locked(&locks, batch).await?;
        course.own.insert(key, Some(version));
        Ok(())
    }
}
