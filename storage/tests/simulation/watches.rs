//! Watches of keys: whoever watches one is told of every change before anybody can see it, of its
//! departure by a deadline or a policy too, and of nothing else.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::sync::{Arc, Mutex};

use cellar_storage::{KeyChange, KeyWatcher, Watch};

use crate::client::Client;
use crate::model::{Content, Key, Model, Violation, ensure};
use crate::scene::Scene;
use crate::tally::Tally;
use crate::value::Version;

/// Keys that a client watches at the same time, at most.
const WATCHED_MAX: usize = 8;

/// What a watcher was told.
#[derive(Default)]
struct Told(Mutex<Vec<KeyChange>>);

impl KeyWatcher for Told {
    fn key_changed(&self, change: KeyChange) {
        self.0.lock().expect("nobody panics with it").push(change);
    }
}

/// A key that is watched.
struct Watched {
    key: Key,
    content: Content,
    told: Arc<Told>,
    /// Up to this commit it is known that everything was told.
    seen: usize,
    /// A deadline or a policy may let go what it holds.
    may_go: bool,
    /// And has, by what was told.
    departed: bool,
    _watch: Watch,
}

/// The keys that a client watches, the newest first.
#[derive(Default)]
pub(crate) struct Watches(VecDeque<Watched>);

impl Watched {
    /// Goes through what the key has held since the last time, and what was told of it. False: the
    /// watch sees nothing any more.
    fn check(&mut self, scene: &Scene) -> Result<bool, Violation> {
        // Who changes what a database number means tells of it before that ends.
        if scene.map_changes.get() > 0 {
            return Ok(true);
        }
        let model = scene.model.borrow();
        let told = std::mem::take(&mut *self.told.0.lock().expect("nobody panics with it"));
        let was_moved = |change: &KeyChange| matches!(change, KeyChange::Moved { .. });
        if told.iter().any(was_moved) {
            return Ok(false);
        }
        if model.shown().content(self.key.0) != self.content {
            // What is empty may stay what it is.
            ensure(model.evicts(), || {
                format!(
                    "{:?} is in another database, and its watcher knows not",
                    self.key
                )
            })?;
            return Ok(false);
        }
        self.count(scene, &told);
        let outcome = self.account(&model, &told).map(|()| true);
        outcome.map_err(|what| {
            let (key, held): (_, Vec<_>) = (&self.key, model.since(&self.key, self.seen).collect());
            Violation(format!(
                "the watcher of {key:?} {what}: it held {held:?} and was told {told:?}"
            ))
        })
    }

    fn count(&self, scene: &Scene, told: &[KeyChange]) {
        let departures = told.iter().filter(|change| **change == KeyChange::Removed);
        let tally: &mut Tally = &mut scene.tally.borrow_mut();
        tally.told_changes += told.len() as u64;
        if self.may_go {
            tally.told_departures += departures.count() as u64;
        }
    }

    fn account(&mut self, model: &Model, told: &[KeyChange]) -> Result<(), String> {
        let mut told = told.iter().copied().peekable();
        let key = self.key.clone();
        for held in model.since(&key, self.seen).skip(1) {
            self.depart(&mut told, held.is_none());
            let wanted = match held {
                Some(_) => Some(KeyChange::Written),
                None if self.departed => None,
                None => Some(KeyChange::Removed),
            };
            if let Some(wanted) = wanted {
                let next = told.next();
                if next != Some(wanted) {
                    return Err(format!("was told {next:?} instead of {wanted:?}"));
                }
            }
            self.departed = false;
            self.may_go = may_go(model, held);
        }
        self.depart(&mut told, false);
        self.seen = model.last();
        match told.next() {
            None => Ok(()),
            Some(change) => Err(format!("was told {change:?}, and nothing changed")),
        }
    }

    /// A departure, if it may be one that was told next.
    fn depart(&mut self, told: &mut Peekable<impl Iterator<Item = KeyChange>>, is_removed: bool) {
        if self.may_go && !self.departed && !is_removed {
            self.departed = told.next_if_eq(&KeyChange::Removed).is_some();
        }
    }
}

fn may_go(model: &Model, held: Option<&Version>) -> bool {
    held.is_some_and(|version| version.expiry_ms.is_some() || model.evicts())
}

impl Watches {
    /// Whoever watches a key was told of all that happened to it so far. `is_at_rest`: what has
    /// expired is removed by now.
    pub(crate) fn check(&mut self, scene: &Scene, is_at_rest: bool) -> Result<(), Violation> {
        let mut kept = VecDeque::with_capacity(self.0.len());
        for mut watched in self.0.drain(..) {
            if !watched.check(scene)? {
                continue;
            }
            let model = scene.model.borrow();
            let held = model.held(model.shown(), watched.key.0, &watched.key.1);
            let has_gone = held.is_some_and(|version| !version.is_visible(scene.now_ms()));
            ensure(!is_at_rest || !has_gone || watched.departed, || {
                format!("{:?} has expired, and its watcher knows not", watched.key)
            })?;
            kept.push_back(watched);
        }
        self.0 = kept;
        Ok(())
    }
}

impl Client {
    /// Watches one key more, and no longer the one that it has watched the longest.
    pub(crate) fn watch(&mut self) -> Result<(), Violation> {
        self.check_watches()?;
        // Whom a flush that is under way tells is not for this to say.
        if self.scene.map_changes.get() > 0 {
            return Ok(());
        }
        let key = self.any_key();
        self.find_losses_of(&[&key])?;
        let told = Arc::new(Told::default());
        let watcher: Arc<dyn KeyWatcher> = told.clone();
        let watch = self.handle.watch(key.0, &key.1, &watcher);
        let model = self.scene.model.borrow();
        let shown = model.shown();
        let held = model.held(shown, key.0, &key.1);
        // Whether what has expired was removed before nobody can say.
        let now_ms = self.scene.now_ms();
        if held
            .as_ref()
            .is_some_and(|version| !version.is_visible(now_ms))
        {
            return Ok(());
        }
        let mut others = self.scene.watches[self.number as usize].borrow_mut();
        others.0.truncate(WATCHED_MAX - 1);
        others.0.push_front(Watched {
            content: shown.content(key.0),
            seen: model.last(),
            // Of what expired before, nobody knows whether it was removed.
            may_go: held.is_none() || may_go(&model, held.as_ref()),
            departed: false,
            key,
            told,
            _watch: watch,
        });
        Ok(())
    }

    /// The keys that it watches: see [`Watches::check`].
    pub(crate) fn check_watches(&self) -> Result<(), Violation> {
        let mut watches = self.scene.watches[self.number as usize].borrow_mut();
        watches.check(&self.scene, false)
    }
}
