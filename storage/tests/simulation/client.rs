//! A client: one operation after the other, drawn from its seed, on keys of its own and on some
//! that all clients share. Owns the choice; what an operation does and must show is told beside it
//! (`blind`, `locked`, `reads`).

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;
use cellar_storage::device::sim::SimRandom;
use cellar_storage::{AppendFsync, Clock, Db, EvictionPolicy, Handle, Lsn, StoreError};

use crate::journal::Line;
use crate::model::{Effect, Held, Key, Shown, Version, Violation, ensure};
use crate::policies::always_finds;
use crate::scene::{Failure, Scene, Task};
use crate::trouble::Trouble;

/// The database in which all clients have keys.
pub(crate) const SHARED: Db = Db(0);
/// Keys in it that everybody sets.
pub(crate) const CONTENDED_COUNT: u64 = 10;
/// Keys in it that everybody increments; never removed but by a flush.
pub(crate) const COUNTER_COUNT: u64 = 4;
/// A deadline that no run lives to see, in milliseconds from now.
const FAR_MS: u64 = 3_600_000;
/// Deadlines that come soon, in milliseconds from now.
const NEAR_MS: u64 = 4_000;

/// What a read has to wait for before its reply may go, and the commit that it then speaks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reliance {
    lsn: Lsn,
    commit: usize,
}

/// How things stood when an operation began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Began {
    /// The store refused writes because one had failed.
    is_latched: bool,
    /// How often the eviction policy had been changed.
    policy_changes: u64,
}

/// One client.
pub(crate) struct Client {
    pub(crate) scene: Rc<Scene>,
    pub(crate) handle: Handle,
    pub(crate) random: SimRandom,
    pub(crate) number: u64,
    pub(crate) began: Began,
}

/// All operations, with their weights.
const OPERATIONS: [(&str, u64); 22] = [
    ("set", 260),
    ("set if", 50),
    ("remove", 0),
    ("batch", 80),
    ("write range", 60),
    ("set expiry", 50),
    ("rename", 40),
    ("copy", 40),
    ("conditional under lock", 40),
    ("increment", 50),
    ("transfer", 20),
    ("set contended", 40),
    ("get", 130),
    ("get several", 40),
    ("get slowly", 0),
    ("peek", 30),
    ("scan", 2),
    ("flush", 0),
    ("swap", 5),
    ("set policy", 0),
    ("set memory", 0),
    ("wait", 0),
];
/// Keys of a client's databases that are set in one batch while it fills them.
const FILLED_AT_ONCE: u64 = 4;
/// One bound on memory in so many is too low for any key, in bytes; the others are none.
const SHORT_ONE_IN: u64 = 4;
const SHORT_BYTES: u64 = 1;
/// What is in the plan stands in these tenths of a percent.
const WEIGHT_PER_PERCENT: u64 = 10;

impl Client {
    /// Goes on until the scene ends or something is wrong.
    pub(crate) async fn run(mut self) {
        let mut unfilled = self.unfilled();
        while !self.scene.is_stopping.get() {
            let numbers = unfilled.pop_front();
            let name = if numbers.is_some() {
                "fill"
            } else {
                self.choose()
            };
            let since_us = self.scene.now_us();
            self.note(Task::Operation(name, since_us));
            self.scene.note(self.number, Line::Begins(name));
            self.began = Began {
                is_latched: self.scene.is_latched(),
                policy_changes: self.scene.policy_changes.get(),
            };
            let outcome = match numbers {
                Some(numbers) => self.fill(numbers).await,
                None => self.perform(name).await,
            };
            let took_us = self.scene.now_us() - since_us;
            self.note(Task::None);
            {
                let mut tally = self.scene.tally.borrow_mut();
                tally.operations += 1;
                tally.operation_us_max = tally.operation_us_max.max(took_us);
            }
            self.scene.note(self.number, Line::Ends(outcome.is_ok()));
            if !self.goes_on(name, outcome) {
                break;
            }
            self.handle.end_of_turn();
            self.pause().await;
        }
        self.note(Task::Ended);
    }

    fn note(&self, task: Task) {
        self.scene.tasks[self.number as usize].set(task);
    }

    /// What is to be set first, where the life began with few keys, so that the device fills soon.
    fn unfilled(&self) -> VecDeque<Range<u64>> {
        let (count, model) = (self.scene.plan.keys_per_database, self.scene.model.borrow());
        let held: usize = self
            .own_dbs()
            .iter()
            .map(|db| model.database(*db).count())
            .sum();
        if held as u64 >= count / 2 {
            return VecDeque::new();
        }
        let step = FILLED_AT_ONCE as usize;
        (0..count)
            .step_by(step)
            .map(|at| at..count.min(at + FILLED_AT_ONCE))
            .collect()
    }

    fn choose(&mut self) -> &'static str {
        let plan = &self.scene.plan;
        let weight = |name: &str, usual: u64| match name {
            "remove" => plan.removal_percent * WEIGHT_PER_PERCENT,
            "wait" => plan.waits_per_mille,
            // While some read slowly others write.
            "get slowly" if self.number.is_multiple_of(2) => 1,
            "get slowly" => plan.slow_reads_per_mille,
            "flush" => plan.flushes_per_mille,
            "set policy" => plan.policy_changes_per_mille,
            "set memory" => plan.memory_changes_per_mille,
            _ => usual,
        };
        let sum: u64 = OPERATIONS.iter().map(|(name, w)| weight(name, *w)).sum();
        let mut drawn = self.random.below(sum);
        for (name, usual) in OPERATIONS {
            match drawn.checked_sub(weight(name, usual)) {
                Some(rest) => drawn = rest,
                None => return name,
            }
        }
        unreachable!("less than the sum was drawn")
    }

    async fn perform(&mut self, name: &str) -> Result<(), Failure> {
        match name {
            "set" => self.set().await,
            "set if" => self.set_if().await,
            "remove" => self.remove().await,
            "batch" => self.batch().await,
            "write range" => self.write_range().await,
            "set expiry" => self.set_expiry().await,
            "rename" => self.rename().await,
            "copy" => self.copy().await,
            "conditional under lock" => self.conditional_under_lock().await,
            "increment" => self.increment().await,
            "transfer" => self.transfer().await,
            "set contended" => self.set_contended().await,
            "get" => self.get_one().await,
            "get several" => self.get_several().await,
            "get slowly" => self.get_slowly().await,
            "peek" => self.peek().await,
            "scan" => self.scan().await,
            "flush" => self.flush().await,
            "swap" => self.swap().await,
            "set policy" => {
                self.set_policy();
                Ok(())
            }
            "set memory" => {
                self.set_memory();
                Ok(())
            }
            "wait" => self.wait().await,
            other => unreachable!("no operation is named {other}"),
        }
    }

    /// Whether the client does another operation after this outcome.
    fn goes_on(&self, name: &str, outcome: Result<(), Failure>) -> bool {
        match outcome {
            Ok(()) => true,
            Err(Failure::Store(StoreError::OutOfSpace))
                if name != "remove" && self.may_be_full() =>
            {
                self.scene.tally.borrow_mut().out_of_space += 1;
                true
            }
            Err(Failure::Store(StoreError::Closing)) if self.scene.is_closing.get() => false,
            Err(Failure::Store(StoreError::Read(_))) if self.scene.trouble.may_fail_reads() => {
                self.scene.tally.borrow_mut().failed_reads += 1;
                true
            }
            Err(Failure::Store(StoreError::Corrupt { .. } | StoreError::MissingPage { .. }))
                if self.scene.trouble.may_damage() =>
            {
                true
            }
            Err(Failure::Store(StoreError::Latched)) => {
                let noted = self.scene.note_latch(self.handle.durable_lsn());
                if let Err(Violation(what)) = &noted {
                    self.report(&format!("{name}: {what}"));
                }
                noted.is_ok()
            }
            Err(Failure::Store(error)) => {
                self.report(&format!("{name}: {error}"));
                false
            }
            Err(Failure::Violation(Violation(what))) => {
                self.report(&format!("{name}: {what}"));
                false
            }
        }
    }

    /// Whether writes may be refused for want of space: not while a policy finds something to let
    /// go.
    fn may_be_full(&self) -> bool {
        let is_same = self.scene.policy_changes.get() == self.began.policy_changes;
        let makes_room = is_same && always_finds(self.scene.policy.get());
        !makes_room || self.scene.trouble != Trouble::None
    }

    fn report(&self, what: &str) {
        let (client, at_us) = (self.number, self.scene.now_us());
        self.scene
            .report(Violation(format!("client {client} at {at_us} us: {what}")));
    }

    async fn pause(&mut self) {
        match self.random.below(10) {
            0..3 => {
                let us = 1 + self.random.below(self.scene.plan.pause_us_max);
                self.scene.clock.sleep(us).await;
            }
            3..6 => tokio::task::yield_now().await,
            _ => {}
        }
    }

    // ---- what operations are made of

    /// The client's own databases.
    pub(crate) fn own_dbs(&self) -> [Db; 2] {
        dbs_of(self.number)
    }

    /// One of the client's own databases.
    pub(crate) fn own_db(&mut self) -> Db {
        self.own_dbs()[self.random.below(2) as usize]
    }

    /// A key in one of the client's own databases.
    pub(crate) fn own_key(&mut self) -> Key {
        let db = self.own_db();
        let count = self.scene.plan.keys_per_database;
        let is_hot = self.random.below(100) < self.scene.plan.skew_percent;
        let number = self
            .random
            .below(if is_hot { count.div_ceil(10) } else { count });
        (db, self.key(number))
    }

    /// The key with this number among the client's own; some are long.
    pub(crate) fn key(&self, number: u64) -> Bytes {
        key_of(self.number, number)
    }

    /// A key of any client's, mostly one of its own.
    pub(crate) fn any_key(&mut self) -> Key {
        match self.random.below(20) {
            0..12 => self.own_key(),
            12..15 => self.contended_key(),
            15 | 16 => self.counter_key(),
            _ => self.others_key(),
        }
    }

    /// A key in one of the databases of any client.
    pub(crate) fn others_key(&mut self) -> Key {
        let (clients, keys) = (
            self.scene.plan.client_count,
            self.scene.plan.keys_per_database,
        );
        let (client, number) = (self.random.below(clients), self.random.below(keys));
        let db = dbs_of(client)[self.random.below(2) as usize];
        (db, key_of(client, number))
    }

    /// A key that all clients set.
    pub(crate) fn contended_key(&mut self) -> Key {
        (
            SHARED,
            Bytes::from(format!("contended:{}", self.random.below(CONTENDED_COUNT))),
        )
    }

    /// A key that all clients increment.
    pub(crate) fn counter_key(&mut self) -> Key {
        (
            SHARED,
            Bytes::from(format!("counter:{}", self.random.below(COUNTER_COUNT))),
        )
    }

    /// A fresh value.
    pub(crate) fn value(&mut self) -> Bytes {
        let len = self.scene.plan.sizes.draw(&mut self.random);
        Bytes::from(self.scene.value(len))
    }

    /// A deadline for a new value, or none.
    pub(crate) fn deadline(&mut self) -> Option<u64> {
        let wants = self.random.below(100) < self.scene.plan.deadline_percent;
        wants.then(|| self.some_deadline())
    }

    /// A deadline, mostly one that comes soon.
    pub(crate) fn some_deadline(&mut self) -> u64 {
        let now_ms = self.scene.now_ms();
        match self.random.below(8) {
            0 => now_ms + FAR_MS,
            1 => (now_ms + self.random.below(NEAR_MS)).next_multiple_of(1_000) + 1_000,
            2 => now_ms + 1 + self.random.below(20),
            _ => now_ms + 1 + self.random.below(NEAR_MS),
        }
    }

    /// A fresh value, with a deadline or without.
    pub(crate) fn version(&mut self) -> Version {
        Version {
            value: self.value(),
            expiry_ms: self.deadline(),
        }
    }

    pub(crate) fn shown(&self) -> Shown {
        self.scene.model.borrow().shown()
    }

    /// What the model says that a key holds.
    pub(crate) fn held(&self, shown: Shown, (db, key): &Key) -> Held {
        self.scene.model.borrow().held(shown, *db, key)
    }

    /// A commit has just returned: tells the model in the same poll, and waits until it is durable
    /// where the level or chance wants it.
    pub(crate) async fn committed(
        &mut self,
        shown: Shown,
        effects: Vec<Effect>,
    ) -> Result<(), Failure> {
        let lsn = self.handle.published_lsn();
        let at_us = self.scene.now_us();
        ensure(!self.began.is_latched, || {
            "a write was accepted after one had failed".into()
        })?;
        let line = Line::Commits(lsn, effects.clone());
        self.scene.note(self.number, line);
        self.scene
            .model
            .borrow_mut()
            .commit((lsn, at_us), shown, effects)?;
        self.acknowledge(lsn).await
    }

    /// Waits for durability up to `lsn` where the level or chance wants it.
    pub(crate) async fn acknowledge(&mut self, lsn: Lsn) -> Result<(), Failure> {
        if self.waits() {
            self.handle.wait_durable(lsn).await?;
            self.scene.model.borrow_mut().acknowledge(lsn);
        }
        Ok(())
    }

    fn waits(&mut self) -> bool {
        match self.scene.plan.appendfsync {
            AppendFsync::Always => true,
            AppendFsync::Everysec | AppendFsync::No => {
                self.random.below(1_000) < self.scene.plan.waits_per_mille
            }
        }
    }

    /// A key was looked up just now, and what it shows came with the last of its commits. Where the
    /// level or chance wants it, waits until that is durable, by what the store says of the key.
    pub(crate) fn reliance(&mut self, key: &Key) -> Option<Reliance> {
        let lsn = self.handle.key_lsn(key.0, &key.1);
        let commit = self.scene.model.borrow().last_of(key);
        self.waits().then_some(Reliance { lsn, commit })
    }

    /// What was shown is to survive.
    pub(crate) async fn rely(&self, reliance: Option<Reliance>) -> Result<(), Failure> {
        if let Some(Reliance { lsn, commit }) = reliance {
            self.handle.wait_durable(lsn).await?;
            self.scene.model.borrow_mut().acknowledge_commit(commit);
        }
        Ok(())
    }

    /// Sets another eviction policy.
    fn set_policy(&mut self) {
        let policy = EvictionPolicy::ALL[self.random.below(8) as usize];
        self.scene.set_policy(self.handle.store(), policy);
        self.scene.tally.borrow_mut().policy_changes += 1;
    }

    /// Sets another bound on memory: none, or now and then one below what the index takes by
    /// itself, so that whatever the policy lets go has to go.
    fn set_memory(&mut self) {
        let is_short = self.random.below(SHORT_ONE_IN) == 0;
        let bytes = if is_short { SHORT_BYTES } else { 0 };
        self.handle.store().set_memory_bytes_max(bytes);
    }

    /// A key was looked for after `start` and not found, though nobody has removed it. Whether a
    /// policy may have let it go; where it was not written since, it is gone from now on.
    pub(crate) fn was_evicted(&self, key: &Key, start: usize) -> Result<bool, Violation> {
        let mut model = self.scene.model.borrow_mut();
        if !model.may_have_gone(key, start) {
            return Ok(false);
        }
        if model.is_unchanged(key, start) {
            let lsn = self.handle.published_lsn();
            model.lose((lsn, self.scene.now_us()), key)?;
            self.scene.tally.borrow_mut().losses += 1;
            let line = Line::Commits(lsn, vec![(key.0, key.1.clone(), None)]);
            self.scene.note(self.number, line);
        }
        Ok(true)
    }

    /// Waits until everything is durable.
    async fn wait(&mut self) -> Result<(), Failure> {
        let lsn = self.handle.published_lsn();
        self.handle.wait_durable(lsn).await?;
        self.scene.model.borrow_mut().acknowledge(lsn);
        Ok(())
    }
}

fn dbs_of(client: u64) -> [Db; 2] {
    let first = (1 + 2 * client) as u8;
    [Db(first), Db(first + 1)]
}

fn key_of(client: u64, number: u64) -> Bytes {
    let tail = if number.is_multiple_of(13) {
        "-".repeat(600)
    } else {
        String::new()
    };
    Bytes::from(format!("{client}:{number}{tail}"))
}
