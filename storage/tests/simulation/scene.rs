//! What a life's clients share: the clock, the model, the trouble that the devices are in, and the
//! word that it is over. Owns the first violation; must never touch the store.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::SimRandom;
use cellar_storage::{Clock, EvictionPolicy, Lsn, Store, StoreError};

use crate::journal::{Journal, Line};
use crate::model::{Model, Violation, ensure};
use crate::plan::Plan;
use crate::tally::Tally;
use crate::trouble::Trouble;
use crate::watches::Watches;

/// Where the journal begins in a violation.
const JOURNAL_MARK: &str = "; before that:\n  ";

/// What a client is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// It pauses, or was not polled yet.
    None,
    /// An operation, since this time in microseconds.
    Operation(&'static str, u64),
    /// It has ended.
    Ended,
}

/// One life, as its clients see it.
pub(crate) struct Scene {
    pub(crate) plan: Plan,
    pub(crate) clock: SimClock,
    pub(crate) model: RefCell<Model>,
    pub(crate) tally: RefCell<Tally>,
    /// Clients stop after the operation that they are at.
    pub(crate) is_stopping: Cell<bool>,
    /// Writes may be refused because the store closes.
    pub(crate) is_closing: Cell<bool>,
    /// What each client is at.
    pub(crate) tasks: Vec<Rc<Cell<Task>>>,
    /// What each client watches.
    pub(crate) watches: Vec<RefCell<Watches>>,
    pub(crate) trouble: Trouble,
    /// The durable LSN when the store first refused a write after a failed one.
    latched: Cell<Option<Lsn>>,
    /// In force now, and how often it was changed.
    pub(crate) policy: Cell<EvictionPolicy>,
    pub(crate) policy_changes: Cell<u64>,
    /// Changes of what database numbers mean that are under way.
    pub(crate) map_changes: Cell<u64>,
    /// Bytes of pages, at most, to which nothing may lead though their root is there.
    pub(crate) unread_bytes: Cell<u64>,
    journal: RefCell<Journal>,
    /// Of all that clients did, and when.
    digest: Cell<u64>,
    violation: RefCell<Option<Violation>>,
    next_value: Cell<u64>,
}

impl Scene {
    pub(crate) fn new(
        plan: Plan,
        clock: SimClock,
        (model, first_value): (Model, u64),
        (trouble, unread_bytes): (Trouble, u64),
    ) -> Self {
        Self {
            clock,
            model: RefCell::new(model),
            tally: RefCell::default(),
            is_stopping: Cell::new(false),
            is_closing: Cell::new(false),
            tasks: (0..plan.client_count)
                .map(|_| Rc::new(Cell::new(Task::None)))
                .collect(),
            watches: (0..plan.client_count).map(|_| RefCell::default()).collect(),
            policy: Cell::new(plan.policy),
            policy_changes: Cell::new(0),
            map_changes: Cell::new(0),
            unread_bytes: Cell::new(unread_bytes),
            plan,
            trouble,
            latched: Cell::new(None),
            journal: RefCell::default(),
            digest: Cell::new(0),
            violation: RefCell::new(None),
            next_value: Cell::new(first_value),
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.unix_ms()
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.clock.monotonic_us()
    }

    /// Keeps the first violation, with what happened before it; it ends the life.
    pub(crate) fn report(&self, Violation(what): Violation) {
        self.is_stopping.set(true);
        let told = || {
            if what.contains(JOURNAL_MARK) {
                return Violation(what);
            }
            Violation(format!("{what}{JOURNAL_MARK}{}", self.journal.borrow()))
        };
        self.violation.borrow_mut().get_or_insert_with(told);
    }

    /// Writes down what happens, for whoever has to understand a violation, and for the digest.
    pub(crate) fn note(&self, client: u64, line: Line) {
        let mark = line.mark() ^ client << 56 ^ self.now_us() << 8;
        let digest = SimRandom::new(self.digest.get() ^ mark).next_u64();
        self.digest.set(digest);
        self.journal.borrow_mut().add(self.now_us(), client, line);
    }

    /// A number that differs between lives in which anything differed that a client did.
    pub(crate) fn digest(&self) -> u64 {
        self.digest.get()
    }

    /// Sets another eviction policy.
    pub(crate) fn set_policy(&self, store: &Store, policy: EvictionPolicy) {
        store.set_eviction_policy(policy);
        self.model.borrow_mut().set_policy(policy);
        self.policy.set(policy);
        self.policy_changes.set(self.policy_changes.get() + 1);
    }

    /// A write was refused because one had failed, with this durable LSN. Nothing becomes durable
    /// from here on.
    pub(crate) fn note_latch(&self, durable: Lsn) -> Result<(), Violation> {
        ensure(self.trouble.may_latch(), || {
            "writes are refused, and none failed".into()
        })?;
        let first = self.latched.get().unwrap_or(durable);
        self.latched.set(Some(first));
        self.check_latch(durable)
    }

    /// Nothing counts as durable that did not when the first write was refused.
    pub(crate) fn check_latch(&self, durable: Lsn) -> Result<(), Violation> {
        match self.latched.get() {
            Some(first) => ensure(durable == first, || {
                format!("{durable} is durable after a failed write, and was {first} then")
            }),
            None => Ok(()),
        }
    }

    /// Whether the store has refused writes because one had failed.
    pub(crate) fn is_latched(&self) -> bool {
        self.latched.get().is_some()
    }

    /// Whether all clients have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.tasks.iter().all(|task| task.get() == Task::Ended)
    }

    /// The first client whose operation takes longer than `us`.
    pub(crate) fn overdue(&self, us: u64) -> Option<Violation> {
        let now_us = self.now_us();
        self.tasks
            .iter()
            .enumerate()
            .find_map(|(number, task)| match task.get() {
                Task::Operation(name, since_us) if now_us - since_us > us => {
                    let what = format!("client {number} waits since {since_us} us: {name}");
                    Some(Violation(what))
                }
                Task::None | Task::Operation(..) | Task::Ended => None,
            })
    }

    pub(crate) fn take_violation(&self) -> Result<(), Violation> {
        self.violation.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// The number that the next value is made of.
    pub(crate) fn next_value(&self) -> u64 {
        let number = self.next_value.get();
        self.next_value.set(number + 1);
        number
    }

    /// A value that no other one is taken for, unless both are shorter than eight bytes.
    pub(crate) fn value(&self, len: usize) -> Vec<u8> {
        let number = self.next_value();
        let mut value = vec![0; len];
        SimRandom::new(number).fill(&mut value);
        value
    }
}

/// Why an operation did not come to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The store refused or failed.
    Store(StoreError),
    /// The store did what it must not.
    Violation(Violation),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation)
    }
}
