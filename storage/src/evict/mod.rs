//! Eviction: which keys go when the devices or the memory are full and a policy says so.
//!
//! ```text
//!   devices full:  cleaner -> victims, oldest first -> give up what is not worth its copy
//!                  and when that is not enough (or only keys with deadlines may go):
//!                  hand -> some buckets -> the least worthy of them
//!   memory full:   hand
//!   writers:       refused for want of room -> wait for either, within a bound
//! ```
//!
//! A key that is evicted is removed by a tombstone as by DEL, through the one critical section that
//! all writes go through: so it is ordered, durable and seen like any removal, and its pages go to
//! the sweeper. A key whose lock is held stays. After a failed write nothing is evicted.
//!
//! Owns the policy, the marks from which it acts, and the choice of keys. It never decides which
//! segment is freed when, and never removes a page by itself.

mod give_up;
mod hand;
mod policy;
mod pressure;
mod sketch;
mod victims;
mod wait;

use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use cellar_index::{Entry, Identity};
use tokio::sync::Notify;

pub(crate) use give_up::give_up;
pub(crate) use hand::run;
pub use policy::EvictionPolicy;
pub(crate) use policy::Order;
pub(crate) use sketch::Sketch;
pub(crate) use victims::wants_oldest;
pub(crate) use wait::Patience;

use crate::departure::{Departure, Farewell};
use crate::place;
use crate::stats::Counter;
use crate::store::Store;
use crate::worker::Worker;
use crate::write::Refused;

/// Uses that a worker counts by itself before it tells the sketch: one shared write for so many.
const USES_PER_NOTE: u32 = 64;

/// What a key was evicted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// The devices are full.
    Space,
    /// The index has reached its bound.
    Memory,
}

/// The policy in force, and what it needs to know.
pub(crate) struct Eviction {
    policy: AtomicU8,
    /// Made when a policy first asks for it, and kept: it is forgotten slowly.
    sketch: OnceLock<Sketch>,
    /// A writer found the index full since the hand last looked.
    is_memory_wanted: AtomicBool,
    /// The last tombstone of the cleaner found no place in the log.
    is_log_short: AtomicBool,
    wanted: Notify,
    relief: Notify,
}

impl Eviction {
    pub(crate) fn new() -> Self {
        Self {
            policy: AtomicU8::new(EvictionPolicy::NoEviction as u8),
            sketch: OnceLock::new(),
            is_memory_wanted: AtomicBool::new(false),
            is_log_short: AtomicBool::new(false),
            wanted: Notify::new(),
            relief: Notify::new(),
        }
    }

    pub(crate) fn policy(&self) -> EvictionPolicy {
        EvictionPolicy::from_u8(self.policy.load(Ordering::Relaxed))
    }

    /// By what keys are chosen; `None`: none is.
    pub(crate) fn order(&self) -> Option<Order> {
        self.policy().order()
    }

    /// About how often a key was used of late; 0 where no policy has asked for it.
    pub(crate) fn count(&self, identity: Identity) -> u64 {
        self.sketch.get().map_or(0, |sketch| sketch.count(identity))
    }

    /// Bytes of the sketch.
    pub(crate) fn bytes(&self) -> u64 {
        self.sketch.get().map_or(0, Sketch::bytes)
    }

    /// Whether the policy lets a key go that has this entry. Pages go with their roots.
    fn may_go(&self, entry: &Entry) -> bool {
        let is_key = entry.value_type != cellar_index::VALUE_TYPE_PAGE;
        is_key && (entry.expiry_s != 0 || !self.policy().is_volatile())
    }
}

impl Store {
    /// What happens when devices or memory are full.
    pub fn eviction_policy(&self) -> EvictionPolicy {
        self.eviction().policy()
    }

    /// Changes what happens when devices or memory are full. What is known of the keys' uses is
    /// what the policies so far have asked for.
    pub fn set_eviction_policy(&self, policy: EvictionPolicy) {
        let eviction = self.eviction();
        if policy.order() == Some(Order::Frequency) {
            eviction.sketch.get_or_init(|| self.new_sketch());
        }
        eviction.policy.store(policy as u8, Ordering::Relaxed);
        eviction.wanted.notify_one();
        eviction.relief.notify_waiters();
    }
}

impl Worker {
    /// A key was used, whether it is there or not: what the policy wants to know of it.
    pub(crate) fn note_use(&self, identity: Identity, found: Option<&Entry>) {
        let store = self.store();
        match store.eviction().order() {
            None | Some(Order::Random | Order::Deadline) => {}
            Some(Order::Recency) => {
                if found.is_some_and(|entry| !entry.referenced) {
                    store.index().mark_referenced(identity);
                }
            }
            Some(Order::Frequency) => self.count_use(identity),
        }
    }

    fn count_use(&self, identity: Identity) {
        let Some(sketch) = self.store().eviction().sketch.get() else {
            return;
        };
        sketch.note(identity);
        let uses = self.uses().get() + 1;
        self.uses().set(uses % USES_PER_NOTE);
        if uses == USES_PER_NOTE {
            sketch.age(u64::from(uses), self.store().index().len());
        }
    }

    /// Removes a key that is still what `seen` says. False: it is not, or somebody has its lock.
    fn evict(
        self: &Rc<Self>,
        identity: Identity,
        seen: &Entry,
        shortage: Shortage,
    ) -> Result<bool, Refused> {
        let store = self.store();
        let Some(database) = store.databases().by_handle(seen.database) else {
            return Ok(false);
        };
        let farewell = self.say_farewell(Departure::Evicted, identity, place::of(seen));
        if matches!(farewell, Farewell::Busy) {
            return Ok(false);
        }
        match self.try_remove_at(identity, database, place::of(seen), None) {
            Ok(outcome) if outcome.written > 0 => {
                store.counters().evicted(shortage).add(1);
                self.tell_gone(Departure::Evicted, database, farewell);
                Ok(true)
            }
            Ok(_) | Err(Refused::Locked | Refused::Unsure { .. }) => Ok(false),
            Err(refused @ (Refused::NoRoom | Refused::Short(_) | Refused::Failed(_))) => {
                Err(refused)
            }
        }
    }
}

impl crate::stats::Counters {
    fn evicted(&self, shortage: Shortage) -> &Counter {
        match shortage {
            Shortage::Space => &self.evicted_for_space,
            Shortage::Memory => &self.evicted_for_memory,
        }
    }
}
