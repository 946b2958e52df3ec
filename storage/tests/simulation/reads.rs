//! Operations that read: what they show is what the key held when they looked it up.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use cellar_storage::{Clock, Db, Handle, Lookup, Peek, Read, Snapshot, StoreError, ValueType};

use crate::client::Client;
use crate::model::{Key, Violation, ensure};
use crate::scene::Failure;
use crate::value::{Held, Value, Version, page_numbers, pin_whole, shows, whole};

/// Reads that are begun before the first is awaited, at most.
const PIPELINE_MAX: u64 = 8;
/// Keys of one step of a scan.
const SCAN_COUNT: usize = 2_000;

/// Bytes that a slow reader takes at a time.
const PART_BYTES: u64 = 20_000;
/// And the longest that it waits before the next, in microseconds.
const LINGER_US_MAX: u64 = 3_000;
/// How often it looks whether the devices were written over, in microseconds.
const LOOK_US: u64 = 1_000;
/// Keys that are tried for one with a large value.
const LARGE_KEY_TRIES: u64 = 6;

/// Reads a key.
pub(crate) async fn read(handle: &Handle, (db, key): &Key) -> Result<Held, StoreError> {
    match handle.get(*db, key).await? {
        Some(snapshot) => whole(&snapshot).await.map(Some),
        None => Ok(None),
    }
}

/// A read that waits for the device, and what it has to show.
struct Begun {
    key: Key,
    read: Read,
    held: Held,
    /// The last commit before it.
    start: usize,
    start_ms: u64,
}

impl Client {
    /// Reads one key, sometimes slowly.
    pub(crate) async fn get_one(&mut self) -> Result<(), Failure> {
        let key = self.any_key();
        let (start, start_ms) = (self.scene.model.borrow().last(), self.scene.now_ms());
        let found = match self.handle.get(key.0, &key.1).await? {
            Some(mut snapshot) => {
                if self.random.below(4) == 0 {
                    pin_whole(&mut snapshot).await?;
                    let us = self.random.below(self.scene.plan.pinned_us_max);
                    self.scene.clock.sleep(us).await;
                }
                Some(whole(&snapshot).await?)
            }
            None => None,
        };
        self.check_window(&key, found.as_ref(), start, start_ms)
    }

    /// Reads a large value a part at a time, as a slow client takes it: with all of it pinned,
    /// while the devices are written over meanwhile, or for a moment under its key's lock.
    pub(crate) async fn get_slowly(&mut self) -> Result<(), Failure> {
        let key = self.large_key();
        let (start, start_ms) = (self.scene.model.borrow().last(), self.scene.now_ms());
        let Some(mut snapshot) = self.handle.get(key.0, &key.1).await? else {
            return self.check_window(&key, None, start, start_ms);
        };
        let pins = self.random.flip();
        if pins {
            self.linger().await;
            pin_whole(&mut snapshot).await?;
            self.linger_till_written_over().await;
        }
        let found = Version {
            value: self.take_slowly(&snapshot).await?,
            expiry_ms: snapshot.expiry_ms(),
        };
        self.scene.tally.borrow_mut().slow_reads += 1;
        self.check_window(&key, Some(&found), start, start_ms)
    }

    /// A value, a part or a page at a time.
    async fn take_slowly(&mut self, snapshot: &Snapshot) -> Result<Value, StoreError> {
        if let Some(root) = snapshot.root() {
            let mut pages = BTreeMap::new();
            for number in page_numbers(root) {
                self.linger().await;
                pages.insert(number, snapshot.read_page(number).await?);
            }
            return Ok(Value::Paged(Rc::new(pages)));
        }
        if snapshot.value_type() != ValueType::String {
            return Ok(whole(snapshot).await?.value);
        }
        let mut text = Vec::new();
        while (text.len() as u64) < snapshot.len() {
            let at = text.len() as u64;
            self.linger().await;
            text.extend(snapshot.read(at..at + PART_BYTES).await?);
        }
        Ok(Value::Text(text.into()))
    }

    /// Any key, if possible one whose value is kept in pages.
    fn large_key(&mut self) -> Key {
        let mut key = self.any_key();
        for _ in 0..LARGE_KEY_TRIES {
            let held = self.held(self.shown(), &key);
            if held.is_some_and(|version| version.value.is_paged()) {
                break;
            }
            key = if self.random.flip() {
                self.any_key()
            } else {
                self.others_key()
            };
        }
        key
    }

    /// Takes a moment.
    async fn linger(&mut self) {
        let us = self.random.below(LINGER_US_MAX);
        self.scene.clock.sleep(us).await;
    }

    /// Waits while others write about as much as the devices hold, or for as long as the plan
    /// allows.
    async fn linger_till_written_over(&mut self) {
        let plan = &self.scene.plan;
        let of_one = plan.device_bytes().min(plan.room_bytes());
        let (held, pinned_us) = (plan.device_count * of_one, plan.pinned_us_max);
        let end = self.handle.published_lsn().get() + held / 2 + self.random.below(held);
        let end_us = self.scene.now_us() + pinned_us;
        let goes_on = |client: &Self| {
            client.handle.published_lsn().get() < end
                && client.scene.now_us() < end_us
                && !client.scene.is_stopping.get()
        };
        while goes_on(self) {
            self.scene.clock.sleep(LOOK_US).await;
        }
    }

    /// What was found is what the key held at some moment since.
    fn check_window(
        &self,
        key: &Key,
        found: Option<&Version>,
        start: usize,
        start_ms: u64,
    ) -> Result<(), Failure> {
        let ms = (start_ms, self.scene.now_ms());
        if found.is_none() && self.shows_loss(key, start, ms.1)? {
            return Ok(());
        }
        let model = self.scene.model.borrow();
        let fits = model.since(key, start).any(|held| shows(held, found, ms));
        Ok(ensure(fits, || {
            let held: Vec<_> = model.since(key, start).collect();
            format!("{key:?} shows {found:?}, and held {held:?} within {ms:?}")
        })?)
    }

    /// A key was not found that should be there: whether it may have been evicted since `start`.
    fn shows_loss(&self, key: &Key, start: usize, now_ms: u64) -> Result<bool, Violation> {
        let held = self.held(self.shown(), key);
        let is_missed = held.is_some_and(|version| version.is_visible(now_ms));
        Ok(is_missed && self.was_evicted(key, start)?)
    }

    /// Begins several reads and then awaits them: each shows what its key held when it began.
    pub(crate) async fn get_several(&mut self) -> Result<(), Failure> {
        let count = 1 + self.random.below(PIPELINE_MAX);
        let mut begun = VecDeque::new();
        let mut reliance = None;
        for (key, lookup) in self.look_up(count) {
            reliance = self.reliance(&key).or(reliance);
            begun.extend(self.begin(key, lookup).await?);
        }
        while let Some(Begun {
            key,
            read,
            held,
            start,
            start_ms,
        }) = begun.pop_front()
        {
            let found = match read.await? {
                Some(snapshot) => Some(whole(&snapshot).await?),
                None => None,
            };
            let ms = (start_ms, self.scene.now_ms());
            if found.is_some() || !self.shows_loss(&key, start, ms.1)? {
                check_moment(&key, (held.as_ref(), found.as_ref()), ms)?;
            }
        }
        self.rely(reliance).await
    }

    /// Looks keys up, all in this very moment: one by one, or those of one database together.
    fn look_up(&mut self, count: u64) -> Vec<(Key, Lookup)> {
        let mut keys: Vec<Key> = (0..count).map(|_| self.any_key()).collect();
        if self.random.flip() {
            let look = |key: Key| {
                let lookup = self.handle.lookup(key.0, &key.1);
                (key, lookup)
            };
            return keys.into_iter().map(look).collect();
        }
        let db = keys[0].0;
        keys.retain(|key| key.0 == db);
        let names: Vec<&[u8]> = keys.iter().map(|key| &key.1[..]).collect();
        let lookups = self.handle.lookup_many(db, &names);
        keys.into_iter().zip(lookups).collect()
    }

    /// Judges a lookup of this very moment, or keeps what has to be judged later.
    async fn begin(&self, key: Key, lookup: Lookup) -> Result<Option<Begun>, Failure> {
        let (held, start_ms) = (self.held(self.shown(), &key), self.scene.now_ms());
        let start = self.scene.model.borrow().last();
        let found = match lookup {
            Lookup::Absent => None,
            Lookup::Ready(snapshot) => Some(whole(&snapshot).await?),
            Lookup::Pending(read) => {
                return Ok(Some(Begun {
                    key,
                    read,
                    held,
                    start,
                    start_ms,
                }));
            }
            Lookup::Locked => return Ok(None),
        };
        if found.is_some() || !self.shows_loss(&key, start, start_ms)? {
            check_moment(&key, (held.as_ref(), found.as_ref()), (start_ms, start_ms))?;
        }
        Ok(None)
    }

    /// Asks whether a key exists, and for its deadline.
    pub(crate) async fn peek(&mut self) -> Result<(), Failure> {
        let key = self.any_key();
        let (held, now_ms) = (self.held(self.shown(), &key), self.scene.now_ms());
        let exists = held
            .as_ref()
            .is_some_and(|version| version.is_visible(now_ms));
        let start = self.scene.model.borrow().last();
        let peeked = self.handle.try_peek(key.0, &key.1);
        let is_right = match peeked {
            Peek::Absent => !exists || self.was_evicted(&key, start)?,
            Peek::Present(_) => exists,
            // The record decides: it may be that of a version which the last life saw expire.
            Peek::Unsure => true,
        };
        ensure(is_right, || {
            format!("{key:?} is {peeked:?} and holds {held:?} at {now_ms}")
        })?;
        let is_there = self.handle.peek(key.0, &key.1).await?.is_some();
        let ms = (now_ms, self.scene.now_ms());
        if !is_there && self.shows_loss(&key, start, ms.1)? {
            return Ok(());
        }
        self.check_since(&key, start, |held| match held {
            Some(version) if is_there => version.is_visible(ms.0),
            Some(version) => !version.is_visible(ms.1),
            None => !is_there,
        })?;
        let deadline = self.handle.deadline(key.0, &key.1).await?;
        let end_ms = self.scene.now_ms();
        if deadline.is_none() && self.shows_loss(&key, start, end_ms)? {
            return Ok(());
        }
        self.check_since(&key, start, |held| match deadline {
            None => held.is_none_or(|version| !version.is_visible(end_ms)),
            Some(deadline) => held.is_some_and(|version| version.expiry_ms == deadline),
        })
    }

    /// What was found is `right` for what the key held at some moment since.
    fn check_since(
        &self,
        key: &Key,
        start: usize,
        right: impl Fn(Option<&Version>) -> bool,
    ) -> Result<(), Failure> {
        let model = self.scene.model.borrow();
        let fits = model.since(key, start).any(right);
        Ok(ensure(fits, || {
            let held: Vec<_> = model.since(key, start).collect();
            format!("{key:?} is not seen as it was; it held {held:?}")
        })?)
    }

    /// Lists a database of its own: all keys that are there throughout, and none that never was.
    pub(crate) async fn scan(&mut self) -> Result<(), Failure> {
        let db = self.own_db();
        let (shown, at_start) = (self.shown(), self.visible(db));
        let start = self.scene.model.borrow().last();
        let mut found = BTreeSet::new();
        let mut cursor = 0;
        loop {
            let (next, keys) = self.handle.scan(db, cursor, SCAN_COUNT, None).await?;
            found.extend(keys);
            if next == 0 {
                break;
            }
            cursor = next;
        }
        if self.shown().content(db) != shown.content(db) {
            return Ok(());
        }
        // A key whose record the device does not deliver is left out.
        let trouble = self.scene.trouble;
        let is_whole = !trouble.may_fail_reads() && !trouble.may_damage();
        for missed in self.visible(db).difference(&found).filter(|_| is_whole) {
            let is_loss = self.was_evicted(&(db, missed.clone()), start)?;
            ensure(is_loss, || format!("a scan of {db:?} missed {missed:?}"))?;
        }
        ensure(found.is_subset(&at_start), || {
            format!(
                "a scan of {db:?} made {:?} up",
                found.difference(&at_start).next()
            )
        })?;
        let visible = self.visible(db);
        let model = self.scene.model.borrow();
        let is_sure = |key: &&Bytes| !model.is_doubtful(shown, &(db, (*key).clone()));
        let sure = visible.iter().filter(is_sure).count();
        let size = self.handle.dbsize(db);
        Ok(ensure(size >= sure as u64, || {
            format!("{db:?} has {sure} keys, dbsize says {size}")
        })?)
    }

    /// The keys of a database that have not expired.
    fn visible(&self, db: Db) -> BTreeSet<Bytes> {
        let now_ms = self.scene.now_ms();
        let model = self.scene.model.borrow();
        let versions = model
            .database(db)
            .filter(|(_, version)| version.is_visible(now_ms));
        versions.map(|(key, _)| key.clone()).collect()
    }
}

/// What was found is what the key held at the moment of its lookup.
fn check_moment(
    key: &Key,
    (held, found): (Option<&Version>, Option<&Version>),
    ms: (u64, u64),
) -> Result<(), Violation> {
    ensure(shows(held, found, ms), || {
        format!("{key:?} held {held:?} at its lookup and shows {found:?} within {ms:?}")
    })
}
