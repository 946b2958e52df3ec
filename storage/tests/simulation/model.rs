//! What the store must hold: every commit of a life in the order in which it happened, and what
//! each key held after each; `judge` compares it with what was found. Must never look into the
//! store.
//!
//! One thread runs everything, and a commit returns in the same poll in which it is published. So
//! the order in which clients tell of their commits is the order of the log, across all clients.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use cellar_storage::{DATABASE_COUNT_MAX, Db, EvictionPolicy, Lsn, StoreError};

use crate::policies::Policies;
use crate::value::{Held, Version};

/// A key, as clients name it.
pub(crate) type Key = (Db, Bytes);

/// What the model and the store disagree about.
#[derive(Debug)]
pub(crate) struct Violation(pub(crate) String);

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Fails with what `what` says unless `holds`.
pub(crate) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), Violation> {
    if holds {
        Ok(())
    } else {
        Err(Violation(what()))
    }
}

/// The content of a database: stays the same thing when its number changes, and is never seen again
/// once it was flushed.
pub(crate) type Content = u32;

/// Which content each database number shows at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown([Content; DATABASE_COUNT_MAX]);

impl Shown {
    /// What the numbers mean when a life begins.
    fn at_first() -> Self {
        Self(std::array::from_fn(|number| number as Content))
    }

    /// What a database number means.
    pub(crate) fn content(&self, db: Db) -> Content {
        self.0[usize::from(db.0)]
    }
}

pub(crate) struct Commit {
    /// The log's end after it.
    pub(crate) lsn: Lsn,
    at_us: u64,
}

/// What a key holds from a commit on.
pub(crate) struct Step {
    pub(crate) commit: usize,
    pub(crate) held: Held,
    /// The commit that wrote it.
    pub(crate) since: usize,
    /// It holds nothing since it was evicted, some time before.
    is_loss: bool,
}

/// What a database holds under a key.
struct Stored {
    version: Version,
    /// The commit that wrote it.
    since: usize,
}

/// A change of one key.
pub(crate) type Effect = (Db, Bytes, Held);

/// What was read of one key, and when.
#[derive(Clone, Debug)]
pub(crate) struct Sighting {
    pub(crate) found: Held,
    /// Before and after the read, in milliseconds.
    pub(crate) ms: (u64, u64),
    /// The error by which the store said that it is damaged.
    pub(crate) damage: Option<StoreError>,
}

/// One life's commits.
pub(crate) struct Model {
    /// The first is the state at the beginning.
    pub(crate) commits: Vec<Commit>,
    pub(crate) histories: BTreeMap<Key, Vec<Step>>,
    contents: BTreeMap<(Content, Bytes), Stored>,
    shown: Shown,
    next_content: Content,
    /// The last commit that was acknowledged as durable.
    acknowledged: usize,
    pub(crate) policies: Policies,
}

impl Model {
    /// A life that begins with what was found, under a policy.
    pub(crate) fn new(
        (lsn, at_us): (Lsn, u64),
        found: BTreeMap<Key, Version>,
        policy: EvictionPolicy,
    ) -> Self {
        let shown = Shown::at_first();
        let stored = |version: &Version| Stored {
            version: version.clone(),
            since: 0,
        };
        let contents = found
            .iter()
            .map(|((db, key), version)| ((u32::from(db.0), key.clone()), stored(version)))
            .collect();
        let first = |held| {
            vec![Step {
                commit: 0,
                held: Some(held),
                since: 0,
                is_loss: false,
            }]
        };
        Self {
            commits: vec![Commit { lsn, at_us }],
            histories: found
                .into_iter()
                .map(|(key, version)| (key, first(version)))
                .collect(),
            contents,
            shown,
            next_content: DATABASE_COUNT_MAX as Content,
            acknowledged: 0,
            policies: Policies::new(policy),
        }
    }

    /// What the numbers mean now.
    pub(crate) fn shown(&self) -> Shown {
        self.shown
    }

    /// The number of the last commit.
    pub(crate) fn last(&self) -> usize {
        self.commits.len() - 1
    }

    /// The end of the log after the last commit.
    pub(crate) fn last_lsn(&self) -> Lsn {
        self.commits.last().expect("the first is always there").lsn
    }

    /// Whether any database was flushed or exchanged.
    pub(crate) fn has_maps(&self) -> bool {
        self.shown != Shown::at_first()
    }

    /// What a key holds, where the numbers mean `shown`.
    pub(crate) fn held(&self, shown: Shown, db: Db, key: &Bytes) -> Held {
        self.stored(shown, db, key)
            .map(|stored| stored.version.clone())
    }

    fn stored(&self, shown: Shown, db: Db, key: &Bytes) -> Option<&Stored> {
        self.contents.get(&(shown.content(db), key.clone()))
    }

    /// Whether a key that holds something may have been evicted.
    pub(crate) fn is_doubtful(&self, shown: Shown, (db, key): &Key) -> bool {
        self.stored(shown, *db, key).is_some_and(|stored| {
            let gone_from = self.policies.gone_from(stored.since, &stored.version);
            gone_from.is_some()
        })
    }

    /// All that a database holds.
    pub(crate) fn database(&self, db: Db) -> impl Iterator<Item = (&Bytes, &Version)> {
        let content = self.shown.content(db);
        let range = (content, Bytes::new())..(content + 1, Bytes::new());
        self.contents
            .range(range)
            .map(|((_, key), stored)| (key, &stored.version))
    }

    /// What a key held at `commit` and at any time since.
    pub(crate) fn since<'a>(
        &'a self,
        key: &Key,
        commit: usize,
    ) -> impl Iterator<Item = Option<&'a Version>> {
        let steps = self.steps(key);
        let after = steps.partition_point(|step| step.commit <= commit);
        let before = after
            .checked_sub(1)
            .and_then(|index| steps[index].held.as_ref());
        std::iter::once(before).chain(steps[after..].iter().map(|step| step.held.as_ref()))
    }

    fn steps(&self, key: &Key) -> &[Step] {
        self.histories.get(key).map_or(&[][..], Vec::as_slice)
    }

    /// Whether a key may have been evicted at `commit` or at any time since.
    pub(crate) fn may_have_gone(&self, key: &Key, commit: usize) -> bool {
        let steps = self.steps(key);
        let after = steps.partition_point(|step| step.commit <= commit);
        let gone_from = |step: &Step| self.policies.gone_from(step.since, step.held.as_ref()?);
        steps[after.saturating_sub(1)..]
            .iter()
            .any(|step| gone_from(step).is_some())
    }

    /// Whether a key holds what it held at `commit`.
    pub(crate) fn is_unchanged(&self, key: &Key, commit: usize) -> bool {
        self.steps(key)
            .last()
            .is_none_or(|step| step.commit <= commit)
    }

    /// Whether any policy of this life has let anything go.
    pub(crate) fn evicts(&self) -> bool {
        self.policies.evicts()
    }

    /// Another policy is in force.
    pub(crate) fn set_policy(&mut self, policy: EvictionPolicy) {
        self.policies.set(self.last(), policy);
    }

    /// A key was not there, though nobody has removed it: it was evicted, before the log's end is
    /// where it is.
    pub(crate) fn lose(&mut self, at: (Lsn, u64), key: &Key) -> Result<(), Violation> {
        let content = self.shown.content(key.0);
        if self.contents.remove(&(content, key.1.clone())).is_some() {
            self.begin_commit(at, false)?;
            self.note(key.clone(), (None, self.last()));
            let steps = self
                .histories
                .get_mut(key)
                .and_then(|steps| steps.last_mut());
            steps.expect("just noted").is_loss = true;
        }
        Ok(())
    }

    /// Keys of which anything is known.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.histories.keys()
    }

    /// A commit happened: the log ends at `lsn` after it. `shown`: what the numbers meant when it
    /// was asked for; of a database that was flushed since, it changes nothing.
    pub(crate) fn commit(
        &mut self,
        at: (Lsn, u64),
        shown: Shown,
        effects: Vec<Effect>,
    ) -> Result<(), Violation> {
        let content = |db: Db| shown.content(db);
        let counts = |db: Db| self.shown.0.contains(&content(db));
        let effects: Vec<_> = effects.into_iter().filter(|(db, ..)| counts(*db)).collect();
        if effects.is_empty() {
            return Ok(());
        }
        // To remove what was evicted before changes nothing.
        let is_change = |(db, key, held): &Effect| {
            held.is_some() || !self.is_doubtful(shown, &(*db, key.clone()))
        };
        let grows = effects.iter().any(is_change);
        self.begin_commit(at, grows)?;
        let since = self.last();
        for (db, key, held) in effects {
            let content = content(db);
            let number = self.shown.0.iter().position(|shown| *shown == content);
            let number = number.expect("those that are not shown were left out");
            match held.clone() {
                Some(version) => {
                    let stored = Stored { version, since };
                    self.contents.insert((content, key.clone()), stored)
                }
                None => self.contents.remove(&(content, key.clone())),
            };
            self.note((Db(number as u8), key), (held, since));
        }
        Ok(())
    }

    /// `grows`: the log has to have grown for it.
    fn begin_commit(&mut self, (lsn, at_us): (Lsn, u64), grows: bool) -> Result<(), Violation> {
        let last = self.last_lsn();
        ensure(lsn > last || (!grows && lsn == last), || {
            format!("a commit was acknowledged, and the log stayed at {lsn} (before: {last})")
        })?;
        self.commits.push(Commit { lsn, at_us });
        Ok(())
    }

    /// From the last commit on, a key holds this, which the commit `since` wrote.
    fn note(&mut self, key: Key, (held, since): (Held, usize)) {
        let step = Step {
            commit: self.last(),
            held,
            since,
            is_loss: false,
        };
        let steps = self.histories.entry(key).or_default();
        match steps.last_mut().filter(|last| last.commit == step.commit) {
            Some(last) => *last = step,
            None => steps.push(step),
        }
    }

    /// Databases were emptied; those that are empty stay what they are.
    pub(crate) fn flush(&mut self, at: (Lsn, u64), dbs: &[Db]) -> Result<(), Violation> {
        let filled: Vec<Db> = dbs
            .iter()
            .copied()
            .filter(|db| self.database(*db).next().is_some())
            .collect();
        if filled.is_empty() {
            return Ok(());
        }
        let is_there = |db: &Db| {
            let mut keys = self.database(*db);
            keys.any(|(key, _)| !self.is_doubtful(self.shown, &(*db, key.clone())))
        };
        let grows = filled.iter().any(is_there);
        self.begin_commit(at, grows)?;
        for db in filled {
            let keys: Vec<Bytes> = self.database(db).map(|(key, _)| key.clone()).collect();
            for key in keys {
                self.contents.remove(&(self.shown.content(db), key.clone()));
                self.note((db, key), (None, self.last()));
            }
            self.shown.0[usize::from(db.0)] = self.next_content;
            self.next_content += 1;
        }
        Ok(())
    }

    /// Two databases were exchanged.
    pub(crate) fn swap(&mut self, at: (Lsn, u64), a: Db, b: Db) -> Result<(), Violation> {
        self.begin_commit(at, true)?;
        let (of_a, of_b) = (self.versions(a), self.versions(b));
        for (keys, to) in [(&of_a, a), (&of_b, b)] {
            for (key, _) in keys {
                self.note((to, key.clone()), (None, self.last()));
            }
        }
        for (versions, to) in [(of_b, a), (of_a, b)] {
            for (key, (version, since)) in versions {
                self.note((to, key), (Some(version), since));
            }
        }
        self.shown.0.swap(usize::from(a.0), usize::from(b.0));
        Ok(())
    }

    /// What a database holds, each with the commit that wrote it.
    fn versions(&self, db: Db) -> Vec<(Bytes, (Version, usize))> {
        let stored = |(key, _): (&Bytes, &Version)| {
            let stored = self.stored(self.shown, db, key)?;
            Some((key.clone(), (stored.version.clone(), stored.since)))
        };
        self.database(db).filter_map(stored).collect()
    }

    /// Everything up to `lsn` was said to be durable.
    pub(crate) fn acknowledge(&mut self, lsn: Lsn) {
        self.acknowledged = self.acknowledged.max(self.commit_at(lsn));
    }

    /// Everything up to a commit was said to be durable.
    pub(crate) fn acknowledge_commit(&mut self, commit: usize) {
        self.acknowledged = self.acknowledged.max(commit);
    }

    /// The last commit that changed what a key holds. When it was evicted nobody knows.
    pub(crate) fn last_of(&self, key: &Key) -> usize {
        let mut steps = self.steps(key).iter();
        steps
            .rfind(|step| !step.is_loss)
            .map_or(0, |step| step.commit)
    }

    /// The last commit that was acknowledged as durable.
    pub(crate) fn acknowledged(&self) -> usize {
        self.acknowledged
    }

    /// The last commit that ends at or below `lsn`.
    pub(crate) fn commit_at(&self, lsn: Lsn) -> usize {
        self.commits
            .partition_point(|commit| commit.lsn <= lsn)
            .saturating_sub(1)
    }

    /// The last commit that happened at or before `us`.
    pub(crate) fn commit_before(&self, us: u64) -> usize {
        self.commits
            .partition_point(|commit| commit.at_us <= us)
            .saturating_sub(1)
    }
}
