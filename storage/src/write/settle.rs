//! Waiting: what a refused commit needs before it starts over.

use std::pin::pin;
use std::rc::Rc;

use cellar_index::Identity;
use smallvec::SmallVec;

use crate::database::DbRef;
use crate::departure::{Departure, Farewell};
use crate::error::StoreError;
use crate::evict::Patience;
use crate::format::{Kind, RecordDraft};
use crate::lock::{Mode, StripeLocks};
use crate::place;
use crate::units::Location;
use crate::worker::Worker;
use crate::write::{Effect, Outcome, Prepared, Refused, Terms};

/// What a commit has found out or obtained over its attempts.
#[derive(Default)]
struct Progress {
    locks: Option<StripeLocks>,
    unexpired: SmallVec<[Location; 2]>,
    patience: Patience,
}

impl Worker {
    /// Commits, waiting for key locks and for room as long as it takes.
    pub(crate) async fn commit_prepared(
        self: &Rc<Self>,
        writes: &[Prepared<'_>],
        terms: Terms<'_>,
    ) -> Result<Outcome, StoreError> {
        let mut progress = Progress::default();
        loop {
            let mut room = pin!(self.log().room().notified());
            room.as_mut().enable();
            let attempt = Terms {
                held: terms.held.or(progress.locks.as_ref()),
                unexpired: &progress.unexpired,
                ..terms
            };
            match self.try_commit(writes, attempt) {
                Ok(outcome) => return Ok(outcome),
                Err(Refused::Failed(error)) => return Err(error),
                Err(Refused::NoRoom) => {
                    self.store().want_room();
                    self.store().check_room_comes()?;
                    room.await;
                }
                Err(Refused::Short(error)) => {
                    progress.patience.wait(self.store(), error).await?;
                }
                Err(Refused::Locked) => {
                    assert!(terms.held.is_none(), "a caller's locks cover all its keys");
                    let keys = writes.iter().filter(|w| !w.is_page()).map(|w| w.identity);
                    progress.locks = None;
                    let locks = self.store().locks().acquire(keys, Mode::Exclusive).await;
                    progress.locks = Some(locks);
                }
                Err(Refused::Unsure { identity, at }) => {
                    self.settle_deadline((identity, at), terms.held, &mut progress)
                        .await?;
                }
            }
        }
    }

    /// Reads the record at `at`, whose deadline lies in this second: removes it if it has passed,
    /// else remembers that it has not.
    async fn settle_deadline(
        self: &Rc<Self>,
        (identity, at): (Identity, Location),
        held: Option<&StripeLocks>,
        progress: &mut Progress,
    ) -> Result<(), StoreError> {
        let Some((entry, record)) = self.read_record(identity).await? else {
            return Ok(());
        };
        if place::of(&entry) != at {
            return Ok(());
        }
        if record.is_expired(&self.store().moment()) {
            let held = held.or(progress.locks.as_ref());
            let place = (identity, at);
            if self.wait_removed(place, entry.database, held).await?
                && let Some(database) = self.store().databases().by_handle(entry.database)
            {
                self.store()
                    .tell_departed(Departure::Expired, database, record.key());
            }
            return Ok(());
        }
        progress.unexpired.push(at);
        Ok(())
    }

    /// Writes the tombstone of a record that is still at its place, when there is room for it: true
    /// if that was done.
    pub(crate) async fn wait_removed(
        self: &Rc<Self>,
        (identity, at): (Identity, Location),
        handle: u8,
        held: Option<&StripeLocks>,
    ) -> Result<bool, StoreError> {
        let Some(database) = self.store().databases().by_handle(handle) else {
            tokio::task::yield_now().await;
            return Ok(false);
        };
        loop {
            let mut room = pin!(self.log().room().notified());
            room.as_mut().enable();
            match self.try_remove_at(identity, database, at, held) {
                Ok(outcome) => return Ok(outcome.written > 0),
                Err(Refused::NoRoom) => {
                    self.store().want_room();
                    self.store().check_room_comes()?;
                    room.await;
                }
                // Whoever holds the lock sees the deadline itself.
                Err(Refused::Locked | Refused::Unsure { .. }) => {
                    tokio::task::yield_now().await;
                    return Ok(false);
                }
                Err(Refused::Failed(error) | Refused::Short(error)) => return Err(error),
            }
        }
    }

    /// Writes the tombstone of a record that is still where it was seen.
    pub(crate) fn try_remove_at(
        self: &Rc<Self>,
        identity: Identity,
        database: DbRef,
        at: Location,
        held: Option<&StripeLocks>,
    ) -> Result<Outcome, Refused> {
        let bytes = identity.to_bytes();
        let write = Prepared {
            identity,
            database: Some(database),
            draft: RecordDraft::new(Kind::Tombstone, &bytes, &[]).database(database.id),
            effect: Effect::Remove { only_at: Some(at) },
        };
        self.try_commit(
            &[write],
            Terms {
                held,
                ..Terms::default()
            },
        )
    }

    /// A lookup came upon a key whose deadline has passed: removes it if nothing is in the way.
    pub(crate) fn remove_expired(
        self: &Rc<Self>,
        identity: Identity,
        database: DbRef,
        at: Location,
    ) -> bool {
        if self.store().is_expiry_paused() {
            return false;
        }
        let farewell = self.say_farewell(Departure::Expired, identity, at);
        if matches!(farewell, Farewell::Busy) {
            return false;
        }
        let attempt = self.try_remove_at(identity, database, at, None);
        let removed = attempt.is_ok_and(|outcome| outcome.written > 0);
        if removed {
            self.store().counters().expired_keys.add(1);
            self.tell_gone(Departure::Expired, database, farewell);
        }
        removed
    }
}
