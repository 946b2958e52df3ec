//! What the store must hold: every commit of a life in the order in which it happened, and what
//! each key held after each. Owns the comparison of a recovered state with the states after all
//! prefixes; must never look into the store.
//!
//! One thread runs everything, and a commit returns in the same poll in which it is published. So
//! the order in which clients tell of their commits is the order of the log, across all clients.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write;

use bytes::Bytes;
use cellar_storage::{DATABASE_COUNT_MAX, Db, Lsn, StoreError};

/// A key, as clients name it.
pub(crate) type Key = (Db, Bytes);

/// A key's value, with its deadline.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) value: Bytes,
    pub(crate) expiry_ms: Option<u64>,
}

impl Version {
    pub(crate) fn is_visible(&self, now_ms: u64) -> bool {
        self.expiry_ms.is_none_or(|deadline| deadline > now_ms)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = &self.value[..self.value.len().min(8)];
        write!(formatter, "{} bytes {head:02x?}", self.value.len())?;
        self.expiry_ms
            .map_or(Ok(()), |deadline| write!(formatter, " until {deadline}"))
    }
}

/// What a key holds, expired or not.
pub(crate) type Held = Option<Version>;

/// Whether `found` can be what a key that holds `held` shows at some time within `ms`.
pub(crate) fn shows(held: Option<&Version>, found: Option<&Version>, ms: (u64, u64)) -> bool {
    match found {
        None => held.is_none_or(|version| !version.is_visible(ms.1)),
        Some(_) => held == found && held.is_some_and(|version| version.is_visible(ms.0)),
    }
}

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

struct Commit {
    /// The log's end after it.
    lsn: Lsn,
    at_us: u64,
}

/// What a key holds from a commit on.
struct Step {
    commit: usize,
    held: Held,
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
    commits: Vec<Commit>,
    histories: BTreeMap<Key, Vec<Step>>,
    contents: BTreeMap<(Content, Bytes), Version>,
    shown: Shown,
    next_content: Content,
    /// The last commit that was acknowledged as durable.
    acknowledged: usize,
}

impl Model {
    /// A life that begins with what was found.
    pub(crate) fn new(lsn: Lsn, at_us: u64, found: BTreeMap<Key, Version>) -> Self {
        let shown = Shown::at_first();
        let contents = found
            .iter()
            .map(|((db, key), version)| ((u32::from(db.0), key.clone()), version.clone()))
            .collect();
        let first = |held| {
            vec![Step {
                commit: 0,
                held: Some(held),
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
        self.contents
            .get(&(shown.content(db), key.clone()))
            .cloned()
    }

    /// All that a database holds.
    pub(crate) fn database(&self, db: Db) -> impl Iterator<Item = (&Bytes, &Version)> {
        let content = self.shown.content(db);
        let range = (content, Bytes::new())..(content + 1, Bytes::new());
        self.contents
            .range(range)
            .map(|((_, key), version)| (key, version))
    }

    /// What a key held at `commit` and at any time since.
    pub(crate) fn since<'a>(
        &'a self,
        key: &Key,
        commit: usize,
    ) -> impl Iterator<Item = Option<&'a Version>> {
        let steps = self.histories.get(key).map_or(&[][..], Vec::as_slice);
        let after = steps.partition_point(|step| step.commit <= commit);
        let before = after
            .checked_sub(1)
            .and_then(|index| steps[index].held.as_ref());
        std::iter::once(before).chain(steps[after..].iter().map(|step| step.held.as_ref()))
    }

    /// Keys of which anything is known.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.histories.keys()
    }

    /// A commit happened: the log ends at `lsn` after it. `shown`: what the numbers meant when it
    /// was asked for; of a database that was flushed since, it changes nothing.
    pub(crate) fn commit(
        &mut self,
        (lsn, at_us): (Lsn, u64),
        shown: Shown,
        effects: Vec<Effect>,
    ) -> Result<(), Violation> {
        let content = |db: Db| shown.content(db);
        let counts = |db: Db| self.shown.0.contains(&content(db));
        let effects: Vec<_> = effects.into_iter().filter(|(db, ..)| counts(*db)).collect();
        if effects.is_empty() {
            return Ok(());
        }
        self.begin_commit(lsn, at_us)?;
        for (db, key, held) in effects {
            let content = content(db);
            let number = self.shown.0.iter().position(|shown| *shown == content);
            let number = number.expect("those that are not shown were left out");
            match &held {
                Some(version) => self
                    .contents
                    .insert((content, key.clone()), version.clone()),
                None => self.contents.remove(&(content, key.clone())),
            };
            self.note((Db(number as u8), key), held);
        }
        Ok(())
    }

    fn begin_commit(&mut self, lsn: Lsn, at_us: u64) -> Result<(), Violation> {
        let last = self.last_lsn();
        ensure(lsn > last, || {
            format!("a commit was acknowledged, and the log stayed at {lsn} (before: {last})")
        })?;
        self.commits.push(Commit { lsn, at_us });
        Ok(())
    }

    /// From the last commit on, a key holds this.
    fn note(&mut self, key: Key, held: Held) {
        let commit = self.last();
        let steps = self.histories.entry(key).or_default();
        match steps.last_mut().filter(|step| step.commit == commit) {
            Some(step) => step.held = held,
            None => steps.push(Step { commit, held }),
        }
    }

    /// Databases were emptied; those that are empty stay what they are.
    pub(crate) fn flush(&mut self, (lsn, at_us): (Lsn, u64), dbs: &[Db]) -> Result<(), Violation> {
        let filled: Vec<Db> = dbs
            .iter()
            .copied()
            .filter(|db| self.database(*db).next().is_some())
            .collect();
        if filled.is_empty() {
            return Ok(());
        }
        self.begin_commit(lsn, at_us)?;
        for db in filled {
            let keys: Vec<Bytes> = self.database(db).map(|(key, _)| key.clone()).collect();
            for key in keys {
                self.contents.remove(&(self.shown.content(db), key.clone()));
                self.note((db, key), None);
            }
            self.shown.0[usize::from(db.0)] = self.next_content;
            self.next_content += 1;
        }
        Ok(())
    }

    /// Two databases were exchanged.
    pub(crate) fn swap(&mut self, (lsn, at_us): (Lsn, u64), a: Db, b: Db) -> Result<(), Violation> {
        self.begin_commit(lsn, at_us)?;
        let content_of = |model: &Self, db: Db| -> Vec<(Bytes, Version)> {
            model
                .database(db)
                .map(|(key, version)| (key.clone(), version.clone()))
                .collect()
        };
        let (of_a, of_b) = (content_of(self, a), content_of(self, b));
        for (keys, to) in [(&of_a, a), (&of_b, b)] {
            for (key, _) in keys {
                self.note((to, key.clone()), None);
            }
        }
        for (versions, to) in [(of_b, a), (of_a, b)] {
            for (key, version) in versions {
                self.note((to, key), Some(version));
            }
        }
        self.shown.0.swap(usize::from(a.0), usize::from(b.0));
        Ok(())
    }

    /// Everything up to `lsn` was said to be durable.
    pub(crate) fn acknowledge(&mut self, lsn: Lsn) {
        self.acknowledged = self.acknowledged.max(self.commit_at(lsn));
    }

    /// Everything up to a commit was said to be durable.
    pub(crate) fn acknowledge_commit(&mut self, commit: usize) {
        self.acknowledged = self.acknowledged.max(commit);
    }

    /// The last commit that changed what a key holds.
    pub(crate) fn last_of(&self, key: &Key) -> usize {
        let steps = self.histories.get(key);
        steps
            .and_then(|steps| steps.last())
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

    /// The number of commits after which the store was in the state that was found: the highest, if
    /// there are several. `least` commits must be among them. `strays`: so many keys may
    /// contradict.
    pub(crate) fn judge(
        &self,
        found: &BTreeMap<Key, Sighting>,
        least: usize,
        strays: usize,
    ) -> Result<usize, Violation> {
        let mut unknown = found.iter().filter(|(key, sighting)| {
            sighting.found.is_some() && !self.histories.contains_key(*key)
        });
        if let Some((key, sighting)) = unknown.nth(strays) {
            let what = format!("a key that nobody wrote in this life: {key:?} holds {sighting:?}");
            return Err(Violation(what));
        }
        let contradictions = self.contradictions(found);
        let fits = (least..self.commits.len())
            .rev()
            .find(|commit| contradictions[*commit] <= strays);
        fits.ok_or_else(|| self.explain(found, &contradictions, least))
    }

    /// How many keys contradict that exactly so many commits survived.
    fn contradictions(&self, found: &BTreeMap<Key, Sighting>) -> Vec<usize> {
        let mut changes = vec![0_isize; self.commits.len() + 1];
        for (key, steps) in &self.histories {
            let sighting = &found[key];
            let mut judge = |held: Option<&Version>, from: usize, to: usize| {
                let is_contrary = !shows(held, sighting.found.as_ref(), sighting.ms);
                if is_contrary && sighting.damage.is_none() {
                    changes[from] += 1;
                    changes[to] -= 1;
                }
            };
            let first = steps.first().map_or(self.commits.len(), |step| step.commit);
            judge(None, 0, first);
            for (index, step) in steps.iter().enumerate() {
                let end = steps
                    .get(index + 1)
                    .map_or(self.commits.len(), |next| next.commit);
                judge(step.held.as_ref(), step.commit, end);
            }
        }
        let sums = changes.iter().scan(0, |sum, change| {
            *sum += change;
            Some(sum.unsigned_abs())
        });
        sums.take(self.commits.len()).collect()
    }

    /// Why no prefix fits: what stands against the one that fits best.
    fn explain(
        &self,
        found: &BTreeMap<Key, Sighting>,
        contradictions: &[usize],
        least: usize,
    ) -> Violation {
        let best = |from: usize| {
            (from..self.commits.len())
                .min_by_key(|commit| contradictions[*commit])
                .unwrap_or(from)
        };
        let (any, allowed) = (best(0), best(least));
        let mut text = format!(
            "no prefix of the {} commits fits that has the {least} durable ones; {} of {} keys \
             contradict commit {allowed} (lsn {}); {} contradict {any}:",
            self.last(),
            contradictions[allowed],
            self.histories.len(),
            self.commits[allowed].lsn,
            contradictions[any],
        );
        let stands_against = |(key, _): &(&Key, &Vec<Step>)| {
            let sighting = &found[*key];
            let held = self.since(key, allowed).next().flatten();
            sighting.damage.is_none() && !shows(held, sighting.found.as_ref(), sighting.ms)
        };
        for (key, steps) in self.histories.iter().filter(stands_against).take(5) {
            write!(text, "\n  {key:?} shows {:?}; it held", found[key]).expect("a string has room");
            let near = steps
                .partition_point(|step| step.commit <= allowed)
                .saturating_sub(3);
            for step in steps.iter().skip(near).take(7) {
                let lsn = self.commits[step.commit].lsn;
                write!(
                    text,
                    "\n    from commit {} (lsn {lsn}): {:?}",
                    step.commit, step.held
                )
                .expect("a string has room");
            }
        }
        Violation(text)
    }
}
