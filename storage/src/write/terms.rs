//! Terms: what must hold for a commit, judged under its bucket locks.

use cellar_index::BucketLocks;

use crate::expiry::{Deadline, Moment, deadline};
use crate::lock::StripeLocks;
use crate::place;
use crate::units::Location;
use crate::write::Condition;
use crate::write::commit::{Effect, Prepared, Refused};

/// Under what circumstances a commit may happen.
#[derive(Clone, Copy, Default)]
pub(crate) struct Terms<'a> {
    pub(crate) condition: Condition,
    /// The stripes that the caller holds exclusively.
    pub(crate) held: Option<&'a StripeLocks>,
    /// Places whose records were found to have their deadlines still ahead.
    pub(crate) unexpired: &'a [Location],
    pub(crate) mark: Mark,
}

/// How full the device may be for a commit (design rule 15). Removals never stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Commands that Redis refuses when memory is short.
    #[default]
    Growth,
    /// Commands that change what is there, such as EXPIRE and RENAME.
    Change,
}

/// Where existence matters, no entry may have its deadline in this very second, unless its record
/// was consulted.
pub(super) fn check_deadlines(
    writes: &[&Prepared<'_>],
    terms: Terms<'_>,
    locks: &BucketLocks<'_>,
    now: &Moment<'_>,
) -> Result<(), Refused> {
    for write in writes {
        let matters = match write.effect {
            Effect::Put { .. } => terms.condition != Condition::None,
            Effect::Page { .. } => false,
            Effect::Remove { only_at } => only_at.is_none(),
        };
        let Some(entry) = locks
            .find(write.identity)
            .filter(|_| matters && !write.is_page())
        else {
            continue;
        };
        let at = place::of(&entry);
        if deadline(&entry, now) == Deadline::Now && !terms.unexpired.contains(&at) {
            return Err(Refused::Unsure {
                identity: write.identity,
                at,
            });
        }
    }
    Ok(())
}

pub(super) fn condition_holds(
    writes: &[&Prepared<'_>],
    condition: Condition,
    locks: &BucketLocks<'_>,
    now: &Moment<'_>,
) -> bool {
    let exists = |write: &&Prepared<'_>| {
        locks
            .find(write.identity)
            .is_some_and(|entry| deadline(&entry, now) != Deadline::Passed)
    };
    let mut sets = writes
        .iter()
        .filter(|write| matches!(write.effect, Effect::Put { .. }));
    match condition {
        Condition::None => true,
        Condition::Absent => !sets.any(exists),
        Condition::Present => sets.all(exists),
    }
}
