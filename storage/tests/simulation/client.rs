//! A client: one operation after the other, drawn from its seed, on keys of its own and on some
//! that all clients share. Owns the choice; what an operation does and must show is told beside it
//! (`blind`, `locked`, `reads`).

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use cellar_storage::device::sim::SimRandom;
use cellar_storage::{AppendFsync, Clock, Db, EvictionPolicy, Handle, Lsn, StoreError};

use crate::journal::Line;
use crate::model::{Effect, Key, Shown, Violation, ensure};
use crate::policies::always_finds;
use crate::scene::{Failure, Scene, Task};
use crate::trouble::Trouble;
use crate::value::Held;

/// The database in which all clients have keys.
pub(crate) const SHARED: Db = Db(0);
/// Keys in it that everybody sets.
pub(crate) const CONTENDED_COUNT: u64 = 10;
/// Keys in it that everybody increments; never removed but by a flush.
pub(crate) const COUNTER_COUNT: u64 = 4;
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
const OPERATIONS: [(&str, u64); 26] = [
    ("set", 260),
    ("set if", 50),
    ("remove", 0),
    ("batch", 80),
    ("write range", 60),
    ("rewrite pages", 60),
    ("write ahead", 10),
    ("transaction", 50),
    ("watch", 30),
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
            let outcome = outcome.and_then(|()| Ok(self.check_watches()?));
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
            "rewrite pages" | "write ahead" if plan.collection_percent == 0 => 0,
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
            "rewrite pages" => self.rewrite_pages().await,
            "write ahead" => self.write_ahead().await,
            "transaction" => self.transaction().await,
            "watch" => Ok(self.watch()?),
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

    // ---- what operations have in common

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
