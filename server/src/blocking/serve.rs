//! Runs a blocking command: at once where its keys hold something, else in its chances.
//!
//! Owns the locks of its attempts.

use std::cell::Cell;

use bytes::Bytes;
use cellar_storage::{Db, KeyLocks, ValueType};
use smallvec::SmallVec;

use super::Block;
use super::place::{Chance, Place};
use super::ripple::Acting;
use crate::command::{CommandError, Cx};

/// What a blocking command waits for.
pub(crate) struct Wish<'a> {
    /// The keys of which one must hold something.
    pub(crate) keys: &'a [Bytes],
    /// A key that it writes to, if any.
    pub(crate) destination: Option<&'a Bytes>,
    /// The type of value that helps.
    pub(crate) value_type: ValueType,
    /// Milliseconds that it waits at most, 0 for ever.
    pub(crate) timeout_ms: u64,
    /// Whether a key that is gone, or holds another type, ends the wait: the attempt sees to it.
    pub(crate) heeds_loss: bool,
}

impl Wish<'_> {
    /// All keys to lock.
    fn targets(&self, db: Db) -> SmallVec<[(Db, &[u8]); 2]> {
        let keys = self.keys.iter().chain(self.destination);
        keys.map(|key| (db, &key[..])).collect()
    }
}

/// One attempt of a blocking command, under the locks of all its keys.
pub(crate) struct Attempt<'a> {
    /// The locks.
    pub(crate) locks: &'a KeyLocks,
    cx: &'a Cx,
    is_first: bool,
    /// Whether something was left to others.
    has_deferred: Cell<bool>,
}

impl Attempt<'_> {
    /// Whether what this key holds is for others, who waited before: then the attempt is to end
    /// without a result.
    pub(crate) fn is_for_others(&self, key: &Bytes) -> bool {
        let is_busy = || self.cx.shared.blocking.is_busy(self.cx.db(), key);
        let is_for_others = self.is_first && is_busy();
        self.has_deferred
            .set(self.has_deferred.get() || is_for_others);
        is_for_others
    }
}

/// What an attempt got.
pub(crate) struct Served<T> {
    /// What is answered.
    pub(crate) value: T,
    /// The key that is gone now because nothing is left in it.
    pub(crate) emptied: Option<Bytes>,
}

/// How a chance ended.
enum Tried<T> {
    /// The key is gone: it has nothing for the others either.
    Absent,
    /// The key holds something, but not for this command.
    Nothing,
    /// The command is done.
    Served(Served<T>),
}

/// Runs a command until an attempt of it has a result: nothing where the time is up first, or where
/// it may not block.
pub(crate) async fn serve<T>(
    cx: &Cx,
    wish: &Wish<'_>,
    attempt: impl AsyncFn(&Attempt<'_>) -> Result<Option<Served<T>>, CommandError>,
) -> Result<Option<T>, CommandError> {
    let targets = wish.targets(cx.db());
    let blocking = &cx.shared.blocking;
    let swap_count = blocking.swap_count();
    let mut place: Place<'_>;
    {
        let locks = &cx.store.lock(&targets).await;
        let first = Attempt {
            locks,
            cx,
            is_first: cx.may_block(),
            has_deferred: Cell::new(false),
        };
        if let Some(served) = attempt(&first).await? {
            return Ok(Some(served.value));
        }
        if !cx.may_block() {
            return Ok(None);
        }
        place = blocking.join(cx, wish.keys, wish.heeds_loss);
        if first.has_deferred.get() {
            // they may have been through before it joined them
            place.open_chances(false);
        }
    }
    if blocking.swap_count() != swap_count {
        // it looked into a database that is another one now
        place.open_chances(true);
    }
    let mut block = Block::begin(cx, wish.timeout_ms);
    while let Some(chance) = block.until(place.chance()).await? {
        let Chance { key, queue, share } = chance;
        let trial = try_in_chance(cx, (wish, &targets), (&place, key), &attempt);
        let trial = Acting::new(queue, share, trial);
        match trial.await? {
            Tried::Absent => place.end_chance(key, false),
            Tried::Nothing => place.end_chance(key, true),
            Tried::Served(served) => {
                place.leave(served.emptied.as_ref());
                return Ok(Some(served.value));
            }
        }
    }
    Ok(None)
}

/// Tries again because its chance at one of the keys has come.
async fn try_in_chance<T>(
    cx: &Cx,
    (wish, targets): (&Wish<'_>, &[(Db, &[u8])]),
    (place, key): (&Place<'_>, usize),
    attempt: &impl AsyncFn(&Attempt<'_>) -> Result<Option<Served<T>>, CommandError>,
) -> Result<Tried<T>, CommandError> {
    place.refresh(cx, key);
    let locks = &cx.store.lock(targets).await;
    if place.is_overtaken(key) {
        return Ok(Tried::Nothing);
    }
    if !wish.heeds_loss {
        let found = cx.store.get_locked(locks, cx.db(), &wish.keys[key]).await?;
        match found.map(|found| found.value_type()) {
            None => return Ok(Tried::Absent),
            Some(other) if other != wish.value_type => return Ok(Tried::Nothing),
            Some(_) => {}
        }
    }
    let served = attempt(&Attempt {
        locks,
        cx,
        is_first: false,
        has_deferred: Cell::new(false),
    })
    .await?;
    Ok(served.map_or(Tried::Nothing, Tried::Served))
}
