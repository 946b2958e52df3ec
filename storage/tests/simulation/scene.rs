//! What a life's clients share: the clock, the model, and the word that it is over. Owns what was
//! counted and the first violation; must never touch the store.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use cellar_storage::device::sim::SimRandom;
use cellar_storage::{Clock, StoreError};

use cellar_storage::clock::SimClock;

use crate::model::{Model, Violation};
use crate::plan::Plan;

/// Lines of the journal that a violation shows.
const JOURNAL_LINES: usize = 40;
/// Where it begins.
const JOURNAL_MARK: &str = "; before that:\n  ";

/// What happened in a run: a test asserts that all of it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) operations: u64,
    pub(crate) commits: u64,
    /// Commits that a crash undid.
    pub(crate) undone: u64,
    /// Commits that had been acknowledged as durable when a crash came.
    pub(crate) acknowledged: u64,
    pub(crate) out_of_space: u64,
    pub(crate) crashes: u64,
    pub(crate) crashes_of_recoveries: u64,
    pub(crate) closes: u64,
    pub(crate) recoveries: u64,
    pub(crate) recounts: u64,
    pub(crate) cleaned_segments: u64,
    pub(crate) relocated_bytes: u64,
    pub(crate) expired_keys: u64,
    /// The longest that an operation took, in simulated microseconds.
    pub(crate) operation_us_max: u64,
}

impl Tally {
    /// Adds another run's.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            operations,
            commits,
            undone,
            acknowledged,
            out_of_space,
            crashes,
            crashes_of_recoveries,
            closes,
            recoveries,
            recounts,
            cleaned_segments,
            relocated_bytes,
            expired_keys,
            operation_us_max,
        } = other;
        for (sum, more) in [
            (&mut self.operations, operations),
            (&mut self.commits, commits),
            (&mut self.undone, undone),
            (&mut self.acknowledged, acknowledged),
            (&mut self.out_of_space, out_of_space),
            (&mut self.crashes, crashes),
            (&mut self.crashes_of_recoveries, crashes_of_recoveries),
            (&mut self.closes, closes),
            (&mut self.recoveries, recoveries),
            (&mut self.recounts, recounts),
            (&mut self.cleaned_segments, cleaned_segments),
            (&mut self.relocated_bytes, relocated_bytes),
            (&mut self.expired_keys, expired_keys),
        ] {
            *sum += more;
        }
        self.operation_us_max = self.operation_us_max.max(*operation_us_max);
    }
}

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
    journal: RefCell<VecDeque<String>>,
    violation: RefCell<Option<Violation>>,
    next_value: Cell<u64>,
}

impl Scene {
    pub(crate) fn new(plan: Plan, clock: SimClock, model: Model, first_value: u64) -> Self {
        Self {
            clock,
            model: RefCell::new(model),
            tally: RefCell::default(),
            is_stopping: Cell::new(false),
            is_closing: Cell::new(false),
            tasks: (0..plan.client_count)
                .map(|_| Rc::new(Cell::new(Task::None)))
                .collect(),
            plan,
            journal: RefCell::default(),
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
            let journal: Vec<_> = self.journal.borrow().iter().cloned().collect();
            Violation(format!("{what}{JOURNAL_MARK}{}", journal.join("\n  ")))
        };
        self.violation.borrow_mut().get_or_insert_with(told);
    }

    /// Writes down what happens, for whoever has to understand a violation.
    pub(crate) fn note(&self, client: u64, what: &str) {
        let mut journal = self.journal.borrow_mut();
        if journal.len() == JOURNAL_LINES {
            journal.pop_front();
        }
        journal.push_back(format!("{} us, client {client}: {what}", self.now_us()));
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
